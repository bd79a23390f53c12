//! What only a terminal has: a line that is edited, Ctrl-C, a bar that shows progress.
//!
//! A script meets nothing of it but Ctrl-C.

pub(crate) mod completion;
pub(crate) mod editor;
pub(crate) mod history;
pub(crate) mod interrupts;
pub(crate) mod names;
pub(crate) mod progress;
