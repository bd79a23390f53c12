//! Whether the indexes of a table and its rows agree.
//!
//! An ordered index is walked from end to end: it must have each row once and no other, and find
//! each from its key. A hash index cannot be walked: every row must be found by its key, and every
//! row that is found by a key must have it.

use std::collections::HashSet;

use remanent_engine::schema::{IndexKind, IndexSchema, Value};
use remanent_engine::{
    Database, Error, Find, IndexHandle, ReadTransaction, Result, Row, RowId, Table,
};

/// What does not fit; empty if all does.
pub(crate) fn check(db: &Database, table: &Table) -> Result<Vec<String>> {
    let tx = db.begin_read()?;
    let mut wrong = Vec::new();
    for (name, handle) in table.indexes() {
        let schema = table.index_schema(handle)?;
        let missing = match schema.kind {
            IndexKind::Ordered => ordered(&tx, table, handle, &mut wrong)?,
            IndexKind::Hash => hash(&tx, table, handle, schema, &mut wrong)?,
        };
        if missing > 0 {
            wrong.push(format!("index {name} of {} does not find {missing} rows", table.name()));
        }
    }
    Ok(wrong)
}

fn ordered(
    tx: &ReadTransaction<'_>,
    table: &Table,
    index: IndexHandle,
    wrong: &mut Vec<String>,
) -> Result<u64> {
    let mut found = HashSet::new();
    let mut cursor = tx.cursor(table, index)?;
    let mut next = cursor.first();
    while let Some(row) = next {
        if !found.insert(row.id()) || tx.row(table, row.id())?.is_none() {
            let id = row.id().number();
            wrong.push(format!("an index of {} has row {id} twice or wrongly", table.name()));
        }
        next = cursor.next();
    }
    let mut missing = 0;
    for row in tx.scan(table)? {
        let place = cursor.position_of(&row)?;
        let by_key = cursor.find_position(Find::AtLeast, &place)?.map(|row| row.id());
        missing += u64::from(!found.contains(&row.id()) || by_key != Some(row.id()));
    }
    Ok(missing)
}

fn hash(
    tx: &ReadTransaction<'_>,
    table: &Table,
    index: IndexHandle,
    schema: &IndexSchema,
    wrong: &mut Vec<String>,
) -> Result<u64> {
    let columns = schema.parts.iter().map(|part| table.column(&part.column));
    let columns = columns.collect::<Result<Vec<_>, Error>>()?;
    let key_of =
        |row: &Row<'_>| -> Vec<String> { columns.iter().map(|&c| shown(row.value(c))).collect() };
    let mut found: HashSet<RowId> = HashSet::new();
    let mut missing = 0;
    for row in tx.scan(table)? {
        // Rows that share a key were found together.
        if found.contains(&row.id()) {
            continue;
        }
        let key: Vec<_> = columns.iter().map(|&column| row.value(column)).collect();
        tx.each(table, index, &key, |other| {
            if key_of(&other) != key_of(&row) || !found.insert(other.id()) {
                let id = other.id().number();
                wrong.push(format!("{}.{} finds row {id} wrongly", table.name(), schema.name));
            }
            Ok(())
        })?;
        missing += u64::from(!found.contains(&row.id()));
    }
    Ok(missing)
}

fn shown(value: Value<'_>) -> String {
    format!("{value:?}")
}
