//! How a table is read: all of it, by keys, or by a range of keys.
//!
//! Conditions are comparisons of a column with a constant, and lists of constants. Of the indexes
//! that they fit, the one is taken that finds least: a whole unique key, then a whole key, then the
//! ordered index with the most leading columns fixed.

use std::fmt;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Operator};

use crate::catalog::table::{Index, Table};
use crate::values::datum::Datum;
use crate::values::key::Key;
use crate::values::sql_type::SqlType;

/// Keys looked up one by one, at most; beyond it the table is read.
const KEYS_MAX: usize = 10_000;

/// A way to read a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Access {
    /// All rows, in the order of their numbers.
    All,
    /// No row can meet the conditions.
    Nothing,
    /// The rows of these keys: whole ones, or the first parts of those of an ordered index.
    Keys { index: usize, keys: Vec<Vec<Datum>> },
    /// The rows of an ordered index whose key begins with these values, and whose next column lies
    /// between these; in the order of the index.
    Range {
        index: usize,
        prefix: Vec<Datum>,
        low: Option<Bound>,
        high: Option<Bound>,
        backwards: bool,
    },
}

/// A column by which rows are requested in order, and whether the greatest comes first.
pub(crate) struct SortColumn {
    pub(crate) column: usize,
    pub(crate) descending: bool,
}

/// The most rows that are read by an index for the sake of their order alone: each costs as much
/// as many rows of a table that is read whole.
const FETCH_MAX: usize = 10_000;

/// An end of a range.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bound {
    pub(crate) value: Datum,
    pub(crate) inclusive: bool,
}

/// What the conditions say of one column.
#[derive(Default)]
struct OfColumn {
    equal: Option<Vec<Datum>>,
    low: Option<Bound>,
    high: Option<Bound>,
}

impl Access {
    /// The best way for these conditions, all of which have to hold.
    pub(crate) fn choose(table: &Table, filters: &[Expr]) -> Self {
        let mut known: Vec<OfColumn> = table.columns.iter().map(|_| OfColumn::default()).collect();
        for filter in filters {
            if let Expr::Literal(ScalarValue::Boolean(Some(false) | None), _) = filter {
                return Self::Nothing;
            }
            note(table, filter, &mut known);
        }
        if known.iter().any(|column| column.equal.as_ref().is_some_and(Vec::is_empty)) {
            return Self::Nothing;
        }
        let ways = table.indexes.iter().enumerate().filter_map(|(place, index)| {
            let way = way_of(table, place, index, &known)?;
            Some((worth(index, &way), way))
        });
        ways.max_by_key(|(worth, _)| *worth).map_or(Self::All, |(_, way)| way)
    }

    /// The same rows in this order, if there is an index for it: the one of a range that is read,
    /// or any if only so many of all rows are requested.
    pub(crate) fn in_order(
        &self,
        table: &Table,
        order: &[SortColumn],
        of_all: Option<usize>,
    ) -> Option<Self> {
        match self {
            Self::Range { index, prefix, low, high, backwards: false } => {
                let backwards = direction(table, *index, prefix.len(), order)?;
                let (prefix, low, high) = (prefix.clone(), low.clone(), high.clone());
                Some(Self::Range { index: *index, prefix, low, high, backwards })
            }
            Self::All if of_all.is_some_and(|fetch| fetch <= FETCH_MAX) => (0..table.indexes.len())
                .find_map(|index| {
                    let backwards = direction(table, index, 0, order)?;
                    let prefix = Vec::new();
                    Some(Self::Range { index, prefix, low: None, high: None, backwards })
                }),
            _ => None,
        }
    }
}

/// Whether an index gives rows in an order when it is read backwards, or forwards; `None` if it
/// does neither. So many of its columns have one value.
fn direction(table: &Table, place: usize, fixed: usize, order: &[SortColumn]) -> Option<bool> {
    let index = &table.indexes[place];
    let (one, mut parts) = (&index.columns[..fixed], fixed..index.columns.len());
    let mut backwards = None;
    for sort in order.iter().filter(|sort| !one.contains(&sort.column)) {
        let Some(part) = parts.next() else {
            // Rows of a whole unique key are in any order.
            return (index.ordered && index.unique).then_some(backwards.unwrap_or(false));
        };
        let turned = sort.descending != index.descending[part];
        if index.columns[part] != sort.column
            || !is_ordered_alike(table, sort.column)
            || *backwards.get_or_insert(turned) != turned
        {
            return None;
        }
    }
    index.ordered.then_some(backwards.unwrap_or(false))
}

/// Whether an index orders values of a column as a query does. NULL has another place there.
fn is_ordered_alike(table: &Table, column: usize) -> bool {
    use SqlType as T;
    let column = &table.columns[column];
    let is_known = column.sql_type.is_integer()
        || matches!(column.sql_type, T::Date | T::Timestamp | T::TimestampTz | T::Numeric { .. });
    let is_text = matches!(column.sql_type, T::Text | T::Varchar(_));
    !column.nullable && (is_known || is_text)
}

/// How much a way narrows down: whole keys before ranges, more columns before fewer.
fn worth(index: &Index, way: &Access) -> (u8, usize, u8) {
    match way {
        Access::All | Access::Nothing => (0, 0, 0),
        Access::Keys { keys, .. } if index.unique => (3, usize::MAX - keys.len(), 0),
        Access::Keys { keys, .. } => (2, usize::MAX - keys.len(), 0),
        Access::Range { prefix, low, high, .. } => {
            (1, prefix.len(), u8::from(low.is_some()) + u8::from(high.is_some()))
        }
    }
}

fn way_of(table: &Table, place: usize, index: &Index, known: &[OfColumn]) -> Option<Access> {
    let mut keys: Vec<Vec<Datum>> = vec![Vec::new()];
    for (part, &column) in index.columns.iter().enumerate() {
        let Some(values) = &known[column].equal else {
            return range_of(table, place, index, known, keys, part);
        };
        if keys.len() * values.len() > KEYS_MAX {
            return range_of(table, place, index, known, keys, part);
        }
        let extended = keys.iter().flat_map(|key| {
            values.iter().map(move |value| {
                let mut key = key.clone();
                key.push(value.clone());
                key
            })
        });
        keys = extended.collect();
    }
    Some(Access::Keys { index: place, keys })
}

/// A range over the part after those that are fixed to one value each.
fn range_of(
    table: &Table,
    place: usize,
    index: &Index,
    known: &[OfColumn],
    mut keys: Vec<Vec<Datum>>,
    part: usize,
) -> Option<Access> {
    if !index.ordered || keys.len() != 1 {
        return None;
    }
    let prefix = keys.pop()?;
    let column = index.columns[part];
    // A NULL sorts into the range somewhere; the condition above the scan drops it.
    let (low, high) = match table.columns[column].nullable {
        _ if index.descending[part] => (known[column].high.clone(), known[column].low.clone()),
        _ => (known[column].low.clone(), known[column].high.clone()),
    };
    if prefix.is_empty() && low.is_none() && high.is_none() {
        return None;
    }
    Some(Access::Range { index: place, prefix, low, high, backwards: false })
}

fn note(table: &Table, filter: &Expr, known: &mut [OfColumn]) {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            note(table, left, known);
            note(table, right, known);
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if let Some((column, value)) = compared(table, left, right) {
                note_comparison(&mut known[column], *op, value);
            } else if let (Some((column, value)), Some(op)) =
                (compared(table, right, left), op.swap())
            {
                note_comparison(&mut known[column], op, value);
            } else if *op == Operator::Or {
                note_alternatives(table, filter, known);
            }
        }
        Expr::Between(Between { expr, negated: false, low, high }) => {
            if let Some((column, value)) = compared(table, expr, low) {
                note_comparison(&mut known[column], Operator::GtEq, value);
            }
            if let Some((column, value)) = compared(table, expr, high) {
                note_comparison(&mut known[column], Operator::LtEq, value);
            }
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let values = list.iter().map(|value| compared(table, expr, value));
            let values: Option<Vec<_>> = values.collect();
            if let Some((column, _)) = values.as_ref().and_then(|values| values.first()) {
                let column = *column;
                note_list(&mut known[column], values.into_iter().flatten().map(|(_, v)| v));
            }
        }
        _ => {}
    }
}

/// `a = 1 or a = 2`, which is what a short list becomes.
fn note_alternatives(table: &Table, filter: &Expr, known: &mut [OfColumn]) {
    fn collect<'e>(expr: &'e Expr, out: &mut Vec<(&'e Expr, &'e Expr)>) -> bool {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                collect(left, out) && collect(right, out)
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                out.push((left, right));
                true
            }
            _ => false,
        }
    }
    let mut pairs = Vec::new();
    if !collect(filter, &mut pairs) {
        return;
    }
    let values: Option<Vec<_>> =
        pairs.iter().map(|(left, right)| compared(table, left, right)).collect();
    let Some(values) = values else { return };
    let Some((column, _)) = values.first() else { return };
    let column = *column;
    if values.iter().all(|(other, _)| *other == column) {
        note_list(&mut known[column], values.into_iter().map(|(_, value)| value));
    }
}

fn note_comparison(column: &mut OfColumn, op: Operator, value: Datum) {
    // Nothing is equal to NULL, or above or below it.
    if value.is_null() {
        if matches!(
            op,
            Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
        ) {
            column.equal = Some(Vec::new());
        }
        return;
    }
    let bound = |inclusive| Some(Bound { value: value.clone(), inclusive });
    match op {
        Operator::Eq => note_list(column, std::iter::once(value)),
        Operator::Lt => column.high = tighter(column.high.take(), bound(false), false),
        Operator::LtEq => column.high = tighter(column.high.take(), bound(true), false),
        Operator::Gt => column.low = tighter(column.low.take(), bound(false), true),
        Operator::GtEq => column.low = tighter(column.low.take(), bound(true), true),
        _ => {}
    }
}

/// Of two bounds the one that lets less through, where that can be told.
fn tighter(one: Option<Bound>, other: Option<Bound>, is_low: bool) -> Option<Bound> {
    let (Some(one), Some(other)) = (one.clone(), other.clone()) else { return one.or(other) };
    let order = match (&one.value, &other.value) {
        (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
        (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
        (Datum::Decimal(a, s), Datum::Decimal(b, t)) if s == t => a.cmp(b),
        (Datum::Timestamp(a), Datum::Timestamp(b)) => a.cmp(b),
        (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
        _ => return Some(one),
    };
    let keep_one = match order {
        std::cmp::Ordering::Equal => !one.inclusive,
        order => order.is_gt() == is_low,
    };
    Some(if keep_one { one } else { other })
}

fn note_list(column: &mut OfColumn, values: impl Iterator<Item = Datum>) {
    let mut distinct: Vec<Datum> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for value in values.filter(|value| !value.is_null()) {
        if seen.insert(Key::from(&value)) {
            distinct.push(value);
        }
    }
    column.equal = Some(match column.equal.take() {
        Some(before) => before.into_iter().filter(|value| distinct.contains(value)).collect(),
        None => distinct,
    });
}

/// A column and the constant beside it, as a value that the column can have.
fn compared(table: &Table, column: &Expr, value: &Expr) -> Option<(usize, Datum)> {
    let column = match column {
        Expr::Column(column) => table.column(&column.name)?,
        _ => return None,
    };
    let Expr::Literal(scalar, _) = bare(value) else { return None };
    let datum = Datum::from_scalar(scalar.clone()).ok()?;
    let sql_type = &table.columns[column].sql_type;
    let cast = datum.cast(sql_type).ok()?;
    // A value that changes by the cast is equal to none of the column's.
    let same = cast == datum || (datum.cast(&cast.natural()).ok()? == cast && is_exact(&datum));
    same.then_some((column, cast))
}

fn is_exact(datum: &Datum) -> bool {
    matches!(datum, Datum::Int(_) | Datum::UInt(_) | Datum::Text(_) | Datum::Date(_))
}

fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Alias(alias) => bare(&alias.expr),
        Expr::Cast(Cast { expr, .. }) if matches!(**expr, Expr::Literal(..)) => value,
        other => other,
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = if self.inclusive { "" } else { " excluded" };
        write!(f, "{}{ends}", self.value)
    }
}
