//! Comparisons with constants, as the whole numbers that columns keep.
//!
//! What compares one column with constants of its own type, and does no more, is a range: encoded
//! values are compared with its ends.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

use crate::values::sql_type::SqlType;

/// The numbers between which a comparison with a constant holds, if it is no more than that.
pub(crate) fn range_of(filter: &Expr, sql_type: &SqlType) -> Option<(i128, i128)> {
    let number = |value: &Expr| match value {
        Expr::Literal(scalar, _) => whole(scalar, sql_type),
        _ => None,
    };
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (op, value) = match (left.as_ref(), right.as_ref()) {
                (Expr::Column(_), value) => (*op, number(value)?),
                (value, Expr::Column(_)) => (op.swap()?, number(value)?),
                _ => return None,
            };
            Some(match op {
                Operator::Eq => (value, value),
                Operator::Lt => (i128::MIN, value - 1),
                Operator::LtEq => (i128::MIN, value),
                Operator::Gt => (value + 1, i128::MAX),
                Operator::GtEq => (value, i128::MAX),
                _ => return None,
            })
        }
        Expr::Between(Between { expr, negated: false, low, high })
            if matches!(expr.as_ref(), Expr::Column(_)) =>
        {
            Some((number(low)?, number(high)?))
        }
        _ => None,
    }
}

/// A constant as the whole number that columns of this type keep.
pub(crate) fn whole(scalar: &ScalarValue, sql_type: &SqlType) -> Option<i128> {
    use ScalarValue as S;
    Some(match (scalar, sql_type) {
        (S::Int8(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int16(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int32(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int64(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Date32(Some(days)), SqlType::Date) => (*days).into(),
        (S::TimestampMicrosecond(Some(at), None), SqlType::Timestamp) => (*at).into(),
        (S::Decimal128(Some(number), _, scale), SqlType::Numeric { scale: of, .. })
            if *scale == *of as i8 =>
        {
            *number
        }
        _ => return None,
    })
}
