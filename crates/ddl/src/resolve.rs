//! What was read, checked: names mean something, types fit, and each class gets its table.
//!
//! Steps come in an order in which each can rely on the one before: names, structs (no cycles, not
//! too deep), columns, indexes, then what only one of the languages has. A step that found errors
//! ends the run before steps that would stumble over them. What passes is accepted by
//! `TableSchema::validate`, which is asked for every class all the same.

mod columns;
mod identifiers;
mod indexes;
mod names;
mod network;
mod structs;

use std::collections::HashMap;

use remanent_schema::SchemaError;

use crate::diagnostic::Reporter;
use crate::model::{Class, Dialect, Name, Schema};
use crate::source::Span;
use columns::Columns;

/// Checks a schema and fills in what follows from what was read.
pub(crate) fn resolve(schema: &mut Schema, reporter: &mut Reporter) {
    check_database(schema, reporter);
    let names = names::resolve(schema, reporter);
    if reporter.has_errors() {
        return;
    }
    check_oid(schema, reporter);
    structs::sort(schema, &names, reporter);
    if reporter.has_errors() {
        return;
    }
    crate::prologue::sort(schema);
    network::count_circular(schema, reporter);
    tables(schema, &names, reporter);
    if reporter.has_errors() {
        return;
    }
    if schema.dialect == Dialect::D {
        network::check(schema, reporter);
    }
    identifiers::check(schema, reporter);
}

fn check_database(schema: &Schema, reporter: &mut Reporter) {
    let start = Span::default();
    if schema.name.is_empty() {
        let hint = match schema.dialect {
            Dialect::Mco => "write `declare database name;`",
            Dialect::D => "write `database name { .. }` round the records",
        };
        reporter.error(start, "the schema declares no database", hint);
    } else if schema.classes.is_empty() {
        let (what, hint) = match schema.dialect {
            Dialect::Mco => ("class", "write `class name { .. };`"),
            Dialect::D => ("record", "write `record name { .. }`"),
        };
        reporter.error(schema.name.span(), format!("`{}` has no {what}", schema.name), hint);
    }
}

/// The columns and indexes of every class.
fn tables(schema: &mut Schema, names: &names::Names, reporter: &mut Reporter) {
    let mut classes = std::mem::take(&mut schema.classes);
    let mut structs = std::mem::take(&mut schema.structs);
    let mut columns = Columns::new(schema, names);
    for declared in &mut structs {
        columns.add_struct(declared, reporter);
    }
    // A struct that was refused has no columns; its users would only be refused for that.
    let has_bad_structs = reporter.has_errors();
    for class in &mut classes {
        if reporter.is_full() || has_bad_structs {
            break;
        }
        let before = reporter.error_count();
        columns.fill(class, reporter);
        if reporter.error_count() == before {
            indexes::fill(class, reporter);
        }
        if reporter.error_count() == before
            && let Err(error) = class.table.validate()
        {
            refuse(class, &error, reporter);
        }
    }
    (schema.classes, schema.structs) = (classes, structs);
}

/// An error of the schema crate at the place that it is about.
fn refuse(class: &Class, error: &SchemaError, reporter: &mut Reporter) {
    let field = |path: &str| {
        let first = path.split('.').next().unwrap_or(path);
        class.fields.iter().find(|field| &*field.name == first).map(|field| &field.name)
    };
    let index =
        |name: &str| class.indexes.iter().map(|index| &index.name).find(|index| &***index == name);
    let at: Option<&Name> = match error {
        SchemaError::BadType { column, .. } | SchemaError::BadDefault { column } => field(column),
        SchemaError::UnknownKeyColumn { index: name, .. }
        | SchemaError::BadKey { index: name, .. }
        | SchemaError::BadKeyType { index: name, .. } => index(name).or_else(|| field(name)),
        SchemaError::BadName { name } | SchemaError::DuplicateName { name } => {
            index(name).or_else(|| field(name))
        }
        _ => None,
    };
    let hint = match error {
        SchemaError::BadDefault { .. } => "write a value that the field's type can hold",
        SchemaError::TooMany { .. } => "divide it into several classes",
        SchemaError::RowTooLong { .. } => "put what is large into a class of its own",
        _ => "",
    };
    let span = at.unwrap_or(&class.name).span();
    reporter.error(span, format!("`{}`: {error}", class.name), hint);
}

fn check_oid(schema: &Schema, reporter: &mut Reporter) {
    for class in &schema.classes {
        if class.has_oid && schema.oid.is_none() {
            let message = format!("`{}` has an object id, and none is declared", class.name);
            let hint = "write `struct Id { .. }; declare oid Id[10000];`";
            reporter.error(class.name.span(), message, hint);
        }
    }
}

/// Names with the places of their first declaration: a second one is an error.
#[derive(Default)]
struct Declared<'n> {
    seen: HashMap<&'n str, &'static str>,
}

impl<'n> Declared<'n> {
    fn add(&mut self, name: &'n Name, what: &'static str, reporter: &mut Reporter) {
        if let Some(first) = self.seen.insert(name, what) {
            let message = format!("the name `{name}` is taken: there is a {first} of this name");
            reporter.error(name.span(), message, "give one of the two another name");
        }
    }
}
