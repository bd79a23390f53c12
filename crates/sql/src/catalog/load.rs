//! Reading the catalog: the engine's tables, with what SQL wrote about them.
//!
//! A table that SQL knows nothing of is shown as the engine describes it, so rows of other
//! interfaces can be queried at once.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use remanent_engine::schema::IndexKind;

use super::definition::{Definition, unknown_column};
use super::names::{Name, PUBLIC, fold};
use super::sequence::{Options, Sequence};
use super::snapshot::{Snapshot, View};
use super::store::{Kind, Object, Store};
use super::table::{Column, Identity, Index, Reference, Table};
use crate::error::{Error, Result};
use crate::values::sql_type::SqlType;

/// The catalog as it is now. Sequences of the one before are kept: they have numbers in memory.
///
/// # Errors
/// As the engine; a definition that cannot be read.
pub(crate) fn load(store: &Store, before: &Snapshot) -> Result<Snapshot> {
    let mut definitions: HashMap<Name, Definition> = HashMap::new();
    let mut comments = HashMap::new();
    let mut snapshot = Snapshot { version: before.version + 1, ..Snapshot::default() };
    snapshot.schemas.insert(PUBLIC.to_owned());
    let mut views = Vec::new();
    for object in store.objects()? {
        match object.kind {
            Kind::Table => {
                if let Statement::CreateTable(create) = parse(&object)? {
                    let definition = Definition::from_ast(&create, &object.name.schema)?;
                    definitions.insert(object.name, definition);
                }
            }
            Kind::View => views.push(object),
            Kind::Sequence => {
                let sequence = match before.sequences.get(&object.name) {
                    Some(known) => Arc::clone(known),
                    None => Arc::new(sequence(&object)?),
                };
                snapshot.sequences.insert(object.name, sequence);
            }
            Kind::Schema => drop(snapshot.schemas.insert(object.name.name)),
            Kind::Comment => drop(comments.insert(object.name, object.definition)),
            Kind::Role | Kind::Grant => snapshot.roles.push(object),
        }
    }
    for object in views {
        let view = view(&object, &comments)?;
        snapshot.views.insert(object.name, Arc::new(view));
    }
    for engine_name in store.database.table_names() {
        let Some(name) = Name::of_engine(&engine_name) else { continue };
        // A table dropped this moment is none.
        let Ok(handle) = store.database.table(&engine_name) else { continue };
        snapshot.schemas.insert(name.schema.clone());
        let table = table(&name, handle, definitions.get(&name), &comments)?;
        snapshot.tables.insert(name, Arc::new(table));
    }
    Ok(snapshot)
}

fn parse(object: &Object) -> Result<Statement> {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, &object.definition)?;
    statements.pop().ok_or_else(|| Error::internal(format!("no definition of {}", object.name)))
}

fn view(object: &Object, comments: &HashMap<Name, String>) -> Result<View> {
    let Statement::CreateView(create) = parse(object)? else {
        return Err(Error::internal(format!("the definition of {} is no view", object.name)));
    };
    Ok(View {
        name: object.name.clone(),
        columns: create.columns.iter().map(|column| fold(&column.name)).collect(),
        query: *create.query,
        definition: object.definition.clone(),
        comment: comments.get(&object.name).cloned(),
    })
}

fn sequence(object: &Object) -> Result<Sequence> {
    let Statement::CreateSequence { sequence_options, owned_by, .. } = parse(object)? else {
        return Err(Error::internal(format!("the definition of {} is none", object.name)));
    };
    let owner = owned_by.and_then(|owner| {
        let parts: Vec<String> = owner.0.iter().filter_map(|p| p.as_ident().map(fold)).collect();
        let [schema, table, column] = parts.try_into().ok()?;
        Some((Name::new(schema, table), column))
    });
    Ok(Sequence::new(object.name.clone(), Options::from_ast(&sequence_options)?, owner))
}

/// A table as SQL sees it.
fn table(
    name: &Name,
    handle: remanent_engine::Table,
    definition: Option<&Definition>,
    comments: &HashMap<Name, String>,
) -> Result<Table> {
    let comment_of = |what: String| comments.get(&Name::new(&name.schema, what)).cloned();
    let mut columns = Vec::new();
    for (leaf, stored) in handle.layout().leaves().iter().enumerate() {
        let Some(found) = SqlType::from_column_type(&stored.column_type) else { continue };
        if stored.is_presence() {
            continue;
        }
        let defined = definition.and_then(|definition| {
            definition.columns.iter().find(|column| column.name == stored.path)
        });
        let identity = defined.and_then(|column| column.identity).map(|always| Identity {
            sequence: Name::new(&name.schema, identity_sequence(&name.name, &stored.path)),
            always,
        });
        columns.push(Column {
            name: stored.path.clone(),
            sql_type: defined.map_or(found, |column| column.sql_type.clone()),
            stored: stored.column_type.clone(),
            handle: handle.column_at(leaf)?,
            leaf,
            nullable: stored.nullable,
            default: defined.and_then(|column| column.default.clone()),
            identity,
            generated: defined.and_then(|column| column.generated.clone()),
            comment: comment_of(format!("{}.{}", name.name, stored.path)),
        });
    }
    let indexes = indexes(name, &handle, &columns, definition, comments)?;
    let references = definition.map_or(Ok(Vec::new()), |found| references(found, &columns))?;
    let (arrow, arrow_with_row) = Table::arrow_schemas(&columns);
    Ok(Table {
        name: name.clone(),
        leaves: handle.layout().leaves().len(),
        handle,
        columns,
        indexes,
        checks: definition.map_or_else(Vec::new, |definition| definition.checks.clone()),
        references,
        comment: comment_of(name.name.clone()),
        arrow,
        arrow_with_row,
    })
}

/// The sequence of an identity column.
pub(crate) fn identity_sequence(table: &str, column: &str) -> String {
    format!("{table}_{column}_seq")
}

fn indexes(
    table: &Name,
    handle: &remanent_engine::Table,
    columns: &[Column],
    definition: Option<&Definition>,
    comments: &HashMap<Name, String>,
) -> Result<Vec<Index>> {
    let mut indexes = Vec::new();
    for (engine_name, index) in handle.indexes() {
        let schema = handle.index_schema(index)?;
        let place = |part: &remanent_engine::schema::KeyPart| {
            columns.iter().position(|column| column.name == part.column)
        };
        let places: Option<Vec<usize>> = schema.parts.iter().map(place).collect();
        // A key over a part of a row that SQL does not show is of no use to SQL.
        let Some(places) = places else { continue };
        let native = schema.primary && engine_name == "primary";
        let name = match native {
            true => format!("{}_pkey", table.name),
            false => engine_name.to_owned(),
        };
        let is_key = definition.is_some_and(|found| found.keys.iter().any(|key| key.name == name));
        indexes.push(Index {
            handle: index,
            columns: places,
            descending: schema.parts.iter().map(|part| part.descending).collect(),
            unique: schema.unique,
            primary: schema.primary,
            ordered: schema.kind == IndexKind::Ordered,
            constraint: schema.primary || is_key,
            comment: comments.get(&Name::new(&table.schema, name.as_str())).cloned(),
            name,
        });
    }
    Ok(indexes)
}

fn references(definition: &Definition, columns: &[Column]) -> Result<Vec<Reference>> {
    let place = |name: &String| {
        let place = columns.iter().position(|column| column.name == *name);
        place.ok_or_else(|| unknown_column(name, &definition.name))
    };
    let made = definition.references.iter().map(|reference| {
        Ok(Reference {
            name: reference.name.clone(),
            columns: reference.columns.iter().map(place).collect::<Result<_>>()?,
            table: reference.table.clone(),
            to: reference.to.clone(),
            on_delete: reference.on_delete,
            on_update: reference.on_update,
        })
    });
    made.collect()
}
