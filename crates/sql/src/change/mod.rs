//! Changing rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE.
//!
//! Each statement becomes a query that gives the rows to change, by number, with their new values;
//! the query is read whole, then the rows are changed, then constraints are checked. So no
//! statement sees its own changes, and whatever fails leaves nothing behind.

mod apply;
mod batch;
mod conflict;
pub(crate) mod copy;
mod copy_file;
mod delete;
mod insert;
mod merge;
mod returning;
mod rows;
mod target;
mod truncate;
mod update;

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Statement, With};

use crate::error::{Error, Result};
use crate::query::running::{ResultColumn, columns_of};
use crate::query::select::parameter_types;
use crate::session::answer::{Outcome, Tag};
use crate::session::statements::Session;
use crate::session::transaction::Transaction;
use crate::statement::changed_by;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

pub(crate) use apply::{named, referred_key};
pub(crate) use conflict::literal;
pub(crate) use insert::parse_expression;
use rows::Beside;
use target::Target;

/// A change without the named queries in front of it, and these.
fn parted(statement: &Statement) -> (&Statement, Option<&With>) {
    match statement {
        Statement::Query(query) => match changed_by(query) {
            Some(change) => (change, query.with.as_ref()),
            None => (statement, None),
        },
        other => (other, None),
    }
}

impl Session {
    /// Runs a change in a transaction.
    ///
    /// # Errors
    /// Whatever it meets; what was done before is for the caller to take back.
    pub(crate) async fn change_in(
        &mut self,
        transaction: &Arc<Transaction>,
        statement: &Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        let (statement, with) = parted(statement);
        let (verb, returning, target, changed) = match statement {
            Statement::Insert(insert) => {
                let target = self.insert_target(insert)?.behind(with);
                let changed = self.insert(transaction, &target, insert, parameters).await?;
                ("INSERT", &insert.returning, target, changed)
            }
            Statement::Update(update) => {
                let target = self.update_target(update)?.behind(with);
                let changed = self.update(transaction, &target, update, parameters).await?;
                ("UPDATE", &update.returning, target, changed)
            }
            Statement::Delete(delete) => {
                let target = self.delete_target(delete)?.behind(with);
                let changed = self.delete(transaction, &target, delete, parameters).await?;
                ("DELETE", &delete.returning, target, changed)
            }
            Statement::Merge(merge) => {
                let target = self.merge_target(merge)?.behind(with);
                let changed = self.merge(transaction, &target, merge, parameters).await?;
                ("MERGE", &None, target, changed)
            }
            other => return Err(Error::unsupported(other)),
        };
        let rows = match returning {
            None => None,
            Some(items) => {
                Some(self.returning(transaction, &target, items, (&changed, parameters)).await?)
            }
        };
        Ok(Outcome { tag: Tag::counted(verb, changed.count), rows, notice: None })
    }

    /// The query that gives the rows of a change or of a query, without its parameters' values;
    /// `None` for statements that read nothing.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn source_of(&mut self, statement: &Statement) -> Result<Option<LogicalPlan>> {
        let (statement, with) = parted(statement);
        Ok(Some(match statement {
            Statement::Query(query) => {
                let query = self.rewritten(query)?;
                let catalog = self.catalog();
                self.binder(&catalog).bind(query)?
            }
            Statement::Insert(insert) => {
                let target = self.insert_target(insert)?.behind(with);
                self.insert_source(&target, insert, &[])?.0
            }
            Statement::Update(update) => {
                let target = self.update_target(update)?.behind(with);
                self.update_source(&target, update, &[])?.0
            }
            Statement::Delete(delete) => {
                let target = self.delete_target(delete)?.behind(with);
                self.delete_source(&target, delete, &[])?
            }
            Statement::Merge(merge) => {
                let target = self.merge_target(merge)?.behind(with);
                self.merge_source(&target, merge, &[])?.0
            }
            _ => return Ok(None),
        }))
    }

    /// The parameters of a change, and the columns of its RETURNING.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn describe_change(
        &mut self,
        statement: &Statement,
        given: &[SqlType],
    ) -> Result<(Vec<SqlType>, Arc<[ResultColumn]>)> {
        let (statement, with) = parted(statement);
        let (plan, target, returning): (LogicalPlan, Target, _) = match statement {
            Statement::Insert(insert) => {
                let target = self.insert_target(insert)?.behind(with);
                (self.insert_source(&target, insert, given)?.0, target, &insert.returning)
            }
            Statement::Update(update) => {
                let target = self.update_target(update)?.behind(with);
                (self.update_source(&target, update, given)?.0, target, &update.returning)
            }
            Statement::Delete(delete) => {
                let target = self.delete_target(delete)?.behind(with);
                (self.delete_source(&target, delete, given)?, target, &delete.returning)
            }
            Statement::Merge(merge) => {
                let target = self.merge_target(merge)?.behind(with);
                (self.merge_source(&target, merge, given)?.0, target, &None)
            }
            other => return Err(Error::unsupported(other)),
        };
        let columns = match returning {
            None => Arc::from([]),
            Some(items) => {
                let beside = match statement {
                    Statement::Update(_) | Statement::Delete(_) => {
                        Beside::behind(target.table.columns.len(), &plan)
                    }
                    _ => Beside::default(),
                };
                let logical = self.returning_plan(&target, items, (Vec::new(), &beside))?;
                columns_of(&Arc::new(logical.schema().as_arrow().clone()))
            }
        };
        Ok((parameter_types(&plan, given)?, columns))
    }
}
