//! What a table is declared to be: columns, keys, indexes, and the sets that it takes part in.
//!
//! Whether a declaration makes sense, `validate` says, which knows how rows are laid out.

pub(crate) mod table_schema;

pub(crate) mod set_schema;
