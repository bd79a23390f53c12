//! Which names are declared, once each, and what a type's name stands for.
//!
//! After this step no field has a type that is only a name. Typedefs are followed here, so that
//! a chain of them costs nothing later.

use std::collections::HashMap;

use super::Declared;
use crate::diagnostic::Reporter;
use crate::model::field_type::FieldType;
use crate::model::{Dialect, Field, Name, Schema, Typedef};
use crate::name_check::nearest;

/// Dimensions that typedefs may add up to.
const DIMS_MAX: usize = 8;

/// The types that have names.
#[derive(Debug, Default)]
pub(super) struct Names {
    structs: HashMap<String, ()>,
    enums: HashMap<String, ()>,
    /// What a typedef stands for in the end.
    pub(super) typedefs: HashMap<String, (FieldType, Vec<u32>)>,
    classes: HashMap<String, ()>,
}

/// Checks what is declared, and gives every type's name its meaning.
pub(super) fn resolve(schema: &mut Schema, reporter: &mut Reporter) -> Names {
    declared_once(schema, reporter);
    fn known<'n>(names: impl Iterator<Item = &'n Name>) -> HashMap<String, ()> {
        names.map(|name| (name.to_string(), ())).collect()
    }
    let mut names = Names {
        structs: known(schema.structs.iter().map(|declared| &declared.name)),
        enums: known(schema.enums.iter().map(|declared| &declared.name)),
        classes: known(schema.classes.iter().map(|declared| &declared.name)),
        typedefs: HashMap::new(),
    };
    for typedef in &mut schema.typedefs {
        names.add_typedef(typedef, reporter);
    }
    for declared in &mut schema.structs {
        if declared.fields.is_empty() {
            let message = format!("`{}` has no fields", declared.name);
            reporter.error(declared.name.span(), message, "write at least one field");
        }
        names.fields(&mut declared.fields, reporter);
    }
    for class in &mut schema.classes {
        if class.fields.is_empty() {
            let message = format!("`{}` has no fields", class.name);
            reporter.error(class.name.span(), message, "write at least one field");
        }
        names.fields(&mut class.fields, reporter);
    }
    if let Some(oid) = &schema.oid
        && !names.structs.contains_key(&*oid.struct_name)
    {
        names.unknown(&oid.struct_name, "struct", reporter);
    }
    names
}

fn declared_once(schema: &Schema, reporter: &mut Reporter) {
    let (mut tags, mut sets) = (Declared::default(), Declared::default());
    schema.structs.iter().for_each(|declared| tags.add(&declared.name, "struct", reporter));
    schema.enums.iter().for_each(|declared| tags.add(&declared.name, "enumeration", reporter));
    for class in &schema.classes {
        let what = if schema.dialect == Dialect::Mco { "class" } else { "record" };
        tags.add(&class.name, what, reporter);
        let mut members = Declared::default();
        class.fields.iter().for_each(|field| members.add(&field.name, "field", reporter));
        // A class's fields and indexes may have one name: `tree<id> id`.
        let mut indexes = Declared::default();
        let keys = if schema.dialect == Dialect::D { &mut members } else { &mut indexes };
        class.indexes.iter().for_each(|index| keys.add(&index.name, "key", reporter));
        let mut events = Declared::default();
        class.events.iter().for_each(|event| events.add(&event.name, "event", reporter));
    }
    for declared in &schema.structs {
        let mut members = Declared::default();
        declared.fields.iter().for_each(|field| members.add(&field.name, "field", reporter));
    }
    let mut values = Declared::default();
    for declared in &schema.enums {
        declared.values.iter().for_each(|(name, _)| values.add(name, "value", reporter));
    }
    let mut typedefs = Declared::default();
    schema.typedefs.iter().for_each(|declared| typedefs.add(&declared.name, "typedef", reporter));
    schema.sets.iter().for_each(|set| sets.add(&set.name, "set", reporter));
}

impl Names {
    fn add_typedef(&mut self, typedef: &mut Typedef, reporter: &mut Reporter) {
        self.field_type(&mut typedef.field_type, reporter);
        let mut meaning = (typedef.field_type.clone(), typedef.dims.clone());
        if let FieldType::Typedef(other) = &typedef.field_type
            && let Some((field_type, inner)) = self.typedefs.get(&**other)
        {
            meaning.0 = field_type.clone();
            meaning.1.extend(inner);
        }
        if meaning.1.len() > DIMS_MAX {
            let message = format!("`{}` has too many dimensions", typedef.name);
            let hint = format!("arrays have at most {DIMS_MAX} dimensions, typedefs included");
            reporter.error(typedef.name.span(), message, hint);
            meaning.1.truncate(1);
        }
        self.typedefs.insert(typedef.name.to_string(), meaning);
    }

    fn fields(&self, fields: &mut [Field], reporter: &mut Reporter) {
        let mut last_unknown = None;
        for field in fields {
            // Fields of one declaration share their type: it is complained about once.
            if let FieldType::Named(name) = &field.field_type {
                if last_unknown == Some(name.span()) {
                    continue;
                }
                last_unknown = Some(name.span());
            }
            self.field_type(&mut field.field_type, reporter);
        }
    }

    fn field_type(&self, field_type: &mut FieldType, reporter: &mut Reporter) {
        match field_type {
            FieldType::Named(name) => {
                let name = name.clone();
                *field_type = if self.typedefs.contains_key(&*name) {
                    FieldType::Typedef(name)
                } else if self.structs.contains_key(&*name) {
                    FieldType::Struct(name)
                } else if self.enums.contains_key(&*name) {
                    FieldType::Enum(name)
                } else {
                    return self.unknown(&name, "type", reporter);
                };
            }
            FieldType::Struct(name) if !self.structs.contains_key(&**name) => {
                self.unknown(name, "struct", reporter);
            }
            FieldType::AutoId(Some(class)) if !self.classes.contains_key(&**class) => {
                self.unknown(class, "class", reporter);
            }
            FieldType::Vector(element) => self.field_type(element, reporter),
            FieldType::Inline(fields) => {
                let mut members = Declared::default();
                if fields.is_empty() {
                    reporter.error(crate::source::Span::default(), "a struct has no fields", "");
                }
                fields.iter().for_each(|field| members.add(&field.name, "field", reporter));
                self.fields(fields, reporter);
            }
            _ => {}
        }
    }

    fn unknown(&self, name: &Name, what: &str, reporter: &mut Reporter) {
        let message = format!("there is no {what} `{}`", crate::lexer::shortened(name));
        let hint = if self.classes.contains_key(&**name) {
            "a class or record is no type: refer to it by a key or an object id".to_owned()
        } else {
            let words = [
                "string", "blob", "float", "double", "bool", "date", "time", "datetime", "signed",
                "unsigned", "vector", "char", "short", "int", "long", "varchar", "db_addr",
                "binary",
            ];
            let known = self.structs.keys().chain(self.enums.keys()).chain(self.typedefs.keys());
            let known = known.map(String::as_str).chain(words);
            match (nearest(name, known), name.strip_prefix("u").unwrap_or(name)) {
                (_, "int1" | "int2" | "int4" | "int8") => {
                    let sign = if name.starts_with('u') { "unsigned" } else { "signed" };
                    let size = &name[name.len() - 1..];
                    format!("write `#define {} {sign}<{size}>` at the top", &**name)
                }
                (Some(meant), _) => format!("write `{meant}`"),
                (None, _) => format!("declare `struct {} {{ .. }};`", &**name),
            }
        };
        reporter.error(name.span(), message, hint);
    }
}
