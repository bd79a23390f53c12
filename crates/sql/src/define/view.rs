//! CREATE VIEW and DROP VIEW.
//!
//! A view is kept as the statement that makes it, and bound anew by each statement that names it.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CreateView, ObjectName, Statement};

use super::table::mentions;
use crate::catalog::names::Name;
use crate::catalog::store::Kind;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::statements::Session;

impl Session {
    pub(super) fn create_view(&mut self, create: &CreateView) -> Result<Outcome> {
        if create.materialized || create.temporary {
            return Err(Error::unsupported("a materialized or temporary view"));
        }
        let name = self.new_name(&create.name)?;
        let database = Arc::clone(&self.database);
        let catalog = database.catalog();
        let before = catalog.views.get(&name).map(|view| view.definition.clone());
        if catalog.has(&name) && !(create.or_replace && before.is_some()) {
            if create.if_not_exists {
                let notice = format!("relation {name} already exists, skipping");
                return Ok(Outcome::notice("CREATE VIEW", notice));
            }
            let text = format!("relation {name} already exists");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
        }
        // The query has to be one that can be bound, with as many columns as there are names.
        let query = Statement::Query(create.query.clone());
        let (parameters, columns) = self.describe(&query, &[])?;
        if !parameters.is_empty() {
            let text = "a view has no parameters";
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        if create.columns.len() > columns.len() {
            let text = "CREATE VIEW specifies more column names than columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, text));
        }
        let mut plain = create.clone();
        plain.or_replace = false;
        plain.if_not_exists = false;
        plain.name = name.to_ast();
        let _defining = database.define();
        database.store.put(Kind::View, &name, &Statement::CreateView(plain).to_string())?;
        database.refresh_catalog()?;
        self.undo(Box::new(move |session| {
            match before {
                Some(before) => session.database.store.put(Kind::View, &name, &before)?,
                None => drop(session.database.store.remove(Kind::View, &name)?),
            }
            session.database.refresh_catalog()
        }));
        Ok(Outcome::verb("CREATE VIEW"))
    }

    pub(super) fn drop_view(
        &mut self,
        name: &ObjectName,
        (if_exists, cascade): (bool, bool),
    ) -> Result<()> {
        let name = Name::from_ast(name, self.home())?;
        let catalog = self.database.catalog();
        if !catalog.views.contains_key(&name) {
            if if_exists {
                return Ok(());
            }
            let (state, text) = match catalog.tables.contains_key(&name) {
                true => (SqlState::WRONG_OBJECT, format!("{name} is not a view")),
                false => (SqlState::UNKNOWN_TABLE, format!("view {name} does not exist")),
            };
            return Err(Error::new(state, text));
        }
        for other in catalog.views.values().filter(|view| mentions(&view.query, &name)) {
            if !cascade {
                let text = format!("cannot drop view {name} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text)
                    .detail(format!("view {} depends on it", other.name)));
            }
            self.drop_view(&other.name.to_ast(), (true, true))?;
        }
        self.goes_at_commit(&name);
        self.at_commit(Box::new(move |session| {
            session.database.store.remove(Kind::View, &name)?;
            session.database.store.remove(Kind::Comment, &name)?;
            session.database.refresh_catalog()
        }))
    }
}
