//! ALTER TABLE.
//!
//! What SQL alone knows of a table (defaults, checks, references) is changed in place. What changes
//! the rows themselves makes the table anew ([`super::rebuild`]). All its changes are one
//! definition: others see none of them or all.

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, Ident, ObjectName,
    RenameTableNameKind, TableConstraint,
};
use remanent_engine::schema::{IndexSchema, KeyPart};

use super::rebuild::Change;
use super::table::{check_readable, definition_of};
use crate::catalog::definition::Definition;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::Relation;
use crate::catalog::table::Table;
use crate::catalog::table_parameters::storage_in;
use crate::catalog::written;
use crate::context::StatementContext;
use crate::define::dependents;
use crate::define::index;
use crate::define::number_table;
use crate::define::rebuild;
use crate::define::rewrite_object;
use crate::define::role;
use crate::define::table;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, check_new, fold, quoted};
use crate::privileges::{Owned, of_relation};
use crate::result::answer::{Notice, Outcome};
use crate::values::sql_type::SqlType;

pub(super) async fn alter_table(
    context: &mut StatementContext,
    alter: &AlterTable,
) -> Result<Outcome> {
    let mut name = alter.name.clone();
    for operation in &alter.operations {
        if let AlterTableOperation::OwnerTo { new_owner } = operation {
            let owner = role::new_owner(context, new_owner)?;
            give_to(context, &name, owner)?;
            continue;
        }
        let catalog = context.catalog();
        let table = match context.access(&catalog).find_own(&name) {
            Err(error) if alter.if_exists && error.state() == SqlState::UNKNOWN_TABLE => {
                let text = format!("{error}, skipping");
                let notice = Notice::new(SqlState::SUCCESSFUL, text);
                return Ok(Outcome::notice("ALTER TABLE", notice));
            }
            found => found?,
        };
        check_readable(&table)?;
        name = alter_one(context, &table, operation).await?.to_ast();
    }
    Ok(Outcome::verb("ALTER TABLE"))
}

/// OWNER TO, of whatever has rows or numbers.
fn give_to(
    context: &mut StatementContext,
    name: &ObjectName,
    owner: Option<crate::catalog::store::ObjectId>,
) -> Result<()> {
    let catalog = context.catalog();
    let access = context.access(&catalog);
    access.superuser()?;
    let id = match access.relation(name)? {
        Some(Relation::Table(table)) => number_table(context, &table)?,
        Some(relation) => of_relation(&relation).1.ok_or_else(|| unknown(name))?,
        None => {
            let name = Name::from_ast(name, context.current_schema())?;
            let sequence = catalog.sequences.get(&name);
            sequence.map(|sequence| sequence.id).ok_or_else(|| unknown(&name.to_ast()))?
        }
    };
    let table = catalog.tables.values().find(|table| table.id == Some(id));
    let sequences = table.into_iter().flat_map(|table| &table.columns);
    let sequences = sequences.filter_map(|column| Some(column.identity.as_ref()?.sequence));
    for id in [id].into_iter().chain(sequences) {
        rewrite_object(context, id, |object| {
            object.owner = owner;
            Ok(())
        })?;
    }
    context.reload()
}

/// One change; the table's name afterwards.
async fn alter_one(
    context: &mut StatementContext,
    table: &Owned,
    operation: &AlterTableOperation,
) -> Result<Name> {
    use AlterTableOperation as Op;
    let name = table.name.clone();
    match operation {
        Op::AddConstraint { constraint, .. } => add_constraint(context, table, constraint).await?,
        Op::DropConstraint { if_exists, name: constraint, .. } => {
            drop_constraint(context, table, &fold(constraint), *if_exists)?;
        }
        Op::AlterColumn { column_name, op } => {
            alter_column(context, table, &fold(column_name), op).await?;
        }
        Op::AddColumn { column_def, if_not_exists, .. } => {
            add_column(context, table, column_def, *if_not_exists).await?;
        }
        Op::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            if drop_behavior
                .is_some_and(|behaviour| behaviour == sqlparser::ast::DropBehavior::Cascade)
            {
                return Err(Error::unsupported("DROP COLUMN ... CASCADE"));
            }
            drop_columns(context, table, column_names, *if_exists).await?;
        }
        Op::RenameColumn { old_column_name, new_column_name } => {
            let (old, new) = (fold(old_column_name), fold(new_column_name));
            check_new(&new)?;
            let mut definition = definition_of(table);
            definition.column(&old)?;
            definition.rename_column(&old, &new);
            let change = Change { renamed: Some((old, new)), ..Change::same(table) };
            rebuild::rebuild(context, table, definition, change).await?;
        }
        Op::RenameTable { table_name } => {
            let (RenameTableNameKind::As(new) | RenameTableNameKind::To(new)) = table_name;
            let catalog = context.catalog();
            let access = context.access(&catalog);
            let new = access.other_name(new, &name.schema, table.owner)?.name().clone();
            if catalog.has(&new) || catalog.index(&new).is_some() {
                let text = format!("relation {new} already exists");
                return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
            }
            let mut definition = definition_of(table);
            for reference in &mut definition.references {
                if reference.table == name {
                    reference.table = new.clone();
                }
            }
            definition.name = new.clone();
            rebuild::rebuild(context, table, definition, Change::same(table)).await?;
            return Ok(new);
        }
        Op::SetOptionsParens { options } => {
            let mut definition = definition_of(table);
            let storage = storage_in(options)?.unwrap_or(definition.storage);
            if storage != definition.storage {
                definition.storage = storage;
                rebuild::rebuild(context, table, definition, Change::same(table)).await?;
            }
        }
        other => return Err(Error::unsupported(format!("ALTER TABLE {other}"))),
    }
    Ok(name)
}

async fn add_column(
    context: &mut StatementContext,
    table: &Owned,
    column: &ColumnDef,
    if_not_exists: bool,
) -> Result<()> {
    let name = fold(&column.name);
    if table.column(&name).is_some() && if_not_exists {
        return Ok(());
    }
    let mut definition = definition_of(table);
    definition.add_column(column, &table.name.schema)?;
    let mut change = Change::same(table);
    change.source.push(None);
    rebuild::rebuild(context, table, definition, change).await
}

async fn add_constraint(
    context: &mut StatementContext,
    table: &Owned,
    constraint: &TableConstraint,
) -> Result<()> {
    let (name, current_schema) = (table.name.clone(), table.name.schema.clone());
    let before = definition_of(table);
    let mut after = before.clone();
    after.add_constraint(constraint, &current_schema)?;
    after.check()?;
    after.check_names_apart()?;
    if let Some(key) = after.keys.get(before.keys.len()) {
        if key.primary && key.columns.iter().any(|c| is_nullable(table, c)) {
            return rebuild::rebuild(context, table, after, Change::same(table)).await;
        }
        let index = Name::new(&current_schema, &key.name);
        if context.catalog().index(&index).is_some() || context.catalog().has(&index) {
            let text = format!("relation {index} already exists");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
        }
        let parts = key.columns.iter().map(|column| KeyPart::asc(column.as_str()));
        let index = IndexSchema::new(key.name.as_str(), parts).unique();
        let index = IndexSchema { primary: key.primary, ..index };
        index::add_index(context, table, index)?;
    }
    if let Some(check) = after.checks.get(before.checks.len()) {
        // A text that would be read as another condition is refused; and it is checked with
        // no more rights than its maker has.
        let condition = written::expression(&check.condition)?;
        let text = format!("SELECT count(*) FROM {} WHERE NOT ({condition})", name.to_ast());
        let (actor, state) = (context.actor, SqlState::CHECK_VIOLATION);
        check_none(context, &text, actor, state, &check.name, &name).await?;
    }
    let added = after.references.get(before.references.len()).map(|added| added.name.clone());
    table::change_definition(context, table, |definition| {
        *definition = after;
        Ok(())
    })?;
    if let Some(added) = added {
        check_reference_holds(context, &name, &added).await?;
    }
    dependents::check_dependents(context, table.id)
}

/// Checks that each row that refers to one finds it.
///
/// # Errors
/// `FOREIGN_KEY_VIOLATION`.
pub(super) async fn check_reference_holds(
    context: &mut StatementContext,
    child: &Name,
    name: &str,
) -> Result<()> {
    let table = context.catalog().table(child)?;
    let Some(reference) = table.references.iter().find(|r| r.name == name) else {
        return Ok(());
    };
    let columns: Vec<String> =
        reference.columns.iter().map(|&c| quoted(&table.columns[c].name)).collect();
    let pairs = columns.iter().zip(&reference.to);
    // Names that no column can have: a column would be taken for the table of its name.
    let (c, p) = ("\"\u{1}child\"", "\"\u{1}parent\"");
    let on: Vec<String> = pairs.map(|(a, b)| format!("{c}.{a} = {p}.{}", quoted(b))).collect();
    let set: Vec<String> =
        columns.iter().map(|column| format!("{c}.{column} IS NOT NULL")).collect();
    let text = format!(
        "SELECT count(*) FROM {} {c} WHERE {} AND NOT EXISTS (SELECT 1 FROM {} {p} WHERE {})",
        child.to_ast(),
        set.join(" AND "),
        reference.table.to_ast(),
        on.join(" AND ")
    );
    // Whoever may refer to a table may be told whether it is referred to rightly.
    let state = SqlState::FOREIGN_KEY_VIOLATION;
    check_none(context, &text, Actor::Program, state, name, child).await
}

fn is_nullable(table: &Table, column: &str) -> bool {
    table.column(column).is_some_and(|place| table.columns[place].nullable)
}

/// Checks that a count, as somebody would find it, is zero.
async fn check_none(
    context: &mut StatementContext,
    count: &str,
    actor: Actor,
    state: SqlState,
    constraint: &str,
    table: &Name,
) -> Result<()> {
    let query = written::read_query(count)?;
    let found = rebuild::count_for(context, &query, actor).await?;
    if found == Some(0) {
        return Ok(());
    }
    let text = format!("constraint \"{constraint}\" of relation {table} is violated by some row");
    Err(Error::new(state, text))
}

fn drop_constraint(
    context: &mut StatementContext,
    table: &Owned,
    constraint: &str,
    if_exists: bool,
) -> Result<()> {
    let definition = definition_of(table);
    if !definition.has_constraint(constraint) {
        if if_exists {
            return Ok(());
        }
        let text = format!("constraint {constraint} of {} does not exist", table.name);
        return Err(Error::new(SqlState::UNKNOWN_OBJECT, text));
    }
    if let Some(place) = table.indexes.iter().position(|index| index.name == constraint) {
        index::remove_index(context, table, place)?;
    }
    table::change_definition(context, table, |definition| {
        definition.keys.retain(|key| key.name != constraint);
        definition.checks.retain(|check| check.name != constraint);
        definition.references.retain(|reference| reference.name != constraint);
        Ok(())
    })?;
    dependents::check_dependents(context, table.id)
}

async fn alter_column(
    context: &mut StatementContext,
    table: &Owned,
    column: &str,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let mut definition = definition_of(table);
    let place = definition.column(column)?;
    let mut rebuilt = Change::same(table);
    match operation {
        AlterColumnOperation::SetDefault { value } => {
            let value = value.clone();
            return table::change_definition(context, table, |definition| {
                definition.columns[place].default = Some(value);
                Ok(())
            });
        }
        AlterColumnOperation::DropDefault => {
            return table::change_definition(context, table, |definition| {
                definition.columns[place].default = None;
                Ok(())
            });
        }
        AlterColumnOperation::SetNotNull => definition.columns[place].not_null = true,
        AlterColumnOperation::DropNotNull => {
            let in_key = |key: &crate::catalog::definition::Key| {
                key.primary && key.columns.iter().any(|c| c == column)
            };
            if definition.keys.iter().any(in_key) {
                let text = format!("column {} is in a primary key", quoted(column));
                return Err(Error::new(SqlState::BAD_DEFINITION, text));
            }
            definition.columns[place].not_null = false;
        }
        AlterColumnOperation::SetDataType { data_type, using, .. } => {
            let to = SqlType::from_ast(data_type)?;
            let value = using.as_ref().map_or_else(|| quoted(column), ToString::to_string);
            // As a text is assigned, so that one which is too long is refused.
            let by = if matches!(to, SqlType::Varchar(_) | SqlType::Char(_)) {
                SqlType::Text
            } else {
                to.clone()
            };
            rebuilt.source[place] = Some(format!("CAST({value} AS {by})"));
            definition.columns[place].sql_type = to;
        }
        other => return Err(Error::unsupported(format!("ALTER COLUMN {other}"))),
    }
    rebuild::rebuild(context, table, definition, rebuilt).await
}

async fn drop_columns(
    context: &mut StatementContext,
    table: &Owned,
    names: &[Ident],
    if_exists: bool,
) -> Result<()> {
    let mut definition = definition_of(table);
    for name in names.iter().map(fold) {
        if table.column(&name).is_none() && if_exists {
            continue;
        }
        let place = definition.column(&name)?;
        definition.columns.remove(place);
        definition.keys.retain(|key| !key.columns.contains(&name));
        definition.references.retain(|reference| !reference.columns.contains(&name));
        definition.checks.retain(|check| !Definition::names_column(&check.condition, &name));
        let generated = definition.columns.iter().find(|column| {
            let expression = column.generated.as_ref();
            expression.is_some_and(|expression| Definition::names_column(expression, &name))
        });
        if let Some(generated) = generated {
            let (name, by) = (quoted(&name), quoted(&generated.name));
            let text = format!("cannot drop column {name}: column {by} is generated from it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text));
        }
    }
    let source = definition.columns.iter().map(|c| Some(quoted(&c.name))).collect();
    rebuild::rebuild(context, table, definition, Change { source, renamed: None }).await
}

fn unknown(name: &ObjectName) -> Error {
    Error::new(SqlState::UNKNOWN_TABLE, format!("relation {name} does not exist"))
}
