//! A schema as mco-style text.
//!
//! The order is fixed: database, enumerations, structs, object ids, classes; and in a class fields,
//! then the words, indexes and events.

use std::fmt::Write;

use super::{bracket, dims, words};
use crate::model::field_type::{FieldType, Width};
use crate::model::{Class, Field, Index, Literal, Schema};

pub(super) fn write(schema: &Schema, text: &mut String) {
    line(text, &format!("declare database {}{};", schema.name, bracket(schema.bracket)));
    for declared in &schema.enums {
        let values = declared.values.iter().map(|(name, value)| format!("{name} = {value}"));
        let values = values.collect::<Vec<_>>().join(", ");
        line(text, &format!("enum {} {{ {values} }};", declared.name));
    }
    for declared in &schema.structs {
        let direct = if declared.direct { "direct " } else { "" };
        line(text, &format!("{direct}struct {} {{", declared.name));
        declared.fields.iter().for_each(|field| write_field(field, text));
        line(text, "};");
    }
    if let Some(oid) = &schema.oid {
        line(text, &format!("declare oid {}[{}];", oid.struct_name, oid.expected));
    }
    if let Some(expected) = schema.auto_oid {
        line(text, &format!("declare auto_oid[{expected}];"));
    }
    schema.classes.iter().for_each(|class| write_class(class, text));
}

fn write_class(class: &Class, text: &mut String) {
    line(text, &format!("{}class {} {{", words(&class.modifiers), class.name));
    class.fields.iter().for_each(|field| write_field(field, text));
    if class.has_oid {
        line(text, "    oid;");
    }
    if class.has_list {
        line(text, "    list;");
    }
    if let Some(expected) = class.autoid {
        line(text, &format!("    autoid{};", bracket(expected)));
    }
    class.indexes.iter().for_each(|index| write_index(index, text));
    for event in &class.events {
        let field = event.field.as_ref().map_or(String::new(), |field| format!("{field} "));
        line(text, &format!("    event<{field}{}> {};", event.kind.word(), event.name));
    }
    line(text, "};");
}

fn write_field(field: &Field, text: &mut String) {
    let nullable = match (field.nullable, &field.field_type) {
        (false, _) => "",
        (true, FieldType::Struct(_)) => "optional ",
        (true, _) => "nullable ",
    };
    let default = match &field.default {
        None => String::new(),
        Some(Literal::Int(value)) => format!(" = {value}"),
        Some(Literal::Float(value)) => format!(" = {value:?}"),
        Some(Literal::Bool(value)) => format!(" = {value}"),
        Some(Literal::Name(name)) => format!(" = {name}"),
    };
    let (field_type, name) = (type_text(&field.field_type), &field.name);
    line(text, &format!("    {nullable}{field_type} {name}{}{default};", dims(&field.dims)));
}

fn type_text(field_type: &FieldType) -> String {
    match field_type {
        FieldType::Int { signed: true, size } => format!("signed<{size}>"),
        FieldType::Int { signed: false, size } => format!("unsigned<{size}>"),
        FieldType::Bool => "bool".to_owned(),
        FieldType::Decimal { precision, scale } => format!("decimal<{precision},{scale}>"),
        FieldType::Chars(width, size) => format!("{}char<{size}>", letter(*width)),
        FieldType::String(width) => format!("{}string", letter(*width)),
        FieldType::Binary(size) => format!("binary<{size}>"),
        FieldType::VarBinary(size) => format!("varbinary<{size}>"),
        FieldType::Blob => "blob".to_owned(),
        FieldType::Date => "date".to_owned(),
        FieldType::Time => "time".to_owned(),
        FieldType::DateTime => "datetime".to_owned(),
        FieldType::Ref => "ref".to_owned(),
        FieldType::AutoId(None) => "autoid_t".to_owned(),
        FieldType::AutoId(Some(class)) => format!("autoid_t<{class}>"),
        FieldType::Vector(element) => format!("vector<{}>", type_text(element)),
        FieldType::C(c_type) => c_type.spelling().to_owned(),
        FieldType::Struct(name)
        | FieldType::Enum(name)
        | FieldType::Typedef(name)
        | FieldType::Named(name) => name.to_string(),
        FieldType::Var(_) | FieldType::Inline(_) => unreachable!("the other language's types"),
    }
}

/// What stands before `char` and `string`.
fn letter(width: Width) -> &'static str {
    match width {
        Width::Char => "",
        Width::National => "n",
        Width::Wide => "w",
    }
}

fn write_index(index: &Index, text: &mut String) {
    let unique = match (index.key.hash, index.key.unique) {
        (true, false) => "nonunique ",
        (false, true) => "unique ",
        _ => "",
    };
    let kind = if index.key.hash { "hash" } else { "tree" };
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| format!("{}{}", part.column(), if part.descending { " desc" } else { "" }))
        .collect();
    let (modifiers, parts) = (words(&index.modifiers), parts.join(", "));
    let (name, size) = (&index.name, bracket(index.key.size));
    line(text, &format!("    {modifiers}{unique}{kind}<{parts}> {name}{size};"));
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string succeeds");
}
