//! The catalog of databases that version 0.1 made: statements as text, under names.
//!
//! `sql:objects` had a row for each object, with the statement that would make it, `sql:sequences`
//! how far each sequence had come. It is read once, when such a database is opened; rights and
//! comments find their objects by the names that they had. A definition that cannot be read is
//! taken over as it is, and set aside by whoever reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Statement as Ast};
use remanent_engine::{Database, Row, Table};

use super::definition::Definition;
use super::privilege::Privilege;
use super::sequence::Options;
use super::store::{Comment, Contents, Grant, Kind, Object, ObjectId};
use super::stored::{self, StoredRole};
use crate::error::{Error, Result};
use crate::names::{Name, fold, own};
use crate::statement::Statement;

/// Stood for all tables of a schema.
const ALL_TABLES: &str = "*";

/// A row of `sql:objects`.
struct Old {
    kind: String,
    name: Name,
    definition: String,
}

/// The tables in which an older version wrote, as far as they are there.
pub(crate) fn tables(database: &Database) -> Vec<Table> {
    let names = ["objects", "sequences"].map(own);
    names.iter().filter_map(|name| database.table(name).ok()).collect()
}

/// What an older version wrote; nothing where it did not.
///
/// # Errors
/// As the engine.
pub(crate) fn contents(database: &Database) -> Result<Contents> {
    let Ok(table) = database.table(&own("objects")) else { return Ok(Contents::default()) };
    let tx = database.begin_read()?;
    let mut old = Vec::new();
    for row in tx.scan(&table)? {
        let name = Name::new(text(&row, &table, 1)?, text(&row, &table, 2)?);
        old.push(Old { kind: text(&row, &table, 0)?, name, definition: text(&row, &table, 3)? });
    }
    let mut made = Taking { database, contents: Contents::default(), ids: BTreeMap::new() };
    made.number(&old);
    old.iter().for_each(|old| made.take(old));
    old.iter().for_each(|old| made.take_right(old));
    // A right on a table may have been given with those on all tables as well.
    made.contents.grants.sort_unstable();
    made.contents.grants.dedup();
    if let Ok(table) = database.table(&own("sequences")) {
        for row in tx.scan(&table)? {
            let name = Name::new(text(&row, &table, 0)?, text(&row, &table, 1)?);
            let reserved = row.get::<i64>(table.column_at(2)?);
            if let (Some(id), Some(last)) = (made.id(Kind::Sequence, &name), reserved) {
                made.contents.numbers.push((id, last));
            }
        }
    }
    Ok(made.contents)
}

struct Taking<'d> {
    database: &'d Database,
    contents: Contents,
    ids: BTreeMap<(Kind, Name), ObjectId>,
}

impl Taking<'_> {
    /// Numbers for all, so that they can name each other.
    fn number(&mut self, old: &[Old]) {
        let kinds = [Kind::Schema, Kind::Role, Kind::Table, Kind::View, Kind::Sequence];
        let mut next = 1001;
        for old in old {
            let Some(kind) = kinds.iter().find(|kind| kind.word() == old.kind) else { continue };
            self.ids.insert((*kind, old.name.clone()), ObjectId(next));
            next += 1;
        }
        // Rights and comments may be about tables that SQL did not make.
        let about = old.iter().filter_map(|old| match old.kind.as_str() {
            "grant" => old.name.name.split_once('.').map(|(schema, name)| Name::new(schema, name)),
            "comment" => {
                let table = old.name.name.split('.').next().unwrap_or_default();
                Some(Name::new(&old.name.schema, table))
            }
            _ => None,
        });
        for name in about {
            if self.database.table(&name.in_engine()).is_ok() && self.relation(&name).is_none() {
                self.ids.insert((Kind::Table, name.clone()), ObjectId(next));
                let id = ObjectId(next);
                self.push(id, Kind::Table, &name, String::new());
                next += 1;
            }
        }
    }

    fn id(&self, kind: Kind, name: &Name) -> Option<ObjectId> {
        self.ids.get(&(kind, name.clone())).copied()
    }

    fn relation(&self, name: &Name) -> Option<ObjectId> {
        [Kind::Table, Kind::View].into_iter().find_map(|kind| self.id(kind, name))
    }

    fn push(&mut self, id: ObjectId, kind: Kind, name: &Name, definition: String) {
        let table = (kind == Kind::Table).then(|| self.database.table(&name.in_engine()).ok());
        let engine = table.flatten().map(|table| table.number());
        let name = name.clone();
        self.contents.objects.push(Object { id, kind, name, owner: None, engine, definition });
    }

    /// An object; its definition as structure, or as it was where it cannot be read.
    fn take(&mut self, old: &Old) {
        let kinds = [Kind::Schema, Kind::Role, Kind::Table, Kind::View, Kind::Sequence];
        let Some(kind) = kinds.into_iter().find(|kind| kind.word() == old.kind) else { return };
        let Some(id) = self.id(kind, &old.name) else { return };
        let converted = match kind {
            Kind::Schema => Ok(String::new()),
            Kind::Role => stored::write(&role(&old.definition)),
            Kind::Table => self.table(old),
            // Bound, and so given its names, when it is first read.
            Kind::View => Ok(old.definition.clone()),
            _ => sequence(old),
        };
        self.push(id, kind, &old.name, converted.unwrap_or_else(|_| old.definition.clone()));
    }

    fn table(&self, old: &Old) -> Result<String> {
        let Ast::CreateTable(create) = parse(old)? else { return Err(none(old)) };
        let mut definition = Definition::from_ast(&create, &old.name.schema)?;
        for column in &mut definition.columns {
            if let Some(identity) = &mut column.identity {
                let sequence = format!("{}_{}_seq", old.name.name, column.name);
                let sequence = Name::new(&old.name.schema, sequence);
                identity.sequence = self.id(Kind::Sequence, &sequence);
            }
        }
        for reference in &mut definition.references {
            if reference.to.is_empty() {
                reference.to = self.primary_key(&reference.table)?;
            }
        }
        let stored = definition.to_stored(|name| self.relation(name).ok_or_else(|| none(old)))?;
        stored::write(&stored)
    }

    fn primary_key(&self, table: &Name) -> Result<Vec<String>> {
        let table = self.database.table(&table.in_engine())?;
        for (_, index) in table.indexes() {
            let schema = table.index_schema(index)?;
            if schema.primary {
                return Ok(schema.parts.iter().map(|part| part.column.clone()).collect());
            }
        }
        Err(Error::internal("a reference to a table without a primary key"))
    }

    fn take_right(&mut self, old: &Old) {
        match old.kind.as_str() {
            "grant" => {
                let rights = self.rights(old);
                self.contents.grants.extend(rights);
            }
            "comment" => {
                let comment = self.comment(old);
                self.contents.comments.extend(comment);
            }
            _ => {}
        }
    }

    fn rights(&self, old: &Old) -> Vec<Grant> {
        let role = self.id(Kind::Role, &Name::new("", &old.name.schema));
        let Some((role, (schema, name))) = role.zip(old.name.name.split_once('.')) else {
            return Vec::new();
        };
        let objects: Vec<ObjectId> = match name {
            ALL_TABLES => {
                let all = self.ids.iter().filter(|((kind, name), _)| {
                    matches!(kind, Kind::Table | Kind::View) && name.schema == schema
                });
                all.map(|(_, id)| *id).collect()
            }
            name => self.relation(&Name::new(schema, name)).into_iter().collect(),
        };
        let words: Vec<&str> = old.definition.split(',').collect();
        let mut rights: Vec<Privilege> =
            words.iter().filter_map(|word| Privilege::of_word(word)).collect();
        // All four were what TRUNCATE asked for.
        if rights.len() == 4 {
            rights.push(Privilege::Truncate);
        }
        let pairs = objects.iter().flat_map(|&object| {
            rights.iter().map(move |&privilege| Grant { role, object, privilege })
        });
        pairs.collect()
    }

    fn comment(&self, old: &Old) -> Option<Comment> {
        let schema = &old.name.schema;
        let whole = old.name.clone();
        if let Some(id) = self.relation(&whole) {
            return Some((id, String::new(), old.definition.clone()));
        }
        if let Some((table, column)) = old.name.name.split_once('.') {
            let id = self.relation(&Name::new(schema, table))?;
            return Some((id, format!("column {column}"), old.definition.clone()));
        }
        // Of an index: the table that has one of this name.
        let index = &old.name.name;
        let tables = self.ids.iter().filter(|((kind, _), _)| *kind == Kind::Table);
        let found = tables.into_iter().find(|((_, name), _)| {
            let table = self.database.table(&name.in_engine());
            let has = |table: &Table| {
                let pkey = format!("{}_pkey", name.name);
                table.indexes().any(|(own, _)| own == index.as_str()) || pkey == *index
            };
            name.schema == *schema && table.is_ok_and(|table| has(&table))
        });
        found.map(|(_, id)| (*id, format!("index {index}"), old.definition.clone()))
    }
}

fn role(definition: &str) -> StoredRole {
    let mut role = StoredRole { login: false, superuser: false, verifier: None };
    for word in definition.split_whitespace() {
        match word {
            "login" => role.login = true,
            "superuser" => role.superuser = true,
            verifier => role.verifier = Some(verifier.to_owned()),
        }
    }
    role
}

fn sequence(old: &Old) -> Result<String> {
    let Ast::CreateSequence { sequence_options, .. } = parse(old)? else {
        return Err(none(old));
    };
    stored::write(&Options::from_ast(&sequence_options)?.to_stored())
}

/// The view that a statement of an older version makes: its columns' names, and its query.
///
/// # Errors
/// A text that is none.
pub(crate) fn view(definition: &str) -> Result<(Vec<String>, ast::Query)> {
    match Arc::unwrap_or_clone(Statement::parse(definition)?.ast) {
        Ast::CreateView(create) => {
            let columns = create.columns.iter().map(|column| fold(&column.name)).collect();
            Ok((columns, *create.query))
        }
        _ => Err(Error::internal("the definition of a view is no view")),
    }
}

fn parse(old: &Old) -> Result<Ast> {
    Ok(Arc::unwrap_or_clone(Statement::parse(&old.definition)?.ast))
}

fn none(old: &Old) -> Error {
    Error::internal(format!("the definition of {} cannot be read", old.name))
}

fn text(row: &Row<'_>, table: &Table, column: usize) -> Result<String> {
    Ok(row.str(table.column_at(column)?).unwrap_or_default().to_owned())
}
