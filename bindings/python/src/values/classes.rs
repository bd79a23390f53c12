//! The classes of Python's library that values are of, looked up once.
//!
//! To find a name in a module takes longer than a value does; and the part of Python's interface
//! that stays the same from version to version has no calls of its own for dates.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

pub(crate) struct Classes {
    pub(crate) date: Py<PyType>,
    pub(crate) time: Py<PyType>,
    pub(crate) datetime: Py<PyType>,
    pub(crate) timedelta: Py<PyType>,
    pub(crate) decimal: Py<PyType>,
    pub(crate) uuid: Py<PyType>,
    /// `json.loads` and `json.dumps`.
    pub(crate) loads: Py<PyAny>,
    pub(crate) dumps: Py<PyAny>,
    /// 1970 without a zone, and in UTC.
    pub(crate) epoch: Py<PyAny>,
    pub(crate) epoch_utc: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// Those classes.
pub(crate) fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let datetime = py.import("datetime")?;
        let class = |module: &Bound<'_, PyModule>, name: &str| {
            Ok::<_, PyErr>(module.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        let json = py.import("json")?;
        let utc = datetime.getattr("timezone")?.getattr("utc")?;
        let moment = datetime.getattr("datetime")?;
        let epoch = moment.call1((1970, 1, 1))?;
        let epoch_utc = moment.call1((1970, 1, 1, 0, 0, 0, 0, &utc))?;
        Ok(Classes {
            date: class(&datetime, "date")?,
            time: class(&datetime, "time")?,
            datetime: class(&datetime, "datetime")?,
            timedelta: class(&datetime, "timedelta")?,
            decimal: class(&py.import("decimal")?, "Decimal")?,
            uuid: class(&py.import("uuid")?, "UUID")?,
            loads: json.getattr("loads")?.unbind(),
            dumps: json.getattr("dumps")?.unbind(),
            epoch: epoch.unbind(),
            epoch_utc: epoch_utc.unbind(),
        })
    })
}
