//! What `connect` takes, as the engine's options.
//!
//! Each is a number or a word, as in the command line of the program `remanent`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use remanent_engine::{Durability, Options};

/// Options of a database that is opened.
pub(crate) fn options(
    budget: Option<&Bound<'_, PyAny>>,
    durability: Option<&str>,
) -> PyResult<Options> {
    let mut options = Options::new();
    if let Some(budget) = budget {
        options = options.budget(bytes(budget)?);
    }
    if let Some(durability) = durability {
        options = options.durability(level(durability)?);
    }
    Ok(options)
}

/// A rung of durability by its name.
///
/// # Errors
/// `ValueError`.
pub(crate) fn level(word: &str) -> PyResult<Durability> {
    word.parse().map_err(|text: String| PyValueError::new_err(format!("durability {text}")))
}

/// A number of bytes, or a text such as `"512 MiB"` or `"2GB"`.
///
/// # Errors
/// `TypeError`, `ValueError`.
pub(crate) fn bytes(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(number) = given.extract::<u64>() {
        return Ok(number);
    }
    let Ok(text) = given.extract::<String>() else {
        return Err(PyTypeError::new_err("a size is a number of bytes, or a text such as '2GB'"));
    };
    let refused =
        || PyValueError::new_err(format!("{text:?} is no size such as '512 MiB' or '2GB'"));
    let words = text.trim();
    let unit_at = words.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(words.len());
    let (number, unit) = words.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| refused())?;
    let unit: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1024.0 * 1024.0,
        "g" | "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tb" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(refused()),
    };
    let size = number * unit;
    if size < 1.0 || size >= u64::MAX as f64 {
        return Err(refused());
    }
    Ok(size as u64)
}
