//! What a contender is: a name, a version, and a driver for each workload in which it takes part.
//!
//! A contender is data: the functions that open it stand in its own crate, and their types beside
//! the workloads. One that is not installed says so in `missing`; the run then names it with the
//! command that installs it, and goes on.

use crate::blocks::OpenBlocks;
use crate::burst::OpenBurst;
use crate::pairs::{OpenCommits, OpenPairs};
use crate::readers::OpenShared;
use crate::recovery::RecoveryDriver;
use crate::sensors::OpenSensors;
use crate::sets::{OpenSet, SetOrder};
use crate::setting::{Driver, Setting};

/// An engine that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// The word used in records and on the command line.
    pub name: &'static str,
    /// The version that is linked, as the engine itself reports it.
    pub version: fn() -> String,
    /// Why the engine cannot run in this build; `None` when it can.
    pub missing: Option<Missing>,
    /// The sensor workload, owned by one thread.
    pub sensors: Option<Driver<OpenSensors>>,
    /// One writer among readers, in threads that share it.
    pub shared: Option<Driver<OpenShared>>,
    /// Network sets.
    pub sets: Option<Driver<OpenSet>>,
    /// The orders in which it keeps sets.
    pub set_orders: &'static [SetOrder],
    /// Small pairs, owned by one thread.
    pub pairs: Option<Driver<OpenPairs>>,
    /// Threads that commit pairs together, in its settings for pairs with synced commits.
    pub commits: Option<OpenCommits>,
    /// One large transaction.
    pub burst: Option<Driver<OpenBurst>>,
    /// Blocks of memory, and nothing else.
    pub blocks: Option<Driver<OpenBlocks>>,
    /// Pairs that come back after their process is gone.
    pub recovery: Option<RecoveryDriver>,
}

/// What is not there, and the one command that brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was looked for and not found.
    pub reason: &'static str,
    /// The command that installs it.
    pub install: &'static str,
}

impl Contender {
    /// One that takes part in nothing yet.
    #[must_use]
    pub const fn named(name: &'static str, version: fn() -> String) -> Self {
        Self {
            name,
            version,
            missing: None,
            sensors: None,
            shared: None,
            sets: None,
            set_orders: &SetOrder::ALL,
            pairs: None,
            commits: None,
            burst: None,
            blocks: None,
            recovery: None,
        }
    }

    /// The settings of the sensor workload.
    #[must_use]
    pub fn sensor_settings(&self) -> &'static [Setting] {
        Driver::settings_of(self.sensors.as_ref())
    }

    /// The settings in which threads share it.
    #[must_use]
    pub fn shared_settings(&self) -> &'static [Setting] {
        Driver::settings_of(self.shared.as_ref())
    }

    /// The settings for network sets.
    #[must_use]
    pub fn set_settings(&self) -> &'static [Setting] {
        Driver::settings_of(self.sets.as_ref())
    }

    /// The settings for small pairs.
    #[must_use]
    pub fn pair_settings(&self) -> &'static [Setting] {
        Driver::settings_of(self.pairs.as_ref())
    }

    /// The settings for one large transaction.
    #[must_use]
    pub fn burst_settings(&self) -> &'static [Setting] {
        Driver::settings_of(self.burst.as_ref())
    }

    /// The settings for blocks of memory.
    #[must_use]
    pub fn block_settings(&self) -> &'static [Setting] {
        Driver::settings_of(self.blocks.as_ref())
    }

    /// The settings in which pairs come back.
    #[must_use]
    pub fn recovery_settings(&self) -> &'static [Setting] {
        self.recovery.map_or(&[], |driver| driver.settings)
    }
}
