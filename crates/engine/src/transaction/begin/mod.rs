//! Beginning: who may run, with which snapshot, and who yields to whom.
//!
//! In the order in which a transaction meets them: [`options`] are what a program may ask for,
//! [`retry`] runs its work until it commits. [`clock`] is how a snapshot begins and ends, [`gate`]
//! how writers are kept out, [`precedence`] who yields where two want the same row.

pub(crate) mod clock;
pub(crate) mod gate;
pub(crate) mod options;
pub(crate) mod precedence;
pub(crate) mod retry;
