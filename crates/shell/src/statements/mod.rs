//! Statements: run, printed, and what is said of their failures.
//!
//! What a statement is and where it ends has been decided; here it runs.

mod copying;
mod failure;
mod paging;
mod running;

pub(crate) use copying::copy_text;
