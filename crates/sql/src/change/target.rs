//! The table that a statement changes, and queries over it.
//!
//! In these queries the target stands under a name of its own, with the number of the row as one
//! more column; everywhere else in the statement the table has the columns that it always has.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{self, Assignment, AssignmentTarget, ObjectName, Query};

use super::rows::Beside;
use crate::catalog::privilege::Privilege;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::table::Table;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, fold, quoted};
use crate::privileges::Allowed;
use crate::query::binder::Binder;
use crate::query::binder::OWN_SCHEMA;
use crate::query::known::Question;
use crate::query::rewrite;
use crate::query::select::{self, Gathered, with_values};
use crate::scan::provider::TableSourceOf;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The name that the target has among the statement's own tables.
pub(super) const TARGET: &str = "target";

/// What is changed, and by which name the statement speaks of it.
pub(crate) struct Target {
    pub(super) table: Allowed,
    pub(super) alias: String,
    pub(super) catalog: Arc<Snapshot>,
    /// The named queries in front of the statement.
    pub(super) with: Option<ast::With>,
}

/// A column of the target and the expression that it gets; `None` is DEFAULT.
pub(super) type Assigned<'a> = (usize, Option<&'a ast::Expr>);

impl Target {
    /// The target in a FROM clause.
    pub(super) fn in_from(&self) -> String {
        format!("\"{OWN_SCHEMA}\".\"{TARGET}\" AS {}", quoted(&self.alias))
    }

    /// The target of a statement behind these named queries.
    pub(super) fn behind(mut self, with: Option<&ast::With>) -> Self {
        self.with = with.cloned();
        self
    }

    /// A query of the statement, behind the statement's named queries; its own hide those.
    pub(super) fn named(&self, mut query: Query) -> Query {
        let Some(outer) = &self.with else { return query };
        let mut with = outer.clone();
        if let Some(own) = query.with.take() {
            let name = |named: &ast::Cte| fold(&named.alias.name);
            with.recursive |= own.recursive;
            with.cte_tables
                .retain(|outer| own.cte_tables.iter().all(|own| name(own) != name(outer)));
            with.cte_tables.extend(own.cte_tables);
        }
        query.with = Some(with);
        query
    }

    /// A column of it, with the alias in front.
    pub(super) fn column(&self, name: &str) -> String {
        format!("{}.{}", quoted(&self.alias), quoted(name))
    }

    /// The place of a column that a statement names.
    ///
    /// # Errors
    /// `UNKNOWN_COLUMN`.
    pub(super) fn place(&self, name: &ObjectName) -> Result<usize> {
        let last = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
        // A struct's field is a column with a dot in its name.
        let dotted: Vec<String> = name.0.iter().filter_map(|p| p.as_ident().map(fold)).collect();
        let found = self.table.column(&dotted.join(".")).or_else(|| self.table.column(&last));
        found.ok_or_else(|| {
            let text =
                format!("column {} of relation {} does not exist", quoted(&last), self.alias);
            Error::new(SqlState::UNKNOWN_COLUMN, text)
        })
    }

    /// What assignments say, column by column.
    ///
    /// # Errors
    /// Columns that are not there, twice there, or take no values.
    pub(super) fn assigned<'a>(&self, assignments: &'a [Assignment]) -> Result<Vec<Assigned<'a>>> {
        let mut assigned: Vec<Assigned<'a>> = Vec::new();
        for assignment in assignments {
            match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(name), value) => {
                    assigned.push((self.place(name)?, not_default(value)));
                }
                (AssignmentTarget::Tuple(names), ast::Expr::Tuple(values))
                    if names.len() == values.len() =>
                {
                    for (name, value) in names.iter().zip(values) {
                        assigned.push((self.place(name)?, not_default(value)));
                    }
                }
                (AssignmentTarget::Tuple(_), value) => {
                    return Err(Error::unsupported(format!(
                        "assigning {value} to several columns"
                    )));
                }
            }
        }
        for (at, (place, value)) in assigned.iter().enumerate() {
            let column = &self.table.columns[*place];
            if assigned[..at].iter().any(|(other, _)| other == place) {
                let text = format!("multiple assignments to same column {}", quoted(&column.name));
                return Err(Error::new(SqlState::SYNTAX_ERROR, text));
            }
            if value.is_some() {
                self.check_given(*place)?;
            }
        }
        Ok(assigned)
    }

    /// Checks that a statement may give a column a value.
    ///
    /// # Errors
    /// `428C9` for generated columns, and identity columns that are always generated.
    pub(super) fn check_given(&self, place: usize) -> Result<()> {
        let column = &self.table.columns[place];
        let always = column.identity.as_ref().is_some_and(|identity| identity.always);
        if always || column.generated.is_some() {
            let text = format!("column {} can only be given DEFAULT", quoted(&column.name));
            return Err(Error::new(SqlState::GENERATED_ALWAYS, text));
        }
        Ok(())
    }

    /// The expression of a column that was given no value, as text.
    pub(super) fn default_of(&self, place: usize) -> String {
        let column = &self.table.columns[place];
        if let Some(identity) = &column.identity {
            let sequence = self.catalog.sequence_of(identity.sequence);
            let name = sequence.map(|sequence| {
                format!("{}.{}", quoted(&sequence.name.schema), quoted(&sequence.name.name))
            });
            return format!("nextval('{}')", name.unwrap_or_default().replace('\'', "''"));
        }
        column.default.as_ref().map_or_else(|| "NULL".to_owned(), ToString::to_string)
    }
}

/// The expression, unless it is DEFAULT.
pub(super) fn not_default(value: &ast::Expr) -> Option<&ast::Expr> {
    let is_default = matches!(
        value,
        ast::Expr::Identifier(ident)
            if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default")
    );
    (!is_default).then_some(value)
}

/// The query that a text is.
///
/// # Errors
/// A fault of whoever made the text.
pub(super) fn parse_query(text: &str) -> Result<Query> {
    crate::catalog::written::read_query(text)
}

/// The target of a statement, which is used so.
///
/// # Errors
/// `NO_PRIVILEGE`, `UNKNOWN_TABLE`; `WRONG_OBJECT` for a view.
pub(super) fn target(
    context: &StatementContext,
    name: &ObjectName,
    alias: Option<String>,
    uses: &[Privilege],
) -> Result<Target> {
    let catalog = context.catalog();
    let table = context.access(&catalog).find(name, uses)?;
    let alias = alias.unwrap_or_else(|| table.name.name.clone());
    Ok(Target { table, alias, catalog, with: None })
}

/// A table that is made anew, to be filled on behalf of its owner.
///
/// # Errors
/// `UNKNOWN_TABLE`.
pub(crate) fn rebuilt_target(context: &StatementContext, name: &Name) -> Result<Target> {
    let catalog = context.catalog();
    let access = context.access(&catalog).of(Actor::Program);
    let table = access.table(&catalog.table(name)?, &[Privilege::Insert])?;
    Ok(Target { table, alias: name.name.clone(), catalog, with: None })
}

/// A table whose rows a foreign key changes, whoever has the statement run.
///
/// # Errors
/// `BAD_DEFINITION` for one whose definition cannot be read.
pub(super) fn referring_target(
    context: &StatementContext,
    catalog: &Arc<Snapshot>,
    table: &Arc<Table>,
) -> Result<Target> {
    let access = context.access(catalog).of(Actor::Program);
    let allowed = access.table(table, &[Privilege::Update])?;
    let (alias, catalog) = (table.name.name.clone(), Arc::clone(catalog));
    Ok(Target { table: allowed, alias, catalog, with: None })
}

/// The plan of a query over the target.
///
/// # Errors
/// What the binder finds wrong.
pub(super) fn bind_over(
    context: &StatementContext,
    target: &Target,
    query: Query,
    given: &[SqlType],
) -> Result<LogicalPlan> {
    bind_named(context, target, &target.named(query), given)
}

/// The same of one that has the named queries in front of it.
fn bind_named(
    context: &StatementContext,
    target: &Target,
    query: &Query,
    given: &[SqlType],
) -> Result<LogicalPlan> {
    let query = rewrite::rewritten(context, query)?;
    let mut binder = Binder::of(context, &target.catalog);
    binder.add_own(TARGET, TableSourceOf::with_row(target.table.clone()));
    let types = given.iter().map(|t| (*t != SqlType::Unknown).then(|| t.to_arrow()));
    let types: Vec<Option<DataType>> = types.collect();
    binder.bind_typed(query, types)
}

/// The query that gives the rows of an UPDATE or a DELETE. Its plan is kept as that of any other
/// query; where columns of further tables stand behind the rows, it is planned each time.
pub(super) struct Source {
    pub(super) query: Query,
    /// Types of its parameters, as far as they are known.
    pub(super) given: Vec<SqlType>,
    /// Columns of the target, before the number of the row.
    pub(super) width: usize,
    /// Whether columns of further tables are behind it.
    pub(super) has_more: bool,
}

impl Source {
    /// Its plan, with the parameters in it.
    ///
    /// # Errors
    /// What the binder finds wrong.
    pub(super) fn bind(&self, context: &StatementContext, target: &Target) -> Result<LogicalPlan> {
        bind_over(context, target, self.query.clone(), &self.given)
    }

    /// Its rows, and what stands beside them.
    ///
    /// # Errors
    /// Whatever it meets.
    pub(super) async fn collect(
        &self,
        context: &StatementContext,
        target: &Target,
        parameters: &[Datum],
        transaction: &Arc<Transaction>,
    ) -> Result<(Gathered, Beside)> {
        if self.has_more {
            let plan = with_values(self.bind(context, target)?, parameters)?;
            let gathered = select::collect_plan(context, &plan, transaction).await?;
            return Ok((gathered, Beside::behind(self.width, &plan)));
        }
        let query = target.named(self.query.clone());
        let (own, version) = (Some(&**target.table), target.catalog.version);
        let question = Question { query: &query, own, version };
        let bind = |context: &StatementContext, query: &Query| {
            bind_named(context, target, query, &self.given)
        };
        let gathered =
            select::collect_known(context, &question, parameters, bind, transaction).await?;
        Ok((gathered, Beside::default()))
    }
}
