//! Definitions that do not come to their end: cancelled, out of time or memory, at a row that does
//! not fit, in a crash. Afterwards all is as before or all as after, and others have seen nothing
//! else.
//!
//! [`cases`] has a definition of every kind, with what it is made over. [`stopped`] stops them,
//! [`refused`] lets them fail at a late row or for want of memory, [`crashed`] takes the disk as it
//! is at each call. [`beside`] has readers and writers at the same time.

mod beside;
mod cases;
mod crashed;
mod disk;
#[path = "../definitions/folder.rs"]
#[expect(dead_code, reason = "a part of it is used here")]
mod folder;
mod refused;
mod stopped;
