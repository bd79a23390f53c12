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

use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::sets::{SetOrder, SetStore};
use lab_harness::{
    Contender, Driver, Location, Medium, Outcome, Promise, RecoveryDriver, Setting, Tier,
};
use remanent::{Database, Durability, Options};

/// The `remanent` contender.
pub static REMANENT: Contender = Contender {
    sensors: Some(Driver { settings: SETTINGS, open: open_sensors }),
    shared: Some(Driver { settings: SHARED, open: open_shared }),
    sets: Some(Driver { settings: SETS, open: open_set }),
    pairs: Some(Driver { settings: pairs::SETTINGS, open: pairs::open }),
    commits: Some(pairs::open_commits),
    burst: Some(Driver { settings: burst::SETTINGS, open: burst::open }),
    blocks: Some(Driver { settings: blocks::SETTINGS, open: blocks::open }),
    recovery: Some(RecoveryDriver {
        settings: pairs::RETURNS,
        create: pairs::open,
        reopen: pairs::reopen,
        reads: pairs::is_returned_from,
    }),
    ..Contender::named("remanent", version)
};

const SETTINGS: &[Setting] = &[
    setting("", "one region of anonymous memory; one ordered index, unique"),
    setting("ahead", "as the plain one, memory for all rows committed at open"),
    setting("hash", "one region of anonymous memory; one hash index, unique, and no other"),
    logged(Promise::Buffered, Medium::Ramdisk, Tier::OnRequest, LOGGED),
    logged(Promise::Buffered, Medium::Disk, Tier::Always, LOGGED),
    logged(Promise::Os, Medium::Ramdisk, Tier::OnRequest, LOGGED),
    logged(Promise::Os, Medium::Disk, Tier::OnRequest, LOGGED),
    logged(Promise::Disk, Medium::Ramdisk, Tier::OnRequest, LOGGED),
    logged(Promise::Disk, Medium::Disk, Tier::Small, LOGGED),
];

const SHARED: &[Setting] = &[
    setting("", "defaults; one ordered index, unique; begin_read, get; begin_write, commit"),
    logged(Promise::Buffered, Medium::Disk, Tier::OnRequest, SHARED_LOGGED),
    logged(Promise::Os, Medium::Disk, Tier::OnRequest, SHARED_LOGGED),
    logged(Promise::Disk, Medium::Disk, Tier::OnRequest, SHARED_LOGGED),
];

const LOGGED: &str = "as the plain one, in a folder with a log; checkpoint_after(0)";
const SHARED_LOGGED: &str =
    "as the plain one, in a folder with a log; checkpoint_after(0); one sync at open";

const SETS: &[Setting] =
    &[setting("", "defaults; connect_after in order next, else connect; members, siblings")];

const fn setting(variant: &'static str, note: &'static str) -> Setting {
    Setting { variant, promise: Promise::Memory, medium: Medium::Memory, tier: Tier::Always, note }
}

const fn logged(promise: Promise, medium: Medium, tier: Tier, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier, note }
}

/// An empty database that keeps the promise of a setting.
fn database(setting: &Setting, location: &Location<'_>, options: Options) -> Outcome<Database> {
    Ok(match level(setting.promise) {
        None => Database::open(options)?,
        Some(level) => {
            let options = options.durability(level).checkpoint_after(0);
            Database::open_at(location.files()?, options)?
        }
    })
}

/// The level that keeps a promise; none needs a log below `Buffered`.
fn level(promise: Promise) -> Option<Durability> {
    match promise {
        Promise::None | Promise::Memory => None,
        Promise::Buffered => Some(Durability::Buffered),
        Promise::Os => Some(Durability::Os),
        Promise::Disk => Some(Durability::Disk),
    }
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn open_sensors(
    setting: &Setting,
    location: &Location<'_>,
    shape: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    let ahead = if setting.variant == "ahead" { memory_for(location) } else { 0 };
    let db = database(setting, location, Options::new().commit_ahead(ahead))?;
    Ok(match (shape, setting.variant) {
        (RecordShape::Variable, "hash") => Box::new(stores::VariableHashed::over(db)?),
        (RecordShape::Variable, _) => Box::new(stores::Variable::over(db)?),
        (RecordShape::Fixed, "hash") => Box::new(stores::FixedHashed::over(db)?),
        (RecordShape::Fixed, _) => Box::new(stores::Fixed::over(db)?),
    })
}

fn open_shared(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    Ok(Box::new(threads::Shared::over(database(setting, location, Options::new())?)?))
}

fn open_set(_: &Setting, _: &Location<'_>, order: SetOrder) -> Outcome<Box<dyn SetStore>> {
    Ok(Box::new(sets::Sets::open(Options::new(), order)?))
}

/// What the rows will take: data, 64 bytes a row for header, slot and index entry, an eighth spare.
fn memory_for(location: &Location<'_>) -> u64 {
    (location.data_bytes + location.rows * 64) * 9 / 8
}
