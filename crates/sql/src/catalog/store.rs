//! The catalog's own tables in the database.
//!
//! `sql:objects` has a row for each object that SQL made: its kind, schema, name, and the statement
//! that makes it. `sql:sequences` has how far each sequence has come.

use std::sync::Arc;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{Database, ErrorKind, Row, Table, WriteTransaction};

use super::names::{Name, own};
use crate::error::Result;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Table,
    View,
    Sequence,
    Schema,
    /// Of `table`, or `table.column`; the definition is the text.
    Comment,
    /// A role: its name, and what it may and its password's hash.
    Role,
    /// What a role may do with a table.
    Grant,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Table,
        Self::View,
        Self::Sequence,
        Self::Schema,
        Self::Comment,
        Self::Role,
        Self::Grant,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Comment => "comment",
            Self::Role => "role",
            Self::Grant => "grant",
        }
    }
}

/// A row of `sql:objects`.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) name: Name,
    pub(crate) definition: String,
}

/// The catalog's tables.
pub(crate) struct Store {
    pub(crate) database: Arc<Database>,
    objects: Table,
    sequences: Table,
}

impl Store {
    /// Finds the tables, or creates them.
    ///
    /// # Errors
    /// As the engine; a database that can only be read and has none.
    pub(crate) fn open(database: Arc<Database>) -> Result<Self> {
        let objects = TableSchema::new(own("objects"))
            .column("kind", ColumnType::STRING)
            .column("schema", ColumnType::STRING)
            .column("name", ColumnType::STRING)
            .column("definition", ColumnType::STRING)
            .primary_key(["kind", "schema", "name"]);
        let sequences = TableSchema::new(own("sequences"))
            .column("schema", ColumnType::STRING)
            .column("name", ColumnType::STRING)
            .column("reserved", ColumnType::I64)
            .primary_key(["schema", "name"]);
        Ok(Self {
            objects: find_or_create(&database, objects)?,
            sequences: find_or_create(&database, sequences)?,
            database,
        })
    }

    /// All objects.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn objects(&self) -> Result<Vec<Object>> {
        let text = |row: &Row<'_>, column: usize| -> Result<String> {
            Ok(row.str(self.objects.column_at(column)?).unwrap_or_default().to_owned())
        };
        let tx = self.database.begin_read()?;
        let mut objects = Vec::new();
        for row in tx.scan(&self.objects)? {
            let word = text(&row, 0)?;
            let Some(&kind) = Kind::ALL.iter().find(|kind| kind.word() == word) else { continue };
            let name = Name::new(text(&row, 1)?, text(&row, 2)?);
            objects.push(Object { kind, name, definition: text(&row, 3)? });
        }
        Ok(objects)
    }

    /// Writes an object, over one of the same kind and name.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn put(&self, kind: Kind, name: &Name, definition: &str) -> Result<()> {
        self.database.write(|tx| {
            self.remove_in(tx, kind, name)?;
            let row = [kind.word(), &name.schema, &name.name, definition];
            tx.insert_values(&self.objects, &row.map(|text| Some(Value::String(text))))
        })?;
        Ok(())
    }

    /// Removes an object; whether there was one.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn remove(&self, kind: Kind, name: &Name) -> Result<bool> {
        Ok(self.database.write(|tx| self.remove_in(tx, kind, name))?)
    }

    fn remove_in(
        &self,
        tx: &WriteTransaction<'_>,
        kind: Kind,
        name: &Name,
    ) -> remanent_engine::Result<bool> {
        let key = [kind.word(), &name.schema, &name.name].map(Value::String);
        let Some(row) = tx.find(&self.objects, self.objects.index("primary")?, &key)? else {
            return Ok(false);
        };
        tx.delete(&self.objects, row.id())?;
        Ok(true)
    }

    /// How far a sequence's values are reserved, if ever any were.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn reserved(&self, name: &Name) -> Result<Option<i64>> {
        let tx = self.database.begin_read()?;
        let key = [name.schema.as_str(), &name.name].map(Value::String);
        let row = tx.find(&self.sequences, self.sequences.index("primary")?, &key)?;
        let column = self.sequences.column("reserved")?;
        Ok(row.and_then(|row| row.get::<i64>(column)))
    }

    /// Writes how far a sequence's values are reserved; `None` forgets it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn reserve(&self, name: &Name, last: Option<i64>) -> Result<()> {
        self.database.write(|tx| {
            let key = [name.schema.as_str(), &name.name].map(Value::String);
            let found = tx.find(&self.sequences, self.sequences.index("primary")?, &key)?;
            match (found.map(|row| row.id()), last) {
                (Some(row), Some(last)) => {
                    let column = self.sequences.column("reserved")?;
                    tx.update_values(&self.sequences, row, &[(column, Value::I64(last))])
                }
                (Some(row), None) => tx.delete(&self.sequences, row),
                (None, Some(last)) => {
                    let row = [key[0], key[1], Value::I64(last)].map(Some);
                    tx.insert_values(&self.sequences, &row).map(drop)
                }
                (None, None) => Ok(()),
            }
        })?;
        Ok(())
    }
}

fn find_or_create(database: &Database, schema: TableSchema) -> Result<Table> {
    match database.table(&schema.name) {
        Err(error) if error.kind() == ErrorKind::UnknownTable => {
            match database.create_table(schema.clone()) {
                Err(error) if error.kind() == ErrorKind::TableExists => {
                    Ok(database.table(&schema.name)?)
                }
                created => Ok(created?),
            }
        }
        found => Ok(found?),
    }
}
