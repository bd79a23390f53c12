//! The catalog's own tables in the database.
//!
//! `sql:catalog` has a row for each object that SQL made or was told about, under a number that is
//! never used again; `sql:grants` says which role may do what with which of them, one right a row;
//! `sql:comments` has texts about them, and `sql:numbers` how far each sequence has come. Whatever
//! depends on an object names its number, so a rename changes nothing and a new object of an old
//! name inherits nothing.

use std::sync::Arc;
use std::time::Duration;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, ReadTransaction, Row, Table, TransactionOptions, WriteTransaction,
};

use super::legacy;
use super::privilege::Privilege;
use crate::error::Result;
use crate::names::{Name, own, own_name};

/// How long numbers of a sequence wait for somebody's definitions.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ObjectId(pub(crate) i64);

impl ObjectId {
    /// Whoever speaks to the database: what everybody may do is granted to this role.
    pub(crate) const PUBLIC: Self = Self(0);
    /// The number of the last object is kept under this one.
    const LAST: Self = Self(-1);
    /// Numbers below are kept for what is always there.
    const FIRST: i64 = 1000;
}

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    Table,
    View,
    Sequence,
    Schema,
    Role,
    /// What the server keeps for itself: its name says what.
    Secret,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Table, Self::View, Self::Sequence, Self::Schema, Self::Role, Self::Secret];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Role => "role",
            Self::Secret => "secret",
        }
    }
}

/// An object, as it is written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Object {
    pub(crate) id: ObjectId,
    pub(crate) kind: Kind,
    pub(crate) name: Name,
    /// The role that may do everything with it.
    pub(crate) owner: Option<ObjectId>,
    /// Of a table, its number in the engine.
    pub(crate) engine: Option<u32>,
    /// What it is, as [`super::stored`] has it. Of a table that was not made in SQL, nothing.
    pub(crate) definition: String,
}

/// An object that is to be written down under a number of its own; its parts are those of
/// [`Object`].
pub(crate) struct NewObject<'n> {
    pub(crate) kind: Kind,
    pub(crate) name: &'n Name,
    pub(crate) owner: Option<ObjectId>,
    pub(crate) engine: Option<u32>,
    pub(crate) definition: &'n str,
}

/// A right: of a role, on an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Grant {
    pub(crate) role: ObjectId,
    pub(crate) object: ObjectId,
    pub(crate) privilege: Privilege,
}

/// A text about an object or, with a name, about a part of it.
pub(crate) type Comment = (ObjectId, String, String);

/// Everything that the catalog has written down.
#[derive(Clone, Default, Debug)]
pub(crate) struct Contents {
    pub(crate) objects: Vec<Object>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) comments: Vec<Comment>,
    /// How far sequences have come.
    pub(crate) numbers: Vec<(ObjectId, i64)>,
}

/// The catalog's tables.
pub(crate) struct Store {
    pub(crate) database: Arc<Database>,
    /// `None` for a database that can only be read and has none.
    tables: Option<Tables>,
    /// What is there instead then.
    fixed: Contents,
}

struct Tables {
    objects: Table,
    grants: Table,
    comments: Table,
    numbers: Table,
}

impl Store {
    /// Finds the tables, or creates them; what an older version wrote is taken over.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn open(database: Arc<Database>) -> Result<Self> {
        match Tables::open(&database) {
            Ok(tables) => {
                let store = Self { database, tables: Some(tables), fixed: Contents::default() };
                store.take_over()?;
                Ok(store)
            }
            Err(_) if database.damage().is_some() => {
                let fixed = legacy::contents(&database)?;
                Ok(Self { database, tables: None, fixed })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether rows of the table with this name say what there is.
    pub(crate) fn has_definitions(table: &str) -> bool {
        own_name(table).is_some_and(|name| ["catalog", "grants", "comments"].contains(&name))
    }

    /// Takes over what an older version wrote, unless that was done.
    fn take_over(&self) -> Result<()> {
        let tables = self.tables()?;
        let is_new = || -> Result<bool> {
            let tx = self.database.begin_read()?;
            Ok(find(&tx, &tables.numbers, ObjectId::LAST)?.is_none())
        };
        if !is_new()? {
            return Ok(());
        }
        let old = legacy::contents(&self.database)?;
        let gone = legacy::tables(&self.database);
        self.database.write(|tx| {
            tables.begin(tx, &old)?;
            gone.iter().try_for_each(|table| tx.drop_table(table))
        })?;
        Ok(())
    }

    fn tables(&self) -> Result<&Tables> {
        self.tables.as_ref().ok_or_else(|| {
            let text = "the database is damaged and can only be read";
            crate::error::Error::new(crate::error::SqlState::READ_ONLY, text)
        })
    }

    /// Everything that is written down, as a transaction sees it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn contents(&self, tx: &ReadTransaction<'_>) -> Result<Contents> {
        let Some(tables) = &self.tables else { return Ok(self.fixed.clone()) };
        let mut contents = Contents::default();
        for row in tx.scan(&tables.objects)? {
            contents.objects.extend(tables.object(&row)?);
        }
        for row in tx.scan(&tables.grants)? {
            let word = text(&row, &tables.grants, 2)?;
            let Some(privilege) = Privilege::of_word(&word) else { continue };
            let (role, object) =
                (number(&row, &tables.grants, 0)?, number(&row, &tables.grants, 1)?);
            if let (Some(role), Some(object)) = (role, object) {
                let (role, object) = (ObjectId(role), ObjectId(object));
                contents.grants.push(Grant { role, object, privilege });
            }
        }
        for row in tx.scan(&tables.comments)? {
            if let Some(object) = number(&row, &tables.comments, 0)? {
                let part = text(&row, &tables.comments, 1)?;
                let about = text(&row, &tables.comments, 2)?;
                contents.comments.push((ObjectId(object), part, about));
            }
        }
        contents.objects.sort_by_key(|object| object.id);
        Ok(contents)
    }

    /// Writes a new object down; its number.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn add(&self, tx: &WriteTransaction<'_>, new: NewObject<'_>) -> Result<ObjectId> {
        let id = self.next_id(tx)?;
        let NewObject { kind, name, owner, engine, definition } = new;
        let (name, definition) = (name.clone(), definition.to_owned());
        self.tables()?.put(tx, &Object { id, kind, name, owner, engine, definition })?;
        Ok(id)
    }

    /// A number that no object has had.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn next_id(&self, tx: &WriteTransaction<'_>) -> Result<ObjectId> {
        let tables = self.tables()?;
        let last = tables.reserved(tx, ObjectId::LAST)?.unwrap_or(ObjectId::FIRST);
        tables.reserve(tx, ObjectId::LAST, Some(last + 1))?;
        Ok(ObjectId(last + 1))
    }

    /// Writes an object, over what was written of it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn put(&self, tx: &WriteTransaction<'_>, object: &Object) -> Result<()> {
        Ok(self.tables()?.put(tx, object)?)
    }

    /// Forgets an object with its rights, comments and numbers, and a role with what it was
    /// granted.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn remove(&self, tx: &WriteTransaction<'_>, id: ObjectId) -> Result<()> {
        let tables = self.tables()?;
        if let Some(row) = find(tx, &tables.objects, id)? {
            tx.delete(&tables.objects, row)?;
        }
        let concerns = |row: &Row<'_>| -> Result<bool> {
            let of = |column| number(row, &tables.grants, column);
            Ok(of(0)? == Some(id.0) || of(1)? == Some(id.0))
        };
        delete_where(tx, &tables.grants, concerns)?;
        delete_where(tx, &tables.comments, |row| {
            Ok(number(row, &tables.comments, 0)? == Some(id.0))
        })?;
        Ok(tables.reserve(tx, id, None)?)
    }

    /// Gives or takes a right.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn grant(&self, tx: &WriteTransaction<'_>, grant: Grant, gives: bool) -> Result<()> {
        let Grant { role, object, privilege } = grant;
        let grants = &self.tables()?.grants;
        let key = [Value::I64(role.0), Value::I64(object.0), Value::String(privilege.word())];
        let found = tx.find(grants, grants.index("primary")?, &key)?.map(|row| row.id());
        match (found, gives) {
            (Some(row), false) => Ok(tx.delete(grants, row)?),
            (None, true) => {
                tx.insert_values(grants, &key.map(Some))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes a text about an object or a part of it; none forgets it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn comment(
        &self,
        tx: &WriteTransaction<'_>,
        object: ObjectId,
        part: &str,
        about: Option<&str>,
    ) -> Result<()> {
        let comments = &self.tables()?.comments;
        let key = [Value::I64(object.0), Value::String(part)];
        let found = tx.find(comments, comments.index("primary")?, &key)?.map(|row| row.id());
        if let Some(row) = found {
            tx.delete(comments, row)?;
        }
        if let Some(about) = about {
            let row = [key[0], key[1], Value::String(about)].map(Some);
            tx.insert_values(comments, &row)?;
        }
        Ok(())
    }

    /// How far a sequence's numbers are reserved, if ever any were.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn reserved(&self, tx: &ReadTransaction<'_>, id: ObjectId) -> Result<Option<i64>> {
        match &self.tables {
            Some(tables) => Ok(tables.reserved(tx, id)?),
            None => Ok(self.fixed.numbers.iter().find(|(of, _)| *of == id).map(|(_, n)| *n)),
        }
    }

    /// Writes how far a sequence's numbers are reserved; `None` forgets it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn reserve(
        &self,
        tx: &WriteTransaction<'_>,
        id: ObjectId,
        last: Option<i64>,
    ) -> Result<()> {
        Ok(self.tables()?.reserve(tx, id, last)?)
    }
}

impl Store {
    /// The same in a transaction of its own, if numbers are reserved up to `before`, where that is
    /// asked; whether they were.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn reserve_alone(
        &self,
        id: ObjectId,
        before: Option<Option<i64>>,
        last: i64,
    ) -> Result<bool> {
        let tables = self.tables()?;
        let options = TransactionOptions::new().patience(PATIENCE);
        Ok(self.database.write_with(&options, |tx| {
            if before.is_some_and(|before| tables.reserved(tx, id).is_ok_and(|now| now != before)) {
                return Ok(false);
            }
            tables.reserve(tx, id, Some(last)).map(|()| true)
        })?)
    }
}

impl Tables {
    fn open(database: &Database) -> Result<Self> {
        let objects = TableSchema::new(own("catalog"))
            .column("id", ColumnType::I64)
            .column("kind", ColumnType::STRING)
            .column("schema", ColumnType::STRING)
            .column("name", ColumnType::STRING)
            .nullable_column("owner", ColumnType::I64)
            .nullable_column("engine", ColumnType::U32)
            .column("definition", ColumnType::STRING)
            .primary_key(["id"]);
        let grants = TableSchema::new(own("grants"))
            .column("role", ColumnType::I64)
            .column("object", ColumnType::I64)
            .column("privilege", ColumnType::STRING)
            .primary_key(["role", "object", "privilege"]);
        let comments = TableSchema::new(own("comments"))
            .column("object", ColumnType::I64)
            .column("part", ColumnType::STRING)
            .column("text", ColumnType::STRING)
            .primary_key(["object", "part"]);
        let numbers = TableSchema::new(own("numbers"))
            .column("id", ColumnType::I64)
            .column("reserved", ColumnType::I64)
            .primary_key(["id"]);
        Ok(Self {
            objects: find_or_create(database, objects)?,
            grants: find_or_create(database, grants)?,
            comments: find_or_create(database, comments)?,
            numbers: find_or_create(database, numbers)?,
        })
    }

    /// The first rows: what an older version wrote.
    fn begin(&self, tx: &WriteTransaction<'_>, old: &Contents) -> remanent_engine::Result<()> {
        let last = old.objects.iter().map(|object| object.id.0).max();
        self.reserve(tx, ObjectId::LAST, Some(last.unwrap_or(0).max(ObjectId::FIRST)))?;
        old.objects.iter().try_for_each(|object| self.put(tx, object))?;
        for Grant { role, object, privilege } in &old.grants {
            let row = [role.0, object.0].map(|id| Some(Value::I64(id)));
            let row = [row[0], row[1], Some(Value::String(privilege.word()))];
            tx.insert_values(&self.grants, &row)?;
        }
        for (object, part, about) in &old.comments {
            let row = [Value::I64(object.0), Value::String(part), Value::String(about)];
            tx.insert_values(&self.comments, &row.map(Some))?;
        }
        old.numbers.iter().try_for_each(|(id, last)| self.reserve(tx, *id, Some(*last)))
    }

    fn object(&self, row: &Row<'_>) -> Result<Option<Object>> {
        let of = &self.objects;
        let word = text(row, of, 1)?;
        let kind = Kind::ALL.iter().find(|kind| kind.word() == word).copied();
        let (Some(kind), Some(id)) = (kind, number(row, of, 0)?) else { return Ok(None) };
        Ok(Some(Object {
            id: ObjectId(id),
            kind,
            name: Name::new(text(row, of, 2)?, text(row, of, 3)?),
            owner: number(row, of, 4)?.map(ObjectId),
            engine: row.get::<u32>(of.column("engine")?),
            definition: text(row, of, 6)?,
        }))
    }

    fn put(&self, tx: &WriteTransaction<'_>, object: &Object) -> remanent_engine::Result<()> {
        if let Some(row) = find(tx, &self.objects, object.id)? {
            tx.delete(&self.objects, row)?;
        }
        let row = [
            Some(Value::I64(object.id.0)),
            Some(Value::String(object.kind.word())),
            Some(Value::String(&object.name.schema)),
            Some(Value::String(&object.name.name)),
            object.owner.map(|owner| Value::I64(owner.0)),
            object.engine.map(Value::U32),
            Some(Value::String(&object.definition)),
        ];
        tx.insert_values(&self.objects, &row).map(drop)
    }

    fn reserved(
        &self,
        tx: &ReadTransaction<'_>,
        id: ObjectId,
    ) -> remanent_engine::Result<Option<i64>> {
        let key = [Value::I64(id.0)];
        let row = tx.find(&self.numbers, self.numbers.index("primary")?, &key)?;
        let column = self.numbers.column("reserved")?;
        Ok(row.and_then(|row| row.get::<i64>(column)))
    }

    fn reserve(
        &self,
        tx: &WriteTransaction<'_>,
        id: ObjectId,
        last: Option<i64>,
    ) -> remanent_engine::Result<()> {
        match (find(tx, &self.numbers, id)?, last) {
            (Some(row), Some(last)) => {
                let column = self.numbers.column("reserved")?;
                tx.update_values(&self.numbers, row, &[(column, Value::I64(last))])
            }
            (Some(row), None) => tx.delete(&self.numbers, row),
            (None, Some(last)) => {
                let row = [Value::I64(id.0), Value::I64(last)].map(Some);
                tx.insert_values(&self.numbers, &row).map(drop)
            }
            (None, None) => Ok(()),
        }
    }
}

/// The row with this number.
fn find(
    tx: &ReadTransaction<'_>,
    table: &Table,
    id: ObjectId,
) -> remanent_engine::Result<Option<remanent_engine::RowId>> {
    let found = tx.find(table, table.index("primary")?, &[Value::I64(id.0)])?;
    Ok(found.map(|row| row.id()))
}

fn delete_where(
    tx: &WriteTransaction<'_>,
    table: &Table,
    condition: impl Fn(&Row<'_>) -> Result<bool>,
) -> Result<()> {
    let mut found = Vec::new();
    for row in tx.scan(table)? {
        if condition(&row)? {
            found.push(row.id());
        }
    }
    Ok(found.into_iter().try_for_each(|row| tx.delete(table, row))?)
}

fn text(row: &Row<'_>, table: &Table, column: usize) -> Result<String> {
    Ok(row.str(table.column_at(column)?).unwrap_or_default().to_owned())
}

fn number(row: &Row<'_>, table: &Table, column: usize) -> Result<Option<i64>> {
    Ok(row.get::<i64>(table.column_at(column)?))
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
