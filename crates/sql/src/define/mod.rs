//! Statements that define: tables, indexes, views, sequences, schemas, comments, roles, rights.
//!
//! Each is a part of one transaction of the engine ([`crate::context::defining`]), which makes and
//! drops tables and writes the catalog's rows; the session's own catalog is read anew behind each
//! step. What depends on an object names its number: it follows, or the definition is refused
//! ([`dependents`]).

mod alter;
mod comment;
mod dependents;
mod index;
mod rebuild;
mod role;
mod sequence;
mod table;
pub(crate) mod transaction;
pub(crate) mod view;

use datafusion::sql::sqlparser::ast::{
    AlterSchemaOperation, Analyze, ObjectName, ObjectType, SchemaName, Statement,
};

use crate::catalog::privilege::Privilege;
use crate::catalog::store::{Grant, Kind, NewObject, Object, ObjectId};
use crate::catalog::table::Table;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, PUBLIC, check_new, fold};
use crate::result::answer::{Notice, Outcome};
use crate::values::datum::Datum;

/// Schemas that are always there, and nobody's.
const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "sql"];

/// A statement that defines, within the transaction of the definition.
///
/// # Errors
/// As each statement; `FEATURE_NOT_SUPPORTED`.
pub(crate) async fn define(
    context: &mut StatementContext,
    statement: &Statement,
    parameters: &[Datum],
) -> Result<Outcome> {
    match statement {
        Statement::CreateTable(create) => table::create_table(context, create, parameters).await,
        Statement::CreateIndex(create) => index::create_index(context, create),
        Statement::CreateView(create) => view::create_view(context, create),
        Statement::CreateSequence { name, if_not_exists, sequence_options, .. } => {
            sequence::create_sequence(context, name, *if_not_exists, sequence_options)
        }
        Statement::CreateSchema { schema_name, if_not_exists, .. } => {
            create_schema(context, schema_name, *if_not_exists)
        }
        Statement::AlterTable(alter) => alter::alter_table(context, alter).await,
        Statement::AlterSchema(alter) => alter_schema(context, &alter.name, &alter.operations),
        Statement::Comment { object_type, object_name, comment, .. } => {
            comment::comment(context, object_type, object_name, comment.as_deref())
        }
        Statement::Drop { object_type: ObjectType::Role, .. }
        | Statement::CreateRole(_)
        | Statement::AlterRole { .. }
        | Statement::Grant(_)
        | Statement::Revoke(_) => define_right(context, statement),
        Statement::Drop { object_type, if_exists, names, cascade, .. } => {
            let options = DropOptions { if_exists: *if_exists, cascade: *cascade };
            for name in names {
                drop_object(context, *object_type, name, options)?;
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
pub(crate) fn define_right(
    context: &mut StatementContext,
    statement: &Statement,
) -> Result<Outcome> {
    match statement {
        Statement::Drop { object_type: ObjectType::Role, names, if_exists, .. } => {
            role::drop_roles(context, names, *if_exists)
        }
        Statement::CreateRole(create) => role::create_role(context, create),
        Statement::AlterRole { name, operation } => role::alter_role(context, name, operation),
        Statement::Grant(grant) => {
            if grant.with_grant_option || grant.as_grantor.is_some() {
                return Err(Error::unsupported("GRANT with grant option, or of somebody else"));
            }
            let objects = grant.objects.as_ref();
            role::grant(context, &grant.privileges, objects, &grant.grantees, true)
        }
        Statement::Revoke(revoke) => {
            let objects = revoke.objects.as_ref();
            role::grant(context, &revoke.privileges, objects, &revoke.grantees, false)
        }
        other => Err(Error::unsupported(first_words(&other.to_string()))),
    }
}

/// ANALYZE forgets what is known of a table's rows, so that it is found anew.
///
/// # Errors
/// `NO_PRIVILEGE` for what is somebody else's; `UNKNOWN_TABLE`.
pub(crate) fn analyze(context: &mut StatementContext, analyze: &Analyze) -> Result<Outcome> {
    let catalog = context.catalog();
    let access = context.access(&catalog);
    match &analyze.table_name {
        Some(name) => {
            let table = access.find_own(name)?;
            context.database.statistics.forget(&table);
        }
        None => {
            for table in catalog.tables.values().filter(|table| access.owns(table.owner)) {
                context.database.statistics.forget(table);
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
pub(crate) fn vacuum(
    context: &mut StatementContext,
    table: Option<&ObjectName>,
    full: bool,
) -> Result<Outcome> {
    context.check_writable()?;
    if context.block.as_ref().is_some_and(|block| block.transaction.is_some()) {
        let text = "VACUUM cannot run in a transaction that has read or written";
        return Err(Error::new(SqlState::ACTIVE_TRANSACTION, text).hint("Commit first."));
    }
    let catalog = context.catalog();
    let access = context.access(&catalog);
    let tables = match table {
        Some(name) => vec![access.find_own(name)?],
        None => catalog.tables.values().filter_map(|t| access.own_table(t).ok()).collect(),
    };
    let engine = &context.database.engine;
    let (mut rows, mut before, mut after) = (0, 0, 0);
    for table in tables {
        context.check_cancelled()?;
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

/// How DROP takes what is not there, and what depends on what is.
#[derive(Clone, Copy)]
struct DropOptions {
    if_exists: bool,
    cascade: bool,
}

fn drop_object(
    context: &mut StatementContext,
    object_type: ObjectType,
    name: &ObjectName,
    options: DropOptions,
) -> Result<()> {
    match object_type {
        ObjectType::Table => table::drop_table(context, name, options),
        ObjectType::View => view::drop_view(context, name, options),
        ObjectType::Index => index::drop_index(context, name, options.if_exists),
        ObjectType::Sequence => sequence::drop_sequence(context, name, options.if_exists),
        ObjectType::Schema => {
            let name = name.0.last().and_then(|part| part.as_ident()).map(fold);
            drop_schema(context, &name.unwrap_or_default(), options)
        }
        other => Err(Error::unsupported(format!("DROP {other}"))),
    }
}

fn create_schema(
    context: &mut StatementContext,
    schema: &SchemaName,
    if_not_exists: bool,
) -> Result<Outcome> {
    context.access(&context.catalog()).superuser()?;
    let (name, owner) = match schema {
        SchemaName::Simple(name) => (last(name), context.actor.as_owner()),
        SchemaName::NamedAuthorization(name, owner) => {
            let owner = sqlparser::ast::Owner::Ident(owner.clone());
            (last(name), role::new_owner(context, &owner)?)
        }
        SchemaName::UnnamedAuthorization(_) => {
            return Err(Error::unsupported("a schema without a name"));
        }
    };
    check_new(&name)?;
    let exists = context.catalog().schemas.contains_key(&name);
    if exists || SYSTEM_SCHEMAS.contains(&name.as_str()) {
        if if_not_exists {
            let text = format!("schema {name} exists already");
            let notice = Notice::new(SqlState::DUPLICATE_SCHEMA, text);
            return Ok(Outcome::notice("CREATE SCHEMA", notice));
        }
        let text = format!("schema {name} already exists");
        return Err(Error::new(SqlState::DUPLICATE_SCHEMA, text));
    }
    add_schema(context, &name, owner)?;
    Ok(Outcome::verb("CREATE SCHEMA"))
}

/// Gives a schema that other interfaces have made a number.
pub(crate) fn number_schema(context: &mut StatementContext, name: &str) -> Result<ObjectId> {
    add_schema(context, name, None)
}

/// Everybody may look names up in a schema, until that is revoked.
fn add_schema(
    context: &mut StatementContext,
    name: &str,
    owner: Option<ObjectId>,
) -> Result<ObjectId> {
    let transaction = context.defining_transaction()?;
    let (store, tx) = (&context.database.store, transaction.writing()?);
    let (kind, name) = (Kind::Schema, &Name::new("", name));
    let object = store.add(&tx, NewObject { kind, name, owner, engine: None, definition: "" })?;
    let grant = Grant { role: ObjectId::PUBLIC, object, privilege: Privilege::Usage };
    store.grant(&tx, grant, true)?;
    context.reload()?;
    Ok(object)
}

fn alter_schema(
    context: &mut StatementContext,
    name: &ObjectName,
    operations: &[AlterSchemaOperation],
) -> Result<Outcome> {
    for operation in operations {
        let AlterSchemaOperation::OwnerTo { owner } = operation else {
            return Err(Error::unsupported(format!("ALTER SCHEMA {operation}")));
        };
        let catalog = context.catalog();
        context.access(&catalog).superuser()?;
        let name = last(name);
        let schema = catalog.check_schema(&name)?;
        let owner = role::new_owner(context, owner)?;
        let id = match schema.id {
            Some(id) => id,
            None => number_schema(context, &name)?,
        };
        rewrite_object(context, id, |object| {
            object.owner = owner;
            Ok(())
        })?;
        context.reload()?;
    }
    Ok(Outcome::verb("ALTER SCHEMA"))
}

fn drop_schema(context: &mut StatementContext, name: &str, options: DropOptions) -> Result<()> {
    let catalog = context.catalog();
    let schema = match catalog.check_schema(name) {
        Ok(schema) => schema,
        Err(_) if options.if_exists => return Ok(()),
        Err(error) => return Err(error),
    };
    context.access(&catalog).check_owner("schema", name, schema.owner)?;
    if name == PUBLIC {
        return Err(Error::unsupported("dropping the schema public"));
    }
    let transaction = context.defining_transaction()?;
    let contents = context.database.store.contents(&*transaction.reading()?)?;
    let of_kind = |kind: Kind| -> Vec<Name> {
        let all = contents.objects.iter().filter(|object| object.kind == kind);
        all.filter(|object| object.name.schema == name).map(|o| o.name.clone()).collect()
    };
    let (views, sequences) = (of_kind(Kind::View), of_kind(Kind::Sequence));
    let tables = catalog.tables.keys().filter(|n| n.schema == name);
    let tables: Vec<Name> = tables.cloned().collect();
    let is_empty = tables.is_empty() && views.is_empty() && sequences.is_empty();
    if !options.cascade && !is_empty {
        let text = format!("cannot drop schema {name} because other objects depend on it");
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text).hint("Write CASCADE."));
    }
    // What is in a schema goes with it, whoever's it is.
    for view in views {
        view::drop_dependent_view(context, &view)?;
    }
    for table in tables {
        if let Some(table) = context.catalog().tables.get(&table).cloned() {
            table::drop_table_as(context, &table, true)?;
        }
    }
    for sequence in sequences {
        sequence::drop_dependent_sequence(context, &sequence)?;
    }
    if let Some(id) = schema.id {
        context.database.store.remove(&*transaction.writing()?, id)?;
    }
    context.reload()
}

/// Writes an object anew.
pub(crate) fn rewrite_object(
    context: &mut StatementContext,
    id: ObjectId,
    change: impl FnOnce(&mut Object) -> Result<()>,
) -> Result<()> {
    let transaction = context.defining_transaction()?;
    let contents = context.database.store.contents(&*transaction.reading()?)?;
    let found = contents.objects.into_iter().find(|object| object.id == id);
    let mut object = found.ok_or_else(|| Error::internal("an object without a row"))?;
    change(&mut object)?;
    context.database.store.put(&*transaction.writing()?, &object)
}

/// Gives a table that other interfaces have made a number.
pub(crate) fn number_table(context: &mut StatementContext, table: &Table) -> Result<ObjectId> {
    let now = context.catalog().tables.get(&table.name).and_then(|table| table.id);
    if let Some(id) = now {
        return Ok(id);
    }
    let transaction = context.defining_transaction()?;
    let (kind, engine) = (Kind::Table, Some(table.handle.number()));
    let new = NewObject { kind, name: &table.name, owner: None, engine, definition: "" };
    let id = context.database.store.add(&*transaction.writing()?, new)?;
    context.reload()?;
    Ok(id)
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
