//! CREATE INDEX and DROP INDEX.
//!
//! An index is the engine's; SQL adds nothing to it but the kind it is asked for by: ordered for
//! btree, or hash.

use datafusion::sql::sqlparser::ast::{CreateIndex, Expr, IndexType, ObjectName};
use remanent_engine::schema::{IndexKind, IndexSchema, KeyPart};

use crate::catalog::definition::unknown_column;
use crate::catalog::table::Table;
use crate::context::StatementContext;
use crate::define::dependents;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, check_new, fold};
use crate::privileges::Owned;
use crate::result::answer::{Notice, Outcome};

/// What an entry takes while it is sorted, and what of a key each column takes in the mean.
const ENTRY_BYTES: usize = 64;
const PART_BYTES: usize = 16;

/// Indexes of the same columns whose names are found.
const NAMES_MAX: u32 = 1000;

pub(super) fn create_index(
    context: &mut StatementContext,
    create: &CreateIndex,
) -> Result<Outcome> {
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
    let catalog = context.catalog();
    let table = context.access(&catalog).find_own(&create.table_name)?;
    let parts = parts_of(create, &table)?;
    let name = match &create.name {
        Some(name) => name.0.last().and_then(|part| part.as_ident()).map(fold),
        None => None,
    };
    let name = name.unwrap_or_else(|| {
        let columns: Vec<&str> = parts.iter().map(|part| part.column.as_str()).collect();
        let made = format!("{}_{}_idx", table.name.name, columns.join("_"));
        let is_free = |name: &String| {
            let full = Name::new(&table.name.schema, name);
            catalog.index(&full).is_none() && !catalog.has(&full)
        };
        let numbered = (1..NAMES_MAX).map(|number| format!("{made}{number}"));
        let mut names = std::iter::once(made.clone()).chain(numbered);
        names.find(is_free).unwrap_or(made)
    });
    check_new(&name)?;
    let full = Name::new(&table.name.schema, &name);
    if catalog.index(&full).is_some() || catalog.has(&full) {
        if create.if_not_exists {
            let text = format!("relation {name} already exists, skipping");
            let notice = Notice::new(SqlState::DUPLICATE_TABLE, text);
            return Ok(Outcome::notice("CREATE INDEX", notice));
        }
        let text = format!("relation {name} already exists");
        return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
    }
    let index = IndexSchema::new(&name, parts);
    let index = if create.unique { index.unique() } else { index };
    let index = if kind == IndexKind::Hash { index.hash() } else { index };
    add_index(context, &table, index)?;
    Ok(Outcome::verb("CREATE INDEX"))
}

/// Builds an index of a table.
pub(super) fn add_index(
    context: &mut StatementContext,
    table: &Owned,
    index: IndexSchema,
) -> Result<()> {
    let transaction = context.defining_transaction()?;
    let name = index.name.clone();
    // Entries of an ordered index are sorted in the heap, which the engine does not count.
    let mut held = context.database.hold("the entries of an index");
    if index.kind == IndexKind::Ordered {
        let rows = transaction.writing()?.rows_max(&table.handle)?;
        let each = ENTRY_BYTES + PART_BYTES * index.parts.len();
        held.resize(usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(each))?;
    }
    let created = transaction.writing()?.create_index(&table.handle, index);
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
    context.reload()
}

pub(super) fn drop_index(
    context: &mut StatementContext,
    name: &ObjectName,
    if_exists: bool,
) -> Result<()> {
    let catalog = context.catalog();
    let names = context.names_in_path(name)?;
    let Some((table, place)) = names.iter().find_map(|name| catalog.index(name)) else {
        if if_exists {
            return Ok(());
        }
        let text = format!("index {} does not exist", names[0]);
        return Err(Error::new(SqlState::UNKNOWN_OBJECT, text));
    };
    let table = context.access(&catalog).own_table(&table)?;
    if table.indexes[place].constraint {
        let text = format!(
            "cannot drop index {name} because a constraint of table {} requires it",
            table.name
        );
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text)
            .hint("Write ALTER TABLE ... DROP CONSTRAINT."));
    }
    remove_index(context, &table, place)?;
    dependents::check_dependents(context, table.id)
}

/// Drops an index of a table, with what was said about it.
pub(super) fn remove_index(
    context: &mut StatementContext,
    table: &Owned,
    place: usize,
) -> Result<()> {
    let transaction = context.defining_transaction()?;
    let index = &table.indexes[place];
    transaction.writing()?.drop_index(&table.handle, index.handle)?;
    if let Some(id) = table.id {
        let part = format!("index {}", index.name);
        context.database.store.comment(&*transaction.writing()?, id, &part, None)?;
    }
    context.reload()
}

fn parts_of(create: &CreateIndex, table: &Table) -> Result<Vec<KeyPart>> {
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
    Ok(parts)
}
