//! CREATE TABLE and DROP TABLE.
//!
//! The engine's table, the sequences of its identity columns, the catalog's rows and, of CREATE
//! TABLE AS, the rows are there together or not at all.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, CreateTable, CreateTableLikeKind, ObjectName};

use crate::catalog::definition::{
    ColumnDefinition, Definition, IdentityDefinition, Key, ReferenceDefinition, unknown_column,
};
use crate::catalog::privilege::Privilege;
use crate::catalog::sequence::Options;
use crate::catalog::store::{Kind, Object, ObjectId};
use crate::catalog::stored;
use crate::catalog::table::Table;
use crate::catalog::table_parameters::storage_of;
use crate::change::change_in;
use crate::context::StatementContext;
use crate::define::DropOptions;
use crate::define::dependents;
use crate::define::number_table;
use crate::define::sequence;
use crate::define::view;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, fold};
use crate::privileges::{NewName, Owned};
use crate::query::binder::Binder;
use crate::query::rewrite;
use crate::query::select;
use crate::result::answer::{Notice, Outcome, Tag};
use crate::statement::Statement;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

pub(super) async fn create_table(
    context: &mut StatementContext,
    create: &CreateTable,
    parameters: &[Datum],
) -> Result<Outcome> {
    if create.or_replace || create.external || create.inherits.is_some() {
        return Err(Error::unsupported("this form of CREATE TABLE"));
    }
    if create.temporary {
        return Err(Error::unsupported("a temporary table"));
    }
    let catalog = context.catalog();
    let new = context.access(&catalog).new_name(&create.name, context.current_schema())?;
    if create.if_not_exists && catalog.has(new.name()) {
        let text = format!("relation {} already exists, skipping", new.name());
        let notice = Notice::new(SqlState::DUPLICATE_TABLE, text);
        return Ok(Outcome::notice("CREATE TABLE", notice));
    }
    match &create.query {
        Some(query) => create_table_as(context, create, &new, query, parameters).await,
        None => {
            let definition = match &create.like {
                Some(like) => definition_like(context, create, like)?,
                None => Definition::from_ast(create, context.current_schema())?,
            };
            create_defined(context, &new, definition)?;
            Ok(Outcome::verb("CREATE TABLE"))
        }
    }
}

/// CREATE TABLE ... (LIKE other).
fn definition_like(
    context: &mut StatementContext,
    create: &CreateTable,
    like: &CreateTableLikeKind,
) -> Result<Definition> {
    let (CreateTableLikeKind::Plain(like) | CreateTableLikeKind::Parenthesized(like)) = like;
    let catalog = context.catalog();
    let other = context.access(&catalog).find(&like.name, &[Privilege::Select])?;
    let columns = other.columns.iter().map(|column| ColumnDefinition {
        name: column.name.clone(),
        sql_type: column.sql_type.clone(),
        not_null: !column.nullable,
        default: None,
        identity: None,
        sequence: Vec::new(),
        generated: None,
    });
    let name = Name::from_ast(&create.name, context.current_schema())?;
    Ok(Definition {
        name,
        columns: columns.collect(),
        keys: Vec::new(),
        checks: Vec::new(),
        references: Vec::new(),
        storage: storage_of(&create.table_options)?,
    })
}

/// CREATE TABLE ... AS query.
async fn create_table_as(
    context: &mut StatementContext,
    create: &CreateTable,
    new: &NewName,
    query: &ast::Query,
    parameters: &[Datum],
) -> Result<Outcome> {
    let (_, columns) = select::describe(context, query, &[])?;
    let named = columns.iter().enumerate().map(|(place, column)| ColumnDefinition {
        name: match create.columns.get(place) {
            Some(given) => fold(&given.name),
            None => column.name.clone(),
        },
        sql_type: match &column.sql_type {
            SqlType::Unknown => SqlType::Text,
            known => known.clone(),
        },
        not_null: false,
        default: None,
        identity: None,
        sequence: Vec::new(),
        generated: None,
    });
    let mut definition = Definition {
        name: new.name().clone(),
        columns: named.collect(),
        keys: Vec::new(),
        checks: Vec::new(),
        references: Vec::new(),
        storage: storage_of(&create.table_options)?,
    };
    for column in &mut definition.columns {
        column.name = column.name.replace([':', '.'], "_");
    }
    create_defined(context, new, definition)?;
    let text = format!("INSERT INTO {} SELECT 1", new.name().to_ast());
    let mut statement = Arc::unwrap_or_clone(Statement::parse(&text)?.ast);
    if let ast::Statement::Insert(insert) = &mut statement {
        insert.source = Some(Box::new(query.clone()));
    }
    let transaction = context.defining_transaction()?;
    let filled = change_in(context, &transaction, &statement, parameters).await?;
    Ok(Outcome::done(Tag::counted("SELECT", filled.tag.rows.unwrap_or(0))))
}

/// Creates a table with its sequences.
///
/// # Errors
/// `DUPLICATE_TABLE`, `BAD_DEFINITION`; as the engine.
pub(super) fn create_defined(
    context: &mut StatementContext,
    new: &NewName,
    mut definition: Definition,
) -> Result<()> {
    let catalog = context.catalog();
    let name = new.name();
    if catalog.has(name) || catalog.index(name).is_some() {
        let text = format!("relation {name} already exists");
        return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
    }
    definition.check()?;
    check_definition(context, &mut definition)?;
    check_references_allowed(context, &definition, &[])?;
    let transaction = context.defining_transaction()?;
    let id = context.database.store.next_id(&*transaction.writing()?)?;
    let table = transaction.writing()?.create_table(definition.to_schema()?)?;
    write_table(context, id, new.owner(), table.number(), &mut definition)?;
    dependents::check_dependents(context, Some(id))
}

/// Writes what a table is, with sequences for new identity columns.
pub(super) fn write_table(
    context: &mut StatementContext,
    id: ObjectId,
    owner: Option<ObjectId>,
    engine: u32,
    definition: &mut Definition,
) -> Result<()> {
    let name = definition.name.clone();
    for place in 0..definition.columns.len() {
        let column = &definition.columns[place];
        let Some(identity) = column.identity.filter(|identity| identity.sequence.is_none()) else {
            continue;
        };
        let options = Options::from_ast(&column.sequence)?;
        let max = options.max.min(greatest(&column.sql_type));
        let options = Options { max, ..options };
        let sequence = free_name(context, &name, &format!("{}_{}_seq", name.name, column.name));
        let sequence = Some(sequence::add_sequence(context, &sequence, owner, options)?);
        definition.columns[place].identity = Some(IdentityDefinition { sequence, ..identity });
        context.reload()?;
    }
    let parents: Vec<Name> =
        definition.references.iter().map(|reference| reference.table.clone()).collect();
    for parent in parents.iter().filter(|parent| **parent != name) {
        let parent = context.catalog().table(parent)?;
        number_table(context, &parent)?;
    }
    let catalog = context.catalog();
    let stored = definition.to_stored(|table| {
        if *table == name {
            return Ok(id);
        }
        let unnumbered = || Error::internal("a table without a number");
        catalog.table(table)?.id.ok_or_else(unnumbered)
    })?;
    let definition = stored::write(&stored)?;
    let (kind, engine) = (Kind::Table, Some(engine));
    let object = Object { id, kind, name, owner, engine, definition };
    let transaction = context.defining_transaction()?;
    context.database.store.put(&*transaction.writing()?, &object)?;
    context.reload()
}

/// A name in the schema of a table that nothing has.
fn free_name(context: &StatementContext, table: &Name, wanted: &str) -> Name {
    let catalog = context.catalog();
    let mut name = Name::new(&table.schema, wanted);
    let mut number = 0;
    while catalog.has(&name) {
        number += 1;
        name.name = format!("{wanted}{number}");
    }
    name
}

/// Checks that new foreign keys may refer to what they do. Those named are not new.
pub(super) fn check_references_allowed(
    context: &StatementContext,
    definition: &Definition,
    old: &[String],
) -> Result<()> {
    let catalog = context.catalog();
    let access = context.access(&catalog);
    for reference in &definition.references {
        if reference.table != definition.name && !old.contains(&reference.name) {
            access.table(&catalog.table(&reference.table)?, &[Privilege::References])?;
        }
    }
    Ok(())
}

/// Checks what a definition says of others, and its expressions.
pub(super) fn check_definition(
    context: &mut StatementContext,
    definition: &mut Definition,
) -> Result<()> {
    let catalog = &context.catalog();
    let columns = definition.columns.iter().map(|column| {
        let arrow = column.sql_type.to_arrow();
        datafusion::arrow::datatypes::Field::new(&column.name, arrow, true)
    });
    let arrow = datafusion::arrow::datatypes::Schema::new(columns.collect::<Vec<_>>());
    let schema = datafusion::common::DFSchema::try_from_qualified_schema(
        definition.name.name.as_str(),
        &arrow,
    )?;
    let empty = datafusion::common::DFSchema::empty();
    for check in &definition.checks {
        let condition = rewrite::rewritten_expression(context, &check.condition)?;
        Binder::of(context, catalog).bind_expression(condition, &schema)?;
    }
    for column in &definition.columns {
        if let Some(default) = &column.default {
            let default = rewrite::rewritten_expression(context, default)?;
            Binder::of(context, catalog).bind_expression(default, &empty)?;
        }
        if let Some(generated) = &column.generated {
            let generated = rewrite::rewritten_expression(context, generated)?;
            Binder::of(context, catalog).bind_expression(generated, &schema)?;
        }
    }
    for place in 0..definition.references.len() {
        let reference = &definition.references[place];
        let itself = reference.table == definition.name;
        let names: Vec<String> = if itself {
            referred_in(definition, &reference.to)?
        } else {
            let parent = catalog.table(&reference.table)?;
            referred_names(&parent, &reference.to)?
        };
        if names.len() != reference.columns.len() {
            let text = "number of referencing and referenced columns for foreign key disagree";
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        definition.references[place].to = names;
    }
    Ok(())
}

pub(super) fn drop_table(
    context: &mut StatementContext,
    name: &ObjectName,
    options: DropOptions,
) -> Result<()> {
    let catalog = context.catalog();
    match context.access(&catalog).find_own(name) {
        Ok(table) => drop_table_as(context, &table, options.cascade),
        Err(error) if error.state() == SqlState::UNKNOWN_TABLE && options.if_exists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Drops a table with all that is its own, and, if that is asked, what depends on it.
pub(super) fn drop_table_as(
    context: &mut StatementContext,
    table: &Arc<Table>,
    cascade: bool,
) -> Result<()> {
    let (views, constraints) = dependents::dependents_of(context, table);
    let is_free = views.is_empty() && constraints.is_empty();
    if !cascade && !is_free {
        let views = views.iter().map(|view| format!("view {view}"));
        let constraints = constraints
            .iter()
            .map(|(child, constraint)| format!("constraint {constraint} on table {child}"));
        let all: Vec<String> = constraints.chain(views).collect();
        let text = format!("cannot drop table {} because other objects depend on it", table.name);
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text)
            .detail(format!("{} depends on it", all.join(", ")))
            .hint("Write CASCADE to drop them too."));
    }
    for view in views {
        view::drop_dependent_view(context, &view)?;
    }
    for (child, constraint) in constraints {
        write_definition(context, &child, |definition| {
            definition.references.retain(|reference| reference.name != constraint);
            Ok(())
        })?;
    }
    let transaction = context.defining_transaction()?;
    let (store, tx) = (Arc::clone(&context.database.store), transaction.writing()?);
    tx.drop_table(&table.handle)?;
    for column in &table.columns {
        if let Some(identity) = &column.identity {
            store.remove(&tx, identity.sequence)?;
        }
    }
    if let Some(id) = table.id {
        store.remove(&tx, id)?;
    }
    context.reload()
}

/// Changes what SQL knows of a table, and nothing of its rows.
///
/// # Errors
/// Whatever `change` finds wrong.
pub(super) fn change_definition(
    context: &mut StatementContext,
    table: &Owned,
    change: impl FnOnce(&mut Definition) -> Result<()>,
) -> Result<()> {
    write_definition(context, &table.name, change)
}

fn write_definition(
    context: &mut StatementContext,
    name: &Name,
    change: impl FnOnce(&mut Definition) -> Result<()>,
) -> Result<()> {
    let table = context.catalog().table(name)?;
    check_readable(&table)?;
    let mut definition = definition_of(&table);
    let old: Vec<String> = table.references.iter().map(|r| r.name.clone()).collect();
    change(&mut definition)?;
    definition.check()?;
    check_definition(context, &mut definition)?;
    check_references_allowed(context, &definition, &old)?;
    let id = match table.id {
        Some(id) => id,
        None => number_table(context, &table)?,
    };
    write_table(context, id, table.owner, table.handle.number(), &mut definition)
}

/// A column of a table that is called otherwise now.
pub(super) struct RenamedColumn<'r> {
    pub(super) table: &'r Name,
    pub(super) old: &'r str,
    pub(super) new: &'r str,
}

/// Foreign keys of a table name a column of another as it is called now.
pub(super) fn rename_referred(
    context: &mut StatementContext,
    child: &Name,
    column: &RenamedColumn<'_>,
) -> Result<()> {
    write_definition(context, child, |definition| {
        let own = definition.references.iter_mut().filter(|r| r.table == *column.table);
        for name in own.flat_map(|reference| &mut reference.to).filter(|name| *name == column.old) {
            column.new.clone_into(name);
        }
        Ok(())
    })
}

/// Checks that it is known what a table is.
///
/// # Errors
/// `BAD_DEFINITION`.
pub(super) fn check_readable(table: &Table) -> Result<()> {
    match &table.fault {
        None => Ok(()),
        Some(fault) => {
            let text = format!("table {} can only be read, or dropped", table.name);
            Err(Error::new(SqlState::BAD_DEFINITION, text).detail(fault.clone()))
        }
    }
}

/// The definition that would make a table.
pub(crate) fn definition_of(table: &Table) -> Definition {
    let columns = table.columns.iter().map(|column| ColumnDefinition {
        name: column.name.clone(),
        sql_type: column.sql_type.clone(),
        not_null: !column.nullable,
        default: column.default.clone(),
        identity: column.identity.as_ref().map(|identity| IdentityDefinition {
            always: identity.always,
            sequence: Some(identity.sequence),
        }),
        sequence: Vec::new(),
        generated: column.generated.clone(),
    });
    let name_of = |&place: &usize| table.columns[place].name.clone();
    let keys = table.indexes.iter().filter(|index| index.constraint).map(|index| Key {
        name: index.name.clone(),
        columns: index.columns.iter().map(name_of).collect(),
        primary: index.primary,
    });
    let references = table.references.iter().map(|reference| ReferenceDefinition {
        name: reference.name.clone(),
        columns: reference.columns.iter().map(name_of).collect(),
        table: reference.table.clone(),
        table_id: Some(reference.table_id),
        to: reference.to.clone(),
        on_delete: reference.on_delete,
        on_update: reference.on_update,
    });
    Definition {
        name: table.name.clone(),
        columns: columns.collect(),
        keys: keys.collect(),
        checks: table.checks.clone(),
        references: references.collect(),
        storage: table.handle.schema().storage,
    }
}

/// The columns that a reference to a table names, which must be a key.
fn referred_names(parent: &Table, to: &[String]) -> Result<Vec<String>> {
    let names = |columns: &[usize]| -> Vec<String> {
        columns.iter().map(|&column| parent.columns[column].name.clone()).collect()
    };
    if to.is_empty() {
        let primary = parent.primary().ok_or_else(|| {
            let text = format!("there is no primary key for referenced table {}", parent.name);
            Error::new(SqlState::UNKNOWN_OBJECT, text)
        })?;
        return Ok(names(&primary.columns));
    }
    for name in to {
        parent.column(name).ok_or_else(|| unknown_column(name, &parent.name))?;
    }
    let same = |columns: &[usize]| {
        let mut have = names(columns);
        let mut want = to.to_vec();
        have.sort();
        want.sort();
        have == want
    };
    if !parent.indexes.iter().any(|index| index.unique && same(&index.columns)) {
        return Err(no_key(&parent.name));
    }
    Ok(to.to_vec())
}

/// The same for a table that refers to itself and is not there yet.
fn referred_in(definition: &Definition, to: &[String]) -> Result<Vec<String>> {
    let mut keys = definition.keys.iter();
    let key = match to.is_empty() {
        true => keys.find(|key| key.primary),
        false => keys.find(|key| {
            let (mut have, mut want) = (key.columns.clone(), to.to_vec());
            have.sort();
            want.sort();
            have == want
        }),
    };
    let key = key.ok_or_else(|| no_key(&definition.name))?;
    Ok(if to.is_empty() { key.columns.clone() } else { to.to_vec() })
}

fn no_key(table: &Name) -> Error {
    let text =
        format!("there is no unique constraint matching given keys for referenced table {table}");
    Error::new(SqlState::BAD_DEFINITION, text)
}

/// The greatest number of a type.
fn greatest(sql_type: &SqlType) -> i64 {
    match sql_type {
        SqlType::TinyInt => i64::from(i8::MAX),
        SqlType::SmallInt => i64::from(i16::MAX),
        SqlType::Integer => i64::from(i32::MAX),
        SqlType::UTinyInt => i64::from(u8::MAX),
        SqlType::USmallInt => i64::from(u16::MAX),
        SqlType::UInteger => i64::from(u32::MAX),
        _ => i64::MAX,
    }
}
