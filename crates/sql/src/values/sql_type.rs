//! The types of SQL, and what each is in a row and in Arrow.
//!
//! One table of three columns, spread over the functions here: name in SQL, [`ColumnType`] of the
//! engine, [`DataType`] of Arrow. Text of limited length is plain text in a row; its limit is
//! checked where values are assigned.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use datafusion::sql::sqlparser::ast;
use remanent_engine::schema::ColumnType;

use crate::error::{Error, Result, SqlState};

/// Digits of NUMERIC that says nothing of them, and of these after the point.
const NUMERIC: (u8, u8) = (38, 10);

/// A type of SQL.
///
/// # Examples
/// ```
/// use remanent_sql::SqlType;
/// assert_eq!(SqlType::Numeric { precision: 12, scale: 2 }.to_string(), "numeric(12,2)");
/// assert_eq!(SqlType::Varchar(10).to_string(), "character varying(10)");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SqlType {
    /// True or false.
    Boolean,
    /// Signed, 1 byte; not in PostgreSQL.
    TinyInt,
    /// Signed, 2 bytes.
    SmallInt,
    /// Signed, 4 bytes.
    Integer,
    /// Signed, 8 bytes.
    BigInt,
    /// Unsigned, 1 byte; not in PostgreSQL.
    UTinyInt,
    /// Unsigned, 2 bytes; not in PostgreSQL.
    USmallInt,
    /// Unsigned, 4 bytes; not in PostgreSQL.
    UInteger,
    /// Unsigned, 8 bytes; not in PostgreSQL.
    UBigInt,
    /// A float of 4 bytes.
    Real,
    /// A float of 8 bytes.
    Double,
    /// A decimal number of at most 38 digits.
    Numeric {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// A day.
    Date,
    /// A time of day, in microseconds.
    Time,
    /// A day and a time, in microseconds.
    Timestamp,
    /// A moment, in microseconds since 1970 UTC.
    TimestampTz,
    /// A span of months, days and nanoseconds; not in tables.
    Interval,
    /// Text of any length.
    Text,
    /// Text of at most so many characters.
    Varchar(u32),
    /// Text of so many characters, the last ones blanks, which are not kept.
    Char(u32),
    /// A universally unique identifier, kept as its text.
    Uuid,
    /// A JSON document, kept as its text.
    Json,
    /// Bytes.
    Bytea,
    /// A list of values of one type.
    Array(Box<SqlType>),
    /// The type of NULL.
    Unknown,
}

impl SqlType {
    /// NUMERIC that says nothing of its digits.
    pub(crate) const ANY_NUMERIC: Self = Self::Numeric { precision: NUMERIC.0, scale: NUMERIC.1 };

    /// The type that the text of a statement names.
    pub(crate) fn from_ast(data_type: &ast::DataType) -> Result<Self> {
        use ast::DataType as Ast;
        Ok(match data_type {
            Ast::Boolean | Ast::Bool => Self::Boolean,
            Ast::TinyInt(_) => Self::TinyInt,
            Ast::SmallInt(_) | Ast::Int2(_) => Self::SmallInt,
            Ast::Int(_) | Ast::Integer(_) | Ast::Int4(_) | Ast::Int32 => Self::Integer,
            Ast::BigInt(_) | Ast::Int8(_) | Ast::Int64 => Self::BigInt,
            Ast::TinyIntUnsigned(_) | Ast::UTinyInt => Self::UTinyInt,
            Ast::SmallIntUnsigned(_) | Ast::USmallInt => Self::USmallInt,
            Ast::IntUnsigned(_) | Ast::IntegerUnsigned(_) => Self::UInteger,
            Ast::BigIntUnsigned(_) | Ast::UBigInt => Self::UBigInt,
            Ast::Real | Ast::Float4 | Ast::Float32 => Self::Real,
            Ast::Double(_) | Ast::DoublePrecision | Ast::Float8 | Ast::Float64 => Self::Double,
            Ast::Float(ast::ExactNumberInfo::Precision(digits)) if *digits <= 24 => Self::Real,
            Ast::Float(_) => Self::Double,
            Ast::Numeric(info) | Ast::Decimal(info) | Ast::Dec(info) => numeric(info)?,
            Ast::Date => Self::Date,
            Ast::Time(_, zone) if !has_zone(zone) => Self::Time,
            Ast::Timestamp(_, zone) if has_zone(zone) => Self::TimestampTz,
            Ast::Timestamp(..) | Ast::Datetime(_) => Self::Timestamp,
            Ast::Interval { .. } => Self::Interval,
            Ast::Text | Ast::String(_) | Ast::Varchar(None) | Ast::CharacterVarying(None) => {
                Self::Text
            }
            Ast::Varchar(Some(length)) | Ast::CharacterVarying(Some(length)) => {
                Self::Varchar(characters(length)?)
            }
            Ast::Char(length) | Ast::Character(length) => {
                Self::Char(length.as_ref().map_or(Ok(1), characters)?)
            }
            Ast::Uuid => Self::Uuid,
            Ast::JSON | Ast::JSONB => Self::Json,
            Ast::Bytea | Ast::Blob(_) | Ast::Varbinary(_) | Ast::Binary(_) => Self::Bytea,
            Ast::Array(
                ast::ArrayElemTypeDef::SquareBracket(element, _)
                | ast::ArrayElemTypeDef::AngleBracket(element),
            ) => Self::Array(Box::new(Self::from_ast(element)?)),
            Ast::Custom(name, _) => Self::from_name(&name.to_string())?,
            other => return Err(unknown(other)),
        })
    }

    /// A type by a name that has no spelling of its own in the grammar.
    fn from_name(name: &str) -> Result<Self> {
        let lower = name.to_lowercase();
        Ok(match lower.strip_prefix("pg_catalog.").unwrap_or(&lower) {
            "bool" => Self::Boolean,
            "int2" | "smallserial" | "serial2" => Self::SmallInt,
            "int4" | "serial" | "serial4" | "oid" => Self::Integer,
            "int8" | "bigserial" | "serial8" => Self::BigInt,
            "float4" => Self::Real,
            "float8" => Self::Double,
            "bpchar" | "name" | "varchar" | "text" | "regtype" | "regclass" => Self::Text,
            "timestamptz" => Self::TimestampTz,
            "json" | "jsonb" => Self::Json,
            "uuid" => Self::Uuid,
            _ => return Err(unknown(name)),
        })
    }

    /// What a column of this type is in a row.
    pub(crate) fn to_column_type(&self) -> Result<ColumnType> {
        Ok(match self {
            Self::Boolean => ColumnType::Bool,
            Self::TinyInt => ColumnType::I8,
            Self::SmallInt => ColumnType::I16,
            Self::Integer => ColumnType::I32,
            Self::BigInt => ColumnType::I64,
            Self::UTinyInt => ColumnType::U8,
            Self::USmallInt => ColumnType::U16,
            Self::UInteger => ColumnType::U32,
            Self::UBigInt => ColumnType::U64,
            Self::Real => ColumnType::F32,
            Self::Double => ColumnType::F64,
            Self::Numeric { precision, scale } => {
                ColumnType::Decimal { precision: *precision, scale: *scale }
            }
            Self::Date => ColumnType::Date,
            Self::Time => ColumnType::Time,
            Self::Timestamp | Self::TimestampTz => ColumnType::Timestamp,
            Self::Text | Self::Varchar(_) | Self::Char(_) | Self::Uuid | Self::Json => {
                ColumnType::STRING
            }
            Self::Bytea => ColumnType::BLOB,
            Self::Array(element) => {
                let element = element.to_column_type()?;
                if !element.is_fixed_scalar() {
                    return Err(Error::unsupported(format!("a column of type {self}"))
                        .hint("Arrays in tables have elements of a fixed size."));
                }
                ColumnType::Vector { element: Box::new(element), max: None }
            }
            Self::Interval | Self::Unknown => {
                return Err(Error::unsupported(format!("a column of type {self}")));
            }
        })
    }

    /// What a column is in SQL that was defined elsewhere; `None` if SQL cannot show it.
    pub(crate) fn from_column_type(column: &ColumnType) -> Option<Self> {
        Some(match column {
            ColumnType::Bool => Self::Boolean,
            ColumnType::I8 => Self::TinyInt,
            ColumnType::I16 => Self::SmallInt,
            ColumnType::I32 => Self::Integer,
            ColumnType::I64 => Self::BigInt,
            ColumnType::U8 => Self::UTinyInt,
            ColumnType::U16 => Self::USmallInt,
            ColumnType::U32 => Self::UInteger,
            ColumnType::U64 => Self::UBigInt,
            ColumnType::F32 => Self::Real,
            ColumnType::F64 => Self::Double,
            ColumnType::Decimal { precision, scale } => {
                Self::Numeric { precision: *precision, scale: *scale }
            }
            ColumnType::Date => Self::Date,
            ColumnType::Time => Self::Time,
            ColumnType::Timestamp => Self::Timestamp,
            ColumnType::Char(_) | ColumnType::String { .. } => Self::Text,
            ColumnType::Binary(_) | ColumnType::Blob { .. } => Self::Bytea,
            ColumnType::Array { element, .. } | ColumnType::Vector { element, .. }
                if element.is_fixed_scalar() =>
            {
                Self::Array(Box::new(Self::from_column_type(element)?))
            }
            ColumnType::Array { .. } | ColumnType::Vector { .. } | ColumnType::Struct(_) => {
                return None;
            }
        })
    }

    /// What Arrow calls it.
    pub fn to_arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::TinyInt => DataType::Int8,
            Self::SmallInt => DataType::Int16,
            Self::Integer => DataType::Int32,
            Self::BigInt => DataType::Int64,
            Self::UTinyInt => DataType::UInt8,
            Self::USmallInt => DataType::UInt16,
            Self::UInteger => DataType::UInt32,
            Self::UBigInt => DataType::UInt64,
            Self::Real => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Numeric { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampTz => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("+00:00")))
            }
            Self::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::Text | Self::Varchar(_) | Self::Char(_) | Self::Uuid | Self::Json => {
                DataType::Utf8View
            }
            Self::Bytea => DataType::Binary,
            Self::Array(element) => {
                DataType::List(Arc::new(Field::new("item", element.to_arrow(), true)))
            }
            Self::Unknown => DataType::Null,
        }
    }

    /// What a column of a result is in SQL.
    pub fn from_arrow(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Int8 => Self::TinyInt,
            DataType::Int16 => Self::SmallInt,
            DataType::Int32 => Self::Integer,
            DataType::Int64 | DataType::Duration(_) => Self::BigInt,
            DataType::UInt8 => Self::UTinyInt,
            DataType::UInt16 => Self::USmallInt,
            DataType::UInt32 => Self::UInteger,
            DataType::UInt64 => Self::UBigInt,
            DataType::Float16 | DataType::Float32 => Self::Real,
            DataType::Float64 => Self::Double,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => {
                Self::Numeric { precision: *precision, scale: (*scale).max(0) as u8 }
            }
            DataType::Decimal256(_, scale) => {
                Self::Numeric { precision: 38, scale: (*scale).clamp(0, 38) as u8 }
            }
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Timestamp(_, None) => Self::Timestamp,
            DataType::Timestamp(_, Some(_)) => Self::TimestampTz,
            DataType::Interval(_) => Self::Interval,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Bytea,
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _) => {
                Self::Array(Box::new(Self::from_arrow(field.data_type())))
            }
            DataType::Dictionary(_, values) => Self::from_arrow(values),
            DataType::Null => Self::Unknown,
            _ => Self::Text,
        }
    }

    /// Whether values are text in a row.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_) | Self::Char(_) | Self::Uuid | Self::Json)
    }

    /// Whether values are whole numbers.
    pub(crate) fn is_integer(&self) -> bool {
        matches!(
            self,
            Self::TinyInt
                | Self::SmallInt
                | Self::Integer
                | Self::BigInt
                | Self::UTinyInt
                | Self::USmallInt
                | Self::UInteger
                | Self::UBigInt
        )
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "boolean",
            Self::TinyInt => "tinyint",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::UTinyInt => "tinyint unsigned",
            Self::USmallInt => "smallint unsigned",
            Self::UInteger => "integer unsigned",
            Self::UBigInt => "bigint unsigned",
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Numeric { precision, scale } if (*precision, *scale) == NUMERIC => "numeric",
            Self::Numeric { precision, scale } => return write!(f, "numeric({precision},{scale})"),
            Self::Date => "date",
            Self::Time => "time without time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::TimestampTz => "timestamp with time zone",
            Self::Interval => "interval",
            Self::Text => "text",
            Self::Varchar(length) => return write!(f, "character varying({length})"),
            Self::Char(length) => return write!(f, "character({length})"),
            Self::Uuid => "uuid",
            Self::Json => "json",
            Self::Bytea => "bytea",
            Self::Array(element) => return write!(f, "{element}[]"),
            Self::Unknown => "unknown",
        })
    }
}

fn numeric(info: &ast::ExactNumberInfo) -> Result<SqlType> {
    let (precision, scale) = match info {
        ast::ExactNumberInfo::None => (u64::from(NUMERIC.0), i64::from(NUMERIC.1)),
        ast::ExactNumberInfo::Precision(precision) => (*precision, 0),
        ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if !(1..=38).contains(&precision) || !(0..=precision as i64).contains(&scale) {
        let text = format!("NUMERIC({precision},{scale}) is out of range");
        return Err(Error::new(SqlState::BAD_PARAMETER, text)
            .hint("A number has 1 to 38 digits, of these 0 to all after the point."));
    }
    Ok(SqlType::Numeric { precision: precision as u8, scale: scale as u8 })
}

fn has_zone(zone: &ast::TimezoneInfo) -> bool {
    matches!(zone, ast::TimezoneInfo::WithTimeZone | ast::TimezoneInfo::Tz)
}

fn characters(length: &ast::CharacterLength) -> Result<u32> {
    match length {
        ast::CharacterLength::IntegerLength { length, .. } if *length >= 1 => {
            u32::try_from(*length).map_err(|_| too_long(*length))
        }
        ast::CharacterLength::IntegerLength { length, .. } => Err(too_long(*length)),
        ast::CharacterLength::Max => Ok(u32::MAX),
    }
}

fn too_long(length: u64) -> Error {
    Error::new(SqlState::BAD_PARAMETER, format!("a length of {length} is out of range"))
}

fn unknown(name: impl fmt::Display) -> Error {
    Error::new(SqlState::UNKNOWN_OBJECT, format!("type {name} does not exist"))
}
