//! Text: md5, concat and concat_ws, quote_literal and quote_nullable; beside them `to_char`, with
//! its patterns, and lpad and rpad.
//!
//! What is put together is what a client would be shown of each value.

pub(crate) mod chars;
pub(crate) mod cut;
mod numbers;
pub(crate) mod pad;
#[cfg(test)]
mod tests;

use datafusion::arrow::datatypes::DataType;
use md5::{Digest, Md5};

use crate::error::Result;
use crate::functions::{Function, TEXT, is_text};
use crate::values::datum::Datum;

pub(in crate::functions) const FUNCTIONS: &[Function] = &[
    Function { name: "md5", types: of_bytes, answer: md5, is_strict: true },
    Function { name: "concat", types: of_any, answer: concat, is_strict: false },
    Function { name: "concat_ws", types: of_any, answer: concat_ws, is_strict: false },
    Function { name: "quote_literal", types: of_one, answer: quote_literal, is_strict: true },
    Function { name: "quote_nullable", types: of_one, answer: quote_nullable, is_strict: false },
];

fn of_bytes(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match types {
        [one] if is_text(one) => Some((vec![TEXT], TEXT)),
        [DataType::Binary | DataType::BinaryView | DataType::LargeBinary] => {
            Some((types.to_vec(), TEXT))
        }
        _ => None,
    }
}

fn of_any(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (!types.is_empty()).then(|| (types.to_vec(), TEXT))
}

fn of_one(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (types.len() == 1).then(|| (types.to_vec(), TEXT))
}

fn md5(values: &[Datum]) -> Result<Datum> {
    let sum = match &values[0] {
        Datum::Bytes(bytes) => Md5::digest(bytes),
        other => Md5::digest(other.to_string()),
    };
    Ok(Datum::from(sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// All that are something, as they are shown: of truths the first letter.
fn concat(values: &[Datum]) -> Result<Datum> {
    Ok(Datum::from(values.iter().filter_map(Datum::to_text).collect::<String>()))
}

fn concat_ws(values: &[Datum]) -> Result<Datum> {
    let Some(between) = values[0].to_text() else { return Ok(Datum::Null) };
    let texts: Vec<String> = values[1..].iter().filter_map(Datum::to_text).collect();
    Ok(Datum::from(texts.join(&between)))
}

fn quote_literal(values: &[Datum]) -> Result<Datum> {
    let text = values[0].to_string();
    let sign = if text.contains('\\') { " E" } else { "" };
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    Ok(Datum::from(format!("{sign}'{text}'")))
}

fn quote_nullable(values: &[Datum]) -> Result<Datum> {
    match &values[0] {
        Datum::Null => Ok(Datum::from("NULL".to_owned())),
        _ => quote_literal(values),
    }
}
