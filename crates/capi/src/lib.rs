//! The C interfaces of Remanent: the native `rem_*` functions, the mco-style and the d_-style.
//!
//! Built as a shared and a static library; the headers are in `include/`. [`mco`] is what headers
//! generated from an mco-style schema call, [`d`] what those of a d_-style schema call; [`native`]
//! is the interface of Remanent's own words. `mco` and `native` hold engine transactions in slots
//! that tokens lead to, so that a handle that is null, old, or of another thread is a status and
//! never a crash; a task of the d_-style is locked by one thread at a time.
//!
//! The features `native` and `d` are there unless they are left out: `--no-default-features` makes
//! libraries of the mco-style alone.
//!
//! What always holds: pointers of C are believed in `ffi`, and in `row_at` those that a handle of
//! the mco-style carries; no call unwinds into C; a transaction belongs to one thread. What rows
//! are and how they are kept is the engine's.

#![cfg_attr(
    not(all(feature = "native", feature = "d")),
    allow(dead_code, unused_imports, reason = "what the interfaces that are left out use")
)]

#[cfg(feature = "native")]
mod append_list;
mod arena;
mod asymmetric_fence;
#[cfg(feature = "d")]
pub mod d;
mod ffi;
mod handles;
pub mod mco;
#[cfg(feature = "native")]
pub mod native;
#[cfg(feature = "native")]
mod numbered;
mod row_at;
mod slots;
#[cfg(feature = "d")]
mod try_lock;

pub use ffi::{InPtr, OutPtr};

// Values pass between C and rows as the bytes that both have, and tokens as pointers.
const _: () = assert!(cfg!(target_endian = "little") && size_of::<usize>() == 8);
