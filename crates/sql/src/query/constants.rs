//! Constants of a query that are taken for parameters.
//!
//! Whoever writes values into the text of a query asks the same again with others. What a column or
//! an expression is compared with becomes a parameter, and what is left names a shape, of which a
//! plan for any values can be kept. Constants elsewhere are part of the shape, and so are those of
//! which it matters how they are written: a parameter of such a type is something else.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::ast::{BinaryOperator, DataType, Expr, TypedString, Value};

use crate::catalog::written::constant_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// A query with more constants has a plan of its own.
const CONSTANTS_MAX: usize = 32;

/// A query without its constants.
pub(super) struct Shape {
    /// With `$1`, `$2` and so on in their places.
    pub(super) query: ast::Query,
    pub(super) constants: Vec<Datum>,
}

/// The shape of a query without parameters; `None` if it has no constants that can be taken out, or
/// too many.
pub(super) fn shape_of(query: &ast::Query) -> Option<Shape> {
    let mut shape = Shape { query: query.clone(), constants: Vec::new() };
    let constants = &mut shape.constants;
    let visited = ast::visit_expressions_mut(&mut shape.query, |expr| {
        // Parts come before the whole: those that are put in are not met.
        let is_parameter = matches!(
            expr,
            Expr::Value(value) if matches!(value.value, Value::Placeholder(_))
        );
        take_from(expr, constants);
        match is_parameter || constants.len() > CONSTANTS_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    (visited.is_continue() && !shape.constants.is_empty()).then_some(shape)
}

/// Takes out what an expression compares another with.
fn take_from(expr: &mut Expr, constants: &mut Vec<Datum>) {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp {
            left,
            op: B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq,
            right,
        } => match (value_of(left).is_some(), value_of(right).is_some()) {
            (false, true) => take(right, constants),
            (true, false) => take(left, constants),
            _ => {}
        },
        Expr::Between { low, high, .. } => {
            take(low, constants);
            take(high, constants);
        }
        Expr::Like { pattern, .. } => take(pattern, constants),
        Expr::InList { list, .. } if list.iter().all(|value| value_of(value).is_some()) => {
            list.iter_mut().for_each(|value| take(value, constants));
        }
        _ => {}
    }
}

/// Puts a parameter in the place of a constant.
fn take(expr: &mut Expr, constants: &mut Vec<Datum>) {
    if let Some(value) = value_of(expr) {
        constants.push(value);
        *expr = Expr::value(Value::Placeholder(format!("${}", constants.len())));
    }
}

/// The value of a constant that can be a parameter.
fn value_of(expr: &Expr) -> Option<Datum> {
    if let Expr::TypedString(TypedString { data_type: DataType::Date, value, .. }) = expr {
        let Value::SingleQuotedString(text) = &value.value else { return None };
        return is_day(text).then(|| Datum::Text(text.as_str().into()));
    }
    let value = constant_of(expr)?;
    matches!(value, Datum::Int(_) | Datum::Decimal(..) | Datum::Text(_)).then_some(value)
}

/// Whether a constant means the same where a parameter of this type stands.
pub(super) fn is_of(constant: &Datum, sql_type: &SqlType) -> bool {
    match (constant, sql_type) {
        (Datum::Int(_), of) => of.is_integer() || matches!(of, SqlType::Numeric { .. }),
        (Datum::Decimal(_, own), SqlType::Numeric { scale, .. }) => own <= scale,
        (Datum::Text(text), SqlType::Date) => is_day(text),
        (Datum::Text(_), of) => of.is_text(),
        _ => false,
    }
}

/// Whether a text is a day as everybody writes it.
fn is_day(text: &str) -> bool {
    let is_written = |(place, byte): (usize, u8)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(is_written)
}
