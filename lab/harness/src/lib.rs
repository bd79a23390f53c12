//! What every contender of the laboratory implements, and how a measured process is read.
//!
//! An adapter crate depends on this crate and on its engine, on nothing else: `setting` has the
//! words of a comparison; `sensors`, `readers`, `sets` and `pairs` are the interfaces of the sensor
//! workload, of one writer among readers, of network sets, of small pairs, of one large transaction
//! (`burst`), of what comes back (`recovery`), and of an allocator (`blocks`); `contender` puts
//! together in which of them an engine takes part. `clock`, `footprint` and `prefault` measure the
//! process that an engine runs in; `machine` says what it runs on; `flags` reads command lines.
//! Nothing here knows how a run is planned, recorded or drawn; that is the `lab` program.

pub mod blocks;
pub mod burst;
pub mod clock;
pub mod contender;
pub mod flags;
pub mod footprint;
pub mod machine;
pub mod pairs;
pub mod prefault;
pub mod readers;
pub mod recovery;
pub mod sensors;
pub mod sets;
pub mod setting;

pub use clock::{Clock, cores, last_core};
pub use contender::{Contender, Missing};
pub use footprint::Footprint;
pub use recovery::RecoveryDriver;
pub use setting::{Driver, Failure, Location, Medium, Outcome, Promise, Setting, Tier};
