//! Writing: the statements of a transaction, each done as a whole or not at all.
//!
//! In the order in which a program meets them: [`transaction`] is a transaction that writes, and
//! changes row by row; [`drafts`] are rows that it is given whole, [`bulk`] many rows with one
//! statement, [`sets`] links between owners and members, [`defining`] tables and indexes made and
//! dropped, [`define`] one of these at a time. [`write_set`] remembers all of it until the end.

pub(crate) mod bulk;
pub(crate) mod define;
pub(crate) mod defining;
pub(crate) mod drafts;
pub(crate) mod sets;
pub(crate) mod transaction;
pub(crate) mod write_set;
