//! Comparisons of columns with constants and with each other, as encoded values are compared.
//!
//! What compares one column with constants of its own type, and does no more, is a set of numbers:
//! encoded values are compared with the ends of its ranges. NULL meets none of it, and neither what
//! AND, OR and NOT make of it. Two columns of one type are compared row by row.

#[cfg(test)]
mod tests;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use remanent_exec::{Comparison, NumberRanges};

use crate::catalog::table::Table;
use crate::values::sql_type::SqlType;

/// Ranges of a set, at most: more are not compared one after the other.
const RANGES_MAX: usize = 64;

/// The numbers for which a condition on one column of this type holds, if it compares the column
/// with constants and does no more.
pub(crate) fn ranges_of(filter: &Expr, sql_type: &SqlType) -> Option<NumberRanges> {
    let number = |value: &Expr| match value {
        Expr::Literal(scalar, _) => whole(scalar, sql_type),
        _ => None,
    };
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
    let ranges = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            ranges_of(left, sql_type)?.and(&ranges_of(right, sql_type)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            ranges_of(left, sql_type)?.or(&ranges_of(right, sql_type)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (op, value) = match (left.as_ref(), right.as_ref()) {
                (Expr::Column(_), value) => (*op, number(value)?),
                (value, Expr::Column(_)) => (op.swap()?, number(value)?),
                _ => return None,
            };
            compared(op, value)?
        }
        Expr::Not(inner) => ranges_of(inner, sql_type)?.not(),
        Expr::Between(Between { expr, negated, low, high }) if is_column(expr) => {
            let ranges = NumberRanges::between(number(low)?, number(high)?);
            if *negated { ranges.not() } else { ranges }
        }
        Expr::InList(InList { expr, list, negated }) if is_column(expr) => {
            // NULL in a list is no number: whether a value is not among the others is not known.
            let list = list.iter().map(number).collect::<Option<_>>()?;
            let ranges = NumberRanges::of_list(list);
            if *negated { ranges.not() } else { ranges }
        }
        _ => return None,
    };
    (ranges.as_slice().len() <= RANGES_MAX).then_some(ranges)
}

/// The numbers that compare so with another one.
fn compared(op: Operator, value: i128) -> Option<NumberRanges> {
    let between = NumberRanges::between;
    Some(match op {
        Operator::Eq => between(value, value),
        Operator::NotEq => between(value, value).not(),
        Operator::Lt => between(value, i128::MAX).not(),
        Operator::LtEq => between(i128::MIN, value),
        Operator::Gt => between(i128::MIN, value).not(),
        Operator::GtEq => between(value, i128::MAX),
        _ => return None,
    })
}

/// Two columns of a table that are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedColumns {
    /// Places of both among the table's columns.
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) comparison: Comparison,
}

/// The columns of a table that a condition compares, if they are of one type and it does no more.
pub(crate) fn compared_columns(filter: &Expr, table: &Table) -> Option<ComparedColumns> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return None };
    let (Expr::Column(left), Expr::Column(right)) = (left.as_ref(), right.as_ref()) else {
        return None;
    };
    let (left, right) = (table.column(&left.name)?, table.column(&right.name)?);
    if table.columns[left].sql_type != table.columns[right].sql_type {
        return None;
    }
    let comparison = match op {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    Some(ComparedColumns { left, right, comparison })
}

/// A constant as the whole number that columns of this type keep.
pub(crate) fn whole(scalar: &ScalarValue, sql_type: &SqlType) -> Option<i128> {
    use ScalarValue as S;
    Some(match (scalar, sql_type) {
        (S::Int8(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int16(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int32(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int64(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::UInt8(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::UInt16(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::UInt32(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::UInt64(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Date32(Some(days)), SqlType::Date) => (*days).into(),
        (S::Time64Microsecond(Some(at)), SqlType::Time) => (*at).into(),
        (S::TimestampMicrosecond(Some(at), None), SqlType::Timestamp) => (*at).into(),
        // Whatever its zone, it is microseconds since 1970 in UTC.
        (S::TimestampMicrosecond(Some(at), Some(_)), SqlType::TimestampTz) => (*at).into(),
        (S::Decimal128(Some(number), _, scale), SqlType::Numeric { scale: of, .. })
            if *scale == *of as i8 =>
        {
            *number
        }
        _ => return None,
    })
}
