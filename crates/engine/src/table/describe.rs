//! Rows and keys formatted for errors that name what they met.
//!
//! A row is named by its key in the first unique index of its table, or in the first index, or by
//! its row id if there is none.

use super::rows::version::bytes_at;
use super::table::{IndexCore, TableAt};
use crate::error::{Error, ErrorKind};

/// The conflict of a statement with a row that another transaction changed first; `holder` is that
/// transaction's stamp if it is in flight.
#[cold]
pub(crate) fn write_conflict(
    table: TableAt<'_>,
    row: u32,
    version: Option<u64>,
    holder: Option<u64>,
) -> Error {
    let key = format_row(table, row, version);
    let how = if holder.is_some() { "is being changed" } else { "was changed" };
    let name = &table.core.schema.name;
    Error::new(ErrorKind::Conflict)
        .because(format!("{key} of `{name}` {how} by another transaction"))
        .met(name, key)
        .held_by(holder)
}

/// The conflict of a commit with a row that it has read, or would now read.
#[cold]
pub(crate) fn read_conflict(table: TableAt<'_>, row: u32, version: Option<u64>) -> Error {
    let key = format_row(table, row, version);
    let name = &table.core.schema.name;
    Error::new(ErrorKind::Conflict)
        .because(format!("{key} of `{name}`, which this transaction has read, was changed"))
        .met(name, key)
}

/// The conflict of an insert or update with another row's claim to a unique key, which the bytes of
/// a row have.
#[cold]
pub(crate) fn key_conflict(
    table: TableAt<'_>,
    index: &IndexCore,
    bytes: &[u8],
    holder: Option<u64>,
) -> Error {
    let key = format_key(table, index, bytes);
    let (name, unique) = (&table.core.schema.name, &index.schema.name);
    Error::new(ErrorKind::Conflict)
        .because(format!("{key} in `{unique}` of `{name}` is being inserted or was deleted"))
        .met(name, key)
        .held_by(holder)
}

/// The refusal of a key that another row holds, whose bytes are given.
#[cold]
pub(crate) fn duplicate_key(
    table: TableAt<'_>,
    index: &IndexCore,
    row: u32,
    bytes: &[u8],
) -> Error {
    let key = format_key(table, index, bytes);
    let (name, unique) = (&table.core.schema.name, &index.schema.name);
    Error::new(ErrorKind::DuplicateKey)
        .because(format!("{key} in `{unique}` of `{name}`"))
        .met(name, key)
        .in_index(unique)
        .about_row(row)
}

fn format_row(table: TableAt<'_>, row: u32, version: Option<u64>) -> String {
    let mut indexes = table.core.indexes();
    let first = table.core.indexes().next();
    let index = indexes.find(|index| index.schema.unique).or(first);
    match (index, version) {
        (Some(index), Some(version)) => format_key(table, index, bytes_at(table.memory, version)),
        _ => format!("row {row}"),
    }
}

fn format_key(table: TableAt<'_>, index: &IndexCore, bytes: &[u8]) -> String {
    let layout = &table.core.layout;
    let parts: Vec<_> = index
        .plan
        .leaves()
        .map(|leaf| format!("{} {}", layout.leaves()[leaf].path, layout.read_value(bytes, leaf)))
        .collect();
    parts.join(", ")
}
