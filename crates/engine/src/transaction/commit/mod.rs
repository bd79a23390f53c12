//! Committing: from the write set and the reads of a transaction to a timestamp that others see.
//!
//! [`commit`] is the one function that goes through the stages. In their order: [`changes`] are
//! what the write set is about, one by one, which are logged; [`validate`] compares what was read
//! with the [`recent`] commits; [`finalize`] exchanges stamps for the timestamp, at once or later;
//! [`counting`] counts what became of the transaction.

pub(crate) mod changes;
#[expect(clippy::module_inception, reason = "the folder is named after its main file")]
pub(crate) mod commit;
pub(crate) mod counting;
pub(crate) mod finalize;
pub(crate) mod recent;
pub(crate) mod validate;
