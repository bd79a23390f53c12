//! Rows of the engine into arrays of Arrow.
//!
//! One builder a column, appended to row by row from the row's bytes. Text is copied: an array may
//! outlive the transaction whose rows it came from.

use std::sync::Arc;

use datafusion::arrow::array::*;
use remanent_engine::schema::{ColumnType, Value};
use remanent_engine::{ColumnHandle, Row};

use super::sql_type::SqlType;
use crate::error::{Error, Result};

/// Builds the array of one column.
pub(crate) struct ColumnBuilder {
    column: ColumnHandle,
    sql_type: SqlType,
    builder: Builder,
}

enum Builder {
    Bool(BooleanBuilder),
    I8(Int8Builder),
    I16(Int16Builder),
    I32(Int32Builder),
    I64(Int64Builder),
    U8(UInt8Builder),
    U16(UInt16Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    F32(Float32Builder),
    F64(Float64Builder),
    Decimal(Decimal128Builder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Text(StringViewBuilder),
    Bytes(BinaryBuilder),
    List(Vec<super::datum::Datum>),
}

impl ColumnBuilder {
    /// A builder for a column of this type in a row and in SQL.
    pub(crate) fn new(
        column: ColumnHandle,
        stored: &ColumnType,
        sql_type: &SqlType,
        capacity: usize,
    ) -> Self {
        let builder = match stored {
            ColumnType::Bool => Builder::Bool(BooleanBuilder::with_capacity(capacity)),
            ColumnType::I8 => Builder::I8(Int8Builder::with_capacity(capacity)),
            ColumnType::I16 => Builder::I16(Int16Builder::with_capacity(capacity)),
            ColumnType::I32 => Builder::I32(Int32Builder::with_capacity(capacity)),
            ColumnType::I64 => Builder::I64(Int64Builder::with_capacity(capacity)),
            ColumnType::U8 => Builder::U8(UInt8Builder::with_capacity(capacity)),
            ColumnType::U16 => Builder::U16(UInt16Builder::with_capacity(capacity)),
            ColumnType::U32 => Builder::U32(UInt32Builder::with_capacity(capacity)),
            ColumnType::U64 => Builder::U64(UInt64Builder::with_capacity(capacity)),
            ColumnType::F32 => Builder::F32(Float32Builder::with_capacity(capacity)),
            ColumnType::F64 => Builder::F64(Float64Builder::with_capacity(capacity)),
            ColumnType::Decimal { .. } => {
                let builder = Decimal128Builder::with_capacity(capacity);
                Builder::Decimal(builder.with_data_type(sql_type.to_arrow()))
            }
            ColumnType::Date => Builder::Date(Date32Builder::with_capacity(capacity)),
            ColumnType::Time => Builder::Time(Time64MicrosecondBuilder::with_capacity(capacity)),
            ColumnType::Timestamp => {
                let builder = TimestampMicrosecondBuilder::with_capacity(capacity);
                Builder::Timestamp(builder.with_data_type(sql_type.to_arrow()))
            }
            ColumnType::Char(_) | ColumnType::String { .. } => {
                Builder::Text(StringViewBuilder::with_capacity(capacity))
            }
            ColumnType::Binary(_) | ColumnType::Blob { .. } => {
                Builder::Bytes(BinaryBuilder::with_capacity(capacity, 0))
            }
            ColumnType::Array { .. } | ColumnType::Vector { .. } | ColumnType::Struct(_) => {
                Builder::List(Vec::with_capacity(capacity))
            }
        };
        Self { column, sql_type: sql_type.clone(), builder }
    }

    /// Appends the column's value of each row.
    pub(crate) fn extend(&mut self, rows: &[Row<'_>]) {
        let column = self.column;
        macro_rules! scalars {
            ($builder:ident, $type:ty) => {
                rows.iter().for_each(|row| $builder.append_option(row.get::<$type>(column)))
            };
        }
        macro_rules! values {
            ($builder:ident, $variant:ident) => {
                rows.iter().for_each(|row| match row.value(column) {
                    Value::$variant(value) => $builder.append_value(value),
                    _ => $builder.append_null(),
                })
            };
        }
        match &mut self.builder {
            Builder::Bool(builder) => scalars!(builder, bool),
            Builder::I8(builder) => scalars!(builder, i8),
            Builder::I16(builder) => scalars!(builder, i16),
            Builder::I32(builder) => scalars!(builder, i32),
            Builder::I64(builder) => scalars!(builder, i64),
            Builder::U8(builder) => scalars!(builder, u8),
            Builder::U16(builder) => scalars!(builder, u16),
            Builder::U32(builder) => scalars!(builder, u32),
            Builder::U64(builder) => scalars!(builder, u64),
            Builder::F32(builder) => scalars!(builder, f32),
            Builder::F64(builder) => scalars!(builder, f64),
            Builder::Decimal(builder) => values!(builder, Decimal),
            Builder::Date(builder) => values!(builder, Date),
            Builder::Time(builder) => values!(builder, Time),
            Builder::Timestamp(builder) => values!(builder, Timestamp),
            Builder::Text(builder) => {
                rows.iter().for_each(|row| builder.append_option(row.str(column)));
            }
            Builder::Bytes(builder) => values!(builder, Bytes),
            Builder::List(list) => {
                let sql_type = &self.sql_type;
                let datum =
                    |row: &Row<'_>| super::datum::Datum::from_value(row.value(column), sql_type);
                list.extend(rows.iter().map(datum));
            }
        }
    }

    /// The array of what was appended; the builder is empty then.
    ///
    /// # Errors
    /// A fault in a list.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match &mut self.builder {
            Builder::Bool(builder) => Arc::new(builder.finish()),
            Builder::I8(builder) => Arc::new(builder.finish()),
            Builder::I16(builder) => Arc::new(builder.finish()),
            Builder::I32(builder) => Arc::new(builder.finish()),
            Builder::I64(builder) => Arc::new(builder.finish()),
            Builder::U8(builder) => Arc::new(builder.finish()),
            Builder::U16(builder) => Arc::new(builder.finish()),
            Builder::U32(builder) => Arc::new(builder.finish()),
            Builder::U64(builder) => Arc::new(builder.finish()),
            Builder::F32(builder) => Arc::new(builder.finish()),
            Builder::F64(builder) => Arc::new(builder.finish()),
            Builder::Decimal(builder) => Arc::new(builder.finish()),
            Builder::Date(builder) => Arc::new(builder.finish()),
            Builder::Time(builder) => Arc::new(builder.finish()),
            Builder::Timestamp(builder) => Arc::new(builder.finish()),
            Builder::Text(builder) => Arc::new(builder.finish()),
            Builder::Bytes(builder) => Arc::new(builder.finish()),
            Builder::List(list) => {
                let list = std::mem::take(list);
                array_of(&list, &self.sql_type)?
            }
        })
    }
}

/// An array of values that are of one type, or NULL.
///
/// # Errors
/// A value of another type.
pub(crate) fn array_of(data: &[super::datum::Datum], sql_type: &SqlType) -> Result<ArrayRef> {
    let arrow = sql_type.to_arrow();
    if data.is_empty() {
        return Ok(new_empty_array(&arrow));
    }
    let scalars = data.iter().map(|datum| {
        let scalar = datum.to_scalar(sql_type)?;
        if scalar.data_type() == arrow { Ok(scalar) } else { Ok(scalar.cast_to(&arrow)?) }
    });
    let scalars = scalars.collect::<Result<Vec<_>>>()?;
    datafusion::common::ScalarValue::iter_to_array(scalars).map_err(Error::from)
}
