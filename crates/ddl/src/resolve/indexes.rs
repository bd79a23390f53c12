//! Keys into the indexes of a table, each with its ordinal.
//!
//! First the fields that are keys by themselves, then declared indexes, then those of `oid`,
//! `autoid` and `circular`: the order is part of what generated code relies on.

use remanent_schema::{Column, ColumnType, IndexKind, IndexSchema, KeyPart};

use crate::diagnostic::Reporter;
use crate::model::{Class, FieldKey, Index, Name, Part};
use crate::name_check::nearest;

/// Fills in the indexes of a class whose columns are there.
pub(super) fn fill(class: &mut Class, reporter: &mut Reporter) {
    let mut indexes = Vec::new();
    for field in &mut class.fields {
        let Some(key) = &mut field.key else { continue };
        key.ordinal = indexes.len() as u32;
        let path = [field.name.clone()];
        if check_part(&class.name, &class.table.columns, &path, reporter) {
            indexes.push(index(&field.name, *key, [KeyPart::asc(&*field.name)]));
        }
    }
    for declared in &mut class.indexes {
        let ordinal = indexes.len() as u32;
        (declared.ordinal, declared.key.ordinal) = (ordinal, ordinal);
        if declared.parts.is_empty() {
            let message = format!("`{}` has no fields", declared.name);
            reporter.error(declared.name.span(), message, "write at least one field");
        }
        let is_right =
            |part: &Part| check_part(&class.name, &class.table.columns, &part.path, reporter);
        if declared.parts.iter().map(is_right).fold(true, |all, right| all & right) {
            check_twice(declared, reporter);
            let parts = declared.parts.iter();
            let parts =
                parts.map(|part| KeyPart { column: part.column(), descending: part.descending });
            indexes.push(index(&declared.name, declared.key, parts));
        }
    }
    let special = |name: &str| class.indexes.iter().find(|index| &*index.name == name);
    if class.has_oid {
        if let Some(clash) = special("oid") {
            reporter.error(clash.name.span(), "`oid` is the index of the object id", "rename it");
        }
        let fields = class.table.columns.iter().find(|column| column.name == "oid");
        let mut parts = Vec::new();
        if let Some(column) = fields {
            leaf_paths("", column, &mut parts);
        }
        indexes.push(IndexSchema::new("oid", parts).hash().unique());
    }
    if class.autoid.is_some() {
        if let Some(clash) = special("autoid") {
            reporter.error(clash.name.span(), "`autoid` is an index of its own", "rename it");
        }
        indexes.push(IndexSchema::new("autoid", ["autoid"]).hash().unique());
    }
    if class.circular.is_some() {
        if let Some(clash) = special("circular") {
            reporter.error(clash.name.span(), "`circular` is an index of its own", "rename it");
        }
        indexes.push(IndexSchema::new("circular", ["circular"]).unique());
    }
    class.table.indexes = indexes;
}

fn index(name: &Name, key: FieldKey, parts: impl IntoIterator<Item = KeyPart>) -> IndexSchema {
    let mut index = IndexSchema::new(&**name, parts);
    index.unique = key.unique;
    index.kind = if key.hash { IndexKind::Hash } else { IndexKind::Ordered };
    index
}

/// Whether a path names something that can be a part of a key.
fn check_part(class: &Name, columns: &[Column], path: &[Name], reporter: &mut Reporter) -> bool {
    let mut columns = columns;
    for (depth, name) in path.iter().enumerate() {
        let Some(column) = columns.iter().find(|column| column.name == **name) else {
            let message = format!("`{class}` has no field `{name}` for a key");
            let known = columns.iter().map(|column| &*column.name);
            let hint = match nearest(name, known) {
                Some(meant) => format!("write `{meant}`"),
                None => "name a field of the same class or record".to_owned(),
            };
            reporter.error(name.span(), message, hint);
            return false;
        };
        let is_last = depth + 1 == path.len();
        match (&column.column_type, is_last) {
            (ColumnType::Struct(fields), false) => columns = fields,
            (ColumnType::Struct(fields), true) => {
                let first = fields.first().map_or("field", |field| &*field.name);
                let message = format!("`{name}` is a struct and cannot be a key as a whole");
                reporter.error(name.span(), message, format!("write `{name}.{first}`"));
                return false;
            }
            (_, false) => {
                let message = format!("`{name}` is no struct");
                reporter.error(path[depth + 1].span(), message, "remove what is behind the dot");
                return false;
            }
            (column_type, true) if !is_key_type(column_type) => {
                let message = format!("`{name}` cannot be a key: its type is {column_type}");
                let hint = "a key's fields are numbers, dates, texts or fixed bytes";
                reporter.error(name.span(), message, hint);
                return false;
            }
            _ => {}
        }
    }
    true
}

/// Bytes of a limited size can be ordered; a blob, and what is packed into one, is no key.
fn is_key_type(column_type: &ColumnType) -> bool {
    *column_type != ColumnType::BLOB && column_type.is_key_type()
}

fn check_twice(index: &Index, reporter: &mut Reporter) {
    for (place, part) in index.parts.iter().enumerate().take(64) {
        if index.parts[..place].iter().any(|other| other.path == part.path) {
            let name = part.path.last().unwrap_or(&index.name);
            let message = format!("`{}` stands twice in `{}`", part.column(), index.name);
            reporter.error(name.span(), message, "remove one of the two");
        }
    }
}

fn leaf_paths(prefix: &str, column: &Column, found: &mut Vec<String>) {
    let path = format!("{prefix}{}", column.name);
    match &column.column_type {
        ColumnType::Struct(fields) => {
            fields.iter().for_each(|field| leaf_paths(&format!("{path}."), field, found));
        }
        _ => found.push(path),
    }
}
