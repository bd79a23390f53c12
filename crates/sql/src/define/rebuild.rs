//! A table made anew: another with the same number, filled from the one before.
//!
//! The old table is dropped, the new one made and filled in one transaction, so nobody ever finds
//! the one without the other; rights, comments, sequences and whatever refers to the table keep to
//! its number.

use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use futures::TryStreamExt;
use remanent_engine::schema::IndexSchema;

use crate::catalog::definition::Definition;
use crate::catalog::privilege::Privilege;
use crate::catalog::role::Actor;
use crate::catalog::table::Table;
use crate::catalog::written;
use crate::change::apply;
use crate::change::insert;
use crate::change::segments::Segments;
use crate::change::target;
use crate::context::StatementContext;
use crate::define::alter;
use crate::define::dependents;
use crate::define::number_table;
use crate::define::table;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, quoted};
use crate::plan::cancel_check;
use crate::privileges::{Access, Owned};
use crate::query::binder::{Binder, OWN_SCHEMA};
use crate::query::rewrite;
use crate::query::select;
use crate::scan::provider::TableSourceOf;
use crate::values::datum::Datum;

/// The name that the old table has while it is read.
const OLD: &str = "old";

/// How a table is made anew.
pub(super) struct Change {
    /// For each new column its expression over the old table; `None` takes the default.
    pub(super) source: Vec<Option<String>>,
    /// A column with another name: what it was, and what it is.
    pub(super) renamed: Option<(String, String)>,
}

impl Change {
    /// All columns as they are.
    pub(super) fn same(table: &Table) -> Self {
        let source = table.columns.iter().map(|c| Some(quoted(&c.name))).collect();
        Self { source, renamed: None }
    }
}

/// Makes a table anew.
///
/// # Errors
/// Rows that do not fit the new definition; what depends on the table and would change.
pub(super) async fn rebuild(
    context: &mut StatementContext,
    table: &Owned,
    mut definition: Definition,
    change: Change,
) -> Result<()> {
    let old_references: Vec<String> =
        table.references.iter().map(|reference| reference.name.clone()).collect();
    definition.check()?;
    check_own_references(context, &mut definition, table)?;
    table::check_references_allowed(context, &definition, &old_references)?;
    let id = match table.id {
        Some(id) => id,
        None => number_table(context, table)?,
    };
    let mut schema = definition.to_schema()?;
    for index in kept_indexes(table, &definition, &change) {
        schema = schema.index(index);
    }
    let transaction = context.defining_transaction()?;
    transaction.writing()?.drop_table(&table.handle)?;
    let made = transaction.writing()?.create_table(schema)?;
    move_comments(context, table, &definition, &change)?;
    table::write_table(context, id, table.owner, made.number(), &mut definition)?;
    copy_rows(context, table, &definition, &change.source).await?;
    for column in &table.columns {
        let Some(identity) = &column.identity else { continue };
        let stays = definition.columns.iter().any(|column| {
            column.identity.is_some_and(|kept| kept.sequence == Some(identity.sequence))
        });
        if !stays {
            context.database.store.remove(&*transaction.writing()?, identity.sequence)?;
        }
    }
    follow_rename(context, table, &change)?;
    context.reload()?;
    if change.computes(table) {
        check_all_references(context, &definition.name).await?;
    }
    dependents::check_dependents(context, Some(id))
}

/// Checks that rows that refer to others of this table, or from it, still find them.
async fn check_all_references(context: &mut StatementContext, name: &Name) -> Result<()> {
    let catalog = context.catalog();
    for child in catalog.tables.values() {
        for reference in &child.references {
            if child.name == *name || reference.table == *name {
                alter::check_reference_holds(context, &child.name, &reference.name).await?;
            }
        }
    }
    Ok(())
}

/// As for a new table, where references to the table itself mean the new columns.
fn check_own_references(
    context: &mut StatementContext,
    definition: &mut Definition,
    table: &Table,
) -> Result<()> {
    let own = definition.name.clone();
    for reference in &mut definition.references {
        if reference.table == table.name {
            reference.table = own.clone();
        }
    }
    table::check_definition(context, definition)
}

/// Fills the new table from the old one.
async fn copy_rows(
    context: &mut StatementContext,
    from: &Owned,
    definition: &Definition,
    source: &[Option<String>],
) -> Result<()> {
    let transaction = context.defining_transaction()?;
    let given = definition.columns.iter().zip(source).enumerate();
    let given = given.filter(|(_, (column, value))| value.is_some() && column.generated.is_none());
    let (places, values): (Vec<usize>, Vec<String>) =
        given.map(|(place, (_, value))| (place, value.clone().unwrap_or_default())).unzip();
    let target = target::rebuilt_target(context, &definition.name)?;
    let items = if values.is_empty() { "1 AS nothing".to_owned() } else { values.join(", ") };
    let text =
        format!("SELECT {items} FROM \"{OWN_SCHEMA}\".\"{OLD}\" AS {}", quoted(&from.name.name));
    let query = rewrite::rewritten(context, &written::read_query(&text)?)?;
    let plan = {
        let catalog = context.catalog();
        let mut binder = Binder::of(context, &catalog);
        let access = context.access(&catalog).of(Actor::Program);
        let old = access.table(from, &[Privilege::Select])?;
        binder.add_own(OLD, TableSourceOf::plain(old, None));
        binder.bind(query)?
    };
    let places = if values.is_empty() { Vec::new() } else { places };
    let plan = insert::add_defaults(context, &target, unnamed(plan)?, &places)?;
    let physical = cancel_check::plan(&context.state, &plan, &transaction).await?;
    let mut rows = cancel_check::start(&context.state, physical, &transaction)?;
    let mut segments = Segments::new(context);
    loop {
        let next = rows.try_next().await?;
        let is_last = next.is_none();
        let ready = match next {
            Some(batch) => segments.push(batch)?,
            None => segments.take(),
        };
        for batch in ready {
            context.check_cancelled()?;
            let whole = insert::new_rows(context, &target, &batch)?;
            apply::insert_again(&transaction, &target, &whole)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Comments go with columns and indexes.
fn move_comments(
    context: &mut StatementContext,
    table: &Owned,
    definition: &Definition,
    change: &Change,
) -> Result<()> {
    let Some(id) = table.id else { return Ok(()) };
    let transaction = context.defining_transaction()?;
    let (store, tx) = (&context.database.store, transaction.writing()?);
    let kept = kept_indexes(table, definition, change);
    for index in table.indexes.iter().filter(|index| index.comment.is_some()) {
        let is_kept = kept.iter().any(|kept| kept.name == index.name)
            || definition.keys.iter().any(|key| key.name == index.name);
        if !is_kept {
            store.comment(&tx, id, &format!("index {}", index.name), None)?;
        }
    }
    for column in table.columns.iter().filter(|column| column.comment.is_some()) {
        let now = change.name_of(&column.name);
        if now != column.name || definition.column(now).is_err() {
            store.comment(&tx, id, &format!("column {}", column.name), None)?;
            if definition.column(now).is_ok() {
                let part = format!("column {now}");
                store.comment(&tx, id, &part, column.comment.as_deref())?;
            }
        }
    }
    Ok(())
}

/// Foreign keys of other tables name the column as it is called now.
fn follow_rename(context: &mut StatementContext, table: &Owned, change: &Change) -> Result<()> {
    let Some((old, new)) = &change.renamed else { return Ok(()) };
    let catalog = context.catalog();
    let children = catalog.tables.values().filter(|child| {
        child.references.iter().any(|r| r.table == table.name && r.to.contains(old))
    });
    let children: Vec<Name> = children.map(|child| child.name.clone()).collect();
    let column = table::RenamedColumn { table: &table.name, old, new };
    for child in children {
        table::rename_referred(context, &child, &column)?;
    }
    Ok(())
}

/// The number that a query over whole names gives, asked on somebody's behalf.
pub(super) async fn count_for(
    context: &mut StatementContext,
    query: &sqlparser::ast::Query,
    actor: Actor,
) -> Result<Option<i64>> {
    let transaction = context.defining_transaction()?;
    let query = rewrite::rewritten(context, query)?;
    let plan: LogicalPlan = {
        let catalog = context.catalog();
        let access = Access { catalog: &catalog, actor, path: &[] };
        Binder::new(context, access).bind(query)?
    };
    let batches = select::collect_plan(context, &plan, &transaction).await?.batches;
    let batch = batches.iter().find(|batch| batch.num_rows() == 1);
    let no_answer = || Error::new(SqlState::CARDINALITY, "a check gave no answer");
    let batch = batch.ok_or_else(no_answer)?;
    Ok(Datum::from_array(batch.column(0), 0)?.as_i64())
}

impl Change {
    /// Whether a column's values may be others than they were.
    fn computes(&self, table: &Table) -> bool {
        let is_column = |value: &String| table.columns.iter().any(|c| quoted(&c.name) == *value);
        !self.source.iter().flatten().all(is_column)
    }

    /// What a column is called now.
    fn name_of<'c>(&'c self, column: &'c str) -> &'c str {
        match &self.renamed {
            Some((old, new)) if old == column => new,
            _ => column,
        }
    }
}

/// The indexes that are no constraint and whose columns are still there.
fn kept_indexes(table: &Table, definition: &Definition, change: &Change) -> Vec<IndexSchema> {
    let indexes = table.indexes.iter().filter(|index| !index.constraint);
    let schemas = indexes.filter_map(|index| table.handle.index_schema(index.handle).ok());
    let schemas = schemas.cloned().map(|mut index| {
        for part in &mut index.parts {
            change.name_of(&part.column).to_owned().clone_into(&mut part.column);
        }
        index
    });
    schemas
        .filter(|index| index.parts.iter().all(|part| definition.column(&part.column).is_ok()))
        .collect()
}

/// The plan with columns that have names of their own, whatever they are computed from.
fn unnamed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema: &DFSchema = plan.schema();
    let columns = schema.columns().into_iter().enumerate();
    let named: Vec<Expr> =
        columns.map(|(place, column)| Expr::Column(column).alias(format!("{place}"))).collect();
    Ok(LogicalPlanBuilder::from(plan).project(named)?.build()?)
}
