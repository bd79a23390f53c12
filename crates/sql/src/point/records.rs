//! The rows of a table as records: read and written by key, without a statement.
//!
//! For programs that have classes for their rows. What they do meets what a statement about one
//! key meets: rights, the block, the read-only setting, conflicts. What SQL adds to a table
//! (conditions, references, numbers from a sequence) they cannot do; statements write such a table.

use std::sync::Arc;

use remanent_engine::schema::Value;
use remanent_engine::{ColumnHandle, IndexHandle, OwnedTransaction, ReadTransaction};
use remanent_engine::{TransactionOptions, WriteTransaction};

use super::{MadeFor, transact};
use crate::catalog::privilege::Privilege;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::{Relation, Snapshot, unknown_table};
use crate::catalog::table::{Column, Table, duplicate_named};
use crate::catalog::written::read_type;
use crate::context::StatementContext;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, quoted};
use crate::privileges::{Access, Allowed};
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// A table whose rows are read and written as records.
#[derive(Clone, Debug)]
pub struct RecordTable {
    table: Allowed,
    made_for: MadeFor,
    written_by_statements: Option<&'static str>,
    /// Whose rights were checked.
    actor: Actor,
}

/// A column of a table of records.
#[derive(Clone, Copy, Debug)]
pub struct RecordColumn<'t>(&'t Column);

/// An index of a table of records.
#[derive(Clone, Debug)]
pub struct RecordIndex<'t> {
    /// What the engine calls it.
    pub handle: IndexHandle,
    /// The places of its columns.
    pub columns: &'t [usize],
    /// Whether it has an order, so that there are ranges.
    pub ordered: bool,
    /// Whether no two rows have the same key.
    pub unique: bool,
}

/// A transaction in which records are read.
pub struct RecordReading(Way);

enum Way {
    /// The block's.
    Block(OwnedTransaction),
    /// One for each call.
    Alone(Arc<SqlDatabase>),
}

impl RecordTable {
    /// Its columns, in their order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = RecordColumn<'_>> {
        self.table.columns.iter().map(RecordColumn)
    }

    /// The column at this place.
    pub fn column(&self, place: usize) -> Option<RecordColumn<'_>> {
        self.table.columns.get(place).map(RecordColumn)
    }

    /// The engine's table.
    pub fn handle(&self) -> &remanent_engine::Table {
        &self.table.handle
    }

    /// How many values the engine's rows have: those of the columns, and maybe more.
    pub fn leaves(&self) -> usize {
        self.table.leaves
    }

    /// The primary key.
    pub fn primary(&self) -> Option<RecordIndex<'_>> {
        self.index_where(|index| index.primary)
    }

    /// The names of its indexes.
    pub fn index_names(&self) -> impl Iterator<Item = &str> {
        self.table.indexes.iter().map(|index| index.name.as_str())
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<RecordIndex<'_>> {
        self.index_where(|index| index.name == name)
    }

    fn index_where(
        &self,
        is_it: impl Fn(&crate::catalog::table::Index) -> bool,
    ) -> Option<RecordIndex<'_>> {
        let index = self.table.indexes.iter().find(|index| is_it(index))?;
        Some(RecordIndex {
            handle: index.handle,
            columns: &index.columns,
            ordered: index.ordered,
            unique: index.unique,
        })
    }

    /// Whether it is what this caller would find now, with the rights that were checked.
    fn holds_in(&self, context: &StatementContext) -> bool {
        self.actor == context.actor && self.made_for.holds_in(context)
    }

    /// What SQL adds to its rows, if it does: then statements alone can write it.
    pub fn written_by_statements(&self) -> Option<&'static str> {
        self.written_by_statements
    }

    /// That a column has no value although it needs one.
    pub fn null_in(&self, column: RecordColumn<'_>) -> Error {
        let (name, table) = (&column.0.name, &self.table.name);
        let text = format!(
            "null value in column {} of relation {table} violates not-null constraint",
            quoted(name)
        );
        Error::new(SqlState::NOT_NULL_VIOLATION, text).of_column(&table.schema, &table.name, name)
    }

    /// Reads, in the transaction that was found; `None` if its definition has changed since: it is
    /// to be asked for anew.
    ///
    /// # Errors
    /// As `work`; as a transaction that begins; `BAD_TRANSACTION_STATE` once it has ended.
    pub fn read<T>(
        &self,
        reading: &RecordReading,
        work: impl FnOnce(&ReadTransaction<'_>) -> remanent_engine::Result<T>,
    ) -> Result<Option<T>> {
        match &reading.0 {
            Way::Block(transaction) => Ok(Some(work(&*transaction.read()?)?)),
            Way::Alone(database) => {
                let reading = database.engine.begin_read()?;
                // A table that was dropped since may be another by now.
                match database.catalog_version() == self.made_for.version {
                    true => Ok(Some(work(&reading)?)),
                    false => Ok(None),
                }
            }
        }
    }

    /// A transaction that is kept while many records are read; `None` as [`RecordTable::read`].
    ///
    /// # Errors
    /// As a transaction that begins.
    pub fn kept(&self, reading: &RecordReading) -> Result<Option<OwnedTransaction>> {
        match &reading.0 {
            Way::Block(transaction) => Ok(Some(transaction.clone())),
            Way::Alone(database) => {
                let options = TransactionOptions::new();
                let kept = OwnedTransaction::begin_read(&database.engine, &options)?;
                let holds = database.catalog_version() == self.made_for.version;
                Ok(holds.then_some(kept))
            }
        }
    }
}

impl<'t> RecordColumn<'t> {
    /// Its name.
    pub fn name(&self) -> &'t str {
        &self.0.name
    }

    /// Its type.
    pub fn sql_type(&self) -> &'t SqlType {
        &self.0.sql_type
    }

    /// Whether its type is the one of this name.
    ///
    /// # Errors
    /// For a name of none.
    pub fn is_of(&self, name: &str) -> Result<bool> {
        Ok(SqlType::from_ast(&read_type(name)?)? == self.0.sql_type)
    }

    /// The engine's handle, to read a row with.
    pub fn handle(&self) -> ColumnHandle {
        self.0.handle
    }

    /// Its place among the values of the engine's row.
    pub fn leaf(&self) -> usize {
        self.0.leaf
    }

    /// Whether it may have no value.
    pub fn nullable(&self) -> bool {
        self.0.nullable
    }

    /// A value as it is assigned to the column.
    ///
    /// # Errors
    /// As an INSERT of it.
    pub fn assigned(&self, datum: &Datum) -> Result<Datum> {
        datum.cast(&self.0.sql_type)
    }

    /// A value that was assigned, for the engine.
    pub fn value<'d>(&self, assigned: &'d Datum) -> Value<'d> {
        assigned.to_value(&self.0.stored)
    }

    /// A value of the engine's row.
    pub fn datum(&self, value: Value<'_>) -> Datum {
        Datum::from_value(value, &self.0.sql_type)
    }
}

/// The table of this name, which is not a statement's but as it was given when it was made.
///
/// # Errors
/// `UNKNOWN_TABLE`, `NO_PRIVILEGE`.
pub(crate) fn find(context: &mut StatementContext, name: &str) -> Result<RecordTable> {
    context.renew_rights();
    context.check_not_failed()?;
    let catalog = context.catalog();
    let path = &context.settings.search_path;
    let found = path.iter().find_map(|schema| catalog.relation(&Name::new(schema, name)));
    let table = match found {
        Some(Relation::Table(table)) => table,
        Some(Relation::View(_)) => {
            let text = format!("{} is a view, which has no records", quoted(name));
            return Err(Error::new(SqlState::WRONG_OBJECT, text));
        }
        None => {
            return Err(unknown_table(&Name::new(context.current_schema(), name)));
        }
    };
    let access = context.access(&catalog);
    Ok(RecordTable {
        table: access.table(&table, &[Privilege::Select])?,
        made_for: MadeFor { version: catalog.version, path: path.clone() },
        written_by_statements: added_by_sql(&table, &catalog, access),
        actor: context.actor,
    })
}

/// What SQL adds to the rows of a table, or that not all may be done with them.
fn added_by_sql(table: &Table, catalog: &Snapshot, access: Access<'_>) -> Option<&'static str> {
    let refers = |child: &Arc<Table>| child.references.iter().any(|it| it.table == table.name);
    let uses = [Privilege::Insert, Privilege::Update, Privilege::Delete];
    if !table.checks.is_empty() {
        return Some("it has conditions");
    }
    if !table.references.is_empty() || catalog.tables.values().any(refers) {
        return Some("it has references");
    }
    if table.columns.iter().any(|column| column.generated.is_some()) {
        return Some("it has generated columns");
    }
    if table.columns.iter().any(|column| column.identity.is_some()) {
        return Some("it has numbers from a sequence");
    }
    let table = catalog.tables.get(&table.name)?;
    access.table(table, &uses).is_err().then_some("not all rights on it are granted")
}

/// The transaction in which its records are read now; `None` if its definition has changed.
///
/// # Errors
/// `IN_FAILED_TRANSACTION`; as a transaction that begins.
pub(crate) fn reading(
    context: &mut StatementContext,
    records: &RecordTable,
) -> Result<Option<RecordReading>> {
    context.renew_rights();
    context.check_not_failed()?;
    if !records.holds_in(context) {
        return Ok(None);
    }
    if context.block.is_none() {
        context.wait_until_fresh()?;
        return Ok(Some(RecordReading(Way::Alone(Arc::clone(&context.database)))));
    }
    context.begin_statement();
    let transaction = context.transaction(false)?;
    let holds = records.holds_in(context);
    Ok(holds.then(|| RecordReading(Way::Block(transaction.owned()))))
}

/// Changes records in the block's transaction, or in one of its own, once more after each conflict;
/// `None` if the definition has changed.
///
/// # Errors
/// As an INSERT, UPDATE or DELETE; nothing was changed then.
pub(crate) fn write<T>(
    context: &mut StatementContext,
    records: &RecordTable,
    mut work: impl FnMut(&WriteTransaction<'_>) -> remanent_engine::Result<T>,
) -> Result<Option<T>> {
    context.renew_rights();
    context.check_not_failed()?;
    if !records.holds_in(context) {
        return Ok(None);
    }
    if let Some(why) = records.written_by_statements {
        let text = format!("records of {} are written by statements: {why}", records.table.name);
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text));
    }
    context.begin_statement();
    let written = transact::write(context, &records.made_for, |_, writing| {
        work(writing).map(Some).map_err(|error| duplicate_named(error, &records.table))
    });
    written.inspect_err(|error| context.failed_with(error))
}
