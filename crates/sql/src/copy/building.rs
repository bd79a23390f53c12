//! Columns out of the text of a copy, a value at a time.
//!
//! Numbers and dates that are written plainly, and text, are put where they belong at once.
//! Whatever else a type accepts is cast as any text is; so what is accepted, and what is wrong with
//! it, is the same.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::ScalarValue;

use crate::error::{Error, Result};
use crate::result::rows::ResultColumn;
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Bytes of the pieces in which text lies.
const TEXT_BLOCK: u32 = 1 << 19;

/// Columns in the making.
pub(crate) struct Building {
    columns: Vec<Column>,
    rows: usize,
}

struct Column {
    name: String,
    sql_type: SqlType,
    values: Values,
    /// Rows that are NULL.
    nulls: Vec<usize>,
}

enum Values {
    Integer(Vec<i32>),
    BigInt(Vec<i64>),
    Date(Vec<i32>),
    Numeric(Vec<i128>),
    Text(StringViewBuilder),
    Other(Vec<Datum>),
}

impl Building {
    /// No rows of these columns.
    pub(crate) fn new(columns: &[ResultColumn]) -> Self {
        let column = |column: &ResultColumn| Column {
            name: column.name.to_string(),
            sql_type: column.sql_type.clone(),
            values: Values::of(&column.sql_type),
            nulls: Vec::new(),
        };
        Self { columns: columns.iter().map(column).collect(), rows: 0 }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row, which has a value for each column; `None` is NULL.
    ///
    /// # Errors
    /// As a cast of text; the columns are of no use then.
    pub(crate) fn add<'v>(&mut self, row: impl Iterator<Item = Option<&'v str>>) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.add(self.rows, value).map_err(|error| {
                let row = self.rows + 1;
                error.detail(format!("row {row} of those read last, column {}", column.name))
            })?;
        }
        self.rows += 1;
        Ok(())
    }

    /// The rows so far, which are taken out.
    ///
    /// # Errors
    /// A fault in the values.
    pub(crate) fn take(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let mut arrays = Vec::with_capacity(self.columns.len());
        let mut fields = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let array = column.take(rows)?;
            fields.push(Field::new(&column.name, array.data_type().clone(), true));
            arrays.push(array);
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
    }
}

impl Values {
    fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Integer => Self::Integer(Vec::new()),
            SqlType::BigInt => Self::BigInt(Vec::new()),
            SqlType::Date => Self::Date(Vec::new()),
            SqlType::Numeric { .. } => Self::Numeric(Vec::new()),
            SqlType::Text | SqlType::Varchar(_) => Self::Text(texts()),
            _ => Self::Other(Vec::new()),
        }
    }
}

impl Column {
    #[inline]
    fn add(&mut self, row: usize, value: Option<&str>) -> Result<()> {
        let Some(text) = value else {
            self.nulls.push(row);
            return self.add_cast(Datum::Null);
        };
        match (&mut self.values, &self.sql_type) {
            (Values::Integer(numbers), _) if let Some(number) = integer(text, 9) => {
                numbers.push(number as i32);
            }
            (Values::BigInt(numbers), _) if let Some(number) = integer(text, 18) => {
                numbers.push(number);
            }
            (Values::Date(days), _) if let Some(day) = date(text) => days.push(day),
            (Values::Numeric(numbers), SqlType::Numeric { precision, scale })
                if let Some(number) = decimal(text, *precision, *scale) =>
            {
                numbers.push(number.into());
            }
            (Values::Text(texts), to) if fits(text, to) => texts.append_value(text),
            _ => return self.add_cast(Datum::from(text).cast(&self.sql_type)?),
        }
        Ok(())
    }

    /// Adds a value that is of the type, or NULL.
    fn add_cast(&mut self, datum: Datum) -> Result<()> {
        match (&mut self.values, datum) {
            (Values::Other(data), datum) => data.push(datum),
            (Values::Text(texts), Datum::Null) => texts.append_null(),
            (Values::Text(texts), Datum::Text(text)) => texts.append_value(text),
            (Values::Integer(numbers) | Values::Date(numbers), Datum::Null) => numbers.push(0),
            (Values::BigInt(numbers), Datum::Null) => numbers.push(0),
            (Values::Numeric(numbers), Datum::Null) => numbers.push(0),
            (values, datum) => match (values, scalar(&datum, &self.sql_type)?) {
                (Values::Integer(numbers), ScalarValue::Int32(Some(number))) => {
                    numbers.push(number)
                }
                (Values::Date(days), ScalarValue::Date32(Some(day))) => days.push(day),
                (Values::BigInt(numbers), ScalarValue::Int64(Some(number))) => numbers.push(number),
                (Values::Numeric(numbers), ScalarValue::Decimal128(Some(number), ..)) => {
                    numbers.push(number);
                }
                (_, other) => return Err(Error::internal(format!("a cast gave {other}"))),
            },
        }
        Ok(())
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        let gone = std::mem::take(&mut self.nulls);
        let nulls = (!gone.is_empty()).then(|| {
            let mut valid = vec![true; rows];
            gone.iter().for_each(|&row| valid[row] = false);
            NullBuffer::new(BooleanBuffer::from(valid))
        });
        let values = std::mem::replace(&mut self.values, Values::of(&self.sql_type));
        Ok(match values {
            Values::Integer(numbers) => Arc::new(Int32Array::new(numbers.into(), nulls)),
            Values::BigInt(numbers) => Arc::new(Int64Array::new(numbers.into(), nulls)),
            Values::Date(days) => Arc::new(Date32Array::new(days.into(), nulls)),
            Values::Numeric(numbers) => {
                let array = Decimal128Array::new(numbers.into(), nulls);
                Arc::new(array.with_data_type(self.sql_type.to_arrow()))
            }
            Values::Text(mut texts) => Arc::new(texts.finish()),
            Values::Other(data) => return array_of(&data, &self.sql_type),
        })
    }
}

/// A value as one of Arrow's type for the column.
fn scalar(datum: &Datum, sql_type: &SqlType) -> Result<ScalarValue> {
    let (scalar, arrow) = (datum.to_scalar(sql_type)?, sql_type.to_arrow());
    if scalar.data_type() == arrow { Ok(scalar) } else { Ok(scalar.cast_to(&arrow)?) }
}

/// No texts, which come to lie behind one another in large pieces.
fn texts() -> StringViewBuilder {
    StringViewBuilder::new().with_fixed_block_size(TEXT_BLOCK)
}

/// Whether text of the type certainly need not be cut.
fn fits(text: &str, to: &SqlType) -> bool {
    match to {
        SqlType::Varchar(limit) => text.len() <= *limit as usize,
        _ => true,
    }
}

/// An integer that is written with at most so many digits, which are not more than 18.
#[inline]
pub(super) fn integer(text: &str, digits_max: usize) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || digits.len() > digits_max {
        return None;
    }
    let mut number = 0;
    for byte in digits.bytes() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if digits.len() < text.len() { -number } else { number })
}

/// The unscaled number of a decimal that is written with at most 18 digits, no more of them behind
/// the point than its type has, and not too many before it.
#[inline]
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // A point and 18 digits; one more without a point is found below to be too many.
    if digits.len() > 19 {
        return None;
    }
    let (mut number, mut whole, mut fraction, mut point) = (0, 0, 0, false);
    for byte in digits.bytes() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = i64::wrapping_add(i64::wrapping_mul(number, 10), digit.into());
            whole += u8::from(!point);
            fraction += u8::from(point);
        } else if byte == b'.' && !point {
            point = true;
        } else {
            return None;
        }
    }
    if whole == 0 || fraction > scale || whole + scale > precision.min(18) {
        return None;
    }
    number = (fraction..scale).fold(number, |number, _| number * 10);
    Some(if digits.len() < text.len() { -number } else { number })
}

/// The days since 1970 of a date that is written as `2026-01-31`.
#[inline]
pub(super) fn date(text: &str) -> Option<i32> {
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text.as_bytes() else { return None };
    let digits = [y0, y1, y2, y3, m0, m1, d0, d1].map(|byte| i32::from(byte.wrapping_sub(b'0')));
    let [y0, y1, y2, y3, m0, m1, d0, d1] = digits;
    if digits.iter().any(|digit| *digit > 9) {
        return None;
    }
    let (year, month, day) = (y0 * 1000 + y1 * 100 + y2 * 10 + y3, m0 * 10 + m1, d0 * 10 + d1);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if day < 1 || day > days || year < 1 {
        return None;
    }
    // Years begin in March, so that the day that comes and goes is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some(before - 719_468)
}
