//! What there is to name in SQL: tables with what the engine does not know of them, views,
//! sequences, schemas.
//!
//! The engine has tables, columns and indexes. What SQL adds (types by name, defaults, checks,
//! references, views, sequences, comments) is kept as the text of the statement that makes it, in
//! a table of the same database; so it is logged, saved and restored with the rest.

pub(crate) mod definition;
pub(crate) mod load;
pub(crate) mod names;
pub(crate) mod sequence;
pub(crate) mod snapshot;
pub(crate) mod statistics;
pub(crate) mod store;
pub(crate) mod system;
pub(crate) mod table;
