//! The mco-style header: handle types and static inline functions that call the runtime.
//!
//! Every function goes through `Header::function`, which either writes it or tells its name. What
//! a field of a class or a struct has is in `mco_field`; here are classes, indexes and events.

use std::fmt::Write;

use super::c_text;
use super::mco_field::{self, FieldAccess};
use crate::model::field_type::{FieldType, Width};
use crate::model::{Class, Event, EventKind, Field, Index, Name, Part, Schema};

/// Writes the header.
pub(super) fn write(schema: &Schema) -> String {
    let mut header = Header { schema, text: c_text::begin(schema, "remanent_mco.h"), visit: None };
    header.text.push_str(&c_text::constants(schema));
    header.text.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    header.everything();
    header.text.push_str("#ifdef __cplusplus\n}\n#endif\n\n");
    header.text + &c_text::end(schema)
}

/// Tells every identifier that the header declares, with the name it comes from.
pub(crate) fn identifiers(schema: &Schema, visit: &mut dyn FnMut(String, &Name)) {
    Header { schema, text: String::new(), visit: Some(visit) }.everything();
}

/// Is told an identifier and the name that it comes from.
type Visit<'v> = dyn FnMut(String, &Name) + 'v;

/// A header that is being written, or only looked through for names.
pub(super) struct Header<'s, 'v> {
    pub(super) schema: &'s Schema,
    text: String,
    visit: Option<&'v mut Visit<'v>>,
}

impl Header<'_, '_> {
    fn everything(&mut self) {
        let schema = self.schema;
        for declared in &schema.enums {
            for (name, _) in &declared.values {
                self.tell(name.to_string(), name);
            }
            let values =
                declared.values.iter().map(|(name, value)| format!("    {name} = {value}"));
            let values = values.collect::<Vec<_>>().join(",\n");
            let name = &declared.name;
            self.declare(name, &format!("typedef enum {name} {{\n{values}\n}} {name};\n\n"));
        }
        self.dictionary();
        self.oid_type();
        for declared in &schema.structs {
            let name = &declared.name;
            self.declare(name, &handle_type(name, "rem_mco_struct h"));
        }
        for class in &schema.classes {
            self.declare(&class.name, &handle_type(&class.name, "rem_mco_object object"));
        }
        for declared in &schema.structs {
            let mut offset = 0u32;
            for field in &declared.fields {
                let shape = self.shape(field);
                offset = offset.next_multiple_of(shape.1);
                mco_field::write(self, &FieldAccess::in_struct(&declared.name, field, offset));
                offset = offset.saturating_add(shape.0);
            }
        }
        for (ordinal, class) in schema.classes.iter().enumerate() {
            self.class(ordinal, class);
        }
    }

    /// Writes a declaration of this name, or tells the name.
    fn declare(&mut self, name: &Name, text: &str) {
        self.tell(name.to_string(), name);
        self.text.push_str(text);
    }

    fn tell(&mut self, identifier: String, name: &Name) {
        if let Some(visit) = &mut self.visit {
            visit(identifier, name);
        }
    }

    /// Writes a function that returns a status, or tells its name. The body has several lines.
    pub(super) fn function(&mut self, from: &Name, identifier: &str, parameters: &str, body: &str) {
        if let Some(visit) = &mut self.visit {
            return visit(identifier.to_owned(), from);
        }
        let head = format!("static inline MCO_RET {identifier}({parameters})");
        writeln!(self.text, "{head}\n{{").expect("writing to a string succeeds");
        for line in body.lines() {
            writeln!(self.text, "    {line}").expect("writing to a string succeeds");
        }
        self.text.push_str("}\n\n");
    }

    fn dictionary(&mut self) {
        let name = &self.schema.name;
        let identifier = format!("{name}_get_dictionary");
        let text = c_text::schema_text(self.schema, "        ");
        let text = format!(
            "static inline mco_dictionary_h {identifier}(void)\n{{\n    \
             static const char *const text[] = {{\n{text}    }};\n    \
             static const rem_mco_dictionary dictionary =\n        \
             {{ REM_MCO_ABI, \"{name}\", text }};\n    \
             return &dictionary;\n}}\n\n"
        );
        self.tell(identifier, name);
        self.text.push_str(&text);
    }

    /// The object id as a plain C struct, named after the database.
    fn oid_type(&mut self) {
        let schema = self.schema;
        let Some(oid) = &schema.oid else { return };
        let name = format!("{}_oid", schema.name);
        let mut fields = String::new();
        for (path, field_type) in self.oid_leaves() {
            let member = path.replace('.', "_");
            let field = match &field_type {
                FieldType::Chars(_, size) => format!("char {member}[{size}]"),
                FieldType::Binary(size) => format!("unsigned char {member}[{size}]"),
                other => match mco_field::c_scalar(other) {
                    Some(scalar) => format!("{} {member}{}", scalar.c_type, scalar.dimension),
                    None => continue,
                },
            };
            fields.push_str(&format!("    {field};\n"));
        }
        self.tell(name.clone(), &oid.struct_name);
        self.text.push_str(&format!("typedef struct {name} {{\n{fields}}} {name};\n\n"));
        if fields.contains("    char ") {
            let length = format!("{}_text_length", schema.name);
            self.text.push_str(&format!(
                "static inline uint32_t {length}(const char *text, uint32_t size)\n{{\n    \
                 uint32_t length = 0;\n    while (length < size && text[length])\n        \
                 length++;\n    return length;\n}}\n\n"
            ));
            self.tell(length, &oid.struct_name);
        }
    }

    /// The leaves of the object id: path within its struct, and type.
    pub(super) fn oid_leaves(&self) -> Vec<(String, FieldType)> {
        let mut leaves = Vec::new();
        let oid = self.schema.oid.as_ref();
        let declared = oid.and_then(|oid| self.schema.struct_type(&oid.struct_name));
        if let Some(declared) = declared {
            self.leaves_of(&declared.fields, "", &mut leaves);
        }
        leaves
    }

    fn leaves_of(&self, fields: &[Field], prefix: &str, leaves: &mut Vec<(String, FieldType)>) {
        for field in fields {
            let path = format!("{prefix}{}", field.name);
            match &field.field_type {
                FieldType::Struct(name) if field.dims.is_empty() => {
                    if let Some(inner) = self.schema.struct_type(name) {
                        self.leaves_of(&inner.fields, &format!("{path}."), leaves);
                    }
                }
                other => leaves.push((path, other.clone())),
            }
        }
    }

    /// Size and alignment of a field in C, as it lies in an array.
    pub(super) fn shape(&self, field: &Field) -> (u32, u32) {
        let one = self.shape_of(&field.field_type);
        (field.dims.iter().fold(one.0, |size, count| size.saturating_mul(*count)), one.1)
    }

    pub(super) fn shape_of(&self, field_type: &FieldType) -> (u32, u32) {
        match field_type {
            FieldType::Chars(Width::Char, size) | FieldType::Binary(size) => (*size, 1),
            FieldType::Struct(name) => {
                let (mut size, mut alignment) = (0u32, 1u32);
                for field in self.schema.struct_type(name).iter().flat_map(|s| &s.fields) {
                    let shape = self.shape(field);
                    size = size.next_multiple_of(shape.1).saturating_add(shape.0);
                    alignment = alignment.max(shape.1);
                }
                (size.next_multiple_of(alignment), alignment)
            }
            other => mco_field::c_scalar(other)
                .map_or((0, 1), |scalar| (scalar.size, scalar.size.min(8))),
        }
    }

    fn class(&mut self, ordinal: usize, class: &Class) {
        let (name, oid) = (&class.name, format!("{}_oid", self.schema.name));
        let call = |function: &str, more: &str| format!("return rem_mco_{function}({more});");
        let new = format!("rem_mco_new(t, {ordinal}u, &h->object)");
        if class.has_oid {
            let body = format!("MCO_RET status = {new};\n{}return status;", self.put_oid(class));
            let parameters = format!("mco_trans_h t, const {oid} *oid, {name} *h");
            self.function(name, &format!("{name}_new"), &parameters, &body);
        } else {
            let parameters = format!("mco_trans_h t, {name} *h");
            self.function(name, &format!("{name}_new"), &parameters, &format!("return {new};"));
        }
        let handle = format!("{name} *h");
        let object = "&h->object";
        self.function(name, &format!("{name}_delete"), &handle, &call("delete", object));
        let all = call("delete_all", &format!("t, {ordinal}u"));
        self.function(name, &format!("{name}_delete_all"), "mco_trans_h t", &all);
        self.function(name, &format!("{name}_checkpoint"), &handle, &call("checkpoint", object));
        let parameters = format!("mco_trans_h t, const mco_cursor_t *cursor, {name} *h");
        let body = call("from_cursor", &format!("t, cursor, {ordinal}u, &h->object"));
        self.function(name, &format!("{name}_from_cursor"), &parameters, &body);
        if class.has_list {
            let body = call("list_cursor", &format!("t, {ordinal}u, cursor"));
            let parameters = "mco_trans_h t, mco_cursor_t *cursor";
            self.function(name, &format!("{name}_list_cursor"), parameters, &body);
        }
        self.special_ids(ordinal, class);
        for field in &class.fields {
            mco_field::write(self, &FieldAccess::in_class(name, field));
        }
        for index in &class.indexes {
            self.index(ordinal, class, index);
        }
        for event in &class.events {
            self.event(ordinal, class, event);
        }
    }

    /// Statements that put the object id into a new object.
    fn put_oid(&self, class: &Class) -> String {
        let first = class.fields.last().map_or(0, |field| field.leaf + field.leaf_count);
        let mut text = String::new();
        for (leaf, (path, field_type)) in (first..).zip(self.oid_leaves()) {
            let put = mco_field::put_member(
                &self.schema.name,
                &field_type,
                &path.replace('.', "_"),
                leaf,
            );
            text.push_str(&format!("if (status == MCO_S_OK)\n    status = {put};\n"));
        }
        text
    }

    /// `_oid_get`, `_oid_find`, `_autoid_get`, `_autoid_find`.
    fn special_ids(&mut self, ordinal: usize, class: &Class) {
        let (name, oid) = (&class.name, format!("{}_oid", self.schema.name));
        let mut leaf = class.fields.last().map_or(0, |field| field.leaf + field.leaf_count);
        if class.has_oid {
            let leaves = self.oid_leaves();
            let (mut get, mut keys) = ("MCO_RET status = MCO_S_OK;\n".to_owned(), Vec::new());
            for (leaf, (path, field_type)) in (leaf..).zip(&leaves) {
                let member = path.replace('.', "_");
                let one = mco_field::get_member(field_type, &member, leaf);
                get.push_str(&format!("if (status == MCO_S_OK)\n    status = {one};\n"));
                keys.push(mco_field::key_of_member(&self.schema.name, field_type, &member));
            }
            leaf += leaves.len() as u32;
            get.push_str("return status;");
            let parameters = format!("const {name} *h, {oid} *oid");
            self.function(name, &format!("{name}_oid_get"), &parameters, &get);
            let parameters = format!("mco_trans_h t, const {oid} *oid, {name} *h");
            let body = find_body(&class.table.indexes, "oid", ordinal, &keys);
            self.function(name, &format!("{name}_oid_find"), &parameters, &body);
        }
        if class.autoid.is_some() {
            let body = format!(
                "return rem_mco_get_fixed(&h->object, {leaf}u, autoid, (uint32_t)sizeof(*autoid));"
            );
            let parameters = format!("const {name} *h, uint8 *autoid");
            self.function(name, &format!("{name}_autoid_get"), &parameters, &body);
            let keys = ["{ &autoid, (uint32_t)sizeof(autoid) }".to_owned()];
            let body = find_body(&class.table.indexes, "autoid", ordinal, &keys);
            let parameters = format!("mco_trans_h t, uint8 autoid, {name} *h");
            self.function(name, &format!("{name}_autoid_find"), &parameters, &body);
        }
    }

    fn index(&mut self, ordinal: usize, class: &Class, index: &Index) {
        let (name, number) = (&class.name, index.ordinal);
        let id = |what: &str| format!("{name}_{}_{what}", index.name);
        let keys: Vec<Key> =
            (0..).zip(&index.parts).map(|(n, part)| self.key(class, part, n)).collect();
        let parameters: String = keys.iter().map(|key| format!(", {}", key.parameters)).collect();
        let values: Vec<String> = keys.into_iter().map(|key| key.value).collect();
        let array = format!("const rem_mco_key keys[] = {{ {} }};", values.join(", "));
        let count = values.len();
        let is_unique = index.key.unique;
        if is_unique {
            let find = format!("mco_trans_h t{parameters}, {name} *h");
            let body = format!(
                "{array}\n\
                 return rem_mco_find(t, {ordinal}u, {number}u, keys, {count}u, &h->object);"
            );
            self.function(&index.name, &id("find"), &find, &body);
        }
        if is_unique && index.key.hash {
            return;
        }
        let cursor = "mco_trans_h t, mco_cursor_t *cursor";
        let body = format!("return rem_mco_index_cursor(t, {ordinal}u, {number}u, cursor);");
        self.function(&index.name, &id("index_cursor"), cursor, &body);
        let search = format!("{cursor}, MCO_OPCODE opcode{parameters}");
        let body = format!(
            "{array}\n\
             return rem_mco_search(t, cursor, {ordinal}u, {number}u, opcode, keys, {count}u);"
        );
        self.function(&index.name, &id("search"), &search, &body);
        if !is_unique {
            self.function(&index.name, &id("find"), &search, &body);
        }
        let locate = format!("{cursor}, const {name} *h");
        let body = format!("return rem_mco_locate(t, cursor, {ordinal}u, {number}u, &h->object);");
        self.function(&index.name, &id("locate"), &locate, &body);
        let compare = format!("mco_trans_h t, const mco_cursor_t *cursor{parameters}, int *result");
        let body = format!(
            "{array}\n\
             return rem_mco_compare(t, cursor, {ordinal}u, {number}u, keys, {count}u, result);"
        );
        self.function(&index.name, &id("compare"), &compare, &body);
    }

    /// A part of a key: the parameters that carry it, and its initializer.
    fn key(&self, class: &Class, part: &Part, number: usize) -> Key {
        let mut fields = &class.fields[..];
        let mut found = None;
        for name in &part.path {
            let Some(field) = fields.iter().find(|field| field.name == *name) else { break };
            found = Some(&field.field_type);
            if let FieldType::Struct(inner) = &field.field_type {
                fields = self.schema.struct_type(inner).map_or(&[], |inner| &inner.fields);
            }
        }
        match found.and_then(mco_field::c_scalar) {
            Some(scalar) if !scalar.dimension.is_empty() => Key {
                parameters: format!("const {} key_{number}{}", scalar.c_type, scalar.dimension),
                value: format!("{{ key_{number}, {}u }}", scalar.size),
            },
            Some(scalar) => Key {
                parameters: format!("{} key_{number}", scalar.c_type),
                value: format!("{{ &key_{number}, (uint32_t)sizeof(key_{number}) }}"),
            },
            None => {
                let is_bytes =
                    matches!(found, Some(FieldType::Binary(_) | FieldType::VarBinary(_)));
                let of = if is_bytes { "void" } else { "char" };
                Key {
                    parameters: format!("const {of} *key_{number}, uint2 length_{number}"),
                    value: format!("{{ key_{number}, length_{number} }}"),
                }
            }
        }
    }

    fn event(&mut self, ordinal: usize, class: &Class, event: &Event) {
        let (name, event_name) = (&class.name, &event.name);
        let handler = format!("mco_{event_name}_handler");
        self.tell(handler.clone(), event_name);
        self.text.push_str(&format!(
            "typedef MCO_RET (*{handler})(mco_trans_h t, {name} *h, MCO_EVENT_TYPE type, \
             void *param);\n\n"
        ));
        let field = event.field.as_ref().filter(|_| event.kind == EventKind::Update);
        let field = field.and_then(|name| class.fields.iter().find(|field| field.name == *name));
        let leaf = match field {
            Some(field) => format!("{}u", field.leaf),
            None => "REM_MCO_NO_ELEMENT".to_owned(),
        };
        let kind = format!("MCO_EVENT_{}", event.kind.word().to_ascii_uppercase());
        // A handle begins with the object, so that the runtime may pass the one for the other.
        let cast = "(rem_mco_handler)(void (*)(void))handler";
        let call = format!("t, {ordinal}u, {kind}, {leaf},\n        {cast}");
        let id = format!("mco_register_{event_name}_handler");
        let parameters = format!("mco_trans_h t, {handler} handler, void *param");
        let body = format!("return rem_mco_register({call}, param);");
        self.function(event_name, &id, &parameters, &body);
        let id = format!("mco_unregister_{event_name}_handler");
        let parameters = format!("mco_trans_h t, {handler} handler");
        let body = format!("return rem_mco_unregister({call});");
        self.function(event_name, &id, &parameters, &body);
    }
}

struct Key {
    parameters: String,
    value: String,
}

fn handle_type(name: &Name, content: &str) -> String {
    format!("typedef struct {name} {{\n    {content};\n}} {name};\n\n")
}

fn find_body(
    indexes: &[remanent_schema::IndexSchema],
    index: &str,
    ordinal: usize,
    keys: &[String],
) -> String {
    let number = indexes.iter().position(|known| known.name == index).unwrap_or(0);
    format!(
        "const rem_mco_key keys[] = {{ {} }};\n\
         return rem_mco_find(t, {ordinal}u, {number}u, keys, {}u, &h->object);",
        keys.join(", "),
        keys.len()
    )
}
