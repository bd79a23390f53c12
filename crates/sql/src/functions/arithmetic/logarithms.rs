//! Logarithms: of what has none, an error and no infinity.
//!
//! They are those of floats, as they are of numerics here.

use datafusion::arrow::datatypes::DataType;

use crate::error::{Error, Result, SqlState};
use crate::functions::{Function, is_number};
use crate::values::datum::Datum;

pub(in crate::functions) const FUNCTIONS: &[Function] = &[
    Function { name: "ln", types: of_one, answer: ln, is_strict: true },
    Function { name: "log10", types: of_one, answer: log, is_strict: true },
    Function { name: "log", types: of_one_or_two, answer: log, is_strict: true },
];

fn of_one(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let is_one = types.len() == 1 && types.iter().all(is_number);
    is_one.then(|| (vec![DataType::Float64], DataType::Float64))
}

fn of_one_or_two(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let is_ours = matches!(types.len(), 1 | 2) && types.iter().all(is_number);
    is_ours.then(|| (vec![DataType::Float64; types.len()], DataType::Float64))
}

fn ln(values: &[Datum]) -> Result<Datum> {
    Ok(Datum::Double(checked(&values[0])?.ln()))
}

/// To the base of ten, or to the first of two.
fn log(values: &[Datum]) -> Result<Datum> {
    let [base, number] = values else {
        return Ok(Datum::Double(checked(&values[0])?.log10()));
    };
    let (base, number) = (checked(base)?, checked(number)?);
    if base == 1.0 {
        return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    Ok(Datum::Double(number.ln() / base.ln()))
}

fn checked(value: &Datum) -> Result<f64> {
    let Datum::Double(number) = *value else {
        return Err(Error::internal("a logarithm of no number"));
    };
    if number == 0.0 {
        let text = "cannot take logarithm of zero";
        return Err(Error::new(SqlState::BAD_LOGARITHM, text));
    }
    if number < 0.0 {
        let text = "cannot take logarithm of a negative number";
        return Err(Error::new(SqlState::BAD_LOGARITHM, text));
    }
    Ok(number)
}
