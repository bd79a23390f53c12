//! Comparisons of columns with constants and with each other, as encoded values are compared.
//!
//! What compares one column with constants of its own type, and does no more, is a set of numbers:
//! encoded values are compared with the ends of its ranges. NULL meets none of it, and neither what
//! AND, OR and NOT make of it. Two columns of one type are compared row by row. A column of text
//! that is compared for being equal has a list, of what it may be or of what it may not.

#[cfg(test)]
mod tests;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Operator};
use remanent_exec::{Comparison, NumberRanges, TextList};

use crate::catalog::table::Table;
use crate::values::sql_type::SqlType;

const SECONDS_OF_DAY: i64 = 86_400;

/// Ranges of a set, at most: more are not compared one after the other.
const RANGES_MAX: usize = 64;

/// Texts of a list, at most: more are not compared one after the other.
const TEXTS_MAX: usize = 16;

/// The numbers for which a condition on one column of this type holds, if it compares the column
/// with constants and does no more.
pub(crate) fn ranges_of(filter: &Expr, sql_type: &SqlType) -> Option<NumberRanges> {
    let operand = |expr: &Expr| Operand::of(expr, sql_type);
    let ranges = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            ranges_of(left, sql_type)?.and(&ranges_of(right, sql_type)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            ranges_of(left, sql_type)?.or(&ranges_of(right, sql_type)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (operand(left), operand(right)) {
            (Some(column), None) => column.compared(*op, right)?,
            (None, Some(column)) => column.compared(op.swap()?, left)?,
            _ => return None,
        },
        Expr::Not(inner) => ranges_of(inner, sql_type)?.not(),
        Expr::Between(Between { expr, negated, low, high }) => {
            let column = operand(expr)?;
            let from = column.compared(Operator::GtEq, low)?;
            let ranges = from.and(&column.compared(Operator::LtEq, high)?);
            if *negated { ranges.not() } else { ranges }
        }
        Expr::InList(InList { expr, list, negated }) => {
            let column = operand(expr)?;
            // NULL in a list is no number: whether a value is not among the others is not known.
            let list =
                list.iter().map(|value| column.constant(value)).collect::<Option<Vec<_>>>()?;
            let own = list.into_iter().filter_map(|value| column.exactly(value)).collect();
            let ranges = NumberRanges::of_list(own);
            if *negated { ranges.not() } else { ranges }
        }
        _ => return None,
    };
    (ranges.as_slice().len() <= RANGES_MAX).then_some(ranges)
}

/// The numbers of a column of this type that compare so with a constant.
pub(super) fn ranges_beside(
    op: Operator,
    constant: &ScalarValue,
    sql_type: &SqlType,
) -> Option<NumberRanges> {
    let column = Operand { sql_type, factor: 1, unit: None };
    column.compared_with(op, whole(constant, sql_type)?)
}

/// A column of this type, as it is or as a timestamp: days that are compared with one.
struct Operand<'t> {
    sql_type: &'t SqlType,
    /// What the constant's number is, as often as the column's.
    factor: i128,
    unit: Option<TimeUnit>,
}

impl<'t> Operand<'t> {
    fn of(expr: &Expr, sql_type: &'t SqlType) -> Option<Self> {
        match expr {
            Expr::Column(_) => Some(Self { sql_type, factor: 1, unit: None }),
            Expr::Cast(Cast { expr, field }) if matches!(expr.as_ref(), Expr::Column(_)) => {
                let DataType::Timestamp(unit, None) = field.data_type() else { return None };
                let factor = i128::from(SECONDS_OF_DAY) * per_second(*unit);
                let is_day = *sql_type == SqlType::Date;
                is_day.then_some(Self { sql_type, factor, unit: Some(*unit) })
            }
            _ => None,
        }
    }

    /// A constant in the unit that the column is compared in.
    fn constant(&self, value: &Expr) -> Option<i128> {
        use ScalarValue as S;
        let Expr::Literal(scalar, _) = value else { return None };
        Some(match (scalar, self.unit) {
            (scalar, None) => whole(scalar, self.sql_type)?,
            (S::TimestampSecond(Some(at), None), Some(TimeUnit::Second))
            | (S::TimestampMillisecond(Some(at), None), Some(TimeUnit::Millisecond))
            | (S::TimestampMicrosecond(Some(at), None), Some(TimeUnit::Microsecond))
            | (S::TimestampNanosecond(Some(at), None), Some(TimeUnit::Nanosecond)) => (*at).into(),
            _ => return None,
        })
    }

    /// The column's number that is this one in the unit.
    fn exactly(&self, value: i128) -> Option<i128> {
        (value.rem_euclid(self.factor) == 0).then(|| value.div_euclid(self.factor))
    }

    /// The numbers of the column that compare so with a constant.
    fn compared(&self, op: Operator, value: &Expr) -> Option<NumberRanges> {
        self.compared_with(op, self.constant(value)?)
    }

    fn compared_with(&self, op: Operator, value: i128) -> Option<NumberRanges> {
        let exactly = || NumberRanges::of_list(self.exactly(value).into_iter().collect());
        let up_to = |value: i128| NumberRanges::between(i128::MIN, value.div_euclid(self.factor));
        // What is less than a whole number is at most the one before it.
        Some(match op {
            Operator::Eq => exactly(),
            Operator::NotEq => exactly().not(),
            Operator::Lt => up_to(value - 1),
            Operator::LtEq => up_to(value),
            Operator::Gt => up_to(value).not(),
            Operator::GtEq => up_to(value - 1).not(),
            _ => return None,
        })
    }
}

fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
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

/// The texts that a filter compares its only column with, if it does no more.
pub(crate) fn texts_of(filter: &Expr) -> Option<TextList> {
    if filter.column_refs().len() != 1 {
        return None;
    }
    found_in(filter)
}

fn found_in(filter: &Expr) -> Option<TextList> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let both = || found_in(left)?.joined(found_in(right)?);
            match op {
                Operator::Or => both().filter(|list| !list.is_negated()),
                Operator::And => both().filter(TextList::is_negated),
                Operator::Eq | Operator::NotEq => {
                    let text = match (left.as_ref(), right.as_ref()) {
                        (Expr::Column(_), constant) | (constant, Expr::Column(_)) => {
                            text_of(constant)?
                        }
                        _ => return None,
                    };
                    Some(TextList::new([text], *op == Operator::NotEq))
                }
                _ => None,
            }
        }
        Expr::InList(InList { expr, list, negated })
            if matches!(expr.as_ref(), Expr::Column(_)) && list.len() <= TEXTS_MAX =>
        {
            let texts = list.iter().map(text_of).collect::<Option<Vec<_>>>()?;
            Some(TextList::new(texts, *negated))
        }
        _ => None,
    }
}

/// The text of a constant that is not NULL.
pub(super) fn text_of(constant: &Expr) -> Option<&str> {
    match constant {
        Expr::Literal(scalar, _) => scalar.try_as_str().flatten(),
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
