//! What a statement's parameters and rows are, found before it runs.
//!
//! Drivers ask for it by the extended protocol, and `Prepared` keeps it. A statement that names
//! another (EXPLAIN, EXECUTE) is described by that one.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::Session;
use super::explain::plan_column;
use crate::change::describe_change;
use crate::context::StatementContext;
use crate::error::Result;
use crate::query::select;
use crate::result::rows::ResultColumn;
use crate::statement::changed_by;
use crate::values::sql_type::SqlType;

impl Session {
    /// What a statement's parameters and rows are, as far as can be told before it runs.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(crate) fn describe(
        &mut self,
        statement: &ast::Statement,
        given: &[SqlType],
    ) -> Result<(Vec<SqlType>, Arc<[ResultColumn]>)> {
        match statement {
            ast::Statement::Explain { statement: inner, .. } => {
                let (parameters, _) = self.describe(inner, given)?;
                Ok((parameters, Arc::new([plan_column()])))
            }
            ast::Statement::Execute { name: Some(name), .. } => {
                let name = name.to_string().trim_matches('"').to_lowercase();
                let named = self.prepared.get(&name);
                let columns = named.map(|named| Arc::clone(&named.prepared.columns));
                Ok((given.to_vec(), columns.unwrap_or_else(|| Arc::new([]))))
            }
            other => describe(&mut self.context, other, given),
        }
    }
}

/// What a statement's parameters and rows are, as far as can be told before it runs.
///
/// # Errors
/// What the binder finds wrong.
fn describe(
    context: &mut StatementContext,
    statement: &ast::Statement,
    given: &[SqlType],
) -> Result<(Vec<SqlType>, Arc<[ResultColumn]>)> {
    use ast::Statement as S;
    match statement {
        S::Query(query) if changed_by(query).is_some() => {
            describe_change(context, statement, given)
        }
        S::Query(query) => select::describe(context, query, given),
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
            describe_change(context, statement, given)
        }
        S::ShowVariable { variable } => {
            let name: Vec<String> = variable.iter().map(|ident| ident.value.clone()).collect();
            let column =
                ResultColumn { name: name.join(" ").to_lowercase(), sql_type: SqlType::Text };
            Ok((Vec::new(), Arc::new([column])))
        }
        _ => Ok((given.to_vec(), Arc::new([]))),
    }
}
