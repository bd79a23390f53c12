//! Tables of the native interface: made, found by name, and their columns and indexes.
//!
//! A table is made from a description in C, or from the text of a schema in either of the two
//! languages. Handles are numbers found once, by name; that of a column or an index has its
//! table's in it.

use std::ffi::c_char;

use remanent_ddl::{Dialect, Source};
use remanent_engine::schema::{Column, ColumnType, IndexSchema, KeyPart, TableSchema};

use super::database::rem_database;
use super::session::{Base, database, ordinal_of};
use super::status::*;
use super::value::*;
use crate::ffi::{InPtr, OutPtr};

/// A table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rem_table {
    /// 0 is no table.
    pub id: u64,
}

/// A column of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rem_column {
    /// 0 is the first column of no table.
    pub id: u64,
}

/// An index of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rem_index {
    /// 0 is the first index of no table.
    pub id: u64,
}

/// The column may be null.
pub const REM_NULLABLE: u32 = 1;
/// No two rows have the same key.
pub const REM_UNIQUE: u32 = 1;
/// Searched by whole keys alone.
pub const REM_HASH: u32 = 2;
/// The primary key, which is unique.
pub const REM_PRIMARY: u32 = 4;

/// A column to be made, or a field of a struct.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_column_schema {
    /// UTF-8 with a final NUL.
    pub name: *const c_char,
    /// REM_I8 .. REM_VECTOR.
    pub kind: u32,
    /// REM_NULLABLE.
    pub flags: u32,
    /// The size of a char or binary, the count of an array, the precision of a decimal, the most
    /// that a string, blob or vector may have (0 for any).
    pub size: u32,
    /// The scale of a decimal.
    pub scale: u32,
    /// The fields of a struct; the one element of an array or a vector, whose name is not asked.
    pub parts: *const rem_column_schema,
    /// How many parts.
    pub parts_count: usize,
}

/// An index to be made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_index_schema {
    /// UTF-8 with a final NUL; may be null for the primary key.
    pub name: *const c_char,
    /// The columns of the key, as `a` or `thing.a`; ` desc` behind it for descending order.
    pub columns: *const *const c_char,
    /// How many columns.
    pub columns_count: usize,
    /// REM_UNIQUE, REM_HASH, REM_PRIMARY.
    pub flags: u32,
}

pub(super) fn read_text<'a>(from: *const c_char) -> Outcome<&'a str> {
    let bytes = InPtr::from(from).text().ok_or(REM_NULL_ARGUMENT)?;
    std::str::from_utf8(bytes).map_err(|_| REM_BAD_TEXT)
}

fn column_type(column: &rem_column_schema, depth: u32) -> Outcome<ColumnType> {
    let limit = (column.size != 0).then_some(column.size);
    if depth > 16 {
        return Err(REM_INVALID_SCHEMA);
    }
    let parts = InPtr::from(column.parts).slice(column.parts_count).ok_or(REM_NULL_ARGUMENT)?;
    let element = || match parts {
        [element] => column_type(element, depth + 1).map(Box::new),
        _ => Err(REM_INVALID_SCHEMA),
    };
    Ok(match column.kind {
        REM_I8 => ColumnType::I8,
        REM_I16 => ColumnType::I16,
        REM_I32 => ColumnType::I32,
        REM_I64 => ColumnType::I64,
        REM_U8 => ColumnType::U8,
        REM_U16 => ColumnType::U16,
        REM_U32 => ColumnType::U32,
        REM_U64 => ColumnType::U64,
        REM_F32 => ColumnType::F32,
        REM_F64 => ColumnType::F64,
        REM_BOOL => ColumnType::Bool,
        REM_DECIMAL => ColumnType::Decimal {
            precision: column.size.try_into().map_err(|_| REM_INVALID_SCHEMA)?,
            scale: column.scale.try_into().map_err(|_| REM_INVALID_SCHEMA)?,
        },
        REM_DATE => ColumnType::Date,
        REM_TIME => ColumnType::Time,
        REM_TIMESTAMP => ColumnType::Timestamp,
        REM_CHAR => ColumnType::Char(column.size),
        REM_BINARY => ColumnType::Binary(column.size),
        REM_STRING => ColumnType::String { max: limit },
        REM_BLOB => ColumnType::Blob { max: limit },
        REM_ARRAY => ColumnType::Array { element: element()?, count: column.size },
        REM_VECTOR => ColumnType::Vector { element: element()?, max: limit },
        REM_STRUCT => ColumnType::Struct(
            parts.iter().map(|part| a_column(part, depth + 1)).collect::<Outcome<_>>()?,
        ),
        _ => return Err(REM_INVALID_SCHEMA),
    })
}

fn a_column(column: &rem_column_schema, depth: u32) -> Outcome<Column> {
    let made = Column::new(read_text(column.name)?, column_type(column, depth)?);
    Ok(if column.flags & REM_NULLABLE != 0 { made.nullable() } else { made })
}

fn an_index(index: &rem_index_schema) -> Outcome<IndexSchema> {
    let columns = InPtr::from(index.columns).slice(index.columns_count).ok_or(REM_NULL_ARGUMENT)?;
    let part = |column: &*const c_char| {
        let path = read_text(*column)?;
        Ok(match path.strip_suffix(" desc") {
            Some(path) => KeyPart::desc(path),
            None => KeyPart::asc(path),
        })
    };
    let parts: Vec<KeyPart> = columns.iter().map(part).collect::<Outcome<_>>()?;
    let primary = index.flags & REM_PRIMARY != 0;
    let name = if primary { "primary" } else { read_text(index.name)? };
    let mut made = IndexSchema::new(name, parts);
    made.primary = primary;
    if primary || index.flags & REM_UNIQUE != 0 {
        made = made.unique();
    }
    Ok(if index.flags & REM_HASH != 0 { made.hash() } else { made })
}

/// Makes a table.
#[unsafe(no_mangle)]
pub extern "C" fn rem_table_create(
    db: *const rem_database,
    name: *const c_char,
    columns: *const rem_column_schema,
    columns_count: usize,
    indexes: *const rem_index_schema,
    indexes_count: usize,
    out: *mut rem_table,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let mut schema = TableSchema::new(read_text(name)?);
        for column in InPtr::from(columns).slice(columns_count).ok_or(REM_NULL_ARGUMENT)? {
            schema = schema.with(a_column(column, 0)?);
        }
        for index in InPtr::from(indexes).slice(indexes_count).ok_or(REM_NULL_ARGUMENT)? {
            schema = schema.index(an_index(index)?);
        }
        let table = base.database.create_table(schema).map_err(status_of)?;
        let id = base.note(table)?.id;
        OutPtr::from(out).set(rem_table { id }).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Makes the tables and sets of a schema text. `dialect`: 0 as the text looks, 1 mco-style,
/// 2 d_-style.
#[unsafe(no_mangle)]
pub extern "C" fn rem_define(
    db: *const rem_database,
    schema: *const c_char,
    length: usize,
    dialect: u32,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let bytes = InPtr::from(schema).bytes(length).ok_or(REM_NULL_ARGUMENT)?;
        let dialect = match dialect {
            0 => None,
            1 => Some(Dialect::Mco),
            2 => Some(Dialect::D),
            _ => return Err(REM_BAD_ARGUMENT),
        };
        let options = remanent_ddl::Options { dialect, ..Default::default() };
        let parsed = remanent_ddl::parse(&Source::new("schema", bytes), &options);
        let (schema, _) = parsed.map_err(|errors| {
            keep(&errors.to_string());
            REM_BAD_SCHEMA
        })?;
        define(&base, schema.classes.into_iter().map(|class| class.table))?;
        // A set of the system's own would need its record, which is the d_-style interface's.
        let sets = schema.sets.iter().map(|set| set.schema());
        for set in sets.filter(|set| base.database.table(&set.owner).is_ok()) {
            base.database.create_set(set).map_err(status_of)?;
        }
        Ok(())
    })
}

/// Makes all of the tables or none.
fn define(base: &Base, tables: impl Iterator<Item = TableSchema>) -> Outcome {
    let mut made = Vec::new();
    for schema in tables {
        match base.database.create_table(schema) {
            Ok(table) => made.push(table),
            Err(error) => {
                for table in made {
                    base.database.drop_table(&table).map_err(status_of)?;
                }
                return Err(status_of(error));
            }
        }
    }
    made.into_iter().try_for_each(|table| base.note(table).map(|_| ()))
}

/// Finds a table by its name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_table_find(
    db: *const rem_database,
    name: *const c_char,
    out: *mut rem_table,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let id = base.note(base.database.table(read_text(name)?).map_err(status_of)?)?.id;
        OutPtr::from(out).set(rem_table { id }).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Drops a table with its rows.
#[unsafe(no_mangle)]
pub extern "C" fn rem_table_drop(db: *const rem_database, table: rem_table) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        base.database.drop_table(&base.entry(table.id)?.table).map_err(status_of)
    })
}

/// The name of the table with this number in the order of names, with a final NUL, and its length
/// without. `REM_NOT_FOUND` behind the last.
#[unsafe(no_mangle)]
pub extern "C" fn rem_table_name_at(
    db: *const rem_database,
    number: usize,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> rem_status {
    call(|| {
        let names = database(db as u64)?.database.table_names();
        put_name(names.get(number).ok_or(REM_NOT_FOUND)?, buffer, size, length)
    })
}

/// Copies a name with a final NUL, and gives its length, which may be asked for alone.
pub(super) fn put_name(
    name: &str,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> Outcome {
    let name = name.as_bytes();
    OutPtr::from(length).put(name.len());
    if size <= name.len() {
        return Err(REM_BUFFER_TOO_SMALL);
    }
    let places = OutPtr::from(buffer.cast::<u8>()).uninit_slice(size).ok_or(REM_NULL_ARGUMENT)?;
    places[..name.len()].write_copy_of_slice(name);
    places[name.len()].write(0);
    Ok(())
}

/// Makes an index on a table with all rows that are there.
#[unsafe(no_mangle)]
pub extern "C" fn rem_index_create(
    db: *const rem_database,
    table: rem_table,
    index: *const rem_index_schema,
    out: *mut rem_index,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let entry = base.entry(table.id)?;
        let schema = an_index(InPtr::from(index).get().ok_or(REM_NULL_ARGUMENT)?)?;
        let name = schema.name.clone();
        base.database.create_index(&entry.table, schema).map_err(status_of)?;
        find_index(&base, table, &name, OutPtr::from(out))
    })
}

/// Drops an index.
#[unsafe(no_mangle)]
pub extern "C" fn rem_index_drop(db: *const rem_database, index: rem_index) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let entry = base.entry(index.id)?;
        let handle = entry.table.index_at(ordinal_of(index.id)).map_err(status_of)?;
        base.database.drop_index(&entry.table, handle).map_err(status_of)
    })
}

/// Finds a column by its path, as `a` or `thing.a`.
#[unsafe(no_mangle)]
pub extern "C" fn rem_column_find(
    db: *const rem_database,
    table: rem_table,
    path: *const c_char,
    out: *mut rem_column,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let entry = base.entry(table.id)?;
        let path = read_text(path)?;
        let leaf = entry.table.layout().leaf_by_path(path);
        let id = entry.id | leaf.ok_or_else(|| unknown(path, REM_UNKNOWN_COLUMN))? as u64;
        OutPtr::from(out).set(rem_column { id }).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Finds an index by its name; that of the primary key is `primary`.
#[unsafe(no_mangle)]
pub extern "C" fn rem_index_find(
    db: *const rem_database,
    table: rem_table,
    name: *const c_char,
    out: *mut rem_index,
) -> rem_status {
    call(|| find_index(&*database(db as u64)?, table, read_text(name)?, OutPtr::from(out)))
}

fn find_index(base: &Base, table: rem_table, name: &str, out: OutPtr<rem_index>) -> Outcome {
    let entry = base.entry(table.id)?;
    let wanted = entry.table.index(name).map_err(status_of)?;
    // The ordinals of dropped indexes stay empty, so all that are possible are inspected.
    let ordinals = 0..=remanent_engine::schema::INDEX_COUNT_MAX;
    let mut ordinals = ordinals.filter(|&at| entry.table.index_at(at).is_ok_and(|i| i == wanted));
    let ordinal = ordinals.next().ok_or_else(|| unknown(name, REM_UNKNOWN_INDEX))?;
    let id = entry.id | ordinal as u64;
    out.set(rem_index { id }).ok_or(REM_NULL_ARGUMENT)
}

fn unknown(name: &str, status: rem_status) -> rem_status {
    keep(&format!("there is no `{name}`"));
    status
}
