//! The changes themselves, in the engine, and what they mean for foreign keys.
//!
//! Rows that refer to rows that are gone or have another key follow as the reference says, and what
//! rows refer to is checked, behind the change and in the same transaction. What is not as it
//! should be may come right with a later row of the statement, and is owed until its end
//! ([`super::owed`]).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::Schema;
use remanent_engine::schema::{ColumnValues, Value};
use remanent_engine::{ColumnHandle, ErrorKind, Row, RowId, RowPredicate};

use super::owed::{By, MovedKey, Owed};
use super::target::Target;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::table::duplicate_named;
use crate::catalog::table::referred_key;
use crate::catalog::table::{Action, Index, Reference, Table};
use crate::catalog::written::constant_of;
use crate::change::insert;
use crate::change::target;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::scan::rows_of::key_values;
use crate::transaction::Transaction;
use crate::values::arrow_in::array_of;
use crate::values::arrow_out::ColumnReader;
use crate::values::datum::Datum;
use crate::values::key::Key;

/// Rows from which on they are inserted all at once.
const TOGETHER_MIN: usize = 64;

/// What new rows become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Storage {
    /// Rows with versions.
    Hot,
    /// Frozen columns, as many as fill segments; rows, what is left.
    Frozen,
}

/// Rows with other values: whole ones, the numbers of those that they become, and the places of
/// the columns that are written.
#[derive(Clone, Copy)]
pub(super) struct RowUpdate<'u> {
    pub(super) rows: &'u RecordBatch,
    pub(super) numbers: &'u UInt64Array,
    pub(super) places: &'u [usize],
}

/// What a change of rows means for rows that refer to them, and for those that refer to these.
pub(super) struct Cascade<'c> {
    pub(super) context: &'c mut StatementContext,
    pub(super) transaction: &'c Arc<Transaction>,
    pub(super) catalog: &'c Arc<Snapshot>,
    pub(super) owed: &'c mut Owed,
}

/// Rows that refer to rows that refer to rows, at most so deep.
const CASCADE_MAX: usize = 64;

/// Readers of all columns of whole rows.
pub(super) fn readers<'r>(table: &Table, rows: &'r RecordBatch) -> Result<Vec<ColumnReader<'r>>> {
    let columns = table.columns.iter().zip(rows.columns());
    columns.map(|(column, array)| ColumnReader::new(array, &column.stored)).collect()
}

/// The values of one row, in the order of the engine's leaves.
pub(super) fn leaves<'r>(
    table: &Table,
    readers: &'r [ColumnReader<'r>],
    row: usize,
) -> Vec<Option<Value<'r>>> {
    let mut leaves = vec![None; table.leaves];
    for (column, reader) in table.columns.iter().zip(readers) {
        leaves[column.leaf] = Some(reader.value(row));
    }
    leaves
}

/// Inserts whole rows.
///
/// # Errors
/// `UNIQUE_VIOLATION`, `OUT_OF_MEMORY`; as the engine.
pub(super) fn insert_rows(
    transaction: &Arc<Transaction>,
    target: &Target,
    rows: &RecordBatch,
    storage: Storage,
    owed: &mut Owed,
) -> Result<()> {
    insert_unchecked(transaction, target, rows, storage)?;
    check_inserted(transaction, target, rows, owed)
}

/// Inserts whole rows of a table that is made anew, whose references held before.
///
/// # Errors
/// As [`insert_rows`].
pub(crate) fn insert_again(
    transaction: &Arc<Transaction>,
    target: &Target,
    rows: &RecordBatch,
) -> Result<()> {
    insert_unchecked(transaction, target, rows, Storage::Frozen)
}

/// Inserts whole rows, whose references are checked by nobody yet.
///
/// # Errors
/// As [`insert_rows`].
pub(super) fn insert_unchecked(
    transaction: &Arc<Transaction>,
    target: &Target,
    rows: &RecordBatch,
    storage: Storage,
) -> Result<()> {
    let table = &target.table;
    let writing = transaction.writing()?;
    let readers = readers(table, rows)?;
    if rows.num_rows() >= TOGETHER_MIN {
        let texts: Vec<_> = readers.iter().map(|it| |row: usize| it.text(row)).collect();
        let others: Vec<_> = readers.iter().map(|it| |row: usize| Some(it.value(row))).collect();
        let mut columns = vec![ColumnValues::Any(&|_| None); table.leaves];
        for (place, column) in table.columns.iter().enumerate() {
            columns[column.leaf] = match readers[place].numbers() {
                Some(numbers) => numbers,
                None if readers[place].is_text() => ColumnValues::Text(&texts[place]),
                None => ColumnValues::Any(&others[place]),
            };
        }
        let (handle, count) = (&table.handle, rows.num_rows());
        let inserted = match storage {
            Storage::Hot => writing.insert_columns(handle, &columns, count),
            Storage::Frozen => writing.insert_frozen(handle, &columns, count),
        };
        inserted.map_err(|error| duplicate_named(error, table))?;
    } else {
        for row in 0..rows.num_rows() {
            let values = leaves(table, &readers, row);
            let inserted = writing.insert_values(&table.handle, &values);
            inserted.map_err(|error| duplicate_named(error, table))?;
        }
    }
    Ok(())
}

/// Gives rows these values in the columns of these places.
///
/// # Errors
/// As [`insert_rows`].
pub(super) fn update_rows(
    transaction: &Arc<Transaction>,
    target: &Target,
    update: RowUpdate<'_>,
    owed: &mut Owed,
) -> Result<()> {
    update_at(transaction, target, update, 0, owed)?;
    check_updated(transaction, target, update, owed)
}

/// The same without the references of the rows themselves, so deep in what other rows mean for
/// these.
fn update_at(
    transaction: &Arc<Transaction>,
    target: &Target,
    update: RowUpdate<'_>,
    depth: usize,
    owed: &mut Owed,
) -> Result<()> {
    let (table, RowUpdate { rows, numbers, places }) = (&target.table, update);
    let touches = |columns: &[usize]| columns.iter().any(|column| places.contains(column));
    let mut referrers = referrers(&target.catalog, table);
    referrers.retain(|referrer| touches(&referrer.key.columns));
    let readers = readers(table, rows)?;
    for (row, number) in numbers.values().iter().enumerate() {
        let id = row_id(*number)?;
        for referrer in &referrers {
            let old = key_of(transaction, table, id, referrer.key)?;
            let new = |&column: &usize| {
                let value = readers[column].value(row);
                Datum::from_value(value, &table.columns[column].sql_type)
            };
            let new: Vec<Datum> = referrer.key.columns.iter().map(new).collect();
            if let Some(old) = old.filter(|old| *old != new) {
                owed.moved(&referrer.link, MovedKey { old, new }, depth)?;
            }
        }
        let changes: Vec<(ColumnHandle, Value<'_>)> = places
            .iter()
            .map(|&place| (table.columns[place].handle, readers[place].value(row)))
            .collect();
        let updated = transaction.writing()?.update_values(&table.handle, id, &changes);
        updated.map_err(|error| duplicate_named(error, table))?;
    }
    Ok(())
}

/// Deletes rows, and does with rows that refer to them what their foreign keys say.
///
/// # Errors
/// `FOREIGN_KEY_VIOLATION`; as the engine.
pub(super) fn delete_rows(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    numbers: &[u64],
    owed: &mut Owed,
) -> Result<()> {
    let ids = numbers.iter().map(|number| row_id(*number));
    let ids = ids.collect::<Result<Vec<_>>>()?;
    let mut cascade = Cascade { context, transaction, catalog: &target.catalog, owed };
    cascade.delete_ids(&target.table, &ids, 0)
}

impl Cascade<'_> {
    fn delete_ids(&mut self, table: &Arc<Table>, ids: &[RowId], depth: usize) -> Result<()> {
        let (catalog, transaction) = (self.catalog, self.transaction);
        let referrers = referrers(catalog, table);
        let mut keys: Vec<Gone> = vec![Gone::new(); referrers.len()];
        for &id in ids {
            self.context.check_cancelled()?;
            for (place, referrer) in referrers.iter().enumerate() {
                let values = key_of(transaction, table, id, referrer.key)?;
                keys[place].extend(values.map(|values| (Key::of_all(&values), values)));
            }
            match transaction.writing()?.delete(&table.handle, id) {
                // A cascade may have come here before.
                Err(error) if error.kind() == ErrorKind::RowNotFound && depth > 0 => {}
                deleted => deleted?,
            }
        }
        for (referrer, keys) in referrers.iter().zip(keys) {
            if !keys.is_empty() {
                self.follow(&referrer.link, &keys, None, depth)?;
            }
        }
        Ok(())
    }

    /// Does with the rows of `child` that refer to keys which are gone what the reference says.
    pub(super) fn follow(
        &mut self,
        link: &Arc<Link>,
        keys: &Gone,
        new: Option<&[Datum]>,
        depth: usize,
    ) -> Result<()> {
        if depth >= CASCADE_MAX {
            let text = "rows refer to each other more deeply than can be followed";
            return Err(Error::new(SqlState::FOREIGN_KEY_VIOLATION, text));
        }
        let Link { child, reference, columns } = &**link;
        let found = referring(self.transaction, child, columns, keys)?;
        if found.is_empty() {
            return Ok(());
        }
        let action = if new.is_some() { reference.on_update } else { reference.on_delete };
        match (action, new) {
            (Action::Refuse, _) => self.owed.gone(link, keys),
            (Action::Cascade, None) => self.delete_ids(child, &found, depth + 1),
            (Action::Cascade, Some(new)) => self.set_key(child, columns, new, &found, depth + 1),
            (Action::SetNull, _) => {
                let nulls = vec![Datum::Null; columns.len()];
                self.set_key(child, columns, &nulls, &found, depth + 1)
            }
            (Action::SetDefault, _) => {
                let values = defaults(child, reference)?;
                self.set_key(child, &reference.columns, &values, &found, depth + 1)
            }
        }
    }

    /// Gives rows other values in the columns of a reference, as an UPDATE would: what is computed
    /// from them follows, conditions are checked, and rows that refer to these rows follow too.
    /// What they refer to now is checked when all is done.
    fn set_key(
        &mut self,
        child: &Arc<Table>,
        columns: &[usize],
        values: &[Datum],
        ids: &[RowId],
        depth: usize,
    ) -> Result<()> {
        let target = target::referring_target(self.context, self.catalog, child)?;
        let all: Vec<usize> = (0..child.columns.len()).collect();
        let mut numbers = Vec::new();
        let mut data: Vec<Vec<Datum>> = vec![Vec::new(); all.len()];
        for &id in ids {
            let reading = self.transaction.reading()?;
            let Some(row) = reading.row(&child.handle, id)? else { continue };
            numbers.push(id.number());
            for (place, value) in values_of(child, &row, &all).into_iter().enumerate() {
                data[place].push(match columns.iter().position(|column| *column == place) {
                    Some(part) => values[part].cast(&child.columns[place].sql_type)?,
                    None => value,
                });
            }
        }
        let arrays = data.iter().zip(&child.columns);
        let arrays = arrays.map(|(data, column)| array_of(data, &column.sql_type));
        let fields = child.arrow.fields().iter().map(|f| f.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = RecordBatch::try_new(schema, arrays.collect::<Result<Vec<_>>>()?)?;
        let rows = insert::new_rows(self.context, &target, &rows)?;
        let generated = child.columns.iter().enumerate();
        let generated = generated.filter(|(_, column)| column.generated.is_some());
        let mut places = columns.to_vec();
        places.extend(generated.map(|(place, _)| place));
        let numbers = UInt64Array::from(numbers);
        let update = RowUpdate { rows: &rows, numbers: &numbers, places: &places };
        update_at(self.transaction, &target, update, depth, self.owed)?;
        check_updated(self.transaction, &target, update, self.owed)
    }
}

/// Owes what new rows refer to and is not there.
///
/// # Errors
/// `OUT_OF_MEMORY`; as the engine.
pub(super) fn check_inserted(
    transaction: &Transaction,
    target: &Target,
    rows: &RecordBatch,
    owed: &mut Owed,
) -> Result<()> {
    let table = &target.table;
    for (place, reference) in table.references.iter().enumerate() {
        let absent = absent(transaction, target, reference, rows)?;
        let keys: HashMap<Vec<Key>, Vec<Datum>> =
            absent.into_iter().map(|(_, key)| (Key::of_all(&key), key)).collect();
        keys.into_values().try_for_each(|key| owed.refers(table, place, By::Key(key)))?;
    }
    Ok(())
}

/// Owes what rows refer to that were changed in the columns of these places, where it is not there.
///
/// # Errors
/// `OUT_OF_MEMORY`; as the engine.
fn check_updated(
    transaction: &Transaction,
    target: &Target,
    update: RowUpdate<'_>,
    owed: &mut Owed,
) -> Result<()> {
    let (table, RowUpdate { rows, numbers, places }) = (&target.table, update);
    for (place, reference) in table.references.iter().enumerate() {
        if reference.columns.iter().any(|column| places.contains(column)) {
            for (row, _) in absent(transaction, target, reference, rows)? {
                owed.refers(table, place, By::Row(row_id(numbers.value(row))?))?;
            }
        }
    }
    Ok(())
}

/// The places of rows that refer to keys that are not there, and these.
fn absent(
    transaction: &Transaction,
    target: &Target,
    reference: &Reference,
    rows: &RecordBatch,
) -> Result<Vec<(usize, Vec<Datum>)>> {
    let parent = target.catalog.table(&reference.table)?;
    let arrays: Vec<&ArrayRef> =
        reference.columns.iter().map(|&column| rows.column(column)).collect();
    let (mut known, mut found) = (HashMap::new(), Vec::new());
    for row in 0..rows.num_rows() {
        let key = arrays.iter().map(|array| Datum::from_array(array.as_ref(), row));
        let key = key.collect::<Result<Vec<_>>>()?;
        let is_there = match known.entry(Key::of_all(&key)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => *entry.insert(is_there(transaction, reference, &parent, &key)?),
        };
        if !is_there {
            found.push((row, key));
        }
    }
    Ok(found)
}

/// A table that refers to another.
struct Referrer<'c> {
    link: Arc<Link>,
    /// The key that it means.
    key: &'c Index,
}

/// How a table refers to another.
pub(super) struct Link {
    pub(super) child: Arc<Table>,
    pub(super) reference: Reference,
    /// Its columns that refer to the key's, in the key's order.
    pub(super) columns: Vec<usize>,
}

/// Keys that are gone, by what they are equal by.
pub(super) type Gone = HashMap<Vec<Key>, Vec<Datum>>;

/// The tables that refer to this one, and which of its keys they mean.
fn referrers<'c>(catalog: &'c Snapshot, table: &'c Table) -> Vec<Referrer<'c>> {
    let mut found = Vec::new();
    for child in catalog.tables.values() {
        for reference in child.references.iter().filter(|r| r.table == table.name) {
            let Ok(key) = referred_key(table, reference) else { continue };
            let columns = key.columns.iter().enumerate().map(|(part, &column)| {
                let name = &table.columns[column].name;
                let place = reference.to.iter().position(|to| to == name).unwrap_or(part);
                reference.columns[place]
            });
            let (columns, child) = (columns.collect(), Arc::clone(child));
            let link = Arc::new(Link { child, reference: reference.clone(), columns });
            found.push(Referrer { link, key });
        }
    }
    found
}

/// Whether a key that rows refer to is there, or has a NULL.
///
/// # Errors
/// As the engine.
pub(super) fn is_there(
    transaction: &Transaction,
    reference: &Reference,
    parent: &Table,
    key: &[Datum],
) -> Result<bool> {
    if key.iter().any(Datum::is_null) {
        return Ok(true);
    }
    // That the key is there is to hold at the commit, whatever the isolation.
    let writing = transaction.writing()?;
    let _kept = writing.keep_reads();
    let index = referred_key(parent, reference)?;
    let ordered = in_order(parent, index, reference, key)?;
    let values: Vec<Value<'_>> = ordered
        .iter()
        .zip(&index.columns)
        .map(|(datum, &column)| datum.to_value(&parent.columns[column].stored))
        .collect();
    // What had to be rounded to be looked for is another key.
    let is_same = {
        let of = |(&column, datum): (&usize, &Datum)| {
            let name = &parent.columns[column].name;
            let place = reference.to.iter().position(|to| to == name);
            place.is_none_or(|place| Key::from(&key[place]) == Key::from(datum))
        };
        index.columns.iter().zip(&ordered).all(of)
    };
    Ok(is_same && transaction.reading()?.find(&parent.handle, index.handle, &values)?.is_some())
}

/// The error that a key to which rows of `child` refer is not there.
pub(super) fn missing(
    child: &Table,
    reference: &Reference,
    parent: &Table,
    key: &[Datum],
) -> Error {
    let text = format!(
        "insert or update on table {} violates foreign key constraint \"{}\"",
        child.name, reference.name
    );
    let key: Vec<String> = key.iter().map(Datum::to_string).collect();
    let detail = format!("Key ({}) is not present in {}.", key.join(", "), parent.name);
    Error::new(SqlState::FOREIGN_KEY_VIOLATION, text).detail(detail).of_constraint(
        &child.name.schema,
        &child.name.name,
        &reference.name,
    )
}

/// The defaults of a reference's columns.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` for one that is computed.
fn defaults(child: &Table, reference: &Reference) -> Result<Vec<Datum>> {
    let default = |&column: &usize| {
        let column = &child.columns[column];
        match &column.default {
            None => Ok(Datum::Null),
            Some(default) => constant_of(default)
                .ok_or_else(|| Error::unsupported("SET DEFAULT with a default that is computed")),
        }
    };
    reference.columns.iter().map(default).collect()
}

/// The values of a reference in the order of the index's columns, as these columns have them.
fn in_order(
    parent: &Table,
    index: &Index,
    reference: &Reference,
    key: &[Datum],
) -> Result<Vec<Datum>> {
    let values = index.columns.iter().enumerate().map(|(part, &column)| {
        let name = &parent.columns[column].name;
        let place = match reference.to.is_empty() {
            true => part,
            false => reference.to.iter().position(|to| to == name).unwrap_or(part),
        };
        key[place].cast(&parent.columns[column].sql_type)
    });
    values.collect()
}

/// The values of a row's key, in the order of the index; `None` if the row is gone.
fn key_of(
    transaction: &Transaction,
    table: &Table,
    id: RowId,
    key: &Index,
) -> Result<Option<Vec<Datum>>> {
    let reading = transaction.reading()?;
    let row = reading.row(&table.handle, id)?;
    Ok(row.map(|row| values_of(table, &row, &key.columns)))
}

pub(super) fn values_of(table: &Table, row: &Row<'_>, columns: &[usize]) -> Vec<Datum> {
    let value = |&column: &usize| {
        let column = &table.columns[column];
        Datum::from_value(row.value(column.handle), &column.sql_type)
    };
    columns.iter().map(value).collect()
}

/// The rows of `child` whose columns, in the order of the key that is referred to, have one of
/// these keys. That there are no others is to hold at the commit, whatever the isolation; what else
/// others do with the table is no matter.
pub(super) fn referring(
    transaction: &Transaction,
    child: &Arc<Table>,
    columns: &[usize],
    keys: &Gone,
) -> Result<Vec<RowId>> {
    let writing = transaction.writing()?;
    let _kept = writing.keep_reads();
    let reading = transaction.reading()?;
    let mut found = Vec::new();
    let mut add = |row: Row<'_>| {
        found.push(row.id());
        Ok(())
    };
    let Some(index) = child.indexes.iter().find(|index| leads(index, columns)) else {
        let refers = refers(child, columns, keys);
        reading.each_row_where(&child.handle, &refers, add)?;
        return Ok(found);
    };
    for key in keys.values().filter(|key| !key.iter().any(Datum::is_null)) {
        let parts = index.columns.iter().take(columns.len()).map(|column| {
            let place = columns.iter().position(|other| other == column).unwrap_or_default();
            let sql_type = &child.columns[*column].sql_type;
            let part = key[place].cast(sql_type)?;
            Ok((Key::from(&part) == Key::from(&key[place])).then_some(part))
        });
        // A key that no row can have, none refers to.
        let Ok(Some(parts)) = parts.collect::<Result<Option<Vec<Datum>>>>() else { continue };
        let values = key_values(child, &index.columns, &parts);
        reading.each(&child.handle, index.handle, &values, &mut add)?;
    }
    Ok(found)
}

/// Whether an index leads to the rows with these columns: they are all of a hash index, or the
/// first ones of an ordered one.
fn leads(index: &Index, columns: &[usize]) -> bool {
    let mut first: Vec<usize> = index.columns.iter().copied().take(columns.len()).collect();
    let mut wanted = columns.to_vec();
    first.sort_unstable();
    wanted.sort_unstable();
    first == wanted && (index.ordered || index.columns.len() == columns.len())
}

/// Whether a row has one of the keys.
fn refers(child: &Arc<Table>, columns: &[usize], keys: &Gone) -> RowPredicate {
    let (child, columns) = (Arc::clone(child), columns.to_vec());
    let keys: HashSet<Vec<Key>> = keys.keys().cloned().collect();
    Arc::new(move |row| {
        let values = values_of(&child, row, &columns);
        !values.iter().any(Datum::is_null) && keys.contains(&Key::of_all(&values))
    })
}

/// The row that a number of the hidden column means.
pub(super) fn row_id(number: u64) -> Result<RowId> {
    RowId::from_number(number).ok_or_else(|| Error::internal("a number that is no row's"))
}
