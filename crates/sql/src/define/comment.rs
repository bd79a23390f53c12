//! COMMENT ON: a text beside a table, column, view or index.
//!
//! Comments are kept under the number of what they are about, and go with it.

use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName};

use crate::catalog::definition::unknown_column;
use crate::catalog::snapshot::{Relation, unknown_table};
use crate::catalog::store::ObjectId;
use crate::context::StatementContext;
use crate::define::number_table;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, fold};
use crate::privileges::Owned;
use crate::result::answer::Outcome;

pub(super) fn comment(
    context: &mut StatementContext,
    object: &CommentObject,
    name: &ObjectName,
    comment: Option<&str>,
) -> Result<Outcome> {
    let catalog = context.catalog();
    let access = context.access(&catalog);
    let (id, part) = match object {
        CommentObject::Column => {
            let mut parts = name.0.clone();
            let column = parts.pop().and_then(|part| part.as_ident().map(fold));
            let column = column.unwrap_or_default();
            let table = access.find_own(&ObjectName(parts))?;
            table.column(&column).ok_or_else(|| unknown_column(&column, &table.name))?;
            (number_of(context, &table)?, format!("column {column}"))
        }
        CommentObject::Table => {
            let table = access.find_own(name)?;
            (number_of(context, &table)?, String::new())
        }
        CommentObject::View => {
            let Some(Relation::View(view)) = access.relation(name)? else {
                return Err(unknown_table(&Name::from_ast(name, context.current_schema())?));
            };
            access.check_owner("view", &view.name.name, view.owner)?;
            (view.id, String::new())
        }
        CommentObject::Index => {
            let names = context.names_in_path(name)?;
            let unknown = || {
                let text = format!("index {name} does not exist");
                Error::new(SqlState::UNKNOWN_OBJECT, text)
            };
            let found = names.iter().find_map(|name| catalog.index(name));
            let (table, place) = found.ok_or_else(unknown)?;
            let part = format!("index {}", table.indexes[place].name);
            let table = access.own_table(&table)?;
            (number_of(context, &table)?, part)
        }
        other => return Err(Error::unsupported(format!("a comment on {other}"))),
    };
    let transaction = context.defining_transaction()?;
    context.database.store.comment(&*transaction.writing()?, id, &part, comment)?;
    context.reload()?;
    Ok(Outcome::verb("COMMENT"))
}

fn number_of(context: &mut StatementContext, table: &Owned) -> Result<ObjectId> {
    match table.id {
        Some(id) => Ok(id),
        None => number_table(context, table),
    }
}
