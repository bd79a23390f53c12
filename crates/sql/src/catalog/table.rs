//! A table as SQL sees it: the engine's handles, and what SQL adds to them.
//!
//! Columns are the leaves of the engine's row, so a struct's field is a column with a dot in its
//! name. A table is never changed; the catalog's next snapshot has another.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::sql::sqlparser::ast;
use remanent_engine::schema::ColumnType;
use remanent_engine::{ColumnHandle, Error as EngineError, ErrorKind, IndexHandle};

use super::store::ObjectId;
use crate::error::{Error, Result, SqlState};
use crate::names::Name;
use crate::values::sql_type::SqlType;

/// The hidden column of a table that is about to be changed: the number of the row.
pub(crate) const ROW_COLUMN: &str = "\u{1}row";

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    /// A number for all that it was made from: a table of the same is the same.
    pub(crate) origin: u64,
    /// Its number in the catalog; none of a table that SQL was told nothing about.
    pub(crate) id: Option<ObjectId>,
    /// The role that may do everything with it.
    pub(crate) owner: Option<ObjectId>,
    /// Why its definition cannot be read. Its rows can be, and nothing can be changed.
    pub(crate) fault: Option<String>,
    pub(crate) name: Name,
    pub(crate) handle: remanent_engine::Table,
    pub(crate) columns: Vec<Column>,
    /// Leaves of the engine's row: as many as columns, or more.
    pub(crate) leaves: usize,
    pub(crate) indexes: Vec<Index>,
    pub(crate) checks: Vec<Check>,
    pub(crate) references: Vec<Reference>,
    pub(crate) comment: Option<String>,
    /// The columns, as Arrow has them.
    pub(crate) arrow: SchemaRef,
    /// The same and the hidden number of the row behind them.
    pub(crate) arrow_with_row: SchemaRef,
}

/// A column: a leaf of the engine's row.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) stored: ColumnType,
    pub(crate) handle: ColumnHandle,
    /// Its place among the leaves of a row.
    pub(crate) leaf: usize,
    pub(crate) nullable: bool,
    pub(crate) default: Option<ast::Expr>,
    pub(crate) identity: Option<Identity>,
    /// The expression that a stored generated column has as its value.
    pub(crate) generated: Option<ast::Expr>,
    pub(crate) comment: Option<String>,
}

/// A column that takes its values from a sequence.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) sequence: ObjectId,
    /// Whether statements may not give a value of their own.
    pub(crate) always: bool,
}

/// An index.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The name in SQL, which for a primary key is not the engine's.
    pub(crate) name: String,
    pub(crate) handle: IndexHandle,
    /// Places of its columns among the table's.
    pub(crate) columns: Vec<usize>,
    pub(crate) descending: Vec<bool>,
    pub(crate) unique: bool,
    pub(crate) primary: bool,
    pub(crate) ordered: bool,
    /// Whether a constraint made it.
    pub(crate) constraint: bool,
    pub(crate) comment: Option<String>,
}

/// A condition that every row meets.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) condition: ast::Expr,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    /// Places of the columns that refer.
    pub(crate) columns: Vec<usize>,
    pub(crate) table: Name,
    /// The number of that table.
    pub(crate) table_id: ObjectId,
    /// Names of the columns that are referred to.
    pub(crate) to: Vec<String>,
    pub(crate) on_delete: Action,
    pub(crate) on_update: Action,
}

/// What becomes of a row whose referred-to row goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Refuse,
    Cascade,
    SetNull,
    SetDefault,
}

impl Table {
    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The primary key.
    pub(crate) fn primary(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| index.primary)
    }

    /// The schemas of Arrow for these columns, without and with the number of the row.
    pub(crate) fn arrow_schemas(columns: &[Column]) -> (SchemaRef, SchemaRef) {
        let field = |column: &Column| {
            Field::new(&column.name, column.sql_type.to_arrow(), column.nullable)
                .with_metadata(type_metadata(&column.sql_type))
        };
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let row = Field::new(ROW_COLUMN, SqlType::UBigInt.to_arrow(), false);
        let with_row: Vec<Field> = fields.iter().cloned().chain([row]).collect();
        (Arc::new(Schema::new(fields)), Arc::new(Schema::new(with_row)))
    }
}

/// The key under which a field says which type of SQL it is, where Arrow's does not tell.
const SQL_TYPE: &str = "sql_type";

pub(crate) fn type_metadata(sql_type: &SqlType) -> std::collections::HashMap<String, String> {
    let told_by_arrow = SqlType::from_arrow(&sql_type.to_arrow()) == *sql_type;
    let entry = (!told_by_arrow).then(|| (SQL_TYPE.to_owned(), sql_type.to_string()));
    entry.into_iter().collect()
}

/// What a field says that is text of any length, whatever it comes from.
pub(crate) fn plain_text() -> std::collections::HashMap<String, String> {
    std::iter::once((SQL_TYPE.to_owned(), SqlType::Text.to_string())).collect()
}

/// The type of SQL that a field of a result has.
pub(crate) fn type_of_field(field: &Field) -> SqlType {
    let named = field
        .metadata()
        .get(SQL_TYPE)
        .and_then(|text| SqlType::from_ast(&super::written::read_type(text).ok()?).ok());
    named
        .filter(|named| named.to_arrow() == *field.data_type())
        .unwrap_or_else(|| SqlType::from_arrow(field.data_type()))
}

/// The unique index of the columns that a reference names.
///
/// # Errors
/// `BAD_DEFINITION` if there is none.
pub(crate) fn referred_key<'t>(parent: &'t Table, reference: &Reference) -> Result<&'t Index> {
    let found = match reference.to.is_empty() {
        true => parent.primary(),
        false => parent.indexes.iter().find(|index| {
            let names: HashSet<&str> =
                index.columns.iter().map(|&c| parent.columns[c].name.as_str()).collect();
            let wanted: HashSet<&str> = reference.to.iter().map(String::as_str).collect();
            index.unique && names == wanted
        }),
    };
    let found = found.filter(|index| index.columns.len() == reference.columns.len());
    found.ok_or_else(|| {
        let text = format!(
            "there is no unique constraint matching given keys for referenced table {}",
            parent.name
        );
        Error::new(SqlState::BAD_DEFINITION, text)
    })
}

/// The engine's error about this table; of a key that is there already, with what SQL calls it.
pub(crate) fn duplicate_named(error: EngineError, table: &Table) -> Error {
    if error.kind() != ErrorKind::DuplicateKey {
        return error.into();
    }
    let text = error.to_string();
    let met = error.index().unwrap_or_default();
    let is_met = |index: &&Index| index.name == met || (index.primary && met == "primary");
    let index = table.indexes.iter().filter(|index| index.unique).find(is_met);
    let name = index.map_or("", |index| index.name.as_str());
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    Error::new(SqlState::UNIQUE_VIOLATION, message).detail(text).of_constraint(
        &table.name.schema,
        &table.name.name,
        name,
    )
}
