//! Functions that no session has by name, as text, for plans that are run elsewhere.
//!
//! Rules make them of operators and casts. What is not here is not sent.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::{Operator, ScalarUDF};

use super::arithmetic::{checked, converted, division};

/// A function as text; `None` if it is none of these.
pub(crate) fn to_text(function: &ScalarUDF) -> Option<String> {
    if let Some(operators) = checked::operators_of(function) {
        let signs: Vec<String> = operators.iter().map(Operator::to_string).collect();
        return Some(format!("checked {}", signs.join(" ")));
    }
    if let Some(to) = converted::type_of(function) {
        return Some(format!("converted {to}"));
    }
    (*function == **division::FUNCTION).then(|| "division".to_owned())
}

/// The function that a text says.
pub(crate) fn of_text(text: &str) -> Option<Arc<ScalarUDF>> {
    let (what, of) = text.split_once(' ').unwrap_or((text, ""));
    Some(match what {
        "checked" => {
            let operators = of.split(' ').map(operator_of).collect::<Option<_>>()?;
            Arc::new(checked::of_operators(operators))
        }
        "converted" => Arc::new(converted::to_type(of.parse::<DataType>().ok()?)),
        "division" => Arc::clone(&division::FUNCTION),
        _ => return None,
    })
}

fn operator_of(sign: &str) -> Option<Operator> {
    let all = [Operator::Plus, Operator::Minus, Operator::Multiply, Operator::Divide];
    all.into_iter().find(|operator| operator.to_string() == sign)
}
