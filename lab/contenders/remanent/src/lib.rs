//! Remanent itself, through its typed Rust interface.
//!
//! The plain setting has one ordered index on the key, as every other contender has; its region
//! grows while rows are inserted, and the time for that counts. The variant `ahead` commits the
//! memory for all rows when it opens, as a program with a fixed memory does. The variant `hash` has
//! one hash index in place of the ordered one and answers equality alone. Shared by threads, and
//! for sets, it has its defaults and nothing else. Small pairs, one large transaction
//! and the region without a database have files of their own.

mod blocks;
mod burst;
mod pairs;
mod sets;
mod stores;
mod threads;

use lab_harness::blocks::BlockStore;
use lab_harness::burst::BurstStore;
use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::sets::{SetOrder, SetStore};
use lab_harness::{Contender, Medium, Outcome, Place, Promise, Setting, Tier};
use remanent::{Database, Durability, Options};

/// The `remanent` contender.
#[derive(Clone, Copy, Debug)]
pub struct Remanent;

const SETTINGS: &[Setting] = &[
    setting("", "one region of anonymous memory; one ordered index, unique"),
    setting("ahead", "as the plain one, memory for all rows committed at open"),
    setting("hash", "one region of anonymous memory; one hash index, unique, and no other"),
    logged(Promise::Buffered, Tier::Always, LOGGED),
    logged(Promise::Os, Tier::OnRequest, LOGGED),
    logged(Promise::Disk, Tier::Small, LOGGED),
];

const SHARED: &[Setting] = &[
    setting("", "defaults; one ordered index, unique; begin_read, get; begin_write, commit"),
    logged(Promise::Buffered, Tier::OnRequest, SHARED_LOGGED),
    logged(Promise::Os, Tier::OnRequest, SHARED_LOGGED),
];

const LOGGED: &str = "as the plain one, in a folder with a log; checkpoint_after(0)";
const SHARED_LOGGED: &str =
    "as the plain one, in a folder with a log; checkpoint_after(0); one sync at open";

const SETS: &[Setting] =
    &[setting("", "defaults; connect_after in order next, else connect; members, siblings")];

const fn setting(variant: &'static str, note: &'static str) -> Setting {
    Setting { variant, promise: Promise::Memory, medium: Medium::Memory, tier: Tier::Always, note }
}

const fn logged(promise: Promise, tier: Tier, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium: Medium::Disk, tier, note }
}

/// An empty database that keeps the promise of a setting.
fn database(setting: &Setting, place: &Place<'_>, options: Options) -> Outcome<Database> {
    Ok(match rung(setting.promise) {
        None => Database::open(options)?,
        Some(rung) => {
            let options = options.durability(rung).checkpoint_after(0);
            Database::open_at(place.files()?, options)?
        }
    })
}

/// The rung that keeps a promise; none needs a log below `Buffered`.
fn rung(promise: Promise) -> Option<Durability> {
    match promise {
        Promise::None | Promise::Memory => None,
        Promise::Buffered => Some(Durability::Buffered),
        Promise::Os => Some(Durability::Os),
        Promise::Disk => Some(Durability::Disk),
    }
}

impl Contender for Remanent {
    fn name(&self) -> &'static str {
        "remanent"
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn open_sensors(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        shape: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        let ahead = if setting.variant == "ahead" { memory_for(place) } else { 0 };
        let db = database(setting, place, Options::new().commit_ahead(ahead))?;
        Ok(match (shape, setting.variant) {
            (RecordShape::Variable, "hash") => Box::new(stores::VariableHashed::over(db)?),
            (RecordShape::Variable, _) => Box::new(stores::Variable::over(db)?),
            (RecordShape::Fixed, "hash") => Box::new(stores::FixedHashed::over(db)?),
            (RecordShape::Fixed, _) => Box::new(stores::Fixed::over(db)?),
        })
    }

    fn shared_settings(&self) -> &'static [Setting] {
        SHARED
    }

    fn open_shared(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Ok(Box::new(threads::Shared::over(database(setting, place, Options::new())?)?))
    }

    fn set_settings(&self) -> &'static [Setting] {
        SETS
    }

    fn open_set(&self, _: &Setting, _: &Place<'_>, order: SetOrder) -> Outcome<Box<dyn SetStore>> {
        Ok(Box::new(sets::Sets::open(Options::new(), order)?))
    }

    fn pair_settings(&self) -> &'static [Setting] {
        pairs::SETTINGS
    }

    fn open_pairs(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        pairs::open(setting, place)
    }

    fn threads_commit(&self) -> bool {
        pairs::THREADS_COMMIT
    }

    fn open_commits(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
        pairs::open_commits(setting, place)
    }

    fn burst_settings(&self) -> &'static [Setting] {
        burst::SETTINGS
    }

    fn open_burst(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        _snapshots: u64,
    ) -> Outcome<Box<dyn BurstStore>> {
        burst::open(setting, place)
    }

    fn block_settings(&self) -> &'static [Setting] {
        blocks::SETTINGS
    }

    fn open_blocks(
        &self,
        setting: &Setting,
        count: u64,
        block_bytes: usize,
    ) -> Outcome<Box<dyn BlockStore>> {
        blocks::open(setting, count, block_bytes)
    }

    fn return_settings(&self) -> &'static [Setting] {
        pairs::RETURNS
    }

    fn reopen_pairs(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        pairs::reopen(setting, place)
    }

    fn is_returned_from(&self, file: &str) -> bool {
        pairs::is_returned_from(file)
    }
}

/// What the rows will take: data, 64 bytes a row for header, slot and index entry, an eighth spare.
fn memory_for(place: &Place<'_>) -> u64 {
    (place.data_bytes + place.rows * 64) * 9 / 8
}
