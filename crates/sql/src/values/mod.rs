//! Values and their types: as SQL names them, as rows hold them, as Arrow lays them out.
//!
//! Conversions between the three stand here and nowhere else.

pub(crate) mod arrow_in;
pub(crate) mod arrow_out;
pub(crate) mod blanks;
pub(crate) mod column;
pub(crate) mod datum;
pub(crate) mod key;
pub(crate) mod sql_type;
pub(crate) mod text;
