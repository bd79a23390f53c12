//! What depends on a table or view, and whether it still means the same.
//!
//! Behind each change of an object, whatever names its number is looked at with the new catalog: a
//! view is bound anew and must give the columns that it has; a foreign key must find its key. What
//! would mean something else makes the definition fail.

use std::sync::Arc;

use crate::catalog::names::Name;
use crate::catalog::snapshot::View;
use crate::catalog::store::ObjectId;
use crate::catalog::table::Table;
use crate::change::referred_key;
use crate::error::{Error, Result, SqlState};
use crate::session::statements::Session;

impl Session {
    /// Checks that what depends on an object means what it did.
    ///
    /// # Errors
    /// `DEPENDENT_OBJECTS`.
    pub(super) fn check_dependents(&mut self, id: Option<ObjectId>) -> Result<()> {
        let catalog = self.catalog();
        let mut concerned: Vec<Arc<View>> = Vec::new();
        let mut changed = vec![id];
        while let Some(id) = changed.pop() {
            for view in catalog.views.values().filter(|view| view.reads(id)) {
                if !concerned.iter().any(|other| other.id == view.id) {
                    concerned.push(Arc::clone(view));
                    changed.push(Some(view.id));
                }
            }
        }
        for view in concerned {
            self.check_view_says(&view).map_err(|error| {
                let text = format!("view {} depends on it", view.name);
                Error::new(SqlState::DEPENDENT_OBJECTS, text).detail(error.to_string())
            })?;
        }
        let Some(parent) = catalog.tables.values().find(|table| id.is_some() && table.id == id)
        else {
            return Ok(());
        };
        for child in catalog.tables.values() {
            for reference in child.references.iter().filter(|r| r.table == parent.name) {
                let key = referred_key(parent, reference).map_err(|error| {
                    let what = format!("constraint {} on table {}", reference.name, child.name);
                    let text = format!("{what} depends on it");
                    Error::new(SqlState::DEPENDENT_OBJECTS, text).detail(error.to_string())
                })?;
                let pairs = reference.to.iter().zip(&reference.columns);
                for (to, &from) in pairs {
                    let to = key.columns.iter().find(|&&c| parent.columns[c].name == *to);
                    let (Some(&to), from) = (to, &child.columns[from]) else { continue };
                    let to = &parent.columns[to];
                    if from.sql_type.is_text() != to.sql_type.is_text()
                        || from.sql_type.is_integer() != to.sql_type.is_integer()
                    {
                        let text = format!(
                            "foreign key constraint {} cannot be: {} and {} are of other types",
                            reference.name, from.name, to.name
                        );
                        return Err(Error::new(SqlState::TYPE_MISMATCH, text));
                    }
                }
            }
        }
        Ok(())
    }

    /// Everything that reads or refers to a table, as text and by name: views, and constraints of
    /// other tables.
    pub(super) fn dependents_of(&self, table: &Table) -> (Vec<Name>, Vec<(Name, String)>) {
        let catalog = self.catalog();
        let views = catalog.views.values().filter(|view| view.reads(table.id));
        let views = views.map(|view| view.name.clone()).collect();
        let mut constraints = Vec::new();
        for child in catalog.tables.values().filter(|child| child.name != table.name) {
            for reference in child.references.iter().filter(|r| r.table == table.name) {
                constraints.push((child.name.clone(), reference.name.clone()));
            }
        }
        (views, constraints)
    }
}
