//! Records: the rows of a table as objects of a class, read and written by key without a statement.
//!
//! A `plan` joins the class's fields with the table's columns; it holds until the table's
//! definition changes. `field` has a value both ways, `object` makes a record, `table` is what a
//! program uses, `statements` writes where SQL adds something to the rows, `scan` reads many.

mod field;
mod object;
mod plan;
mod scan;
mod statements;
mod table;

pub(crate) use scan::Scan;
pub(crate) use table::Table;
