//! A field of a record, which is a column of a table: its values both ways.
//!
//! What most fields have (whole numbers, floats, truths, text, bytes) goes straight between the
//! engine's row and Python. All else goes as a parameter of a statement would.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString};
use remanent_engine::ColumnHandle;
use remanent_engine::Row;
use remanent_engine::schema::Value;
use remanent_sql::{Datum, RecordColumn, SqlType};

use crate::error::{DataError, ProgrammingError, of_sql};
use crate::values::classes::classes;
use crate::values::of_python;
use crate::values::to_python::Converter;

/// A field.
pub(crate) struct Field {
    pub(crate) name: Py<PyString>,
    /// The place of its column.
    pub(crate) column: usize,
    kind: Kind,
    handle: ColumnHandle,
    leaf: usize,
}

/// Which values go straight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    TinyInt,
    SmallInt,
    Integer,
    BigInt,
    UTinyInt,
    USmallInt,
    UInteger,
    UBigInt,
    Double,
    Boolean,
    Text,
    Bytes,
    /// None: by a [`Datum`].
    Other(Converter),
}

/// A value that was read.
pub(crate) enum Read {
    Ready(Py<PyAny>),
    /// To be made a value of Python once the transaction has been left: that may run Python's code.
    Datum(Datum),
}

impl Field {
    pub(crate) fn new(py: Python<'_>, name: &str, place: usize, column: RecordColumn<'_>) -> Self {
        Self {
            name: PyString::intern(py, name).unbind(),
            column: place,
            kind: Kind::of(column.sql_type()),
            handle: column.handle(),
            leaf: column.leaf(),
        }
    }

    /// Its place among the values of the engine's row.
    pub(crate) fn leaf(&self) -> usize {
        self.leaf
    }

    /// The engine's column.
    pub(crate) fn handle(&self) -> ColumnHandle {
        self.handle
    }

    /// Its value in a row.
    pub(crate) fn read(
        &self,
        py: Python<'_>,
        column: RecordColumn<'_>,
        row: &Row<'_>,
    ) -> PyResult<Read> {
        let value = row.value(self.handle);
        let ready = match (value, self.kind) {
            (Value::Null, _) => Ok(py.None()),
            (Value::I64(number), _) => number.into_py_any(py),
            (Value::I32(number), _) => number.into_py_any(py),
            (Value::I16(number), _) => number.into_py_any(py),
            (Value::I8(number), _) => number.into_py_any(py),
            (Value::U64(number), _) => number.into_py_any(py),
            (Value::U32(number), _) => number.into_py_any(py),
            (Value::U16(number), _) => number.into_py_any(py),
            (Value::U8(number), _) => number.into_py_any(py),
            (Value::F64(number), _) => number.into_py_any(py),
            (Value::Bool(truth), _) => truth.into_py_any(py),
            (Value::String(text), Kind::Text) => Ok(PyString::new(py, text).into_any().unbind()),
            (Value::Bytes(bytes), Kind::Bytes) => Ok(PyBytes::new(py, bytes).into_any().unbind()),
            (other, _) => return Ok(Read::Datum(column.datum(other))),
        };
        ready.map(Read::Ready)
    }

    /// Whether its values go straight, all of them.
    pub(crate) fn is_straight(&self) -> bool {
        !matches!(self.kind, Kind::Other(_))
    }

    /// Its value in a row, of a field whose values go straight.
    #[inline]
    pub(crate) fn straight_of(&self, py: Python<'_>, row: &Row<'_>) -> PyResult<Py<PyAny>> {
        macro_rules! number {
            ($of:ty) => {
                match row.get::<$of>(self.handle) {
                    Some(number) => number.into_py_any(py),
                    None => Ok(py.None()),
                }
            };
        }
        match self.kind {
            Kind::TinyInt => number!(i8),
            Kind::SmallInt => number!(i16),
            Kind::Integer => number!(i32),
            Kind::BigInt => number!(i64),
            Kind::UTinyInt => number!(u8),
            Kind::USmallInt => number!(u16),
            Kind::UInteger => number!(u32),
            Kind::UBigInt => number!(u64),
            Kind::Double => number!(f64),
            Kind::Boolean => number!(bool),
            Kind::Text => match row.str(self.handle) {
                Some(text) => Ok(PyString::new(py, text).into_any().unbind()),
                None => Ok(py.None()),
            },
            Kind::Bytes => match row.blob(self.handle) {
                Some(bytes) => Ok(PyBytes::new(py, bytes).into_any().unbind()),
                None => Ok(py.None()),
            },
            Kind::Other(_) => Ok(py.None()),
        }
    }

    /// A value that was read, as Python's.
    pub(crate) fn ready<'py>(&self, py: Python<'py>, read: Read) -> PyResult<Bound<'py, PyAny>> {
        match (read, self.kind) {
            (Read::Ready(value), _) => Ok(value.into_bound(py)),
            (Read::Datum(datum), Kind::Other(converter)) => converter.value(py, &datum),
            (Read::Datum(datum), _) => Converter::Plain.value(py, &datum),
        }
    }

    /// A value that goes straight to the engine; `None` for those that do not.
    pub(crate) fn straight<'v>(&self, object: &'v Bound<'_, PyAny>) -> PyResult<Option<Value<'v>>> {
        if object.is_none() {
            return Ok(Some(Value::Null));
        }
        Ok(match self.kind {
            Kind::Text => match object.cast_exact::<PyString>() {
                Ok(text) => Some(Value::String(utf8(text)?)),
                Err(_) => None,
            },
            Kind::Double => object.cast_exact::<PyFloat>().ok().map(|it| Value::F64(it.value())),
            Kind::Boolean => object.cast_exact::<PyBool>().ok().map(|it| Value::Bool(it.is_true())),
            Kind::Bytes => {
                object.cast_exact::<PyBytes>().ok().map(|it| Value::Bytes(it.as_bytes()))
            }
            Kind::Other(_) => None,
            integer => match object.cast_exact::<PyInt>() {
                Ok(number) => integer.integer(number),
                Err(_) => None,
            },
        })
    }

    /// Any other value, as it is assigned to the column.
    ///
    /// # Errors
    /// `TypeError` for a value of another kind than the column's, `DataError` for one that it
    /// cannot have.
    pub(crate) fn assigned(
        &self,
        column: RecordColumn<'_>,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Datum> {
        let py = object.py();
        let datum = match column.sql_type() {
            SqlType::Json => json(object)?,
            _ => match of_python::datum(object) {
                // Here it is a value, and no parameter.
                Err(error) if error.is_instance_of::<ProgrammingError>(py) => {
                    return Err(wrong_type(column, object));
                }
                datum => datum?,
            },
        };
        if !is_of_kind(&datum, column.sql_type()) {
            return Err(wrong_type(column, object));
        }
        column.assigned(&datum).map_err(|error| of_sql(py, &error))
    }
}

impl Kind {
    fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::TinyInt => Self::TinyInt,
            SqlType::SmallInt => Self::SmallInt,
            SqlType::Integer => Self::Integer,
            SqlType::BigInt => Self::BigInt,
            SqlType::UTinyInt => Self::UTinyInt,
            SqlType::USmallInt => Self::USmallInt,
            SqlType::UInteger => Self::UInteger,
            SqlType::UBigInt => Self::UBigInt,
            SqlType::Double => Self::Double,
            SqlType::Boolean => Self::Boolean,
            SqlType::Text => Self::Text,
            SqlType::Bytea => Self::Bytes,
            other => Self::Other(Converter::of(other)),
        }
    }

    /// A whole number, if the column can have it.
    fn integer<'v>(self, number: &Bound<'_, PyInt>) -> Option<Value<'v>> {
        if self == Self::UBigInt {
            return number.extract().ok().map(Value::U64);
        }
        let number: i64 = number.extract().ok()?;
        match self {
            Self::TinyInt => number.try_into().ok().map(Value::I8),
            Self::SmallInt => number.try_into().ok().map(Value::I16),
            Self::Integer => number.try_into().ok().map(Value::I32),
            Self::BigInt => Some(Value::I64(number)),
            Self::UTinyInt => number.try_into().ok().map(Value::U8),
            Self::USmallInt => number.try_into().ok().map(Value::U16),
            Self::UInteger => number.try_into().ok().map(Value::U32),
            _ => None,
        }
    }
}

fn wrong_type(column: RecordColumn<'_>, object: &Bound<'_, PyAny>) -> PyErr {
    let (name, sql_type) = (column.name(), column.sql_type());
    match object.get_type().name() {
        Ok(class) => {
            let text = format!("{name} is {sql_type}, which a value of type {class} cannot be");
            PyTypeError::new_err(text)
        }
        Err(error) => error,
    }
}

fn utf8<'v>(text: &'v Bound<'_, PyString>) -> PyResult<&'v str> {
    let surrogate = "the text has a surrogate by itself, which UTF-8 has not";
    text.to_str().map_err(|_| DataError::new_err(surrogate))
}

/// A document, whatever its value is.
fn json(object: &Bound<'_, PyAny>) -> PyResult<Datum> {
    if object.is_none() {
        return Ok(Datum::Null);
    }
    let py = object.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let text = classes(py)?.dumps.bind(py).call((object,), Some(&options));
    let text = text.map_err(|error| DataError::new_err(format!("no JSON: {error}")))?;
    Ok(Datum::Text(text.extract::<String>()?.into()))
}

/// Whether a value is of the kind of the type: other than in a statement, nothing is cast.
fn is_of_kind(datum: &Datum, sql_type: &SqlType) -> bool {
    use SqlType as Type;
    let is_whole = matches!(
        sql_type,
        Type::TinyInt
            | Type::SmallInt
            | Type::Integer
            | Type::BigInt
            | Type::UTinyInt
            | Type::USmallInt
            | Type::UInteger
            | Type::UBigInt
    );
    match datum {
        Datum::Null => true,
        Datum::Bool(_) => *sql_type == Type::Boolean,
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_, 0) => {
            is_whole || matches!(sql_type, Type::Numeric { .. } | Type::Real | Type::Double)
        }
        Datum::Decimal(..) => matches!(sql_type, Type::Numeric { .. }),
        Datum::Double(_) | Datum::Real(_) => matches!(sql_type, Type::Real | Type::Double),
        Datum::Text(_) => matches!(
            sql_type,
            Type::Text | Type::Varchar(_) | Type::Char(_) | Type::Uuid | Type::Json
        ),
        Datum::Bytes(_) => *sql_type == Type::Bytea,
        Datum::Date(_) => *sql_type == Type::Date,
        Datum::Time(_) => *sql_type == Type::Time,
        Datum::Timestamp(_) => *sql_type == Type::Timestamp,
        Datum::TimestampTz(_) => *sql_type == Type::TimestampTz,
        Datum::Interval(..) | Datum::List(_) => false,
    }
}
