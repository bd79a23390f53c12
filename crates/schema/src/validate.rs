//! Which schemas are accepted.
//!
//! Everything that layouts, key plans and row writers take for granted is checked here once: names
//! and their uniqueness, type parameters, what may stand inside what, defaults, keys, and limits
//! on counts and sizes that keep all offsets within 32 bits.

use std::collections::HashSet;

use crate::definition::set_schema::{SET_MEMBERS_MAX, SetSchema};
use crate::definition::table_schema::{IndexSchema, TableSchema};
use crate::error::SchemaError;
use crate::row::layout::{ROW_LEN_MAX, RowLayout, fixed_len};
use crate::values::column_type::{Column, ColumnType};
use crate::values::fixed_value::write_fixed;
use crate::values::value::Value;

/// The longest name of a table, column or index, in bytes.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let named = |len| TableSchema::new("n".repeat(len)).column("a", ColumnType::U8);
/// assert!(named(NAME_LEN_MAX).validate().is_ok());
/// assert!(matches!(named(NAME_LEN_MAX + 1).validate(), Err(SchemaError::BadName { .. })));
/// ```
pub const NAME_LEN_MAX: usize = 128;
/// The most columns of a table, or fields of a struct.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let columns = |count| (0..count).map(|n| Column::new(format!("c{n}"), ColumnType::U8));
/// let schema = |count| columns(count).fold(TableSchema::new("T"), TableSchema::with);
/// assert!(schema(COLUMN_COUNT_MAX).validate().is_ok());
/// assert!(matches!(schema(COLUMN_COUNT_MAX + 1).validate(), Err(SchemaError::TooMany { .. })));
/// ```
pub const COLUMN_COUNT_MAX: usize = 1024;
/// The most leaves of a table.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let fields = (0..1000).map(|n| Column::new(format!("f{n}"), ColumnType::U8)).collect();
/// let wide = ColumnType::Struct(fields);
/// let columns = (0..5).map(|n| Column::new(format!("c{n}"), wide.clone()));
/// let schema = columns.fold(TableSchema::new("T"), TableSchema::with);
/// let refused = SchemaError::TooMany { what: "leaves", max: LEAF_COUNT_MAX };
/// assert_eq!(schema.validate(), Err(refused));
/// ```
pub const LEAF_COUNT_MAX: usize = 4096;
/// The most indexes of a table.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let mut schema = TableSchema::new("T").column("a", ColumnType::U8);
/// for number in 0..INDEX_COUNT_MAX {
///     schema = schema.ordered_index(format!("i{number}"), ["a"]);
/// }
/// assert!(schema.validate().is_ok());
/// assert!(schema.hash_index("more", ["a"]).validate().is_err());
/// ```
pub const INDEX_COUNT_MAX: usize = 32;
/// How deeply types may be nested.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let array = |element| ColumnType::Array { element: Box::new(element), count: 1 };
/// let nested = |depth| (0..depth).fold(ColumnType::U8, |inner, _| array(inner));
/// let schema = |depth| TableSchema::new("T").column("a", nested(depth));
/// assert!(schema(NESTING_MAX - 1).validate().is_ok());
/// assert!(schema(NESTING_MAX).validate().is_err());
/// ```
pub const NESTING_MAX: usize = 16;
/// The largest Char or Binary column, in bytes.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let schema = |size| TableSchema::new("T").column("a", ColumnType::Char(size));
/// assert!(schema(TEXT_SIZE_MAX).validate().is_ok());
/// assert!(schema(TEXT_SIZE_MAX + 1).validate().is_err());
/// ```
pub const TEXT_SIZE_MAX: u32 = 65_535;

impl TableSchema {
    /// Checks names, types, defaults and keys.
    ///
    /// # Errors
    /// The first fault found.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut schema = TableSchema::new("Part").column("stock", ColumnType::U8).default(5);
    /// assert_eq!(schema.validate(), Ok(()));
    /// schema.columns[0].default = Some(256.into());
    /// assert_eq!(schema.validate(), Err(SchemaError::BadDefault { column: "stock".into() }));
    /// ```
    pub fn validate(&self) -> Result<(), SchemaError> {
        validate(self)
    }
}

/// Checks a whole schema.
pub(crate) fn validate(schema: &TableSchema) -> Result<(), SchemaError> {
    check_name(&schema.name)?;
    let mut leaf_count = 0;
    check_columns("", &schema.columns, 0, &mut leaf_count)?;
    let len = fixed_len(&schema.columns);
    if len > ROW_LEN_MAX as u64 {
        return Err(SchemaError::RowTooLong { len });
    }
    if schema.indexes.len() > INDEX_COUNT_MAX {
        return Err(SchemaError::TooMany { what: "indexes", max: INDEX_COUNT_MAX });
    }
    check_distinct(schema.indexes.iter().map(|index| index.name.as_str()))?;
    let mut primaries = schema.indexes.iter().filter(|index| index.primary);
    if let (Some(_), Some(second)) = (primaries.next(), primaries.next()) {
        return Err(SchemaError::SecondPrimaryKey { index: second.name.as_str().into() });
    }
    if let Some(set) = &schema.set {
        check_set(set, schema)?;
    }
    let layout = RowLayout::new(schema);
    schema.indexes.iter().try_for_each(|index| check_index(index, &layout))
}

/// Checks the columns of a table, or the fields of a struct outside arrays at `prefix`.
fn check_set(set: &SetSchema, relation: &TableSchema) -> Result<(), SchemaError> {
    let bad = |reason| Err(SchemaError::BadSet { set: set.name.as_str().into(), reason });
    if set.members.is_empty() {
        return bad("a set has at least one member table");
    }
    if set.members.len() > SET_MEMBERS_MAX {
        return Err(SchemaError::TooMany { what: "member tables", max: SET_MEMBERS_MAX });
    }
    check_distinct(set.members.iter().map(|member| member.table.as_str()))?;
    let sorted = set.order.is_sorted();
    if set.members.iter().any(|member| member.by.is_empty() == sorted) {
        return bad("an ascending or descending set names the columns that sort it, others do not");
    }
    if *relation != set.relation() {
        return bad("its relation has other columns or indexes");
    }
    Ok(())
}

fn check_columns(
    prefix: &str,
    columns: &[Column],
    depth: usize,
    leaf_count: &mut usize,
) -> Result<(), SchemaError> {
    check_siblings(columns)?;
    for column in columns {
        let path = path_of(prefix, &column.name);
        *leaf_count += usize::from(column.nullable);
        if let ColumnType::Struct(fields) = &column.column_type {
            check_depth(depth)?;
            if column.default.is_some() {
                return Err(SchemaError::BadDefault { column: path.into() });
            }
            check_columns(&path, fields, depth + 1, leaf_count)?;
            continue;
        }
        *leaf_count += 1;
        if *leaf_count > LEAF_COUNT_MAX {
            return Err(SchemaError::TooMany { what: "leaves", max: LEAF_COUNT_MAX });
        }
        check_type(&path, &column.column_type, depth)?;
        check_default(&path, column)?;
    }
    Ok(())
}

fn check_siblings(columns: &[Column]) -> Result<(), SchemaError> {
    if columns.is_empty() {
        return Err(SchemaError::NoColumns);
    }
    if columns.len() > COLUMN_COUNT_MAX {
        return Err(SchemaError::TooMany { what: "columns", max: COLUMN_COUNT_MAX });
    }
    check_distinct(columns.iter().map(|column| column.name.as_str()))
}

fn check_type(path: &str, column_type: &ColumnType, depth: usize) -> Result<(), SchemaError> {
    check_depth(depth)?;
    let bad = |reason| Err(SchemaError::BadType { column: path.into(), reason });
    match column_type {
        ColumnType::Decimal { precision, .. } if !(1..=38).contains(precision) => {
            bad("a decimal's precision is 1 to 38")
        }
        ColumnType::Decimal { precision, scale } if scale > precision => {
            bad("a decimal's scale is at most its precision")
        }
        ColumnType::Char(size) | ColumnType::Binary(size)
            if !(1..=TEXT_SIZE_MAX).contains(size) =>
        {
            bad("Char and Binary have 1 to 65535 bytes")
        }
        ColumnType::Array { count: 0, .. } => bad("an array has at least one element"),
        ColumnType::Array { element, .. } => check_element(path, element, depth + 1),
        ColumnType::Vector { element, .. } if !element.is_fixed_scalar() => {
            bad("a vector's elements are fixed-size scalars")
        }
        ColumnType::Vector { element, .. } => check_type(path, element, depth + 1),
        _ => Ok(()),
    }
}

/// Checks a type that is inside an array, where everything has a fixed size and is never NULL.
fn check_element(path: &str, element: &ColumnType, depth: usize) -> Result<(), SchemaError> {
    check_depth(depth)?;
    let bad = |reason| Err(SchemaError::BadType { column: path.into(), reason });
    match element {
        ColumnType::String { .. } | ColumnType::Blob { .. } | ColumnType::Vector { .. } => {
            bad("an array's elements have a fixed size")
        }
        ColumnType::Struct(fields) => {
            check_siblings(fields)?;
            for field in fields {
                if field.nullable || field.default.is_some() {
                    return bad("fields inside an array are not nullable and have no defaults");
                }
                check_element(&path_of(path, &field.name), &field.column_type, depth + 1)?;
            }
            Ok(())
        }
        other => check_type(path, other, depth),
    }
}

fn check_default(path: &str, column: &Column) -> Result<(), SchemaError> {
    let Some(default) = &column.default else {
        return Ok(());
    };
    let fits = |len: usize, max: &Option<u32>| max.is_none_or(|max| len <= max as usize);
    let accepted = match (&column.column_type, default.as_value()) {
        (ColumnType::String { max }, Value::String(text)) => fits(text.len(), max),
        (ColumnType::Blob { max }, Value::Bytes(bytes)) => fits(bytes.len(), max),
        (scalar, value) if scalar.is_fixed_scalar() => {
            let mut place = vec![0; scalar.fixed_size() as usize];
            write_fixed(scalar, &value, &mut place).is_ok()
        }
        _ => false,
    };
    if accepted { Ok(()) } else { Err(SchemaError::BadDefault { column: path.into() }) }
}

fn check_index(index: &IndexSchema, layout: &RowLayout) -> Result<(), SchemaError> {
    check_name(&index.name)?;
    let name = || Box::from(index.name.as_str());
    if index.parts.is_empty() {
        return Err(SchemaError::BadKey { index: name(), reason: "a key has at least one part" });
    }
    if index.primary && !index.unique {
        return Err(SchemaError::BadKey { index: name(), reason: "a primary key is unique" });
    }
    let mut seen = HashSet::new();
    for part in &index.parts {
        let column = || Box::from(part.column.as_str());
        let Some(leaf) = layout.leaf_by_path(&part.column) else {
            return Err(match is_struct(layout, &part.column) {
                true => SchemaError::BadKeyType { index: name(), column: column() },
                false => SchemaError::UnknownKeyColumn { index: name(), column: column() },
            });
        };
        let leaf = &layout.leaves()[leaf];
        if !leaf.column_type.is_key_type() {
            return Err(SchemaError::BadKeyType { index: name(), column: column() });
        }
        if index.primary && leaf.nullable {
            return Err(SchemaError::NullablePrimaryKey { column: column() });
        }
        if !seen.insert(part.column.as_str()) {
            return Err(SchemaError::BadKey { index: name(), reason: "a column is in it twice" });
        }
    }
    Ok(())
}

/// Whether a path is that of a struct, which is no leaf itself unless it is nullable.
fn is_struct(layout: &RowLayout, path: &str) -> bool {
    let is_under = |leaf: &str| leaf.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    layout.leaves().iter().any(|leaf| is_under(&leaf.path))
}

fn check_distinct<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), SchemaError> {
    let mut seen = HashSet::new();
    for name in names {
        check_name(name)?;
        if !seen.insert(name) {
            return Err(SchemaError::DuplicateName { name: name.into() });
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), SchemaError> {
    let bad = |char: char| char == '.' || char.is_control();
    if name.is_empty() || name.len() > NAME_LEN_MAX || name.contains(bad) {
        return Err(SchemaError::BadName { name: name.into() });
    }
    Ok(())
}

fn check_depth(depth: usize) -> Result<(), SchemaError> {
    if depth >= NESTING_MAX {
        return Err(SchemaError::TooMany { what: "levels of nested types", max: NESTING_MAX });
    }
    Ok(())
}

fn path_of(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

#[cfg(test)]
mod tests;
