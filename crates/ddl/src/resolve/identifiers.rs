//! Names that generated C cannot have: keywords, names of the runtime, and clashes.
//!
//! Which names a header declares is for its generator to say; here each is counted once, and the
//! second use is reported at the name in the schema that it comes from.

use std::collections::HashMap;

use crate::diagnostic::Reporter;
use crate::generate::{identifiers_of_d, identifiers_of_mco};
use crate::model::field_type::FieldType;
use crate::model::{Dialect, Field, Name, Schema};
use crate::name_check::{refused, refused_within};

pub(super) fn check(schema: &Schema, reporter: &mut Reporter) {
    let before = reporter.error_count();
    words(schema, reporter);
    if reporter.error_count() != before {
        return;
    }
    let mut seen: HashMap<String, String> = HashMap::new();
    let mut visit = |identifier: String, name: &Name| {
        if let Some(first) = seen.get(&identifier) {
            if first.as_str() == &**name {
                let message =
                    format!("the constant `{identifier}` would have a name that is taken");
                let hint = "choose a name that differs not only by small letters";
                return reporter.error(name.span(), message, hint);
            }
            let message =
                format!("C would get two things named `{identifier}`, from `{first}` and `{name}`");
            reporter.error(name.span(), message, "give one of the two another name");
            return;
        }
        seen.insert(identifier, name.to_string());
    };
    match schema.dialect {
        Dialect::Mco => identifiers_of_mco(schema, &mut visit),
        Dialect::D => identifiers_of_d(schema, &mut visit),
    }
}

fn words(schema: &Schema, reporter: &mut Reporter) {
    let is_d = schema.dialect == Dialect::D;
    let mut alone = |name: &Name| complain(name, refused(name), reporter);
    alone(&schema.name);
    schema.structs.iter().for_each(|declared| alone(&declared.name));
    schema.typedefs.iter().for_each(|declared| alone(&declared.name));
    schema.classes.iter().for_each(|class| alone(&class.name));
    for declared in &schema.enums {
        alone(&declared.name);
        declared.values.iter().for_each(|(name, _)| alone(name));
    }
    let fields = |fields: &[Field], reporter: &mut Reporter| {
        each_field(fields, &mut |field| {
            let why = if is_d { refused(&field.name) } else { refused_within(&field.name) };
            complain(&field.name, why, reporter);
        });
    };
    for declared in &schema.structs {
        fields(&declared.fields, reporter);
    }
    for class in &schema.classes {
        fields(&class.fields, reporter);
        for index in &class.indexes {
            let why = if is_d { refused(&index.name) } else { refused_within(&index.name) };
            complain(&index.name, why, reporter);
        }
    }
}

fn each_field(fields: &[Field], visit: &mut dyn FnMut(&Field)) {
    for field in fields {
        visit(field);
        if let FieldType::Inline(inner) = &field.field_type {
            each_field(inner, visit);
        }
    }
}

fn complain(name: &Name, why: Option<&str>, reporter: &mut Reporter) {
    if let Some(why) = why {
        let message = format!("`{name}` {why}, so it cannot be a name here");
        reporter.error(name.span(), message, format!("write `{}_`", &**name));
    }
}
