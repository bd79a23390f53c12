//! The d_-style header: C structs, constants as macros, and the dictionary that registers itself.
//!
//! Numbers follow the order of declaration: records from 10000, sets from 20000, a record's fields
//! and then its compound keys from record * 1000, files from 0. A field's constant is its name in
//! capitals where only one thing of the schema has it, and always RECORD_FIELD as well. A name that
//! is in capitals already cannot be a macro, which would replace it: its constant is an enumerator,
//! which C keeps apart from tags and members.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::c_text;
use crate::model::field_type::{FieldType, VarType};
use crate::model::{Class, Field, Name, Schema};
use crate::prologue::{self, Item};

/// Macros of the runtime's header and of C's own that names in capitals may meet.
const TAKEN: [&str; 62] = [
    "NULL",
    "EOF",
    "BUFSIZ",
    "TRUE",
    "FALSE",
    "BOOL",
    "ERROR",
    "SIZE_MAX",
    "INT_MAX",
    "INT_MIN",
    "RAND_MAX",
    "PATH_MAX",
    "NAN",
    "INFINITY",
    "HUGE_VAL",
    "DB_TASK",
    "DB_ADDR",
    "NULL_DBA",
    "CURR_DB",
    "ALL_DBS",
    "VOID_DB",
    "S_OKAY",
    "S_EOS",
    "S_NOTFOUND",
    "S_DUPLICATE",
    "S_KEYSEQ",
    "S_UNAVAIL",
    "S_DELETED",
    "S_UPDATED",
    "S_LOCKED",
    "S_UNLOCKED",
    "S_SETCLASH",
    "S_DBOPEN",
    "S_INVSET",
    "S_INVREC",
    "S_INVDB",
    "S_INVFLD",
    "S_NOCR",
    "S_NOCO",
    "S_NOCM",
    "S_BADTYPE",
    "S_HASMEM",
    "S_ISMEM",
    "S_ISOWNED",
    "S_NOTKEY",
    "S_INVOWN",
    "S_NOTFREE",
    "S_NOTLOCKED",
    "S_TRANSID",
    "S_TRACTIVE",
    "S_TRNOTACT",
    "S_TRFREE",
    "S_NOTRANS",
    "S_EXCLUSIVE",
    "S_BADUSERID",
    "S_NOTYPE",
    "S_NOSPACE",
    "S_NOMEMORY",
    "S_NOFILE",
    "S_RECLIMIT",
    "S_DUPUSERID",
    "S_INTERNAL",
];

/// Writes the header.
pub(super) fn write(schema: &Schema) -> String {
    let mut text = c_text::begin(schema, "remanent_d.h");
    text.push_str(&c_text::constants(schema));
    write_prologue(schema, &mut text);
    for class in &schema.classes {
        let fields: String = class.fields.iter().map(|field| member(field, 1)).collect();
        line(&mut text, &format!("struct {} {{\n{fields}}};\n", class.name));
    }
    let tags = key_tags(schema);
    for (class, tags) in schema.classes.iter().zip(&tags) {
        for (index, tag) in class.indexes.iter().zip(tags) {
            let field_of = |name: &Name| class.fields.iter().find(|field| field.name == *name);
            let fields = index.parts.iter().filter_map(|part| field_of(part.path.first()?));
            let fields: String = fields.map(|field| member(field, 1)).collect();
            line(&mut text, &format!("/* Key `{}` of `{}`. */", index.name, class.name));
            line(&mut text, &format!("struct {tag} {{\n{fields}}};\n"));
        }
    }
    for (name, value, is_macro) in Macros::new(schema).found {
        line(
            &mut text,
            &match is_macro {
                true => format!("#define {name} {value}"),
                false => format!("enum {{ {name} = {} }};", value.trim_end_matches('L')),
            },
        );
    }
    dictionary(schema, &mut text);
    text + &c_text::end(schema)
}

/// Tells every identifier that the header declares, with the name it comes from.
pub(crate) fn identifiers(schema: &Schema, visit: &mut dyn FnMut(String, &Name)) {
    for typedef in &schema.typedefs {
        visit(typedef.name.to_string(), &typedef.name);
    }
    for (class, tags) in schema.classes.iter().zip(key_tags(schema)) {
        for (index, tag) in class.indexes.iter().zip(tags) {
            visit(format!("struct {tag}"), &index.name);
        }
    }
    for declared in &schema.structs {
        visit(format!("struct {}", declared.name), &declared.name);
    }
    for class in &schema.classes {
        visit(format!("struct {}", class.name), &class.name);
    }
    for clash in Macros::new(schema).clashes {
        // Told twice, it is reported as what it is.
        visit(clash.0.clone(), clash.1);
        visit(clash.0, clash.1);
    }
}

fn write_prologue(schema: &Schema, text: &mut String) {
    for item in prologue::ordered(schema) {
        match item {
            Item::Struct(place) => {
                let declared = &schema.structs[place];
                let fields: String = declared.fields.iter().map(|field| member(field, 1)).collect();
                line(text, &format!("struct {} {{\n{fields}}};\n", declared.name));
            }
            Item::Typedef(place) => {
                let typedef = &schema.typedefs[place];
                // A name that C's own headers define stays theirs.
                if typedef.name.ends_with("int8_t") || typedef.name.ends_with("int16_t") {
                    continue;
                }
                if typedef.name.ends_with("int32_t") || typedef.name.ends_with("int64_t") {
                    continue;
                }
                let mut field = Field::new(typedef.name.clone(), typedef.field_type.clone());
                field.dims = typedef.dims.clone();
                line(text, &format!("typedef {}", member(&field, 0)));
            }
        }
    }
}

/// A field as a member of a C struct.
fn member(field: &Field, depth: usize) -> String {
    let (indent, name) = ("    ".repeat(depth), &field.name);
    let dims: String = field.dims.iter().map(|count| format!("[{count}]")).collect();
    let c_type = match &field.field_type {
        FieldType::C(c_type) => c_type.spelling().to_owned(),
        FieldType::Var(VarType::Char) => "char".to_owned(),
        FieldType::Var(VarType::Wide) => "wchar_t".to_owned(),
        FieldType::Var(VarType::Binary) => {
            return format!(
                "{indent}struct {{ uint32_t length; unsigned char data{dims}; }} {name};\n"
            );
        }
        FieldType::Struct(name) => format!("struct {name}"),
        FieldType::Typedef(name) => name.to_string(),
        FieldType::Inline(fields) => {
            let fields: String = fields.iter().map(|field| member(field, depth + 1)).collect();
            format!("struct {{\n{fields}{indent}}}")
        }
        other => unreachable!("{other:?} is of the other language"),
    };
    format!("{indent}{c_type} {name}{dims};\n")
}

/// The tag of each compound key's struct: its name, or with the record's before it if the name is
/// taken.
fn key_tags(schema: &Schema) -> Vec<Vec<String>> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    let structs = schema.structs.iter().map(|declared| &declared.name);
    let keys = schema.classes.iter().flat_map(|class| &class.indexes).map(|index| &index.name);
    for name in structs.chain(schema.classes.iter().map(|class| &class.name)).chain(keys) {
        *uses.entry(name).or_default() += 1;
    }
    let tag = |class: &Class, name: &Name| match uses.get(&**name) {
        Some(1) => name.to_string(),
        _ => format!("{}_{name}", class.name),
    };
    let tags = |class: &Class| class.indexes.iter().map(|index| tag(class, &index.name)).collect();
    schema.classes.iter().map(tags).collect()
}

/// The macros of a header, and those that cannot be.
struct Macros<'s> {
    /// Name, value, and whether it is a macro instead of an enumerator.
    found: Vec<(String, String, bool)>,
    taken: HashSet<String>,
    /// Tags and members.
    kept_apart: HashSet<String>,
    clashes: Vec<(String, &'s Name)>,
}

impl<'s> Macros<'s> {
    fn new(schema: &'s Schema) -> Macros<'s> {
        let mut macros = Macros {
            found: Vec::new(),
            taken: HashSet::new(),
            kept_apart: HashSet::new(),
            clashes: Vec::new(),
        };
        macros.taken.extend(TAKEN.map(str::to_owned));
        macros.taken.extend(schema.constants.iter().map(|(name, _)| name.clone()));
        let fields = schema.classes.iter().flat_map(|class| &class.fields);
        let inner = schema.structs.iter().flat_map(|declared| &declared.fields);
        let names = fields.chain(inner).map(|field| &field.name);
        let names = names.chain(schema.structs.iter().map(|declared| &declared.name));
        let names = names.chain(schema.classes.iter().map(|class| &class.name));
        macros.kept_apart.extend(names.map(|name| name.to_string()));
        macros.kept_apart.extend(key_tags(schema).into_iter().flatten());
        macros.taken.extend(schema.typedefs.iter().map(|declared| declared.name.to_string()));
        for (number, class) in schema.classes.iter().enumerate() {
            macros.needed(&class.name, (10_000 + number).to_string());
        }
        for (number, set) in schema.sets.iter().enumerate() {
            macros.needed(&set.name, (20_000 + number).to_string());
        }
        for (number, file) in schema.files.iter().enumerate() {
            if let Some(id) = &file.id {
                macros.needed(id, number.to_string());
            }
        }
        macros.fields(schema);
        macros
    }

    /// A macro that programs cannot do without.
    fn needed(&mut self, name: &'s Name, value: String) {
        let upper = name.to_ascii_uppercase();
        if !self.add(upper.clone(), value) {
            self.clashes.push((upper, name));
        }
    }

    fn add(&mut self, name: String, value: String) -> bool {
        let is_free = self.taken.insert(name.clone());
        if is_free {
            let is_macro = !self.kept_apart.contains(&name);
            self.found.push((name, value, is_macro));
        }
        is_free
    }

    /// Constants and sizes of fields and compound keys.
    fn fields(&mut self, schema: &'s Schema) {
        let mut uses: HashMap<String, usize> = HashMap::new();
        fn keys_of(class: &Class) -> impl Iterator<Item = &Name> {
            let fields = class.fields.iter().map(|field| &field.name);
            fields.chain(class.indexes.iter().map(|index| &index.name))
        }
        for name in schema.classes.iter().flat_map(keys_of) {
            *uses.entry(name.to_ascii_uppercase()).or_default() += 1;
        }
        for ((record, class), tags) in schema.classes.iter().enumerate().zip(key_tags(schema)) {
            for (number, name) in keys_of(class).enumerate() {
                let value = format!("{}L", record * 1_000 + number);
                let size = match number.checked_sub(class.fields.len()) {
                    Some(key) => format!("(sizeof(struct {}))", tags[key]),
                    None => format!("(sizeof(((struct {} *)0)->{name}))", class.name),
                };
                let upper = name.to_ascii_uppercase();
                let qualified = format!("{}_{upper}", class.name.to_ascii_uppercase());
                let is_short = uses.get(&upper) == Some(&1);
                let short = is_short && self.add(upper.clone(), value.clone());
                if short && !self.kept_apart.contains(&format!("SIZEOF_{upper}")) {
                    self.add(format!("SIZEOF_{upper}"), size.clone());
                }
                if self.add(qualified.clone(), value) {
                    if !self.kept_apart.contains(&format!("SIZEOF_{qualified}")) {
                        self.add(format!("SIZEOF_{qualified}"), size);
                    }
                } else if !short {
                    self.clashes.push((qualified, name));
                }
            }
        }
    }
}

fn dictionary(schema: &Schema, text: &mut String) {
    let name = &schema.name;
    line(text, &format!("\nstatic const char *const {name}_schema_text[] = {{"));
    text.push_str(&c_text::schema_text(schema, "    "));
    line(text, "};\n");
    let mut records = String::new();
    for (number, class) in schema.classes.iter().enumerate() {
        line(text, &format!("static const uint32_t {name}_offsets_{number}[] = {{"));
        for field in &class.fields {
            line(text, &format!("    (uint32_t)offsetof(struct {}, {}),", class.name, field.name));
        }
        line(text, "};\n");
        let (record, count) = (&class.name, class.fields.len());
        let offsets = format!("{name}_offsets_{number}");
        line(
            &mut records,
            &format!("    {{ \"{record}\", sizeof(struct {record}), {offsets}, {count} }},"),
        );
    }
    line(text, &format!("static const rem_d_record {name}_records[] = {{\n{records}}};\n"));
    line(text, &format!("static const rem_d_dictionary {name}_dictionary = {{"));
    line(text, &format!("    REM_D_ABI, \"{name}\", {name}_schema_text, {name}_records,"));
    line(text, &format!("    {}\n}};\n", schema.classes.len()));
    line(text, &format!("REM_D_REGISTER({name}_dictionary)\n"));
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string succeeds");
}
