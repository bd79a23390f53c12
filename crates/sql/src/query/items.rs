//! Names of the items of a select list, which are PostgreSQL's.
//!
//! The binder wants each name once. An item whose name is there already gets a mark and a number
//! behind it, which [`shown`](crate::names::shown) takes off again; so does a column that a
//! wildcard beside it gives as well.

use std::collections::{HashMap, HashSet};

use datafusion::sql::sqlparser::ast::{
    self, Expr, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind as QualifiedKind,
    TableFactor, TableWithJoins,
};

use crate::context::StatementContext;
use crate::names::{MARK, fold};
use crate::values::sql_type::SqlType;

/// Gives the items of a select list their names.
pub(super) fn name(context: &StatementContext, select: &mut Select) {
    let wildcards = Wildcards::of(context, select);
    let mut seen = Seen::default();
    for item in &mut select.projection {
        let (name, is_given) = match item {
            SelectItem::UnnamedExpr(expr) => (name_of(expr), wildcards.give(expr)),
            SelectItem::ExprWithAlias { alias, .. } => {
                let name = fold(alias);
                (name.clone(), wildcards.columns.contains(&name))
            }
            _ => continue,
        };
        if is_given && !seen.0.contains_key(&name) {
            // The wildcard has the name as it is.
            seen.again(&name);
        }
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            let again = seen.again(&name);
            if again > 0 {
                *alias = ast::Ident::with_quote('"', marked(&name, again));
            }
            continue;
        }
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let again = seen.again(&name);
        let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        if is_column && again == 0 {
            continue;
        }
        let name = if again == 0 { name } else { marked(&name, again) };
        let alias = ast::Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr: std::mem::replace(expr, nothing()), alias };
    }
}

/// What the wildcards of a select list stand for.
#[derive(Default)]
struct Wildcards {
    /// The tables that columns come from, as they are called there, and whether each is asked for.
    tables: Vec<(String, bool)>,
    /// The columns of those that are asked for and stand in the catalog.
    columns: HashSet<String>,
}

impl Wildcards {
    fn of(context: &StatementContext, select: &Select) -> Self {
        let (mut of_all, mut of) = (false, Vec::new());
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) => of_all = true,
                SelectItem::QualifiedWildcard(QualifiedKind::ObjectName(name), _) => {
                    of.push(last_of(name));
                }
                _ => {}
            }
        }
        // Alone, they cannot give what another item gives.
        let (mut tables, mut columns) = (Vec::new(), HashSet::new());
        if (!of_all && of.is_empty()) || select.projection.len() == 1 {
            return Self::default();
        }
        let catalog = context.catalog();
        for (called, name) in select.from.iter().flat_map(tables_of) {
            let is_given = of_all || of.contains(&called);
            let names = name.and_then(|name| context.names_in_path(name).ok());
            let table = names.iter().flatten().find_map(|name| catalog.table(name).ok());
            let of_table = table.iter().flat_map(|table| &table.columns).filter(|_| is_given);
            columns.extend(of_table.map(|column| column.name.clone()));
            tables.push((called, is_given));
        }
        Self { tables, columns }
    }

    /// Whether an item has the name of a column that one of them gives, or is that. Of a column of
    /// a table that is not in the catalog it is not known if only some of several are asked for.
    fn give(&self, item: &Expr) -> bool {
        match item {
            Expr::Identifier(column) => {
                let are_all = self.tables.iter().all(|(_, is_given)| *is_given);
                (are_all && !self.tables.is_empty()) || self.columns.contains(&fold(column))
            }
            Expr::CompoundIdentifier(parts) => {
                let of = parts.iter().rev().nth(1).map(fold);
                self.tables
                    .iter()
                    .any(|(called, is_given)| *is_given && Some(called) == of.as_ref())
            }
            other => self.columns.contains(&name_of(other)),
        }
    }
}

/// What tables are called in a part of FROM, and the names of those that have one.
fn tables_of(from: &TableWithJoins) -> Vec<(String, Option<&ObjectName>)> {
    let joined = from.joins.iter().map(|join| &join.relation);
    let mut tables = Vec::new();
    for factor in std::iter::once(&from.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None, .. } => {
                tables.extend(tables_of(table_with_joins));
            }
            TableFactor::Table { name, alias, args: None, .. } => {
                let called = alias.as_ref().map(|alias| fold(&alias.name));
                tables.push((called.unwrap_or_else(|| last_of(name)), Some(name)));
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => {
                let called = alias.as_ref().map(|alias| fold(&alias.name));
                tables.push((called.unwrap_or_default(), None));
            }
            _ => tables.push((String::new(), None)),
        }
    }
    tables
}

fn last_of(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}

/// Stands where an expression is taken out.
fn nothing() -> Expr {
    Expr::value(ast::Value::Null)
}

/// How often each name stands in a list.
#[derive(Default)]
pub(super) struct Seen(HashMap<String, usize>);

impl Seen {
    /// How often the name was there before.
    pub(super) fn again(&mut self, name: &str) -> usize {
        let times = self.0.entry(name.to_owned()).or_default();
        *times += 1;
        *times - 1
    }
}

/// A name that stands there so many times already.
pub(super) fn marked(name: &str, again: usize) -> String {
    format!("{name}{MARK}{again}")
}

/// The name of what has none.
const UNNAMED: &str = "?column?";

/// Whether a cast of an expression is called as its type: it has no name but that of a cast.
fn is_weak(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_weak(inner),
        Expr::TypedString(_) | Expr::Case { .. } => true,
        other => name_of(other) == UNNAMED,
    }
}

/// The name that an item has by itself.
fn name_of(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => fold(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
        Expr::Function(function) => {
            let last = function.name.0.last().and_then(|part| part.as_ident());
            last.map(fold).unwrap_or_default()
        }
        Expr::Cast { expr, data_type, .. } if is_weak(expr) => match SqlType::from_ast(data_type) {
            Ok(SqlType::Integer) => "int4".to_owned(),
            Ok(SqlType::BigInt) => "int8".to_owned(),
            Ok(SqlType::Boolean) => "bool".to_owned(),
            Ok(SqlType::Timestamp) => "timestamp".to_owned(),
            Ok(SqlType::Char(_)) => "bpchar".to_owned(),
            Ok(SqlType::Varchar(_)) => "varchar".to_owned(),
            Ok(other) => other.to_string().split(['(', ' ']).next().unwrap_or("").to_owned(),
            Err(_) => UNNAMED.to_owned(),
        },
        Expr::Cast { expr, .. } => name_of(expr),
        Expr::Nested(inner) => name_of(inner),
        Expr::Case { .. } => "case".to_owned(),
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Extract { .. } => "extract".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Trim { .. } => "btrim".to_owned(),
        Expr::Position { .. } => "position".to_owned(),
        Expr::TypedString(typed) => {
            typed.data_type.to_string().to_lowercase().split('(').next().unwrap_or("").to_owned()
        }
        _ => UNNAMED.to_owned(),
    }
}
