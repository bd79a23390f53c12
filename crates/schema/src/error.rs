//! What can be wrong with a schema, a row or a key.
//!
//! Plain enums that name the column or part at fault, for the person who wrote it. Names
//! are copied to the heap only when an error is made, never on the way of a row that is right.
//! The engine maps these to its own stable codes.

use std::error::Error;
use std::fmt;

/// Why a table schema is refused.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let refused = TableSchema::new("T").column("a.b", ColumnType::U8).build();
/// assert_eq!(refused, Err(SchemaError::BadName { name: "a.b".into() }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// A name is empty, too long, or has a dot or control character in it.
    BadName {
        /// The name as given.
        name: Box<str>,
    },
    /// Two columns, fields or indexes have one name.
    DuplicateName {
        /// The name given twice.
        name: Box<str>,
    },
    /// The table has no columns, or a struct no fields.
    NoColumns,
    /// There are more columns or indexes than allowed, or types are nested too deeply.
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The most allowed.
        max: usize,
    },
    /// A column's type has a parameter out of its range, or is not allowed where it stands.
    BadType {
        /// The column's path.
        column: Box<str>,
        /// A description of what is wrong with it.
        reason: &'static str,
    },
    /// A column's default is not a value of the column's type.
    BadDefault {
        /// The column's path.
        column: Box<str>,
    },
    /// An index names a column that does not exist.
    UnknownKeyColumn {
        /// The index.
        index: Box<str>,
        /// The path that was not found.
        column: Box<str>,
    },
    /// An index has no parts, or one column twice.
    BadKey {
        /// The index.
        index: Box<str>,
        /// A description of what is wrong with it.
        reason: &'static str,
    },
    /// A key part has a type that cannot be ordered as a key.
    BadKeyType {
        /// The index.
        index: Box<str>,
        /// The column's path.
        column: Box<str>,
    },
    /// A part of the primary key may be NULL.
    NullablePrimaryKey {
        /// The column's path.
        column: Box<str>,
    },
    /// More than one index is primary.
    SecondPrimaryKey {
        /// The second one.
        index: Box<str>,
    },
    /// A set is not one that can be.
    BadSet {
        /// The set's name.
        set: Box<str>,
        /// A description of what is wrong with it.
        reason: &'static str,
    },
    /// The fixed part of a row alone is longer than a row may be.
    RowTooLong {
        /// Its length in bytes.
        len: u64,
    },
    /// Stored bytes are not a schema.
    BadEncoding {
        /// The offset at which reading stopped.
        offset: usize,
    },
    /// Stored bytes are a schema of a version this program does not know.
    UnknownVersion {
        /// The version found.
        version: u8,
    },
}

/// Why a row cannot be written as asked.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let layout = RowLayout::new(&TableSchema::new("T").column("a", ColumnType::U8));
/// let error = layout.encode(&[Some(Value::Null)], &mut [0]).unwrap_err();
/// assert_eq!(error, RowError::NullInNotNull { column: "a".into() });
/// assert_eq!(error.column(), Some("a"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowError {
    /// A value is of a kind that the column does not accept.
    WrongType {
        /// The column's path.
        column: Box<str>,
        /// The column's type.
        expected: Box<str>,
        /// The kind of value given.
        found: &'static str,
    },
    /// A string, blob or vector is longer than the column allows.
    ValueTooLong {
        /// The column's path.
        column: Box<str>,
        /// The value's length: bytes, or elements of a vector.
        len: usize,
        /// The most allowed.
        max: usize,
    },
    /// A Binary value or an array does not have exactly the column's length.
    WrongLength {
        /// The column's path.
        column: Box<str>,
        /// The value's length: bytes, or elements of an array.
        len: usize,
        /// The length needed.
        expected: usize,
    },
    /// A number does not fit the column.
    ValueOutOfRange {
        /// The column's path.
        column: Box<str>,
    },
    /// A column that is never NULL would be NULL, or has no value and no default.
    NullInNotNull {
        /// The column's path.
        column: Box<str>,
    },
    /// There is no column of this name or number.
    UnknownColumn {
        /// The path, or the number in digits.
        column: Box<str>,
    },
    /// The row is longer than a row may be.
    RowTooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// More values than the row has leaves.
    TooManyValues {
        /// How many the row has.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// The output is shorter than the encoded row.
    BufferTooSmall {
        /// Bytes needed.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
}

/// Why a key cannot be encoded.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// # let schema = TableSchema::new("City")
/// #     .column("id", ColumnType::U32)
/// #     .column("name", ColumnType::STRING)
/// #     .nullable_column("people", ColumnType::U32)
/// #     .primary_key(["id"])
/// #     .ordered_index("name", ["name", "id"])
/// #     .build()?;
/// # let layout = RowLayout::new(&schema);
/// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
/// # let mut key = KeyBuffer::new();
/// let three = ["Ulm".into(), Value::U32(7), Value::U32(8)];
/// let error = plan.encode_values(&three, &mut key).unwrap_err();
/// assert_eq!(error, KeyError::TooManyParts { expected: 2, found: 3 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The encoded key is longer than [`KEY_LEN_MAX`](crate::KEY_LEN_MAX) bytes.
    KeyTooLong,
    /// More values than the key has parts.
    TooManyParts {
        /// How many the key has.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A value is of a kind or length that the part does not accept.
    WrongKeyShape {
        /// The part, counted from 0.
        part: usize,
        /// The kind of value given.
        found: &'static str,
    },
    /// A number does not fit the part's column.
    ValueOutOfRange {
        /// The part, counted from 0.
        part: usize,
    },
    /// The part's column is never NULL.
    NullInNotNull {
        /// The part, counted from 0.
        part: usize,
    },
}

/// A [`KeyBuffer`](crate::KeyBuffer) is full.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let mut key = KeyBuffer::new();
/// assert_eq!(key.push(&[0; 2000]), Err(KeyTooLong));
/// assert_eq!(KeyError::from(KeyTooLong), KeyError::KeyTooLong);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTooLong;

/// What is wrong with one value, before anybody has said which column it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    WrongType { found: &'static str },
    TooLong { len: usize, max: usize },
    WrongLength { len: usize, expected: usize },
    OutOfRange,
}

impl Fault {
    /// The fault as an error of the column at `path`, whose type is `expected`.
    #[cold]
    pub(crate) fn at(self, path: &str, expected: &dyn fmt::Display) -> RowError {
        let column = Box::from(path);
        match self {
            Fault::WrongType { found } => {
                RowError::WrongType { column, expected: expected.to_string().into(), found }
            }
            Fault::TooLong { len, max } => RowError::ValueTooLong { column, len, max },
            Fault::WrongLength { len, expected } => RowError::WrongLength { column, len, expected },
            Fault::OutOfRange => RowError::ValueOutOfRange { column },
        }
    }
}

impl RowError {
    /// The same error, with `prefix` before the column's path; how a nested struct's error
    /// becomes the error of the row it stands in.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let error = RowError::ValueOutOfRange { column: "a".into() };
    /// assert_eq!(error.within("thing").column(), Some("thing.a"));
    /// ```
    #[cold]
    pub fn within(mut self, prefix: &str) -> RowError {
        if let Some(column) = self.column_mut() {
            *column = match column.is_empty() {
                true => Box::from(prefix),
                false => format!("{prefix}.{column}").into(),
            };
        }
        self
    }

    /// The path of the column at fault, if one column is.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = RowLayout::new(&TableSchema::new("T").column("a", ColumnType::U8));
    /// let error = layout.encode(&[Some(Value::I32(256))], &mut [0]).unwrap_err();
    /// assert_eq!(error.column(), Some("a"));
    /// assert_eq!(RowError::RowTooLong { len: 1 << 31 }.column(), None);
    /// ```
    pub fn column(&self) -> Option<&str> {
        match self {
            RowError::WrongType { column, .. }
            | RowError::ValueTooLong { column, .. }
            | RowError::WrongLength { column, .. }
            | RowError::ValueOutOfRange { column }
            | RowError::NullInNotNull { column }
            | RowError::UnknownColumn { column } => Some(column),
            RowError::RowTooLong { .. }
            | RowError::TooManyValues { .. }
            | RowError::BufferTooSmall { .. } => None,
        }
    }

    fn column_mut(&mut self) -> Option<&mut Box<str>> {
        match self {
            RowError::WrongType { column, .. }
            | RowError::ValueTooLong { column, .. }
            | RowError::WrongLength { column, .. }
            | RowError::ValueOutOfRange { column }
            | RowError::NullInNotNull { column }
            | RowError::UnknownColumn { column } => Some(column),
            RowError::RowTooLong { .. }
            | RowError::TooManyValues { .. }
            | RowError::BufferTooSmall { .. } => None,
        }
    }
}

impl From<KeyTooLong> for KeyError {
    fn from(_: KeyTooLong) -> KeyError {
        KeyError::KeyTooLong
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::BadName { name } => {
                write!(
                    f,
                    "{name:?} is not a name: use 1 to 128 bytes, no dots or control characters"
                )
            }
            SchemaError::DuplicateName { name } => write!(f, "the name {name:?} is used twice"),
            SchemaError::NoColumns => f.write_str("there are no columns"),
            SchemaError::TooMany { what, max } => {
                write!(f, "too many {what}: at most {max} are allowed")
            }
            SchemaError::BadType { column, reason } => write!(f, "column {column}: {reason}"),
            SchemaError::BadDefault { column } => {
                write!(f, "column {column}: the default is not a value of the column's type")
            }
            SchemaError::UnknownKeyColumn { index, column } => {
                write!(f, "index {index}: there is no column {column}")
            }
            SchemaError::BadKey { index, reason } => write!(f, "index {index}: {reason}"),
            SchemaError::BadKeyType { index, column } => {
                write!(f, "index {index}: column {column} has a type that cannot be a key")
            }
            SchemaError::NullablePrimaryKey { column } => {
                write!(f, "column {column} is in the primary key and may not be nullable")
            }
            SchemaError::SecondPrimaryKey { index } => {
                write!(f, "index {index} is a second primary key")
            }
            SchemaError::BadSet { set, reason } => write!(f, "set {set}: {reason}"),
            SchemaError::RowTooLong { len } => {
                write!(f, "the fixed part of a row would be {len} bytes long; the most is 512 MiB")
            }
            SchemaError::BadEncoding { offset } => {
                write!(f, "the stored schema is damaged at byte {offset}")
            }
            SchemaError::UnknownVersion { version } => {
                write!(f, "the stored schema has version {version}, which this program cannot read")
            }
        }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::WrongType { column, expected, found } => {
                write!(f, "column {column} is {expected} and does not accept {found}")
            }
            RowError::ValueTooLong { column, len, max } => {
                write!(f, "column {column}: the value's length is {len}, the most is {max}")
            }
            RowError::WrongLength { column, len, expected } => {
                write!(f, "column {column}: the value's length is {len}, it must be {expected}")
            }
            RowError::ValueOutOfRange { column } => {
                write!(f, "column {column}: the number is out of range")
            }
            RowError::NullInNotNull { column } => {
                write!(f, "column {column} needs a value and may not be NULL")
            }
            RowError::UnknownColumn { column } => write!(f, "there is no column {column}"),
            RowError::RowTooLong { len } => {
                write!(f, "the row would be {len} bytes long; the most is 512 MiB")
            }
            RowError::TooManyValues { expected, found } => {
                write!(f, "{found} values for a row of {expected}")
            }
            RowError::BufferTooSmall { needed, found } => {
                write!(f, "the row needs {needed} bytes, the output has {found}")
            }
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::KeyTooLong => fmt::Display::fmt(&KeyTooLong, f),
            KeyError::TooManyParts { expected, found } => {
                write!(f, "{found} values for a key of {expected} parts")
            }
            KeyError::WrongKeyShape { part, found } => {
                write!(f, "key part {} does not accept this {found}", part + 1)
            }
            KeyError::ValueOutOfRange { part } => {
                write!(f, "key part {}: the number is out of the column's range", part + 1)
            }
            KeyError::NullInNotNull { part } => {
                write!(f, "key part {} is never NULL", part + 1)
            }
        }
    }
}

impl fmt::Display for KeyTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key is longer than 1024 bytes")
    }
}

impl Error for SchemaError {}
impl Error for RowError {}
impl Error for KeyError {}
impl Error for KeyTooLong {}

#[cfg(test)]
mod tests;
