//! What there is to name in SQL: tables with what the engine does not know of them, views,
//! sequences, schemas.
//!
//! The engine has tables, columns and indexes. What SQL adds (types by name, defaults, checks,
//! references, views, sequences, comments, owners and rights) is kept as rows of tables in the same
//! database, under numbers that are never used again; so it is logged, saved and restored with the
//! rest.

pub(crate) mod definition;
pub(crate) mod legacy;
pub(crate) mod load;
pub(crate) mod privilege;
pub(crate) mod role;
pub(crate) mod sequence;
pub(crate) mod sequence_numbers;
pub(crate) mod snapshot;
pub(crate) mod statistics;
pub(crate) mod store;
pub(crate) mod stored;
pub(crate) mod table;
pub(crate) mod table_parameters;
pub(crate) mod written;
