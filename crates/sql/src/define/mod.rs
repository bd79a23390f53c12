//! Statements that define: tables, indexes, views, sequences, schemas, comments.
//!
//! The engine changes its tables at once and not within a transaction. So that a block can still
//! be rolled back, what it creates is dropped again then, and what it drops goes when it commits.

mod alter;
mod comment;
mod index;
mod sequence;
mod table;
mod view;

use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType, Statement};

use crate::catalog::names::{Name, check_new, fold};
use crate::catalog::store::Kind;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::control::{AtCommit, Undo};
use crate::session::statements::Session;
use crate::values::datum::Datum;

impl Session {
    /// A statement that defines, or one of the odd ones.
    ///
    /// # Errors
    /// As each statement; `FEATURE_NOT_SUPPORTED`.
    pub(crate) async fn define(
        &mut self,
        statement: &Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        if self.block.as_ref().is_some_and(|block| block.read_only) {
            let text = "cannot define anything in a read-only transaction";
            return Err(Error::new(SqlState::READ_ONLY, text));
        }
        match statement {
            Statement::CreateTable(create) => self.create_table(create, parameters).await,
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::CreateSequence { name, if_not_exists, sequence_options, .. } => {
                self.create_sequence(name, *if_not_exists, sequence_options)
            }
            Statement::CreateSchema { schema_name, if_not_exists, .. } => {
                self.create_schema(&schema_name.to_string(), *if_not_exists)
            }
            Statement::AlterTable(alter) => self.alter_table(alter).await,
            Statement::Comment { object_type, object_name, comment, .. } => {
                self.comment(object_type, object_name, comment.as_deref())
            }
            Statement::Drop { object_type, if_exists, names, cascade, .. } => {
                for name in names {
                    self.drop_object(*object_type, name, (*if_exists, *cascade))?;
                }
                Ok(Outcome::verb(verb_of(*object_type)))
            }
            Statement::Analyze { .. } => {
                self.database.statistics.forget(None);
                Ok(Outcome::verb("ANALYZE"))
            }
            Statement::Vacuum(vacuum) => self.vacuum(vacuum.table_name.as_ref(), vacuum.full),
            Statement::Discard { .. } => {
                self.prepared.clear();
                Ok(Outcome::verb("DISCARD ALL"))
            }
            other => Err(Error::unsupported(first_words(&other.to_string()))),
        }
    }

    /// VACUUM freezes full segments and moves the other rows together; VACUUM FULL freezes all
    /// rows, and gives free memory back to the system.
    fn vacuum(&mut self, table: Option<&ObjectName>, full: bool) -> Result<Outcome> {
        self.check_no_writes("VACUUM")?;
        let catalog = self.database.catalog();
        let tables = match table {
            Some(name) => vec![self.find_table(&catalog, name)?],
            None => catalog.tables.values().cloned().collect(),
        };
        let engine = &self.database.engine;
        let (mut rows, mut before, mut after) = (0, 0, 0);
        for table in tables {
            self.check_cancelled()?;
            let report = match full {
                true => engine.freeze_all(&table.handle)?,
                false => engine.freeze(&table.handle)?,
            };
            rows += report.rows;
            before += report.bytes_before;
            after += report.bytes_after;
        }
        engine.compact()?;
        if full {
            engine.release_memory();
        }
        let notice = format!("{rows} rows frozen: {before} bytes have become {after}");
        Ok(Outcome::notice("VACUUM", notice))
    }

    fn drop_object(
        &mut self,
        object_type: ObjectType,
        name: &ObjectName,
        (if_exists, cascade): (bool, bool),
    ) -> Result<()> {
        match object_type {
            ObjectType::Table => self.drop_table(name, (if_exists, cascade)),
            ObjectType::View => self.drop_view(name, (if_exists, cascade)),
            ObjectType::Index => self.drop_index(name, if_exists),
            ObjectType::Sequence => self.drop_sequence(name, if_exists),
            ObjectType::Schema => {
                let name = name.0.last().and_then(|part| part.as_ident()).map(fold);
                self.drop_schema(&name.unwrap_or_default(), (if_exists, cascade))
            }
            other => Err(Error::unsupported(format!("DROP {other}"))),
        }
    }

    fn create_schema(&mut self, text: &str, if_not_exists: bool) -> Result<Outcome> {
        let name = text.trim_matches('"').to_owned();
        let name = if text.starts_with('"') { name } else { name.to_lowercase() };
        check_new(&name)?;
        let _defining = self.database.clone();
        let _defining = _defining.define();
        let exists = self.database.catalog().check_schema(&name).is_ok();
        if exists || ["pg_catalog", "information_schema", "sql"].contains(&name.as_str()) {
            if if_not_exists {
                return Ok(Outcome::notice(
                    "CREATE SCHEMA",
                    format!("schema {name} exists already"),
                ));
            }
            let text = format!("schema {name} already exists");
            return Err(Error::new(SqlState::DUPLICATE_SCHEMA, text));
        }
        self.database.store.put(Kind::Schema, &Name::new("", &name), "")?;
        self.database.refresh_catalog()?;
        self.undo(Box::new(move |session| {
            session.database.store.remove(Kind::Schema, &Name::new("", &name))?;
            session.database.refresh_catalog()
        }));
        Ok(Outcome::verb("CREATE SCHEMA"))
    }

    fn drop_schema(&mut self, name: &str, (if_exists, cascade): (bool, bool)) -> Result<()> {
        let catalog = self.database.catalog();
        if let Err(error) = catalog.check_schema(name) {
            return if if_exists { Ok(()) } else { Err(error) };
        }
        if name == crate::catalog::names::PUBLIC {
            return Err(Error::unsupported("dropping the schema public"));
        }
        let tables: Vec<Name> =
            catalog.tables.keys().filter(|n| n.schema == name).cloned().collect();
        let views: Vec<Name> = catalog.views.keys().filter(|n| n.schema == name).cloned().collect();
        let sequences: Vec<Name> =
            catalog.sequences.keys().filter(|n| n.schema == name).cloned().collect();
        let is_empty = tables.is_empty() && views.is_empty() && sequences.is_empty();
        if !cascade && !is_empty {
            let text = format!("cannot drop schema {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text).hint("Write CASCADE."));
        }
        for view in views {
            self.drop_view(&view.to_ast(), (true, true))?;
        }
        for table in tables {
            self.drop_table(&table.to_ast(), (true, true))?;
        }
        for sequence in sequences {
            self.drop_sequence(&sequence.to_ast(), true)?;
        }
        let name = Name::new("", name);
        self.at_commit(Box::new(move |session| {
            session.database.store.remove(Kind::Schema, &name)?;
            session.database.refresh_catalog()
        }))
    }

    /// Notes what a rollback of the block takes back.
    fn undo(&mut self, undo: Undo) {
        if let Some(block) = &mut self.block {
            block.undo.push(undo);
        }
    }

    /// Notes that a table or view goes when the block commits.
    fn goes_at_commit(&mut self, name: &Name) {
        if let Some(block) = &mut self.block {
            block.dropped.push(name.clone());
        }
    }

    /// Does something when the block commits; at once without one.
    fn at_commit(&mut self, definition: AtCommit) -> Result<()> {
        match &mut self.block {
            Some(block) => {
                block.at_commit.push(definition);
                Ok(())
            }
            None => definition(self),
        }
    }

    /// Checks that the block has not written anything that a definition would wait for.
    ///
    /// # Errors
    /// `ACTIVE_TRANSACTION`.
    fn check_no_writes(&self, what: &str) -> Result<()> {
        match &self.block {
            Some(block) if block.transaction.is_some() => {
                let text = format!("{what} cannot run in a transaction that has read or written");
                Err(Error::new(SqlState::ACTIVE_TRANSACTION, text).hint("Commit first."))
            }
            _ => Ok(()),
        }
    }

    /// The name of something new.
    fn new_name(&self, name: &ObjectName) -> Result<Name> {
        let name = Name::from_ast(name, self.home())?;
        check_new(&name.name)?;
        self.database.catalog().check_schema(&name.schema)?;
        Ok(name)
    }
}

fn verb_of(object_type: ObjectType) -> &'static str {
    match object_type {
        ObjectType::Table => "DROP TABLE",
        ObjectType::View => "DROP VIEW",
        ObjectType::Index => "DROP INDEX",
        ObjectType::Sequence => "DROP SEQUENCE",
        ObjectType::Schema => "DROP SCHEMA",
        _ => "DROP",
    }
}

fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    format!("the statement {}", words.join(" "))
}
