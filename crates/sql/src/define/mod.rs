//! Statements that define: tables, indexes, views, sequences, schemas, comments, roles, rights.
//!
//! Each is a part of one transaction of the engine ([`crate::session::defining`]), which makes and
//! drops tables and writes the catalog's rows; the session's own catalog is read anew behind each
//! step. What depends on an object names its number: it follows, or the definition is refused
//! ([`dependents`]).

mod alter;
mod comment;
mod dependents;
mod index;
mod rebuild;
mod sequence;
mod table;
mod view;

use datafusion::sql::sqlparser::ast::{
    AlterSchemaOperation, Analyze, ObjectName, ObjectType, SchemaName, Statement,
};

use crate::access::Privilege;
use crate::catalog::names::{Name, PUBLIC, check_new, fold};
use crate::catalog::store::{Kind, Object, ObjectId};
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::{Notice, Outcome};
use crate::session::statements::Session;
use crate::values::datum::Datum;

/// Schemas that are always there, and nobody's.
const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "sql"];

impl Session {
    /// A statement that defines, within the transaction of the definition.
    ///
    /// # Errors
    /// As each statement; `FEATURE_NOT_SUPPORTED`.
    pub(crate) async fn define(
        &mut self,
        statement: &Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        match statement {
            Statement::CreateTable(create) => self.create_table(create, parameters).await,
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::CreateSequence { name, if_not_exists, sequence_options, .. } => {
                self.create_sequence(name, *if_not_exists, sequence_options)
            }
            Statement::CreateSchema { schema_name, if_not_exists, .. } => {
                self.create_schema(schema_name, *if_not_exists)
            }
            Statement::AlterTable(alter) => self.alter_table(alter).await,
            Statement::AlterSchema(alter) => self.alter_schema(&alter.name, &alter.operations),
            Statement::Comment { object_type, object_name, comment, .. } => {
                self.comment(object_type, object_name, comment.as_deref())
            }
            Statement::Drop { object_type: ObjectType::Role, .. }
            | Statement::CreateRole(_)
            | Statement::AlterRole { .. }
            | Statement::Grant(_)
            | Statement::Revoke(_) => self.define_right(statement),
            Statement::Drop { object_type, if_exists, names, cascade, .. } => {
                for name in names {
                    self.drop_object(*object_type, name, (*if_exists, *cascade))?;
                }
                Ok(Outcome::verb(verb_of(*object_type)))
            }
            other => Err(Error::unsupported(first_words(&other.to_string()))),
        }
    }

    /// A statement about roles and rights, within its transaction.
    ///
    /// # Errors
    /// As each statement; `FEATURE_NOT_SUPPORTED`.
    pub(crate) fn define_right(&mut self, statement: &Statement) -> Result<Outcome> {
        match statement {
            Statement::Drop { object_type: ObjectType::Role, names, if_exists, .. } => {
                self.drop_roles(names, *if_exists)
            }
            Statement::CreateRole(create) => self.create_role(create),
            Statement::AlterRole { name, operation } => self.alter_role(name, operation),
            Statement::Grant(grant) => {
                if grant.with_grant_option || grant.as_grantor.is_some() {
                    return Err(Error::unsupported("GRANT with grant option, or of somebody else"));
                }
                let what = (&grant.privileges, grant.objects.as_ref());
                self.grant(what, &grant.grantees, true)
            }
            Statement::Revoke(revoke) => {
                let what = (&revoke.privileges, revoke.objects.as_ref());
                self.grant(what, &revoke.grantees, false)
            }
            other => Err(Error::unsupported(first_words(&other.to_string()))),
        }
    }

    /// ANALYZE forgets what is known of a table's rows, so that it is found anew.
    ///
    /// # Errors
    /// `NO_PRIVILEGE` for what is somebody else's; `UNKNOWN_TABLE`.
    pub(crate) fn analyze(&mut self, analyze: &Analyze) -> Result<Outcome> {
        let catalog = self.catalog();
        let access = self.access(&catalog);
        match &analyze.table_name {
            Some(name) => {
                let table = access.find_own(name)?;
                self.database.statistics.forget(&table);
            }
            None => {
                for table in catalog.tables.values().filter(|table| access.owns(table.owner)) {
                    self.database.statistics.forget(table);
                }
            }
        }
        Ok(Outcome::verb("ANALYZE"))
    }

    /// VACUUM freezes full segments and moves the other rows together; VACUUM FULL freezes all
    /// rows, and gives free memory back to the system. Without a name it is about all tables that
    /// whoever asks owns.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`, `UNKNOWN_TABLE`; `ACTIVE_TRANSACTION` in one that has read or written.
    pub(crate) fn vacuum(&mut self, table: Option<&ObjectName>, full: bool) -> Result<Outcome> {
        self.check_writable()?;
        if self.block.as_ref().is_some_and(|block| block.transaction.is_some()) {
            let text = "VACUUM cannot run in a transaction that has read or written";
            return Err(Error::new(SqlState::ACTIVE_TRANSACTION, text).hint("Commit first."));
        }
        let catalog = self.catalog();
        let access = self.access(&catalog);
        let tables = match table {
            Some(name) => vec![access.find_own(name)?],
            None => catalog.tables.values().filter_map(|t| access.own_table(t).ok()).collect(),
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
        let text = format!("{rows} rows frozen: {before} bytes have become {after}");
        Ok(Outcome::notice("VACUUM", Notice::new(SqlState::SUCCESSFUL, text)))
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

    fn create_schema(&mut self, schema: &SchemaName, if_not_exists: bool) -> Result<Outcome> {
        self.access(&self.catalog()).superuser()?;
        let (name, owner) = match schema {
            SchemaName::Simple(name) => (last(name), self.actor.as_owner()),
            SchemaName::NamedAuthorization(name, owner) => {
                let owner = sqlparser::ast::Owner::Ident(owner.clone());
                (last(name), self.new_owner(&owner)?)
            }
            SchemaName::UnnamedAuthorization(_) => {
                return Err(Error::unsupported("a schema without a name"));
            }
        };
        check_new(&name)?;
        let exists = self.catalog().schemas.contains_key(&name);
        if exists || SYSTEM_SCHEMAS.contains(&name.as_str()) {
            if if_not_exists {
                let text = format!("schema {name} exists already");
                let notice = Notice::new(SqlState::DUPLICATE_SCHEMA, text);
                return Ok(Outcome::notice("CREATE SCHEMA", notice));
            }
            let text = format!("schema {name} already exists");
            return Err(Error::new(SqlState::DUPLICATE_SCHEMA, text));
        }
        self.add_schema(&name, owner)?;
        Ok(Outcome::verb("CREATE SCHEMA"))
    }

    /// Gives a schema that other interfaces have made a number.
    pub(crate) fn number_schema(&mut self, name: &str) -> Result<ObjectId> {
        self.add_schema(name, None)
    }

    /// Everybody may look names up in a schema, until that is revoked.
    fn add_schema(&mut self, name: &str, owner: Option<ObjectId>) -> Result<ObjectId> {
        let transaction = self.defining_transaction()?;
        let (store, tx) = (&self.database.store, transaction.writing()?);
        let id = store.add(tx, (Kind::Schema, &Name::new("", name)), owner, None, "")?;
        store.grant(tx, (ObjectId::PUBLIC, id, Privilege::Usage), true)?;
        self.reload()?;
        Ok(id)
    }

    fn alter_schema(
        &mut self,
        name: &ObjectName,
        operations: &[AlterSchemaOperation],
    ) -> Result<Outcome> {
        for operation in operations {
            let AlterSchemaOperation::OwnerTo { owner } = operation else {
                return Err(Error::unsupported(format!("ALTER SCHEMA {operation}")));
            };
            let catalog = self.catalog();
            self.access(&catalog).superuser()?;
            let name = last(name);
            let schema = catalog.check_schema(&name)?;
            let owner = self.new_owner(owner)?;
            let id = match schema.id {
                Some(id) => id,
                None => self.number_schema(&name)?,
            };
            self.rewrite_object(id, |object| {
                object.owner = owner;
                Ok(())
            })?;
            self.reload()?;
        }
        Ok(Outcome::verb("ALTER SCHEMA"))
    }

    fn drop_schema(&mut self, name: &str, (if_exists, cascade): (bool, bool)) -> Result<()> {
        let catalog = self.catalog();
        let schema = match catalog.check_schema(name) {
            Ok(schema) => schema,
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        self.access(&catalog).check_owner("schema", name, schema.owner)?;
        if name == PUBLIC {
            return Err(Error::unsupported("dropping the schema public"));
        }
        let transaction = self.defining_transaction()?;
        let contents = self.database.store.contents(transaction.reading()?)?;
        let of_kind = |kind: Kind| -> Vec<Name> {
            let all = contents.objects.iter().filter(|object| object.kind == kind);
            all.filter(|object| object.name.schema == name).map(|o| o.name.clone()).collect()
        };
        let (views, sequences) = (of_kind(Kind::View), of_kind(Kind::Sequence));
        let tables = catalog.tables.keys().filter(|n| n.schema == name);
        let tables: Vec<Name> = tables.cloned().collect();
        let is_empty = tables.is_empty() && views.is_empty() && sequences.is_empty();
        if !cascade && !is_empty {
            let text = format!("cannot drop schema {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text).hint("Write CASCADE."));
        }
        // What is in a schema goes with it, whoever's it is.
        for view in views {
            self.drop_dependent_view(&view)?;
        }
        for table in tables {
            if let Some(table) = self.catalog().tables.get(&table).cloned() {
                self.drop_table_as(&table, true)?;
            }
        }
        for sequence in sequences {
            self.drop_dependent_sequence(&sequence)?;
        }
        if let Some(id) = schema.id {
            self.database.store.remove(transaction.writing()?, id)?;
        }
        self.reload()
    }

    /// Writes an object anew.
    pub(crate) fn rewrite_object(
        &mut self,
        id: ObjectId,
        change: impl FnOnce(&mut Object) -> Result<()>,
    ) -> Result<()> {
        let transaction = self.defining_transaction()?;
        let contents = self.database.store.contents(transaction.reading()?)?;
        let found = contents.objects.into_iter().find(|object| object.id == id);
        let mut object = found.ok_or_else(|| Error::internal("an object without a row"))?;
        change(&mut object)?;
        self.database.store.put(transaction.writing()?, &object)
    }

    /// Gives a table that other interfaces have made a number.
    pub(crate) fn number_table(&mut self, table: &Table) -> Result<ObjectId> {
        let now = self.catalog().tables.get(&table.name).and_then(|table| table.id);
        if let Some(id) = now {
            return Ok(id);
        }
        let transaction = self.defining_transaction()?;
        let (what, number) = ((Kind::Table, &table.name), Some(table.handle.number()));
        let id = self.database.store.add(transaction.writing()?, what, None, number, "")?;
        self.reload()?;
        Ok(id)
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

fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}

fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    format!("the statement {}", words.join(" "))
}
