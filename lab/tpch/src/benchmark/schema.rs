//! The tables of a benchmark, as their rows stand in text: read from its `schema.sql`.
//!
//! There a column is a line: its name, its type, and `not null` if it always has a value; the last
//! line of a table is its primary key.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// A table and its columns in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    /// Names of the columns of its primary key, as SQL has them.
    pub(crate) key: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) of: Type,
    pub(crate) may_be_null: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bigint,
    Integer,
    /// Digits, and how many of them are behind the point.
    Decimal(u8, u8),
    Date,
    Char(u16),
    Varchar(u16),
    /// Of any length.
    Text,
}

/// The tables of a schema.
///
/// # Panics
/// If a line is none of those that are known: schemas are part of the program.
pub(crate) fn tables(schema: &'static str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for line in schema.lines().map(|line| line.trim().trim_end_matches(',')) {
        if let Some(name) = line.strip_prefix("create table ") {
            let name = name.trim_end_matches(" (");
            tables.push(Table { name, columns: Vec::new(), key: "" });
        } else if let Some(last) = tables.last_mut() {
            last.add(line);
        }
    }
    tables
}

impl Table {
    fn add(&mut self, line: &'static str) {
        let key = line.strip_prefix("primary key (").and_then(|line| line.strip_suffix(')'));
        match (key, line) {
            (Some(key), _) => self.key = key,
            (None, "" | ");") => {}
            (None, column) => self.columns.push(Column::of(column)),
        }
    }

    /// The table as Arrow has it.
    pub(crate) fn arrow(&self) -> SchemaRef {
        let field =
            |column: &Column| Field::new(column.name, column.of.arrow(), column.may_be_null);
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// The statement that creates it, without its key.
    pub(crate) fn sql(&self) -> String {
        format!("create table {} ({})", self.name, self.columns_sql(Type::sql).join(", "))
    }

    /// The columns as a statement has them, with these types.
    pub(crate) fn columns_sql(&self, sql: fn(Type) -> String) -> Vec<String> {
        let column = |column: &Column| {
            let not_null = if column.may_be_null { "" } else { " not null" };
            format!("{} {}{not_null}", column.name, sql(column.of))
        };
        self.columns.iter().map(column).collect()
    }
}

impl Column {
    fn of(line: &'static str) -> Self {
        let Some((name, of)) = line.split_once(' ') else {
            panic!("a column without a type: {line}")
        };
        let always = of.strip_suffix(" not null");
        let Some(of) = Type::of(always.unwrap_or(of)) else { panic!("an unknown type: {line}") };
        Self { name, of, may_be_null: always.is_none() }
    }
}

impl Type {
    fn of(text: &str) -> Option<Self> {
        let (word, numbers) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
        let numbers: Vec<&str> = numbers.split(',').map(str::trim).collect();
        Some(match (word, numbers.as_slice()) {
            ("bigint", [""]) => Self::Bigint,
            ("integer", [""]) => Self::Integer,
            ("date", [""]) => Self::Date,
            ("varchar", [""]) => Self::Text,
            ("varchar", [length]) => Self::Varchar(length.parse().ok()?),
            ("char", [length]) => Self::Char(length.parse().ok()?),
            ("decimal", [digits, behind]) => {
                Self::Decimal(digits.parse().ok()?, behind.parse().ok()?)
            }
            _ => return None,
        })
    }

    fn arrow(self) -> DataType {
        match self {
            Self::Bigint => DataType::Int64,
            Self::Integer => DataType::Int32,
            Self::Decimal(digits, behind) => DataType::Decimal128(digits, behind as i8),
            Self::Date => DataType::Date32,
            Self::Char(_) | Self::Varchar(_) | Self::Text => DataType::Utf8View,
        }
    }

    /// The type as SQL has it.
    pub(crate) fn sql(self) -> String {
        match self {
            Self::Bigint => "bigint".to_owned(),
            Self::Integer => "integer".to_owned(),
            Self::Decimal(digits, behind) => format!("decimal({digits}, {behind})"),
            Self::Date => "date".to_owned(),
            Self::Char(length) => format!("char({length})"),
            Self::Varchar(length) => format!("varchar({length})"),
            Self::Text => "varchar".to_owned(),
        }
    }
}
