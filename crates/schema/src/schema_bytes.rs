//! Schemas as bytes, for catalogues: versioned and read without trust. See `FORMAT.md`.
//!
//! Writing and reading are kept side by side, tag by tag. Reading ends in an error, never in a
//! panic or a large allocation, whatever the bytes are, and what it returns has been validated.

use crate::definition::set_schema::{SetMember, SetOrder, SetSchema};
use crate::definition::table_schema::{IndexKind, IndexSchema, KeyPart, TableSchema, TableStorage};
use crate::error::SchemaError;
use crate::validate::NESTING_MAX;
use crate::values::column_type::{Column, ColumnType};
use crate::values::default_value::DefaultValue;

/// The versions that are written and read: without a set, with one behind the indexes, and with the
/// table's storage before a set that may be there.
const VERSION: u8 = 1;
const VERSION_WITH_SET: u8 = 2;
const VERSION_WITH_STORAGE: u8 = 3;

/// Nothing: no limit, no default.
const NONE: u8 = 0;
const SOME: u8 = 1;

impl TableSchema {
    /// The schema as bytes that [`from_bytes`](TableSchema::from_bytes) of this and every later
    /// version of the program reads.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("T").column("a", ColumnType::U32).primary_key(["a"]);
    /// let bytes = schema.to_bytes();
    /// assert_eq!(TableSchema::from_bytes(&bytes), Ok(schema));
    /// let damaged = TableSchema::from_bytes(&bytes[..bytes.len() - 1]);
    /// assert!(matches!(damaged, Err(SchemaError::BadEncoding { .. })));
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = match (self.storage, &self.set) {
            (TableStorage::Memory, None) => VERSION,
            (TableStorage::Memory, Some(_)) => VERSION_WITH_SET,
            _ => VERSION_WITH_STORAGE,
        };
        let mut writer = Writer { bytes: vec![version] };
        writer.text(&self.name);
        writer.columns(&self.columns);
        writer.count(self.indexes.len());
        for index in &self.indexes {
            writer.index(index);
        }
        if version == VERSION_WITH_STORAGE {
            writer.byte(self.storage as u8);
            writer.flag(self.set.is_some());
        }
        if let Some(set) = &self.set {
            writer.set(set);
        }
        writer.bytes
    }

    /// Reads a schema back.
    ///
    /// # Errors
    /// [`SchemaError::UnknownVersion`]; [`SchemaError::BadEncoding`] for bytes that are no schema
    /// or go on after it; whatever [`validate`](TableSchema::validate) finds.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{ColumnType, TableSchema};
    /// let schema = TableSchema::new("T").column("a", ColumnType::Bool);
    /// assert_eq!(TableSchema::from_bytes(&schema.to_bytes())?, schema);
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<TableSchema, SchemaError> {
        let mut reader = Reader { bytes, offset: 0 };
        let version = reader.byte()?;
        match version {
            VERSION | VERSION_WITH_SET | VERSION_WITH_STORAGE => {}
            version => return Err(SchemaError::UnknownVersion { version }),
        }
        let name = reader.text()?;
        let columns = reader.columns(0)?;
        let indexes = reader.many(Reader::index)?;
        let (storage, has_set) = match version {
            VERSION_WITH_STORAGE => (reader.storage()?, reader.flag()?),
            version => (TableStorage::Memory, version == VERSION_WITH_SET),
        };
        let set = has_set.then(|| reader.set(&name)).transpose()?;
        if reader.offset != bytes.len() {
            return reader.damaged();
        }
        TableSchema { name, columns, indexes, set, storage }.build()
    }
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn columns(&mut self, columns: &[Column]) {
        self.count(columns.len());
        for column in columns {
            self.text(&column.name);
            self.column_type(&column.column_type);
            self.flag(column.nullable);
            self.default(column.default.as_ref());
        }
    }

    fn index(&mut self, index: &IndexSchema) {
        self.text(&index.name);
        self.flag(index.unique);
        self.flag(index.kind == IndexKind::Hash);
        self.flag(index.primary);
        self.count(index.parts.len());
        for part in &index.parts {
            self.text(&part.column);
            self.flag(part.descending);
        }
    }

    fn set(&mut self, set: &SetSchema) {
        self.text(&set.owner);
        self.byte(set.order as u8);
        self.count(set.members.len());
        for member in &set.members {
            self.text(&member.table);
            self.count(member.by.len());
            member.by.iter().for_each(|column| self.text(column));
        }
    }

    fn column_type(&mut self, column_type: &ColumnType) {
        self.byte(tag_of(column_type));
        match column_type {
            ColumnType::Decimal { precision, scale } => self.bytes.extend([*precision, *scale]),
            ColumnType::Char(size) | ColumnType::Binary(size) => self.number(*size),
            ColumnType::String { max } | ColumnType::Blob { max } => self.limit(*max),
            ColumnType::Array { element, count } => {
                self.column_type(element);
                self.number(*count);
            }
            ColumnType::Struct(fields) => self.columns(fields),
            ColumnType::Vector { element, max } => {
                self.column_type(element);
                self.limit(*max);
            }
            _ => {}
        }
    }

    fn default(&mut self, default: Option<&DefaultValue>) {
        let Some(default) = default else {
            return self.byte(NONE);
        };
        match default {
            DefaultValue::Signed(number) => self.tagged(1, &number.to_le_bytes()),
            DefaultValue::Unsigned(number) => self.tagged(2, &number.to_le_bytes()),
            DefaultValue::Float(number) => self.tagged(3, &number.to_bits().to_le_bytes()),
            DefaultValue::Bool(truth) => self.tagged(4, &[u8::from(*truth)]),
            DefaultValue::Decimal(unscaled) => self.tagged(5, &unscaled.to_le_bytes()),
            DefaultValue::Date(days) => self.tagged(6, &days.to_le_bytes()),
            DefaultValue::Time(micros) => self.tagged(7, &micros.to_le_bytes()),
            DefaultValue::Timestamp(micros) => self.tagged(8, &micros.to_le_bytes()),
            DefaultValue::String(text) => {
                self.byte(9);
                self.text(text);
            }
            DefaultValue::Bytes(bytes) => {
                self.byte(10);
                self.counted(bytes);
            }
        }
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.byte(tag);
        self.bytes.extend(bytes);
    }

    fn limit(&mut self, max: Option<u32>) {
        match max {
            None => self.byte(NONE),
            Some(max) => self.tagged(SOME, &max.to_le_bytes()),
        }
    }

    fn text(&mut self, text: &str) {
        self.counted(text.as_bytes());
    }

    fn counted(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend(bytes);
    }

    /// A count that no schema in memory can make overflow is cut short, and then does not read.
    fn count(&mut self, count: usize) {
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn number(&mut self, number: u32) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }
}

/// The byte that stands for a type; parameters follow it.
fn tag_of(column_type: &ColumnType) -> u8 {
    match column_type {
        ColumnType::I8 => 1,
        ColumnType::I16 => 2,
        ColumnType::I32 => 3,
        ColumnType::I64 => 4,
        ColumnType::U8 => 5,
        ColumnType::U16 => 6,
        ColumnType::U32 => 7,
        ColumnType::U64 => 8,
        ColumnType::F32 => 9,
        ColumnType::F64 => 10,
        ColumnType::Bool => 11,
        ColumnType::Decimal { .. } => 12,
        ColumnType::Date => 13,
        ColumnType::Time => 14,
        ColumnType::Timestamp => 15,
        ColumnType::Char(_) => 16,
        ColumnType::Binary(_) => 17,
        ColumnType::String { .. } => 18,
        ColumnType::Blob { .. } => 19,
        ColumnType::Array { .. } => 20,
        ColumnType::Struct(_) => 21,
        ColumnType::Vector { .. } => 22,
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    offset: usize,
}

impl<'b> Reader<'b> {
    fn columns(&mut self, depth: usize) -> Result<Vec<Column>, SchemaError> {
        self.many(|reader| {
            Ok(Column {
                name: reader.text()?,
                column_type: reader.column_type(depth)?,
                nullable: reader.flag()?,
                default: reader.default()?,
            })
        })
    }

    fn index(&mut self) -> Result<IndexSchema, SchemaError> {
        let name = self.text()?;
        let unique = self.flag()?;
        let kind = if self.flag()? { IndexKind::Hash } else { IndexKind::Ordered };
        let primary = self.flag()?;
        let parts =
            self.many(|reader| Ok(KeyPart { column: reader.text()?, descending: reader.flag()? }))?;
        Ok(IndexSchema { name, parts, unique, kind, primary })
    }

    fn set(&mut self, name: &str) -> Result<SetSchema, SchemaError> {
        let owner = self.text()?;
        let tag = self.byte()?;
        let Some(order) = SetOrder::from_tag(tag) else { return self.damaged() };
        let members = self.many(|reader| {
            Ok(SetMember { table: reader.text()?, by: reader.many(Reader::text)? })
        })?;
        Ok(SetSchema { name: name.to_owned(), owner, order, members })
    }

    fn column_type(&mut self, depth: usize) -> Result<ColumnType, SchemaError> {
        if depth > NESTING_MAX {
            return self.damaged();
        }
        Ok(match self.byte()? {
            1 => ColumnType::I8,
            2 => ColumnType::I16,
            3 => ColumnType::I32,
            4 => ColumnType::I64,
            5 => ColumnType::U8,
            6 => ColumnType::U16,
            7 => ColumnType::U32,
            8 => ColumnType::U64,
            9 => ColumnType::F32,
            10 => ColumnType::F64,
            11 => ColumnType::Bool,
            12 => ColumnType::Decimal { precision: self.byte()?, scale: self.byte()? },
            13 => ColumnType::Date,
            14 => ColumnType::Time,
            15 => ColumnType::Timestamp,
            16 => ColumnType::Char(self.number()?),
            17 => ColumnType::Binary(self.number()?),
            18 => ColumnType::String { max: self.limit()? },
            19 => ColumnType::Blob { max: self.limit()? },
            20 => {
                let element = Box::new(self.column_type(depth + 1)?);
                ColumnType::Array { element, count: self.number()? }
            }
            21 => ColumnType::Struct(self.columns(depth + 1)?),
            22 => {
                let element = Box::new(self.column_type(depth + 1)?);
                ColumnType::Vector { element, max: self.limit()? }
            }
            _ => return self.damaged(),
        })
    }

    fn default(&mut self) -> Result<Option<DefaultValue>, SchemaError> {
        Ok(Some(match self.byte()? {
            NONE => return Ok(None),
            1 => DefaultValue::Signed(i64::from_le_bytes(self.array()?)),
            2 => DefaultValue::Unsigned(u64::from_le_bytes(self.array()?)),
            3 => DefaultValue::Float(f64::from_bits(u64::from_le_bytes(self.array()?))),
            4 => DefaultValue::Bool(self.flag()?),
            5 => DefaultValue::Decimal(i128::from_le_bytes(self.array()?)),
            6 => DefaultValue::Date(i32::from_le_bytes(self.array()?)),
            7 => DefaultValue::Time(i64::from_le_bytes(self.array()?)),
            8 => DefaultValue::Timestamp(i64::from_le_bytes(self.array()?)),
            9 => DefaultValue::String(self.text()?),
            10 => DefaultValue::Bytes(self.counted()?.to_vec()),
            _ => return self.damaged(),
        }))
    }

    /// A counted list. Memory grows with what is read, not with what the count claims.
    fn many<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Vec<T>, SchemaError> {
        let count = self.number()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    fn limit(&mut self) -> Result<Option<u32>, SchemaError> {
        Ok(if self.flag()? { Some(self.number()?) } else { None })
    }

    fn text(&mut self) -> Result<String, SchemaError> {
        match std::str::from_utf8(self.counted()?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => self.damaged(),
        }
    }

    fn counted(&mut self) -> Result<&'b [u8], SchemaError> {
        let len = self.number()? as usize;
        let Some(bytes) = self.bytes[self.offset..].get(..len) else {
            return self.damaged();
        };
        self.offset += len;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, SchemaError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn storage(&mut self) -> Result<TableStorage, SchemaError> {
        match self.byte()? {
            0 => Ok(TableStorage::Memory),
            1 => Ok(TableStorage::Paged),
            _ => self.damaged(),
        }
    }

    fn flag(&mut self) -> Result<bool, SchemaError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => self.damaged(),
        }
    }

    fn byte(&mut self) -> Result<u8, SchemaError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SchemaError> {
        let Some(bytes) = self.bytes[self.offset..].first_chunk() else {
            return self.damaged();
        };
        self.offset += N;
        Ok(*bytes)
    }

    fn damaged<T>(&self) -> Result<T, SchemaError> {
        Err(SchemaError::BadEncoding { offset: self.offset })
    }
}

#[cfg(test)]
mod tests;
