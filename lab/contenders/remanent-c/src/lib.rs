//! Remanent through its C interfaces: native, mco-style, d_-style.
//!
//! Each interface is a contender of its own, so that a run puts it beside the Rust one. What is
//! measured is written in C as a program in C would write it (`c/`), against headers that the
//! build generates from `schema/`; `programs` and `sets` call it. One call of a store is one of C,
//! so that every interface crosses the border between the harness and its program once.

mod programs;
mod readers;
mod sets;

use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::sets::{SetOrder, SetStore};
use lab_harness::{Contender, Driver, Location, Medium, Outcome, Promise, Setting, Tier};
// The programs call its functions; named here, it is linked.
use lab_remanent_capi as _;

use crate::programs::Program;

/// The native `rem_*` functions.
pub static NATIVE: Contender = Contender {
    sensors: Some(Driver {
        settings: NATIVE_SETTINGS,
        open: |_, location, shape| open_sensors(&programs::NATIVE, location, shape),
    }),
    ..Contender::named("remanent-c", version)
};

/// The mco-style.
pub static MCO: Contender = Contender {
    sensors: Some(Driver {
        settings: MCO_SETTINGS,
        open: |_, location, shape| open_sensors(&programs::MCO, location, shape),
    }),
    ..Contender::named("remanent-mco", version)
};

/// The d_-style.
pub static D: Contender = Contender {
    sensors: Some(Driver {
        settings: D_SETTINGS,
        open: |setting, location, shape| {
            let program = match (setting.variant, setting.promise) {
                (STRINGS, _) => &programs::D_STRINGS,
                (_, Promise::Disk) => &programs::D_SYNCED,
                (_, Promise::Os) => &programs::D_KEPT,
                _ => &programs::D,
            };
            open_sensors(program, location, shape)
        },
    }),
    shared: Some(Driver { settings: SHARED, open: open_shared }),
    sets: Some(Driver { settings: SETS, open: open_set }),
    set_orders: &[SetOrder::Last],
    ..Contender::named("remanent-d", version)
};

/// The variant of the d_-style in which a text is members of a set.
const STRINGS: &str = "strings";

const NATIVE_SETTINGS: &[Setting] = &[setting(
    "",
    Medium::Memory,
    "rem_* with handles of columns; text by pointer; tree unique; program in C, -O2",
)];
const MCO_SETTINGS: &[Setting] = &[setting(
    "",
    Medium::Memory,
    "in the program's memory, page size 512; tree not unique, as in the document; program in C, \
     -O2",
)];
const D_SETTINGS: &[Setting] = &[
    setting(
        "",
        Medium::Ramdisk,
        "mode s, inmemory, close writes the file; char[1000]; record read into its struct, then \
         copied; program in C, -O2",
    ),
    setting(
        STRINGS,
        Medium::Ramdisk,
        "mode s, inmemory, close writes the file; text in records of 100, 200, 300 bytes, members \
         of a set of order last; program in C, -O2",
    ),
    kept(Promise::Os, Medium::Ramdisk, Tier::OnRequest, WITH_LOG),
    kept(Promise::Os, Medium::Disk, Tier::OnRequest, WITH_LOG),
    kept(Promise::Disk, Medium::Ramdisk, Tier::OnRequest, WITH_SYNCED_LOG),
    kept(Promise::Disk, Medium::Disk, Tier::Small, WITH_SYNCED_LOG),
];

const SHARED: &[Setting] = &[
    setting(
        "",
        Medium::Ramdisk,
        "mode s, inmemory; a task a thread; record locks; program in C, -O2",
    ),
    kept(Promise::Os, Medium::Disk, Tier::OnRequest, WITH_LOG),
    kept(Promise::Disk, Medium::Disk, Tier::OnRequest, WITH_SYNCED_LOG),
];

const WITH_LOG: &str = "mode s, with log, SYNCFILES=0; as the one in memory";
const WITH_SYNCED_LOG: &str = "mode s, with log, SYNCFILES=1; as the one in memory";

const SETS: &[Setting] =
    &[setting("", Medium::Ramdisk, "mode s, inmemory, close writes the file; program in C, -O2")];

const fn setting(variant: &'static str, medium: Medium, note: &'static str) -> Setting {
    Setting { variant, promise: Promise::Memory, medium, tier: Tier::Always, note }
}

const fn kept(promise: Promise, medium: Medium, tier: Tier, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier, note }
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn open_sensors(
    program: &'static programs::Functions,
    location: &Location<'_>,
    shape: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    if shape == RecordShape::Fixed {
        return Err("its program writes records of variable length alone".into());
    }
    Ok(Box::new(Program::open(program, location)?))
}

fn open_shared(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    let functions = match setting.promise {
        Promise::Os | Promise::Disk => &readers::KEPT,
        _ => &readers::IN_MEMORY,
    };
    let syncs = setting.promise == Promise::Disk;
    Ok(Box::new(readers::Shared::open(functions, location, syncs)?))
}

fn open_set(_: &Setting, location: &Location<'_>, order: SetOrder) -> Outcome<Box<dyn SetStore>> {
    match order {
        SetOrder::Last => Ok(Box::new(sets::Sets::open(location)?)),
        _ => Err("its program keeps a d_-style set in order last alone".into()),
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
