//! From a statement's tree to a plan for one key, where the statement has such a shape.
//!
//! Whatever is not surely understood has no plan here: the planner knows all of SQL.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Delete, Expr, FromTable, Insert, ObjectName, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Update,
};

use super::{Answered, Change, Key, MadeFor, Parent, PointOp, PointPlan, Source};
use crate::catalog::privilege::Privilege;
use crate::catalog::snapshot::{Relation, Snapshot};
use crate::catalog::table::{Reference, Table, referred_key};
use crate::catalog::written::constant_of;
use crate::names::{Name, fold};
use crate::privileges::Access;
use crate::result::rows::ResultColumn;
use crate::values::datum::Datum;

/// The plan of a statement, if it has one and may be run.
pub(crate) fn compile(statement: &Statement, access: Access<'_>) -> Option<PointPlan> {
    let Access { catalog, path, .. } = access;
    let names = Names { catalog, path };
    let (table, op) = match statement {
        Statement::Query(query) => names.select(query)?,
        Statement::Insert(insert) => names.insert(insert)?,
        Statement::Update(update) => names.update(update)?,
        Statement::Delete(delete) => names.delete(delete)?,
        _ => return None,
    };
    let uses: &[Privilege] = match op {
        PointOp::Select { .. } => &[Privilege::Select],
        PointOp::Insert { returning: None, .. } => &[Privilege::Insert],
        PointOp::Insert { .. } => &[Privilege::Insert, Privilege::Select],
        PointOp::Update { .. } => &[Privilege::Update, Privilege::Select],
        PointOp::Delete { .. } => &[Privilege::Delete, Privilege::Select],
    };
    // Why not, the planner says.
    let table = access.table(&table, uses).ok()?;
    let made_for = MadeFor { version: catalog.version, path: path.to_vec() };
    Some(PointPlan { table, made_for, op })
}

struct Names<'c> {
    catalog: &'c Snapshot,
    path: &'c [String],
}

impl Names<'_> {
    fn table(&self, name: &ObjectName) -> Option<Arc<Table>> {
        let schemas: Vec<&str> = match name.0.len() {
            1 => self.path.iter().map(String::as_str).collect(),
            _ => vec![""],
        };
        schemas.iter().find_map(|schema| {
            match self.catalog.relation(&Name::from_ast(name, schema).ok()?)? {
                Relation::Table(table) => Some(Some(table)),
                Relation::View(_) => Some(None),
            }
        })?
    }

    /// The table of a FROM clause that is nothing but a table, and the name it goes by.
    fn from(&self, from: &TableWithJoins) -> Option<(Arc<Table>, String)> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            version: None,
            with_ordinality: false,
            sample: None,
            ..
        } = &from.relation
        else {
            return None;
        };
        if !from.joins.is_empty() || alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let table = self.table(name)?;
        let last = name.0.last().and_then(|part| part.as_ident()).map(fold)?;
        Some((table, alias.as_ref().map_or(last, |alias| fold(&alias.name))))
    }

    fn select(&self, query: &Query) -> Option<(Arc<Table>, PointOp)> {
        let plain = query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && query.fetch.is_none()
            && query.locks.is_empty()
            && query.for_clause.is_none();
        let SetExpr::Select(select) = query.body.as_ref() else { return None };
        let (from, filter) = plain.then(|| parts_of(select))??;
        let (table, alias) = self.from(from)?;
        let answer = answered(&table, &alias, &select.projection)?;
        let key = key_of(&table, &alias, filter)?;
        Some((table, PointOp::Select { key, answer }))
    }

    fn insert(&self, insert: &Insert) -> Option<(Arc<Table>, PointOp)> {
        let TableObject::TableName(name) = &insert.table else { return None };
        let plain = insert.on.is_none()
            && insert.table_alias.is_none()
            && insert.or.is_none()
            && insert.assignments.is_empty()
            && !insert.replace_into
            && !insert.ignore
            && !insert.overwrite;
        let source = insert.source.as_ref().filter(|source| plain && source.with.is_none())?;
        let SetExpr::Values(values) = source.body.as_ref() else { return None };
        let [row] = values.rows.as_slice() else { return None };
        let table = self.table(name)?;
        let parents = is_simple(&table).then(|| self.parents(&table))??;
        let places: Vec<usize> = match insert.columns.is_empty() {
            true => (0..row.content.len().min(table.columns.len())).collect(),
            false => {
                let place = |name: &ObjectName| match name.0.as_slice() {
                    [part] => table.column(&fold(part.as_ident()?)),
                    _ => None,
                };
                insert.columns.iter().map(place).collect::<Option<_>>()?
            }
        };
        if places.len() != row.content.len() {
            return None;
        }
        let mut sources = Vec::new();
        for (place, column) in table.columns.iter().enumerate() {
            let mut given = places.iter().zip(&row.content).filter(|(at, _)| **at == place);
            let (first, second) = (given.next(), given.next());
            sources.push(match (first, second) {
                (Some((_, value)), None) if column.identity.as_ref().is_none_or(|i| !i.always) => {
                    source_of(value)?
                }
                (None, _) => match (&column.identity, &column.default) {
                    (Some(identity), _) => {
                        Source::Sequence(Arc::clone(self.catalog.sequence_of(identity.sequence)?))
                    }
                    (None, Some(default)) => source_of(default)?,
                    (None, None) => Source::Constant(Datum::Null),
                },
                _ => return None,
            });
        }
        let last = name.0.last().and_then(|part| part.as_ident()).map(fold)?;
        let returning = returned(&table, &last, insert.returning.as_deref())?;
        Some((table, PointOp::Insert { values: sources, parents, returning }))
    }

    fn update(&self, update: &Update) -> Option<(Arc<Table>, PointOp)> {
        let plain = update.from.is_none()
            && update.or.is_none()
            && update.limit.is_none()
            && update.order_by.is_empty();
        let filter = update.selection.as_ref().filter(|_| plain)?;
        let (table, alias) = self.from(&update.table)?;
        if !is_simple(&table) {
            return None;
        }
        let key = key_of(&table, &alias, filter)?;
        if !table.indexes[key.index].unique {
            return None;
        }
        let mut changes: Vec<(usize, Change)> = Vec::new();
        for assignment in &update.assignments {
            let ast::AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
            let [part] = name.0.as_slice() else { return None };
            let column = table.column(&fold(part.as_ident()?))?;
            let always = table.columns[column].identity.as_ref().is_some_and(|i| i.always);
            let twice = changes.iter().any(|(other, _)| *other == column);
            let refers = table.references.iter().any(|it| it.columns.contains(&column));
            if always || twice || refers || self.is_referenced(&table, column) {
                return None;
            }
            changes.push((column, change_of(&table, &alias, column, &assignment.value)?));
        }
        let returning = returned(&table, &alias, update.returning.as_deref())?;
        Some((table, PointOp::Update { key, changes, returning }))
    }

    fn delete(&self, delete: &Delete) -> Option<(Arc<Table>, PointOp)> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let plain = delete.using.is_none()
            && delete.tables.is_empty()
            && delete.order_by.is_empty()
            && delete.limit.is_none();
        let filter = delete.selection.as_ref().filter(|_| plain)?;
        let [from] = from.as_slice() else { return None };
        let (table, alias) = self.from(from)?;
        let key = key_of(&table, &alias, filter)?;
        let referenced = (0..table.columns.len()).any(|column| self.is_referenced(&table, column));
        if referenced || !table.indexes[key.index].unique {
            return None;
        }
        let returning = returned(&table, &alias, delete.returning.as_deref())?;
        Some((table, PointOp::Delete { key, returning }))
    }

    /// What a row of the table refers to; `None` if a value has to be cast to be looked for.
    fn parents(&self, table: &Table) -> Option<Vec<Parent>> {
        let parent = |reference: &Reference| {
            let parent = self.catalog.table(&reference.table).ok()?;
            let key = referred_key(&parent, reference).ok()?;
            let index = parent.indexes.iter().position(|index| std::ptr::eq(index, key))?;
            let columns = key.columns.iter().enumerate().map(|(place, &column)| {
                let to = &parent.columns[column];
                let place = match reference.to.is_empty() {
                    true => Some(place),
                    false => reference.to.iter().position(|name| *name == to.name),
                };
                let refers = *reference.columns.get(place?)?;
                (table.columns[refers].sql_type == to.sql_type).then_some(refers)
            });
            let columns = columns.collect::<Option<_>>()?;
            Some(Parent { table: parent, index, columns })
        };
        table.references.iter().map(parent).collect()
    }

    /// Whether rows of some table may refer to this column.
    fn is_referenced(&self, table: &Table, column: usize) -> bool {
        let name = &table.columns[column].name;
        let refers = |reference: &Reference| {
            reference.table == table.name
                && (reference.to.is_empty() || reference.to.contains(name))
        };
        self.catalog.tables.values().any(|child| child.references.iter().any(refers))
    }
}

/// Whether rows of the table are nothing but their values, and what these refer to.
fn is_simple(table: &Table) -> bool {
    table.checks.is_empty() && table.columns.iter().all(|column| column.generated.is_none())
}

/// The columns that items name, and nothing beside them.
fn answered(table: &Table, alias: &str, items: &[SelectItem]) -> Option<Answered> {
    let mut columns = Vec::new();
    let mut names = Vec::new();
    for item in items {
        match item {
            SelectItem::Wildcard(options) if is_plain(options) => {
                columns.extend(0..table.columns.len());
                names.extend(table.columns.iter().map(|column| column.name.clone()));
            }
            SelectItem::UnnamedExpr(expr) => {
                let column = column_of(table, alias, expr)?;
                columns.push(column);
                names.push(table.columns[column].name.clone());
            }
            SelectItem::ExprWithAlias { expr, alias: name } => {
                columns.push(column_of(table, alias, expr)?);
                names.push(fold(name));
            }
            _ => return None,
        }
    }
    let result = names.into_iter().zip(&columns).map(|(name, &column)| ResultColumn {
        name,
        sql_type: table.columns[column].sql_type.clone(),
    });
    let result = result.collect();
    Some(Answered { columns, result })
}

/// The same of RETURNING, if it is there.
fn returned(table: &Table, alias: &str, items: Option<&[SelectItem]>) -> Option<Option<Answered>> {
    match items {
        None => Some(None),
        Some(items) => answered(table, alias, items).map(Some),
    }
}

fn is_plain(options: &ast::WildcardAdditionalOptions) -> bool {
    options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_rename.is_none()
        && options.opt_replace.is_none()
        && options.opt_ilike.is_none()
}

/// What a plain SELECT reads, and its condition.
fn parts_of(select: &Select) -> Option<(&TableWithJoins, &Expr)> {
    let plain = select.distinct.is_none()
        && select.top.is_none()
        && select.into.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.prewhere.is_none()
        && select.lateral_views.is_empty()
        && select.named_window.is_empty()
        && matches!(&select.group_by, ast::GroupByExpr::Expressions(by, with)
            if by.is_empty() && with.is_empty());
    match (select.from.as_slice(), &select.selection) {
        ([from], Some(filter)) if plain => Some((from, filter)),
        _ => None,
    }
}

fn column_of(table: &Table, alias: &str, expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Identifier(ident) => table.column(&fold(ident)),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [of, column] if fold(of) == alias => table.column(&fold(column)),
            _ => None,
        },
        _ => None,
    }
}

/// The key that a condition fixes, and nothing beside it.
fn key_of(table: &Table, alias: &str, filter: &Expr) -> Option<Key> {
    let mut fixed = Vec::new();
    collect(table, alias, filter, &mut fixed)?;
    let index = table.indexes.iter().position(|index| {
        index.columns.len() == fixed.len()
            && index.columns.iter().all(|column| fixed.iter().any(|(other, _)| other == column))
    })?;
    let values = table.indexes[index].columns.iter().map(|column| {
        fixed.iter().find(|(other, _)| other == column).map(|(_, source)| source.clone())
    });
    Some(Key { index, values: values.collect::<Option<_>>()? })
}

fn collect(
    table: &Table,
    alias: &str,
    filter: &Expr,
    fixed: &mut Vec<(usize, Source)>,
) -> Option<()> {
    match filter {
        Expr::Nested(inner) => collect(table, alias, inner, fixed),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            collect(table, alias, left, fixed)?;
            collect(table, alias, right, fixed)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            let (column, value) = match column_of(table, alias, left) {
                Some(column) => (column, right),
                None => (column_of(table, alias, right)?, left),
            };
            if fixed.iter().any(|(other, _)| *other == column) {
                return None;
            }
            fixed.push((column, source_of(value)?));
            Some(())
        }
        _ => None,
    }
}

fn change_of(table: &Table, alias: &str, column: usize, value: &Expr) -> Option<Change> {
    if let Some(source) = source_of(value) {
        return Some(Change::To(source));
    }
    let Expr::BinaryOp { left, op, right } = value else { return None };
    let of = &table.columns[column].sql_type;
    let is_number = of.is_integer()
        || matches!(
            of,
            crate::values::sql_type::SqlType::Numeric { .. }
                | crate::values::sql_type::SqlType::Double
        );
    if column_of(table, alias, left) != Some(column) || !is_number {
        return None;
    }
    match op {
        BinaryOperator::Plus => Some(Change::Plus(source_of(right)?)),
        BinaryOperator::Minus => Some(Change::Minus(source_of(right)?)),
        _ => None,
    }
}

fn source_of(expr: &Expr) -> Option<Source> {
    match expr {
        Expr::Value(value) if let ast::Value::Placeholder(name) = &value.value => {
            let number: usize = name.strip_prefix('$')?.parse().ok()?;
            Some(Source::Parameter(number.checked_sub(1)?))
        }
        Expr::Function(function) if is_now(function) => Some(Source::Now),
        _ => constant_of(expr).map(Source::Constant),
    }
}

/// Whether it is the time at which the transaction began, in one of its spellings.
fn is_now(function: &ast::Function) -> bool {
    let name = function.name.to_string();
    match &function.args {
        ast::FunctionArguments::None => name.eq_ignore_ascii_case("current_timestamp"),
        ast::FunctionArguments::List(list) => {
            list.args.is_empty()
                && list.clauses.is_empty()
                && list.duplicate_treatment.is_none()
                && function.over.is_none()
                && function.filter.is_none()
                && function.within_group.is_empty()
                && name.eq_ignore_ascii_case("now")
        }
        ast::FunctionArguments::Subquery(_) => false,
    }
}
