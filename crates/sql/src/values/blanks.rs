//! The blanks at the end of CHAR, which fill its length and say nothing.
//!
//! They are not kept, so that two values which differ in them are one, in columns, keys and
//! indexes. Where a value goes out, it is shown with them: in rows of a result, whoever asks for
//! them.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewBuilder};

use super::column::ResultColumn;
use super::datum::Datum;
use super::sql_type::SqlType;
use crate::error::Result;

/// The text as CHAR keeps it.
pub(crate) fn without(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Whether a row with these columns has CHAR in it.
pub(crate) fn are_shown(columns: &[ResultColumn]) -> bool {
    columns.iter().any(|column| matches!(column.sql_type, SqlType::Char(_)))
}

/// Adds the blanks to a value of a column of this type, if it is CHAR.
pub(crate) fn add(datum: &mut Datum, of: &SqlType) {
    if let (Datum::Text(text), SqlType::Char(length)) = (datum, of)
        && let missing @ 1.. = missing(text, *length)
    {
        *text = format!("{text}{:missing$}", "").into();
    }
}

/// The rows with blanks in their columns of CHAR.
///
/// # Errors
/// A fault of Arrow's.
pub(crate) fn added(batch: &RecordBatch, columns: &[ResultColumn]) -> Result<RecordBatch> {
    let arrays = batch.columns().iter().zip(columns).map(|(array, column)| {
        match (&column.sql_type, array.as_string_view_opt()) {
            (SqlType::Char(length), Some(_)) => filled(array, *length),
            _ => Arc::clone(array),
        }
    });
    Ok(RecordBatch::try_new(batch.schema(), arrays.collect())?)
}

/// How many letters a text has too few.
fn missing(text: &str, length: u32) -> usize {
    (length as usize).saturating_sub(text.chars().count())
}

fn filled(array: &ArrayRef, length: u32) -> ArrayRef {
    let texts = array.as_string_view();
    let mut built = StringViewBuilder::with_capacity(texts.len());
    let mut value = String::new();
    for text in texts {
        let Some(text) = text else {
            built.append_null();
            continue;
        };
        let missing = missing(text, length);
        value.clear();
        value.push_str(text);
        value.extend(std::iter::repeat_n(' ', missing));
        built.append_value(&value);
    }
    Arc::new(built.finish())
}
