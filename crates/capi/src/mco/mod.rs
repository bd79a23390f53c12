//! The mco-style runtime: what `remanent_mco.h` declares.
//!
//! In the order of a program: [`database`] opens, connects and closes; [`transaction`] begins and
//! ends; [`object`] makes objects and finds their bytes, [`fields`], [`vectors`] and [`structs`]
//! get and put; [`index`] searches, [`cursor`] moves; [`events`] calls handlers; [`image`] saves
//! and loads. [`status`] has the numbers. A status is returned for everything that can go wrong;
//! a failed put latches, so that the commit fails.
//!
//! Names of C are spelled as there. What each status means to a program is in docs/mco-style.md.
#![expect(non_camel_case_types, reason = "these names are those of the C header")]

pub mod cursor;
pub mod database;
pub(crate) mod dictionary;
pub mod events;
pub mod fields;
mod gate;
pub mod image;
pub mod index;
pub mod object;
mod packed;
mod session;
pub mod status;
pub mod structs;
pub mod transaction;
pub mod vectors;

pub(crate) use database::attach;
