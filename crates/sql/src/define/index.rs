//! CREATE INDEX and DROP INDEX.
//!
//! An index is the engine's; SQL adds nothing to it but the kind it is asked for by: ordered for
//! btree, or hash.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CreateIndex, Expr, IndexType, ObjectName};
use remanent_engine::schema::{IndexKind, IndexSchema, KeyPart};

use crate::catalog::definition::unknown_column;
use crate::catalog::names::{Name, check_new, fold};
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::statements::Session;

impl Session {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<Outcome> {
        if create.predicate.is_some() || !create.include.is_empty() {
            return Err(Error::unsupported("a partial index, or one that includes columns"));
        }
        let kind = match &create.using {
            None | Some(IndexType::BTree) => IndexKind::Ordered,
            Some(IndexType::Hash) => IndexKind::Hash,
            Some(IndexType::Custom(name)) if fold(name) == "ordered" => IndexKind::Ordered,
            Some(other) => {
                return Err(Error::unsupported(format!("an index using {other}"))
                    .hint("There are btree (ordered) and hash."));
            }
        };
        let database = Arc::clone(&self.database);
        let catalog = database.catalog();
        let table = self.find_table(&catalog, &create.table_name)?;
        let mut parts = Vec::new();
        for column in &create.columns {
            let name = match &column.column.expr {
                Expr::Identifier(ident) => fold(ident),
                other => return Err(Error::unsupported(format!("an index over {other}"))),
            };
            table.column(&name).ok_or_else(|| unknown_column(&name, &table.name))?;
            let descending = column.column.options.asc == Some(false);
            parts.push(KeyPart { column: name, descending });
        }
        let name = match &create.name {
            Some(name) => name.0.last().and_then(|part| part.as_ident()).map(fold),
            None => None,
        };
        let name = name.unwrap_or_else(|| {
            let columns: Vec<&str> = parts.iter().map(|part| part.column.as_str()).collect();
            format!("{}_{}_idx", table.name.name, columns.join("_"))
        });
        check_new(&name)?;
        let full = Name::new(&table.name.schema, &name);
        if catalog.index(&full).is_some() || catalog.has(&full) {
            if create.if_not_exists {
                let notice = format!("relation {name} already exists, skipping");
                return Ok(Outcome::notice("CREATE INDEX", notice));
            }
            let text = format!("relation {name} already exists");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
        }
        self.check_no_writes("CREATE INDEX")?;
        let _defining = database.define();
        let index = IndexSchema::new(&name, parts);
        let index = if create.unique { index.unique() } else { index };
        let index = if kind == IndexKind::Hash { index.hash() } else { index };
        let created = database.engine.create_index(&table.handle, index);
        created.map_err(|error| {
            let text = error.to_string();
            let error = Error::from(error);
            match error.state() == SqlState::UNIQUE_VIOLATION {
                true => {
                    let what = format!("could not create unique index \"{name}\"");
                    Error::new(SqlState::UNIQUE_VIOLATION, what).detail(text)
                }
                false => error,
            }
        })?;
        database.refresh_catalog()?;
        self.undo(Box::new(move |session| session.forget_index(&full)));
        Ok(Outcome::verb("CREATE INDEX"))
    }

    pub(super) fn drop_index(&mut self, name: &ObjectName, if_exists: bool) -> Result<()> {
        let name = Name::from_ast(name, self.home())?;
        let catalog = self.database.catalog();
        let Some((table, place)) = catalog.index(&name) else {
            if if_exists {
                return Ok(());
            }
            let text = format!("index {name} does not exist");
            return Err(Error::new(SqlState::UNKNOWN_OBJECT, text));
        };
        if table.indexes[place].constraint {
            let text = format!(
                "cannot drop index {name} because a constraint of table {} requires it",
                table.name
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text)
                .hint("Write ALTER TABLE ... DROP CONSTRAINT."));
        }
        self.check_no_writes("DROP INDEX")?;
        self.at_commit(Box::new(move |session| session.forget_index(&name)))
    }

    /// Drops an index.
    pub(super) fn forget_index(&mut self, name: &Name) -> Result<()> {
        let database = Arc::clone(&self.database);
        let _defining = database.define();
        let catalog = database.catalog();
        if let Some((table, place)) = catalog.index(name) {
            database.engine.drop_index(&table.handle, table.indexes[place].handle)?;
        }
        database.refresh_catalog()
    }
}
