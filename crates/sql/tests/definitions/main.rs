//! Definitions: whatever was defined is there again after the process was killed, or was refused
//! at once and has changed nothing.
//!
//! [`random`] draws definitions and compares what the catalogue says before and after; [`blocks`]
//! is about transaction blocks, [`follows`] about what goes with a table that is changed. [`older`]
//! opens folders of the version before, [`damaged`] folders whose catalogue cannot be read in
//! part.

mod blocks;
mod damaged;
mod draw;
mod folder;
mod follows;
mod older;
mod random;
mod words;
