//! Remanent through its C interfaces: native, mco-style, d_-style.
//!
//! Each interface is a contender of its own, so that a run puts it beside the Rust one. What is
//! measured is written in C as a program in C would write it (`c/`), against headers that the
//! build generates from `schema/`; `programs` and `sets` call it. One call of a store is one of C,
//! so that every interface crosses the border between the harness and its program once.

mod programs;
mod sets;

use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::sets::{SetOrder, SetStore};
use lab_harness::{Contender, Medium, Outcome, Place, Promise, Setting, Tier};
// The programs call its functions; named here, it is linked.
use lab_remanent_capi as _;

use crate::programs::Program;

/// An interface in C, by the program that uses it.
#[derive(Clone, Copy, Debug)]
pub enum Interface {
    /// The native `rem_*` functions.
    Native,
    /// The mco-style.
    Mco,
    /// The d_-style.
    D,
}

/// The variant of the d_-style in which a text is members of a set.
const STRINGS: &str = "strings";

const NATIVE: &[Setting] = &[setting(
    "",
    Medium::Memory,
    "rem_* with handles of columns; text by pointer; tree unique; program in C, -O2",
)];
const MCO: &[Setting] = &[setting(
    "",
    Medium::Memory,
    "in the program's memory, page size 512; tree not unique, as in the document; program in C, \
     -O2",
)];
const D: &[Setting] = &[
    setting(
        "",
        Medium::Ramdisk,
        "mode s, in memory, close writes the file; char[1000]; record read into its struct, then \
         copied; program in C, -O2",
    ),
    setting(
        STRINGS,
        Medium::Ramdisk,
        "mode s, in memory, close writes the file; text in records of 100, 200, 300 bytes, members \
         of a set of order last; program in C, -O2",
    ),
];

const SETS: &[Setting] =
    &[setting("", Medium::Ramdisk, "mode s, in memory, close writes the file; program in C, -O2")];

const fn setting(variant: &'static str, medium: Medium, note: &'static str) -> Setting {
    Setting { variant, promise: Promise::Memory, medium, tier: Tier::Always, note }
}

impl Contender for Interface {
    fn name(&self) -> &'static str {
        match self {
            Self::Native => "remanent-c",
            Self::Mco => "remanent-mco",
            Self::D => "remanent-d",
        }
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn settings(&self) -> &'static [Setting] {
        match self {
            Self::Native => NATIVE,
            Self::Mco => MCO,
            Self::D => D,
        }
    }

    fn open_sensors(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        shape: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        if shape == RecordShape::Fixed {
            return Err("its program writes records of variable length alone".into());
        }
        let program = match (self, setting.variant) {
            (Self::Native, _) => &programs::NATIVE,
            (Self::Mco, _) => &programs::MCO,
            (Self::D, STRINGS) => &programs::D_STRINGS,
            (Self::D, _) => &programs::D,
        };
        Ok(Box::new(Program::open(program, place)?))
    }

    fn set_settings(&self) -> &'static [Setting] {
        match self {
            Self::D => SETS,
            Self::Native | Self::Mco => &[],
        }
    }

    fn has_order(&self, order: SetOrder) -> bool {
        order == SetOrder::Last
    }

    fn open_set(
        &self,
        _: &Setting,
        place: &Place<'_>,
        order: SetOrder,
    ) -> Outcome<Box<dyn SetStore>> {
        match (self, order) {
            (Self::D, SetOrder::Last) => Ok(Box::new(sets::Sets::open(place)?)),
            _ => Err("its program keeps a d_-style set in order last alone".into()),
        }
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
