//! Column types, and what each occupies in a row.
//!
//! A type is *fixed* (its bytes lie in the row's fixed part) or *variable* (String, Blob, Vector).
//! All numbers are little-endian. Inside an array a struct is laid out like a C struct: declared
//! order, natural alignment, stride rounded up. Whether a type is legal where it stands is checked
//! in `validate`; the sizes given here are exact for every type that passes.

use std::fmt;

use crate::values::default_value::DefaultValue;

/// The type of a column, of an array element, or of a struct field.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let matrix = ColumnType::Array { element: Box::new(ColumnType::F32), count: 16 };
/// let point = ColumnType::Struct(vec![
///     Column::new("x", ColumnType::F64),
///     Column::new("y", ColumnType::F64),
/// ]);
/// assert_eq!(matrix.to_string(), "Array(F32, 16)");
/// assert_eq!(point.to_string(), "Struct(x F64, y F64)");
/// assert_eq!(point.fixed_size(), 16);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Signed, 1 byte.
    I8,
    /// Signed, 2 bytes.
    I16,
    /// Signed, 4 bytes.
    I32,
    /// Signed, 8 bytes.
    I64,
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// IEEE 754, 4 bytes.
    F32,
    /// IEEE 754, 8 bytes.
    F64,
    /// 0 or 1 in one byte.
    Bool,
    /// A scaled integer: 8 bytes up to 18 digits, 16 bytes up to 38.
    Decimal {
        /// Decimal digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: u8,
    },
    /// Days since 1970-01-01, 4 bytes signed.
    Date,
    /// Microseconds since midnight, 8 bytes signed.
    Time,
    /// Microseconds since 1970-01-01 00:00 UTC, 8 bytes signed.
    Timestamp,
    /// UTF-8 of at most this many bytes, padded with NUL; trailing NULs are not part of the value.
    Char(u32),
    /// Exactly this many bytes.
    Binary(u32),
    /// UTF-8 of any length.
    String {
        /// The longest value allowed, in bytes.
        max: Option<u32>,
    },
    /// Bytes of any length.
    Blob {
        /// The longest value allowed, in bytes.
        max: Option<u32>,
    },
    /// A fixed number of fixed-size elements.
    Array {
        /// A fixed scalar, an array, or a struct of such.
        element: Box<ColumnType>,
        /// How many elements there are, always.
        count: u32,
    },
    /// Named fields. Outside arrays the fields become leaves of the row, addressed as `a.b`.
    Struct(Vec<Column>),
    /// Any number of fixed-size scalars.
    Vector {
        /// A fixed scalar.
        element: Box<ColumnType>,
        /// The most elements allowed.
        max: Option<u32>,
    },
}

/// A column of a table, or a field of a struct.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let stock = Column::new("stock", ColumnType::I32).with_default(0);
/// let note = Column::new("note", ColumnType::STRING).nullable();
/// let schema = TableSchema::new("Part").with(stock).with(note);
/// assert!(schema.validate().is_ok());
/// assert!(schema.columns[0].default.is_some() && schema.columns[1].nullable);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, unique among its siblings, without dots.
    pub name: String,
    /// Its value.
    pub column_type: ColumnType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// What a row gets when no value is given; without one, NULL or an error.
    pub default: Option<DefaultValue>,
}

impl Column {
    /// A column that is never NULL and has no default.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{Column, ColumnType};
    /// let column = Column::new("price", ColumnType::Decimal { precision: 12, scale: 2 });
    /// assert!(!column.nullable);
    /// ```
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> Column {
        Column { name: name.into(), column_type, nullable: false, default: None }
    }

    /// The same column, allowed to be NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let note = Column::new("note", ColumnType::STRING).nullable();
    /// assert!(note.nullable);
    /// let layout = RowLayout::new(&TableSchema::new("T").with(note));
    /// let mut row = vec![0; layout.encoded_len(&[None])?];
    /// layout.encode(&[None], &mut row)?;
    /// assert!(layout.is_null(&row, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nullable(mut self) -> Column {
        self.nullable = true;
        self
    }

    /// The same column with a default value.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let unit = Column::new("unit", ColumnType::Char(3)).with_default("kg");
    /// let layout = RowLayout::new(&TableSchema::new("Part").with(unit));
    /// let mut row = [0; 3];
    /// layout.encode(&[None], &mut row)?;
    /// assert_eq!(layout.get_str(&row, 0), Some("kg"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_default(mut self, default: impl Into<DefaultValue>) -> Column {
        self.default = Some(default.into());
        self
    }
}

impl ColumnType {
    /// A string column without a limit.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(ColumnType::STRING, ColumnType::String { max: None });
    /// assert!(ColumnType::STRING.is_key_type());
    /// ```
    pub const STRING: ColumnType = ColumnType::String { max: None };
    /// A blob column without a limit.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(ColumnType::BLOB, ColumnType::Blob { max: None });
    /// assert!(ColumnType::BLOB.is_key_type());
    /// ```
    pub const BLOB: ColumnType = ColumnType::Blob { max: None };

    /// Whether values differ in length from row to row: String, Blob, Vector.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(ColumnType::STRING.is_variable());
    /// assert!(!ColumnType::Char(20).is_variable());
    /// ```
    pub fn is_variable(&self) -> bool {
        matches!(
            self,
            ColumnType::String { .. } | ColumnType::Blob { .. } | ColumnType::Vector { .. }
        )
    }

    /// Whether any bytes of the type's one size are a value of it, in a row.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::ColumnType;
    /// assert!(ColumnType::U32.is_any_bytes());
    /// assert!(!ColumnType::Bool.is_any_bytes());
    /// ```
    pub fn is_any_bytes(&self) -> bool {
        matches!(
            self,
            ColumnType::I8
                | ColumnType::I16
                | ColumnType::I32
                | ColumnType::I64
                | ColumnType::U8
                | ColumnType::U16
                | ColumnType::U32
                | ColumnType::U64
                | ColumnType::F32
                | ColumnType::F64
                | ColumnType::Date
                | ColumnType::Time
                | ColumnType::Timestamp
        )
    }

    /// Whether this is a fixed-size type without parts.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(ColumnType::Timestamp.is_fixed_scalar());
    /// assert!(!ColumnType::STRING.is_fixed_scalar());
    /// let pair = ColumnType::Array { element: Box::new(ColumnType::U8), count: 2 };
    /// assert!(!pair.is_fixed_scalar());
    /// ```
    pub fn is_fixed_scalar(&self) -> bool {
        !self.is_variable() && !matches!(self, ColumnType::Array { .. } | ColumnType::Struct(_))
    }

    /// Whether a key part may have this type.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(ColumnType::STRING.is_key_type() && ColumnType::BLOB.is_key_type());
    /// let vector = ColumnType::Vector { element: Box::new(ColumnType::U8), max: None };
    /// assert!(!vector.is_key_type());
    /// let schema = TableSchema::new("T").column("data", vector).primary_key(["data"]);
    /// assert!(matches!(schema.validate(), Err(SchemaError::BadKeyType { .. })));
    /// ```
    pub fn is_key_type(&self) -> bool {
        let variable = matches!(self, ColumnType::String { .. } | ColumnType::Blob { .. });
        variable || self.is_fixed_scalar()
    }

    /// Bytes that one value occupies in a fixed place; 0 for variable types.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::ColumnType;
    /// assert_eq!(ColumnType::Decimal { precision: 18, scale: 2 }.fixed_size(), 8);
    /// let matrix = ColumnType::Array { element: Box::new(ColumnType::F32), count: 16 };
    /// assert_eq!(matrix.fixed_size(), 64);
    /// ```
    pub fn fixed_size(&self) -> u64 {
        match self {
            ColumnType::I8 | ColumnType::U8 | ColumnType::Bool => 1,
            ColumnType::I16 | ColumnType::U16 => 2,
            ColumnType::I32 | ColumnType::U32 | ColumnType::F32 | ColumnType::Date => 4,
            ColumnType::I64 | ColumnType::U64 | ColumnType::F64 => 8,
            ColumnType::Time | ColumnType::Timestamp => 8,
            ColumnType::Decimal { precision, .. } => decimal_size(*precision) as u64,
            ColumnType::Char(size) | ColumnType::Binary(size) => u64::from(*size),
            ColumnType::String { .. } | ColumnType::Blob { .. } | ColumnType::Vector { .. } => 0,
            ColumnType::Array { element, count } => {
                element.fixed_size().saturating_mul(u64::from(*count))
            }
            ColumnType::Struct(fields) => {
                let end = struct_offsets(fields).last().map_or(0, |(field, offset)| {
                    offset.saturating_add(field.column_type.fixed_size())
                });
                round_up(end, u64::from(self.alignment()))
            }
        }
    }

    /// The alignment of one value in a fixed place: 1, 2, 4 or 8.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(ColumnType::U16.alignment(), 2);
    /// assert_eq!(ColumnType::Char(20).alignment(), 1);
    /// // Sixteen bytes, and still aligned to eight.
    /// assert_eq!(ColumnType::Decimal { precision: 38, scale: 0 }.alignment(), 8);
    /// ```
    pub fn alignment(&self) -> u32 {
        match self {
            ColumnType::Char(_) | ColumnType::Binary(_) => 1,
            ColumnType::String { .. } | ColumnType::Blob { .. } | ColumnType::Vector { .. } => 4,
            ColumnType::Array { element, .. } => element.alignment(),
            ColumnType::Struct(fields) => {
                fields.iter().map(|field| field.column_type.alignment()).max().unwrap_or(1)
            }
            // Scalars are aligned to their size, sixteen-byte decimals to eight.
            scalar => scalar.fixed_size().min(8) as u32,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            ColumnType::Char(size) => write!(f, "Char({size})"),
            ColumnType::Binary(size) => write!(f, "Binary({size})"),
            ColumnType::String { max } => write_limited(f, "String", *max),
            ColumnType::Blob { max } => write_limited(f, "Blob", *max),
            ColumnType::Array { element, count } => write!(f, "Array({element}, {count})"),
            ColumnType::Vector { element, max: None } => write!(f, "Vector({element})"),
            ColumnType::Vector { element, max: Some(max) } => {
                write!(f, "Vector({element}, {max})")
            }
            ColumnType::Struct(fields) => {
                f.write_str("Struct(")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {}", field.name, field.column_type)?;
                }
                f.write_str(")")
            }
            // The remaining types have no parameters: their names are their variants'.
            plain => write!(f, "{plain:?}"),
        }
    }
}

/// Bytes of a decimal's integer: 8 up to 18 digits, 16 above.
pub(crate) const fn decimal_size(precision: u8) -> usize {
    if precision <= 18 { 8 } else { 16 }
}

/// The fields of a struct inside an array, each with its offset from the struct's start.
pub(crate) fn struct_offsets(fields: &[Column]) -> impl Iterator<Item = (&Column, u64)> {
    let mut end = 0u64;
    fields.iter().map(move |field| {
        let offset = round_up(end, u64::from(field.column_type.alignment()));
        end = offset.saturating_add(field.column_type.fixed_size());
        (field, offset)
    })
}

fn round_up(offset: u64, alignment: u64) -> u64 {
    offset.saturating_add(alignment - 1) / alignment * alignment
}

fn write_limited(f: &mut fmt::Formatter<'_>, name: &str, max: Option<u32>) -> fmt::Result {
    match max {
        Some(max) => write!(f, "{name}({max})"),
        None => f.write_str(name),
    }
}

#[cfg(test)]
mod tests;
