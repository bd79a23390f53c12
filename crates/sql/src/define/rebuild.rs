//! A table made anew: another with the same number, filled from the one before.
//!
//! The old table is dropped, the new one made and filled in one transaction, so nobody ever finds
//! the one without the other; rights, comments, sequences and whatever refers to the table keep to
//! its number.

use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use futures::TryStreamExt;
use remanent_engine::schema::IndexSchema;

use crate::access::{Access, Actor, Owned, Privilege};
use crate::catalog::definition::Definition;
use crate::catalog::names::{Name, quoted};
use crate::catalog::table::Table;
use crate::catalog::written;
use crate::error::{Error, Result, SqlState};
use crate::query::binder::{Binder, OWN_SCHEMA};
use crate::query::interrupt;
use crate::query::source::TableSourceOf;
use crate::session::statements::Session;
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

impl Session {
    /// Makes a table anew.
    ///
    /// # Errors
    /// Rows that do not fit the new definition; what depends on the table and would change.
    pub(super) async fn rebuild(
        &mut self,
        table: &Owned,
        mut definition: Definition,
        change: Change,
    ) -> Result<()> {
        let old_references: Vec<String> =
            table.references.iter().map(|reference| reference.name.clone()).collect();
        definition.check()?;
        self.check_own_references(&mut definition, table)?;
        self.check_references_allowed(&definition, &old_references)?;
        let id = match table.id {
            Some(id) => id,
            None => self.number_table(table)?,
        };
        let mut schema = definition.to_schema()?;
        for index in kept_indexes(table, &definition, &change) {
            schema = schema.index(index);
        }
        let transaction = self.defining_transaction()?;
        let writing = transaction.writing()?;
        writing.drop_table(&table.handle)?;
        let made = writing.create_table(schema)?;
        self.move_comments(table, &definition, &change)?;
        self.write_table((id, table.owner), made.number(), &mut definition)?;
        self.copy_rows(table, &definition, &change.source).await?;
        for column in &table.columns {
            let Some(identity) = &column.identity else { continue };
            let stays = definition.columns.iter().any(|column| {
                column.identity.is_some_and(|kept| kept.sequence == Some(identity.sequence))
            });
            if !stays {
                self.database.store.remove(transaction.writing()?, identity.sequence)?;
            }
        }
        self.follow_rename(table, &change)?;
        self.reload()?;
        if change.computes(table) {
            self.check_all_references(&definition.name).await?;
        }
        self.check_dependents(Some(id))
    }

    /// Checks that rows that refer to others of this table, or from it, still find them.
    async fn check_all_references(&mut self, name: &Name) -> Result<()> {
        let catalog = self.catalog();
        for child in catalog.tables.values() {
            for reference in &child.references {
                if child.name == *name || reference.table == *name {
                    self.check_reference_holds(&child.name, &reference.name).await?;
                }
            }
        }
        Ok(())
    }

    /// As for a new table, where references to the table itself mean the new columns.
    fn check_own_references(&mut self, definition: &mut Definition, table: &Table) -> Result<()> {
        let own = definition.name.clone();
        for reference in &mut definition.references {
            if reference.table == table.name {
                reference.table = own.clone();
            }
        }
        self.check_definition(definition)
    }

    /// Fills the new table from the old one.
    async fn copy_rows(
        &mut self,
        from: &Owned,
        definition: &Definition,
        source: &[Option<String>],
    ) -> Result<()> {
        let transaction = self.defining_transaction()?;
        let given = definition.columns.iter().zip(source).enumerate();
        let given =
            given.filter(|(_, (column, value))| value.is_some() && column.generated.is_none());
        let (places, values): (Vec<usize>, Vec<String>) =
            given.map(|(place, (_, value))| (place, value.clone().unwrap_or_default())).unzip();
        let target = self.rebuilt_target(&definition.name)?;
        let items = if values.is_empty() { "1 AS nothing".to_owned() } else { values.join(", ") };
        let text = format!(
            "SELECT {items} FROM \"{OWN_SCHEMA}\".\"{OLD}\" AS {}",
            quoted(&from.name.name)
        );
        let query = self.rewritten(&written::read_query(&text)?)?;
        let plan = {
            let catalog = self.catalog();
            let mut binder = self.binder(&catalog);
            let access = self.access(&catalog).of(Actor::Program);
            let old = access.table(from, &[Privilege::Select])?;
            binder.add_own(OLD, TableSourceOf::plain(old, None));
            binder.bind(query)?
        };
        let places = if values.is_empty() { Vec::new() } else { places };
        let plan = self.add_defaults(&target, unnamed(plan)?, &places)?;
        let physical = interrupt::plan(&self.state, &plan, &transaction).await?;
        let mut rows = interrupt::start(&self.state, physical, &transaction)?;
        while let Some(batch) = rows.try_next().await? {
            self.check_cancelled()?;
            let whole = self.new_rows(&target, &batch)?;
            self.insert_again(&transaction, &target, &whole)?;
        }
        Ok(())
    }

    /// Comments go with columns and indexes.
    fn move_comments(
        &mut self,
        table: &Owned,
        definition: &Definition,
        change: &Change,
    ) -> Result<()> {
        let Some(id) = table.id else { return Ok(()) };
        let transaction = self.defining_transaction()?;
        let (store, tx) = (&self.database.store, transaction.writing()?);
        let kept = kept_indexes(table, definition, change);
        for index in table.indexes.iter().filter(|index| index.comment.is_some()) {
            let is_kept = kept.iter().any(|kept| kept.name == index.name)
                || definition.keys.iter().any(|key| key.name == index.name);
            if !is_kept {
                store.comment(tx, (id, &format!("index {}", index.name)), None)?;
            }
        }
        for column in table.columns.iter().filter(|column| column.comment.is_some()) {
            let now = change.name_of(&column.name);
            if now != column.name || definition.column(now).is_err() {
                store.comment(tx, (id, &format!("column {}", column.name)), None)?;
                if definition.column(now).is_ok() {
                    let part = format!("column {now}");
                    store.comment(tx, (id, &part), column.comment.as_deref())?;
                }
            }
        }
        Ok(())
    }

    /// Foreign keys of other tables name the column as it is called now.
    fn follow_rename(&mut self, table: &Owned, change: &Change) -> Result<()> {
        let Some((old, new)) = &change.renamed else { return Ok(()) };
        let catalog = self.catalog();
        let children = catalog.tables.values().filter(|child| {
            child.references.iter().any(|r| r.table == table.name && r.to.contains(old))
        });
        let children: Vec<Name> = children.map(|child| child.name.clone()).collect();
        for child in children {
            self.rename_referred(&child, (&table.name, old, new))?;
        }
        Ok(())
    }

    /// The number that a query over whole names gives, asked on somebody's behalf.
    pub(super) async fn count_for(
        &mut self,
        query: &sqlparser::ast::Query,
        actor: Actor,
    ) -> Result<Option<i64>> {
        let transaction = self.defining_transaction()?;
        let query = self.rewritten(query)?;
        let plan: LogicalPlan = {
            let catalog = self.catalog();
            let access = Access { catalog: &catalog, actor, path: &[] };
            Binder::new(&self.state, access, (&self.functions, &*self)).bind(query)?
        };
        let batches = self.collect_plan(&plan, &transaction).await?.batches;
        let batch = batches.iter().find(|batch| batch.num_rows() == 1);
        let no_answer = || Error::new(SqlState::CARDINALITY, "a check gave no answer");
        let batch = batch.ok_or_else(no_answer)?;
        Ok(Datum::from_array(batch.column(0), 0)?.as_i64())
    }
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
