//! Sums, differences and products as steps of a program over encoded columns.
//!
//! Decimals are their unscaled integers: a sum of two with different points multiplies one of them
//! with a power of ten first. Each step knows what numbers its type has room for.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use remanent_exec::{NumberRange, Program, Step};

use crate::functions::arithmetic::checked::operators_of;
use crate::pipeline::values::{is_integer, is_whole};

/// A step, with the type of its numbers.
pub(crate) struct Number {
    pub(crate) step: usize,
    pub(crate) data_type: DataType,
}

/// Adds an expression over columns of a scan with this schema to a program; `None` if it is
/// something else than a column, or sums, differences and products of columns and constants.
pub(crate) fn add(
    expr: &Arc<dyn PhysicalExpr>,
    scan: &Schema,
    program: &mut Program,
) -> Option<Number> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        let data_type = scan.field(column.index()).data_type();
        let is_number = is_whole(data_type) || scale_of(data_type).is_some();
        let step = Step::Column(column.index());
        return is_number.then(|| Number::push(program, step, data_type)).flatten();
    }
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return constant(literal.value(), program);
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let number = add(cast.expr(), scan, program)?;
        return converted(number, cast.cast_type(), program);
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let operators = operators_of(call.fun())?;
    let (first, others) = call.args().split_first()?;
    if operators.len() != others.len() {
        return None;
    }
    let mut result = add(first, scan, program)?;
    for (operator, other) in operators.iter().zip(others) {
        let other = add(other, scan, program)?;
        result = operation(*operator, result, other, program)?;
    }
    let declared = call.return_type();
    let is_same = match (scale_of(&result.data_type), scale_of(declared)) {
        (Some(scale), Some(declared)) => scale == declared,
        _ => result.data_type == *declared,
    };
    is_same.then(|| Number { data_type: declared.clone(), ..result })
}

impl Number {
    fn push(program: &mut Program, step: Step, data_type: &DataType) -> Option<Self> {
        let step = program.push(step, room_of(data_type)?);
        Some(Self { step, data_type: data_type.clone() })
    }
}

/// The digits behind the point of a decimal type.
fn scale_of(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal128(_, scale) if *scale >= 0 => Some(*scale),
        _ => None,
    }
}

/// The numbers that a type has room for, of those that 8 bytes have.
fn room_of(data_type: &DataType) -> Option<NumberRange> {
    macro_rules! of {
        ($native:ty) => {
            NumberRange { low: <$native>::MIN.into(), high: <$native>::MAX.into() }
        };
    }
    Some(match data_type {
        DataType::Int8 => of!(i8),
        DataType::Int16 => of!(i16),
        DataType::Int32 | DataType::Date32 => of!(i32),
        DataType::UInt8 => of!(u8),
        DataType::UInt16 => of!(u16),
        DataType::UInt32 => of!(u32),
        DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) => of!(i64),
        DataType::Decimal128(digits, _) => {
            let high = 10_i128.pow((*digits).into()) - 1;
            NumberRange { low: -high, high }
        }
        _ => return None,
    })
}

fn constant(value: &ScalarValue, program: &mut Program) -> Option<Number> {
    let number = match value {
        ScalarValue::Int8(number) => (*number)?.into(),
        ScalarValue::Int16(number) => (*number)?.into(),
        ScalarValue::Int32(number) => (*number)?.into(),
        ScalarValue::Int64(number) => (*number)?,
        ScalarValue::UInt8(number) => (*number)?.into(),
        ScalarValue::UInt16(number) => (*number)?.into(),
        ScalarValue::UInt32(number) => (*number)?.into(),
        ScalarValue::Decimal128(number, ..) => i64::try_from((*number)?).ok()?,
        _ => return None,
    };
    Number::push(program, Step::Constant(number), &value.data_type())
}

/// A number as one of another type, of as many digits behind the point at least.
fn converted(number: Number, to: &DataType, program: &mut Program) -> Option<Number> {
    if number.data_type == *to {
        return Some(number);
    }
    let digits_behind = |data_type: &DataType| match is_integer(data_type) {
        true => Some(0),
        false => scale_of(data_type),
    };
    let more = digits_behind(to)?.checked_sub(digits_behind(&number.data_type)?)?;
    let (of, room) = (room_of(&number.data_type)?, room_of(to)?);
    if more == 0 && room.has(of.low) && room.has(of.high) {
        return Some(Number { data_type: to.clone(), ..number });
    }
    let power = 10_i64.checked_pow(u32::try_from(more).ok()?)?;
    let power = program.push(Step::Constant(power), room_of(&DataType::Int64)?);
    // Even where it is the same number, it is a step: the type may have no room for it.
    Number::push(program, Step::Product(number.step, power), to)
}

fn operation(
    operator: Operator,
    left: Number,
    right: Number,
    program: &mut Program,
) -> Option<Number> {
    let scales = scale_of(&left.data_type).zip(scale_of(&right.data_type));
    let step = |left: &Number, right: &Number| match operator {
        Operator::Plus => Some(Step::Sum(left.step, right.step)),
        Operator::Minus => Some(Step::Difference(left.step, right.step)),
        Operator::Multiply => Some(Step::Product(left.step, right.step)),
        _ => None,
    };
    let Some((left_scale, right_scale)) = scales else {
        let is_one = left.data_type == right.data_type && is_integer(&left.data_type);
        return Number::push(program, step(&left, &right)?, &left.data_type).filter(|_| is_one);
    };
    // A result that has more digits than decimals can have is said to have too many by Arrow.
    let of = |scale: i8| DataType::Decimal128(38, scale);
    if operator == Operator::Multiply {
        return Number::push(program, step(&left, &right)?, &of(left_scale + right_scale));
    }
    let scale = left_scale.max(right_scale);
    let left = converted(left, &of(scale), program)?;
    let right = converted(right, &of(scale), program)?;
    Number::push(program, step(&left, &right)?, &of(scale))
}
