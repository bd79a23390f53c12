//! Values of SQL as Python's.
//!
//! Whole numbers are `int`, `numeric` is `Decimal`, floats are `float`, days and times those of
//! `datetime`, moments with a time zone aware ones in UTC, `uuid` is `UUID`, `json` what it says,
//! `bytea` is `bytes`, arrays are lists. An interval is a `timedelta` whose months have 30 days and
//! whose years have 365, as psycopg has it.

use std::ops::Range;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int16Type, Int32Type, Int64Type};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use remanent_sql::{Datum, ResultColumn, SqlType};

use super::classes::{Classes, classes};
use crate::error::{DataError, of_sql};

/// Of which days Python has dates: those of the years 1 to 9999.
const DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;
const MICROS_A_SECOND: i64 = 1_000_000;
const MICROS_A_DAY: i64 = 86_400 * MICROS_A_SECOND;

/// How the values of a column become Python's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Converter {
    Plain,
    Uuid,
    Json,
}

/// Those of a result.
pub(crate) fn converters(columns: &[ResultColumn]) -> Vec<Converter> {
    columns.iter().map(|column| Converter::of(&column.sql_type)).collect()
}

impl Converter {
    pub(crate) fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Uuid => Self::Uuid,
            SqlType::Json => Self::Json,
            SqlType::Array(element) => Self::of(element),
            _ => Self::Plain,
        }
    }

    /// A value.
    ///
    /// # Errors
    /// `DataError` for what Python has no value for.
    pub(crate) fn value<'py>(self, py: Python<'py>, datum: &Datum) -> PyResult<Bound<'py, PyAny>> {
        match datum {
            Datum::Null => Ok(py.None().into_bound(py)),
            Datum::Bool(truth) => truth.into_bound_py_any(py),
            Datum::Int(number) => number.into_bound_py_any(py),
            Datum::UInt(number) => number.into_bound_py_any(py),
            Datum::Double(number) => number.into_bound_py_any(py),
            // The number that is written with as few digits.
            Datum::Real(number) => {
                number.to_string().parse::<f64>().unwrap_or(f64::NAN).into_bound_py_any(py)
            }
            Datum::Text(text) => self.text(py, text),
            Datum::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
            Datum::Decimal(..) => classes(py)?.decimal.bind(py).call1((datum.to_string(),)),
            Datum::Date(days) => date(py, *days),
            Datum::Time(micros) => time(py, *micros),
            Datum::Timestamp(micros) => moment(py, *micros, |classes| &classes.epoch),
            Datum::TimestampTz(micros) => moment(py, *micros, |classes| &classes.epoch_utc),
            Datum::Interval(months, days, nanos) => {
                let days = i64::from(*days) + i64::from(months / 12) * 365;
                let days = days + i64::from(months % 12) * 30;
                classes(py)?.timedelta.bind(py).call1((days, 0, nanos / 1000))
            }
            Datum::List(elements) => {
                let values = elements.iter().map(|element| self.value(py, element));
                Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
        }
    }

    /// The values of a column of a batch, those of these rows. What comes often goes without a
    /// [`Datum`] in between.
    ///
    /// # Errors
    /// As [`Converter::value`].
    pub(crate) fn column<'py>(
        self,
        py: Python<'py>,
        array: &ArrayRef,
        rows: Range<usize>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        macro_rules! values {
            ($values:expr, $value:ident => $made:expr) => {{
                let values = $values;
                let value = |row: usize| match values.is_null(row) {
                    true => Ok(py.None().into_bound(py)),
                    false => {
                        let $value = values.value(row);
                        $made
                    }
                };
                rows.map(value).collect()
            }};
        }
        match array.data_type() {
            DataType::Int64 => {
                values!(array.as_primitive::<Int64Type>(), number => number.into_bound_py_any(py))
            }
            DataType::Int32 => {
                values!(array.as_primitive::<Int32Type>(), number => number.into_bound_py_any(py))
            }
            DataType::Int16 => {
                values!(array.as_primitive::<Int16Type>(), number => number.into_bound_py_any(py))
            }
            DataType::Float64 => {
                values!(array.as_primitive::<Float64Type>(), number => number.into_bound_py_any(py))
            }
            DataType::Boolean => values!(array.as_boolean(), truth => truth.into_bound_py_any(py)),
            DataType::Utf8 => values!(array.as_string::<i32>(), text => self.text(py, text)),
            DataType::Utf8View => values!(array.as_string_view(), text => self.text(py, text)),
            DataType::Binary => {
                values!(array.as_binary::<i32>(), bytes => Ok(PyBytes::new(py, bytes).into_any()))
            }
            _ => {
                let datum = |row| Datum::from_array(array, row).map_err(|error| of_sql(py, &error));
                rows.map(|row| self.value(py, &datum(row)?)).collect()
            }
        }
    }

    fn text<'py>(self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Plain => Ok(PyString::new(py, text).into_any()),
            Self::Uuid => classes(py)?.uuid.bind(py).call1((text,)),
            // Text that is none is given as it is.
            Self::Json => Ok(classes(py)?
                .loads
                .bind(py)
                .call1((text,))
                .unwrap_or_else(|_| PyString::new(py, text).into_any())),
        }
    }
}

fn date(py: Python<'_>, days: i32) -> PyResult<Bound<'_, PyAny>> {
    if !DAYS.contains(&days) {
        return Err(no_such(&Datum::Date(days)));
    }
    // Of the first day of the first year, `date` has the number 1.
    let number = days - DAYS.start() + 1;
    classes(py)?.date.bind(py).call_method1("fromordinal", (number,))
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    if !(0..MICROS_A_DAY).contains(&micros) {
        return Err(no_such(&Datum::Time(micros)));
    }
    let (seconds, micros) = (micros / MICROS_A_SECOND, micros % MICROS_A_SECOND);
    let parts = (seconds / 3600, seconds / 60 % 60, seconds % 60, micros);
    classes(py)?.time.bind(py).call1(parts)
}

fn moment<'py>(
    py: Python<'py>,
    micros: i64,
    epoch: impl FnOnce(&Classes) -> &Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let days = micros.div_euclid(MICROS_A_DAY);
    if !i32::try_from(days).is_ok_and(|days| DAYS.contains(&days)) {
        return Err(no_such(&Datum::Timestamp(micros)));
    }
    let classes = classes(py)?;
    let since = classes.timedelta.bind(py).call1((days, 0, micros.rem_euclid(MICROS_A_DAY)))?;
    epoch(classes).bind(py).add(since)
}

fn no_such(datum: &Datum) -> PyErr {
    DataError::new_err(format!("{datum} is outside of Python's dates, the years 1 to 9999"))
}
