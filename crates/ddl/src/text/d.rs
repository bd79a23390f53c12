//! A schema as d_-style text.
//!
//! The prologue first: structs and typedefs, each behind what it uses. In the database files,
//! records and sets follow in the order declared, which constants in headers count by.

use std::fmt::Write;

use remanent_schema::SetOrder;

use super::{bracket, dims, words};
use crate::model::field_type::FieldType;
use crate::model::{Class, DataFile, Field, FieldKey, Name, Schema, Set};
use crate::prologue::{self, Item};

pub(super) fn write(schema: &Schema, text: &mut String) {
    write_prologue(schema, text);
    let storage: String = schema.storage.iter().map(|word| format!(" {word}")).collect();
    line(text, &format!("database {}{}{storage} {{", schema.name, bracket(schema.bracket)));
    for timestamps in &schema.timestamps {
        let what = if timestamps.of_sets { "sets" } else { "records" };
        let names = timestamps.names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
        let blank = if names.is_empty() { "" } else { " " };
        line(text, &format!("    timestamp {what}{blank}{names};"));
    }
    schema.files.iter().for_each(|file| write_file(file, text));
    schema.classes.iter().for_each(|class| write_record(class, text));
    schema.sets.iter().for_each(|set| write_set(set, text));
    line(text, "}");
}

/// Structs and typedefs in an order that a C compiler accepts.
fn write_prologue(schema: &Schema, text: &mut String) {
    for item in prologue::ordered(schema) {
        match item {
            Item::Struct(place) => {
                let declared = &schema.structs[place];
                line(text, &format!("struct {} {{", declared.name));
                declared.fields.iter().for_each(|field| write_field(field, 1, text));
                line(text, "};");
            }
            Item::Typedef(place) => {
                let typedef = &schema.typedefs[place];
                let dims = dims(&typedef.dims);
                let meaning = type_text(&typedef.field_type, 0);
                line(text, &format!("typedef {meaning} {}{dims};", typedef.name));
            }
        }
    }
}

fn write_file(file: &DataFile, text: &mut String) {
    let id = file.id.as_ref().map_or(String::new(), |id| format!("{id} = "));
    let storage: String = file.storage.iter().map(|word| format!(" {word}")).collect();
    let contents = names(&file.contents);
    let (kind, path) = (&file.kind, &file.path);
    line(text, &format!("    {kind} file {id}\"{path}\"{storage} contains {contents};"));
}

/// Paths with commas between them.
fn names(paths: &[Vec<Name>]) -> String {
    let path = |path: &Vec<Name>| path.iter().map(|name| &**name).collect::<Vec<_>>().join(".");
    paths.iter().map(path).collect::<Vec<_>>().join(", ")
}

fn write_record(class: &Class, text: &mut String) {
    line(text, &format!("    {}record {} {{", words(&class.modifiers), class.name));
    class.fields.iter().for_each(|field| write_field(field, 2, text));
    for index in &class.indexes {
        line(text, &format!("        compound {}{} {{", key(index.key), index.name));
        for part in &index.parts {
            let order = if part.descending { " descending" } else { "" };
            line(text, &format!("            {}{order};", part.column()));
        }
        line(text, "        }");
    }
    line(text, "    }");
}

/// `unique key `, with a blank behind it.
fn key(key: FieldKey) -> String {
    let optional = if key.optional { "optional " } else { "" };
    let unique = if key.unique { "unique " } else { "" };
    let word = if key.hash { "hash" } else { "key" };
    format!("{optional}{unique}{word}{} ", bracket(key.size))
}

fn write_field(field: &Field, depth: usize, text: &mut String) {
    let key = field.key.map_or(String::new(), key);
    let reference = match &field.reference[..] {
        [] => String::new(),
        [record] => format!(" directref {record}"),
        [record, set, ..] => format!(" relatedto {record} thru {set}"),
    };
    let (indent, field_type) = ("    ".repeat(depth), type_text(&field.field_type, depth));
    let (name, dims) = (&field.name, dims(&field.dims));
    line(text, &format!("{indent}{key}{field_type} {name}{dims}{reference};"));
}

fn type_text(field_type: &FieldType, depth: usize) -> String {
    match field_type {
        FieldType::C(c_type) => c_type.spelling().to_owned(),
        FieldType::Var(var) => var.word().to_owned(),
        FieldType::Struct(name) => format!("struct {name}"),
        FieldType::Inline(fields) => {
            let mut text = "struct {\n".to_owned();
            fields.iter().for_each(|field| write_field(field, depth + 1, &mut text));
            text + &"    ".repeat(depth) + "}"
        }
        FieldType::Typedef(name) | FieldType::Named(name) => name.to_string(),
        other => unreachable!("{other:?} is of the other language"),
    }
}

fn write_set(set: &Set, text: &mut String) {
    let modifier = set.modifier.as_ref().map_or(String::new(), |word| format!("{word} "));
    let order = match set.order {
        SetOrder::First => "first",
        SetOrder::Last => "last",
        SetOrder::Next => "next",
        SetOrder::Ascending => "ascending",
        SetOrder::Descending => "descending",
    };
    line(text, &format!("    {modifier}set {} {{", set.name));
    line(text, &format!("        order {order};"));
    line(text, &format!("        owner {};", set.owner));
    for member in &set.members {
        let by = match &member.by[..] {
            [] => String::new(),
            by => format!(" by {}", names(by)),
        };
        line(text, &format!("        member {}{by};", member.record));
    }
    line(text, "    }");
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string succeeds");
}
