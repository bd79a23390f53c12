//! The share of rows that a predicate lets through.
//!
//! Conjuncts are applied one behind the other, and each narrows what is known of its column, so
//! that the two ends of a range are not taken for independent. Where nothing is known there are
//! guesses, all in this file.

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

use super::column_estimate::{ColumnEstimate, RANGE};
use super::value::point;

/// A range over the result of an aggregate: HAVING picks the exceptions.
pub(super) const RANGE_OF_AGGREGATE: f64 = 0.1;
/// An equality with an expression, or with a column of which nothing is known.
const EQUALITY: f64 = 0.05;
/// Two columns of one row, one smaller than the other.
const COLUMNS_IN_ORDER: f64 = 0.5;
/// Text that begins, or ends, with a pattern; and text that has it somewhere.
const LIKE_AT_END: f64 = 0.05;
const LIKE_INSIDE: f64 = 0.1;
/// NULLs in a column that may have them.
const NULLS: f64 = 0.05;
/// Everything else.
const UNKNOWN: f64 = 0.25;
/// No predicate is believed to let nothing through.
const LEAST: f64 = 1e-9;

/// Finds the position of a column among the estimates.
pub(super) type Positions<'a> = dyn Fn(&Column) -> Option<usize> + 'a;

/// Columns that a predicate is applied to.
pub(super) struct Rows<'a> {
    pub(super) columns: &'a mut [ColumnEstimate],
    pub(super) positions: &'a Positions<'a>,
}

impl Rows<'_> {
    /// Applies all conjuncts; the share of rows that stays.
    pub(super) fn keep(&mut self, predicate: &Expr) -> f64 {
        let conjuncts = split_conjunction(predicate);
        conjuncts.into_iter().map(|conjunct| self.conjunct(conjunct)).product::<f64>().max(LEAST)
    }

    fn conjunct(&mut self, expr: &Expr) -> f64 {
        let share = match expr {
            Expr::Literal(ScalarValue::Boolean(value), _) => {
                f64::from(u8::from(*value == Some(true)))
            }
            Expr::Column(_) | Expr::IsTrue(_) => 0.5,
            Expr::Not(inner) => 1.0 - self.untouched(inner),
            Expr::IsNull(inner) => self.nulls(inner),
            Expr::IsNotNull(inner) => 1.0 - self.nulls(inner),
            Expr::Between(between) => self.between(between),
            Expr::InList(list) => self.in_list(list),
            Expr::Like(like) => like_share(like),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.binary(left, *op, right),
            _ => UNKNOWN,
        };
        share.clamp(LEAST, 1.0)
    }

    /// The share of a predicate that is not alone: it narrows nothing.
    fn untouched(&self, expr: &Expr) -> f64 {
        let mut columns = self.columns.to_vec();
        Rows { columns: &mut columns, positions: self.positions }.keep(expr)
    }

    fn binary(&mut self, left: &Expr, op: Operator, right: &Expr) -> f64 {
        match op {
            Operator::And => self.conjunct(left) * self.conjunct(right),
            Operator::Or => self.either(left, right),
            _ if op.supports_propagation() || op == Operator::NotEq => {
                match (self.column(left), self.column(right)) {
                    (Some(one), Some(other)) => self.two_columns(one, op, other),
                    (Some(column), None) => self.compare(column, op, right),
                    (None, Some(column)) => self.compare(column, op.swap().unwrap_or(op), left),
                    (None, None) => guess(op, RANGE),
                }
            }
            _ => UNKNOWN,
        }
    }

    /// Alternatives for one column exclude each other; those for several are independent.
    fn either(&self, left: &Expr, right: &Expr) -> f64 {
        let (one, other) = (self.untouched(left), self.untouched(right));
        let (ours, theirs) = (left.column_refs(), right.column_refs());
        let exclusive = ours.len() == 1 && ours == theirs;
        if exclusive { one + other } else { one + other - one * other }
    }

    fn between(&mut self, between: &Between) -> f64 {
        let Some(column) = self.column(&between.expr) else { return guess(Operator::Lt, RANGE) };
        if between.negated {
            return 1.0 - RANGE;
        }
        self.compare(column, Operator::GtEq, &between.low)
            * self.compare(column, Operator::LtEq, &between.high)
    }

    fn in_list(&mut self, list: &InList) -> f64 {
        let values = list.list.len() as f64;
        let share = match self.column(&list.expr) {
            Some(at) if self.columns[at].known => {
                let column = &mut self.columns[at];
                let share = values / column.distinct.max(values);
                if !list.negated {
                    column.distinct = values.min(column.distinct);
                }
                share
            }
            _ => (values * EQUALITY).min(0.5),
        };
        if list.negated { 1.0 - share } else { share }
    }

    fn two_columns(&mut self, one: usize, op: Operator, other: usize) -> f64 {
        match op {
            Operator::Eq => {
                1.0 / self.columns[one].distinct.max(self.columns[other].distinct).max(1.0)
            }
            _ => guess(op, COLUMNS_IN_ORDER),
        }
    }

    fn compare(&mut self, at: usize, op: Operator, with: &Expr) -> f64 {
        let column = &mut self.columns[at];
        let value = literal(with).and_then(point);
        match op {
            Operator::Eq | Operator::IsNotDistinctFrom => {
                let share = if column.known { 1.0 / column.distinct.max(1.0) } else { EQUALITY };
                column.distinct = 1.0;
                (column.low, column.high) = (value.or(column.low), value.or(column.high));
                share
            }
            Operator::NotEq if column.known => 1.0 - 1.0 / column.distinct.max(2.0),
            Operator::Lt | Operator::LtEq => column.narrow(None, value),
            Operator::Gt | Operator::GtEq => column.narrow(value, None),
            _ => guess(op, RANGE),
        }
    }

    fn nulls(&self, expr: &Expr) -> f64 {
        self.column(expr).map_or(NULLS, |at| self.columns[at].nulls.unwrap_or(NULLS))
    }

    /// The column that an expression is, whatever it is cast to.
    fn column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Column(column) => (self.positions)(column),
            Expr::Cast(cast) => self.column(&cast.expr),
            Expr::TryCast(cast) => self.column(&cast.expr),
            Expr::Alias(alias) => self.column(&alias.expr),
            _ => None,
        }
    }
}

impl ColumnEstimate {
    /// Cuts the column off at new ends; the share that is left between them.
    fn narrow(&mut self, low: Option<f64>, high: Option<f64>) -> f64 {
        let (Some(from), Some(to)) = (self.low, self.high) else {
            self.distinct = (self.distinct * self.range_guess).max(1.0);
            return self.range_guess;
        };
        if low.is_none() && high.is_none() {
            return self.range_guess;
        }
        let (new_from, new_to) =
            (low.map_or(from, |low| low.max(from)), high.map_or(to, |high| high.min(to)));
        let share = if to > from {
            ((new_to - new_from) / (to - from)).clamp(0.0, 1.0)
        } else {
            f64::from(u8::from(new_from <= new_to))
        };
        (self.low, self.high) = (Some(new_from), Some(new_to.max(new_from)));
        self.distinct = (self.distinct * share).max(1.0);
        share.max(1.0 / self.distinct_before.max(1.0) / 10.0)
    }
}

fn guess(op: Operator, range: f64) -> f64 {
    match op {
        Operator::Eq | Operator::IsNotDistinctFrom => EQUALITY,
        Operator::NotEq | Operator::IsDistinctFrom => 1.0 - EQUALITY,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => range,
        _ => UNKNOWN,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        Expr::Cast(cast) => literal(&cast.expr),
        Expr::Alias(alias) => literal(&alias.expr),
        _ => None,
    }
}

fn like_share(like: &Like) -> f64 {
    let Some(Some(Some(pattern))) = literal(&like.pattern).map(ScalarValue::try_as_str) else {
        return UNKNOWN;
    };
    let pieces = pattern.split(['%', '_']).filter(|piece| !piece.is_empty()).count();
    let inside = pattern.starts_with('%') && pattern.ends_with('%');
    let each = if inside { LIKE_INSIDE } else { LIKE_AT_END };
    let share = match pieces {
        0 => 1.0,
        _ => each.powi(i32::try_from(pieces.min(3)).unwrap_or(3)),
    };
    if like.negated { 1.0 - share } else { share }
}
