//! Values of Python as SQL's, for parameters.
//!
//! What is meant must be sure: a value of a type that is not known is refused, not written as the
//! text that Python would print.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};
use remanent_sql::Datum;

use super::classes::{Classes, classes};
use crate::error::{DataError, ProgrammingError};

/// Digits that a number has at most.
const DIGITS_MAX: usize = 38;
/// Lists in lists, so many at most.
const DEPTH_MAX: usize = 32;

/// A parameter's value.
///
/// # Errors
/// `DataError` for what SQL has no value for, `ProgrammingError` for types that are not known.
pub(crate) fn datum(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    within(value, 0)
}

fn within(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    if value.is_none() {
        return Ok(Datum::Null);
    }
    // Before numbers: a truth is one.
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Datum::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Datum::Double(float.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return self::text(text);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Datum::Bytes(bytes.as_bytes().into()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return list(value, depth);
    }
    let py = value.py();
    let classes = classes(py)?;
    if value.is_instance_of::<PyDict>() {
        let options = PyDict::new(py);
        options.set_item("allow_nan", false)?;
        let json = classes.dumps.bind(py).call((value,), Some(&options));
        let json = json.map_err(|error| DataError::new_err(format!("no JSON: {error}")))?;
        return text(json.cast::<PyString>()?);
    }
    if value.is_instance(classes.datetime.bind(py))? {
        return moment(value, classes);
    }
    if value.is_instance(classes.date.bind(py))? {
        let number: i64 = value.call_method0("toordinal")?.extract()?;
        // 1970-01-01 has the number 719,163.
        return Ok(Datum::Date((number - 719_163) as i32));
    }
    if value.is_instance(classes.decimal.bind(py))? {
        return decimal(value);
    }
    if value.is_instance(classes.timedelta.bind(py))? {
        return interval(value);
    }
    if value.is_instance(classes.time.bind(py))? {
        return time(value);
    }
    if value.is_instance(classes.uuid.bind(py))? {
        return Ok(Datum::Text(value.str()?.to_str()?.into()));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Datum::Bytes(bytes.to_vec().into()));
    }
    of_library(value, depth)
}

/// Values of numpy and pandas, which give one of Python's; and views of bytes.
fn of_library(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    let class = value.get_type();
    let name = class.name()?.to_string();
    match name.as_str() {
        "NAType" | "NaTType" => return Ok(Datum::Null),
        "memoryview" => {
            let bytes = value.call_method0("tobytes")?;
            return Ok(Datum::Bytes(bytes.extract::<&[u8]>()?.into()));
        }
        // Of nanoseconds, it would give a number.
        "datetime64" | "timedelta64" => {
            let micros = value.call_method1("astype", (format!("{name}[us]"),))?;
            return within(&micros.call_method0("item")?, depth + 1);
        }
        _ => {}
    }
    let module: String = class.getattr("__module__")?.extract()?;
    if depth < DEPTH_MAX && module.starts_with("numpy") {
        let method = if name == "ndarray" { "tolist" } else { "item" };
        return within(&value.call_method0(method)?, depth + 1);
    }
    let text = format!("a value of type {module}.{name} cannot be a parameter");
    Err(ProgrammingError::new_err(text))
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Datum::Int(number));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Datum::UInt(number));
    }
    match value.extract::<i128>() {
        Ok(number) if number.unsigned_abs() < 10_u128.pow(DIGITS_MAX as u32) => {
            Ok(Datum::Decimal(number, 0))
        }
        _ => Err(DataError::new_err(format!("a whole number has {DIGITS_MAX} digits at most"))),
    }
}

fn text(text: &Bound<'_, PyString>) -> PyResult<Datum> {
    match text.to_cow() {
        Ok(text) => Ok(Datum::Text(text.into_owned().into())),
        Err(_) => {
            Err(DataError::new_err("the text has a surrogate by itself, which UTF-8 has not"))
        }
    }
}

fn list(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    if depth >= DEPTH_MAX {
        return Err(DataError::new_err(format!("lists in lists, more than {DEPTH_MAX} deep")));
    }
    let elements = value.try_iter()?.map(|element| within(&element?, depth + 1));
    Ok(Datum::List(elements.collect::<PyResult<_>>()?))
}

fn moment(value: &Bound<'_, PyAny>, classes: &Classes) -> PyResult<Datum> {
    // No time, of pandas, is a moment that is not equal to itself.
    if value.ne(value)? {
        return Ok(Datum::Null);
    }
    let py = value.py();
    let is_aware = !value.call_method0("utcoffset")?.is_none();
    let epoch = if is_aware { &classes.epoch_utc } else { &classes.epoch };
    let micros = micros(&value.sub(epoch.bind(py))?)?;
    Ok(if is_aware { Datum::TimestampTz(micros) } else { Datum::Timestamp(micros) })
}

/// The microseconds of a `timedelta`, which has less than 64 bits of them.
fn micros(delta: &Bound<'_, PyAny>) -> PyResult<i64> {
    let (days, seconds, micros) = parts(delta)?;
    Ok((days * 86_400 + seconds) * 1_000_000 + micros)
}

fn parts(delta: &Bound<'_, PyAny>) -> PyResult<(i64, i64, i64)> {
    let part = |name| delta.getattr(name)?.extract::<i64>();
    Ok((part("days")?, part("seconds")?, part("microseconds")?))
}

fn interval(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    let (days, seconds, micros) = parts(value)?;
    let days = i32::try_from(days)
        .map_err(|_| DataError::new_err("an interval has 2147483647 days at most"))?;
    Ok(Datum::Interval(0, days, (seconds * 1_000_000 + micros) * 1000))
}

fn time(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    if !value.getattr("tzinfo")?.is_none() {
        return Err(DataError::new_err("a time of day has no time zone here"));
    }
    let part = |name| value.getattr(name)?.extract::<i64>();
    let seconds = part("hour")? * 3600 + part("minute")? * 60 + part("second")?;
    Ok(Datum::Time(seconds * 1_000_000 + part("microsecond")?))
}

fn decimal(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    let refused = |why: &str| DataError::new_err(format!("{value} is no number here: {why}"));
    if !value.call_method0("is_finite")?.extract::<bool>()? {
        return Err(refused("it is not finite"));
    }
    let too_long = || refused("it has more than 38 digits");
    let (sign, digits, exponent): (u8, Vec<u8>, i64) = value.call_method0("as_tuple")?.extract()?;
    let zeros = usize::try_from(exponent).unwrap_or(0);
    let scale = usize::try_from(-exponent).unwrap_or(0);
    let is_zero = digits.iter().all(|digit| *digit == 0);
    if digits.len() > DIGITS_MAX
        || scale > DIGITS_MAX
        || (!is_zero && digits.len() + zeros > DIGITS_MAX)
    {
        return Err(too_long());
    }
    let mut unscaled = digits.iter().fold(0_i128, |sum, digit| sum * 10 + i128::from(*digit));
    for _ in 0..if is_zero { 0 } else { zeros } {
        unscaled *= 10;
    }
    Ok(Datum::Decimal(if sign == 1 { -unscaled } else { unscaled }, scale as u8))
}
