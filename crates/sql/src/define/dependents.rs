//! What depends on a table or view, and whether it still means the same.
//!
//! Behind each change of an object, whatever names its number is checked with the new catalog: a
//! view is bound anew and must give the columns that it has; a foreign key must find its key. What
//! would mean something else makes the definition fail.

use std::sync::Arc;

use crate::catalog::snapshot::View;
use crate::catalog::store::ObjectId;
use crate::catalog::table::referred_key;
use crate::catalog::table::{Reference, Table};
use crate::context::StatementContext;
use crate::define::view;
use crate::error::{Error, Result, SqlState};
use crate::names::Name;
use crate::values::sql_type::SqlType;

/// Checks that what depends on an object means what it did.
///
/// # Errors
/// `DEPENDENT_OBJECTS`.
pub(super) fn check_dependents(context: &mut StatementContext, id: Option<ObjectId>) -> Result<()> {
    let catalog = context.catalog();
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
        view::check_view_says(context, &view).map_err(|error| {
            // The statement is stopped, whatever the view says.
            if matches!(error.state(), SqlState::CANCELLED | SqlState::SHUTDOWN) {
                return error;
            }
            let text = format!("view {} depends on it", view.name);
            Error::new(SqlState::DEPENDENT_OBJECTS, text).detail(error.to_string())
        })?;
    }
    let is_it = |table: &Table| id.is_some() && table.id == id;
    for child in catalog.tables.values() {
        for reference in &child.references {
            let Ok(parent) = catalog.table(&reference.table) else { continue };
            if is_it(child) || is_it(&parent) {
                check_reference(child, reference, &parent)?;
            }
        }
    }
    Ok(())
}

/// Everything that reads or refers to a table, as text and by name: views, and constraints of
/// other tables.
pub(super) fn dependents_of(
    context: &StatementContext,
    table: &Table,
) -> (Vec<Name>, Vec<(Name, String)>) {
    let catalog = context.catalog();
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

/// Checks that a reference finds its key, and that both sides mean the same by equal values.
///
/// # Errors
/// `DEPENDENT_OBJECTS`, `TYPE_MISMATCH`.
fn check_reference(child: &Table, reference: &Reference, parent: &Table) -> Result<()> {
    let key = referred_key(parent, reference).map_err(|error| {
        let what = format!("constraint {} on table {}", reference.name, child.name);
        let text = format!("{what} depends on it");
        Error::new(SqlState::DEPENDENT_OBJECTS, text).detail(error.to_string())
    })?;
    for (to, &from) in reference.to.iter().zip(&reference.columns) {
        let to = key.columns.iter().find(|&&column| parent.columns[column].name == *to);
        let (Some(&to), from) = (to, &child.columns[from]) else { continue };
        let to = &parent.columns[to];
        if !is_comparable(&from.sql_type, &to.sql_type) {
            let text = format!(
                "foreign key constraint {} cannot be: {} and {} are of other types",
                reference.name, from.name, to.name
            );
            return Err(Error::new(SqlState::TYPE_MISMATCH, text));
        }
    }
    Ok(())
}

/// Whether values of two types are equal exactly if they are the same number, text, or moment.
fn is_comparable(one: &SqlType, other: &SqlType) -> bool {
    let is_number = |it: &SqlType| it.is_integer() || matches!(it, SqlType::Numeric { .. });
    let is_text = |it: &SqlType| matches!(it, SqlType::Text | SqlType::Varchar(_));
    one == other || is_number(one) && is_number(other) || is_text(one) && is_text(other)
}
