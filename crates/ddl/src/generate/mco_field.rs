//! The functions that a field of a class or of a struct has in the mco-style header.
//!
//! A class's field is a leaf of the object. A struct's field is reached through the struct's
//! handle, which may stand for leaves of the row or for an element of an array or a vector;
//! elements have numbers and texts alone, and what else a struct has answers "not supported" there.

use super::mco_header::Header;
use crate::model::field_type::{CType, FieldType, Width};
use crate::model::{Field, Name};

/// Where a field is, and how C reaches it.
pub(super) struct FieldAccess<'f> {
    owner: &'f Name,
    field: &'f Field,
    /// Its offset in its struct, as that lies in an array.
    offset: u32,
    in_struct: bool,
}

impl<'f> FieldAccess<'f> {
    pub(super) fn in_class(owner: &'f Name, field: &'f Field) -> FieldAccess<'f> {
        FieldAccess { owner, field, offset: 0, in_struct: false }
    }

    pub(super) fn in_struct(owner: &'f Name, field: &'f Field, offset: u32) -> FieldAccess<'f> {
        FieldAccess { owner, field, offset, in_struct: true }
    }

    fn object(&self) -> &'static str {
        if self.in_struct { "&h->h.object" } else { "&h->object" }
    }

    /// The expression of a leaf's number.
    fn leaf(&self, more: u32) -> String {
        let leaf = self.field.leaf + more;
        if self.in_struct { format!("h->h.leaf + {leaf}u") } else { format!("{leaf}u") }
    }

    /// What comes first in functions that only leaves of a row have.
    fn guard(&self) -> &'static str {
        match self.in_struct {
            true => "if (h->h.element != REM_MCO_NO_ELEMENT)\n    return MCO_E_NOT_SUPPORTED;\n",
            false => "",
        }
    }
}

/// A scalar in C. Decimals of more than 18 digits are two words, an array.
pub(super) struct CScalar {
    pub(super) c_type: String,
    pub(super) dimension: &'static str,
    pub(super) size: u32,
}

/// The C type of a scalar; `None` for texts, bytes and what has parts.
pub(super) fn c_scalar(field_type: &FieldType) -> Option<CScalar> {
    let scalar =
        |c_type: &str, size| Some(CScalar { c_type: c_type.to_owned(), dimension: "", size });
    match field_type {
        FieldType::Int { signed: true, size } => scalar(&format!("int{size}"), u32::from(*size)),
        FieldType::Int { signed: false, size } => scalar(&format!("uint{size}"), u32::from(*size)),
        FieldType::C(CType::Float) => scalar("float", 4),
        FieldType::C(CType::Double) => scalar("double", 8),
        FieldType::Bool => scalar("uint1", 1),
        FieldType::Decimal { precision: 0..=18, .. } => scalar("int8", 8),
        FieldType::Decimal { .. } => {
            Some(CScalar { c_type: "uint8".to_owned(), dimension: "[2]", size: 16 })
        }
        FieldType::Date => scalar("int4", 4),
        FieldType::Time | FieldType::DateTime => scalar("int8", 8),
        FieldType::AutoId(_) => scalar("uint8", 8),
        FieldType::Enum(name) => scalar(name, 4),
        _ => None,
    }
}

/// Writes the functions of a field.
pub(super) fn write(header: &mut Header<'_, '_>, access: &FieldAccess<'_>) {
    let field = access.field;
    if field.nullable {
        indicator(header, access);
    }
    let count = field.dims.first().copied();
    match (&field.field_type, count) {
        (FieldType::Struct(name), None) => struct_handles(header, access, name),
        (FieldType::Struct(name), Some(count)) => struct_array(header, access, name, count),
        (FieldType::Chars(Width::Char, size), Some(count)) => {
            text_array(header, access, *size, count);
        }
        (FieldType::Binary(size), Some(count)) => {
            let bytes =
                CScalar { c_type: "unsigned char".to_owned(), dimension: "[]", size: *size };
            array(header, access, &bytes, count);
        }
        (FieldType::Chars(width, _) | FieldType::String(width), _) => text(header, access, *width),
        (FieldType::Binary(_) | FieldType::VarBinary(_), _) => bytes(header, access),
        (FieldType::Blob, _) => blob(header, access),
        (FieldType::Vector(element), _) => vector(header, access, element),
        (FieldType::Ref, count) => reference(header, access, count),
        (other, count) => match (c_scalar(other), count) {
            (Some(scalar), None) => number(header, access, &scalar),
            (Some(scalar), Some(count)) => array(header, access, &scalar, count),
            (None, _) => {}
        },
    }
}

/// Writes `OWNER_FIELD_what(OWNER *h, ..)`.
fn emit(
    header: &mut Header<'_, '_>,
    access: &FieldAccess<'_>,
    what: &str,
    parameters: &str,
    body: &str,
) {
    let (owner, name) = (access.owner, &access.field.name);
    let reads = matches!(what, "get" | "size" | "at" | "get_range" | "indicator_get");
    let is_handle = matches!(&access.field.field_type, FieldType::Struct(_))
        || matches!(&access.field.field_type, FieldType::Vector(element)
            if matches!(**element, FieldType::Struct(_)) && what == "at");
    let constant = if reads && (!is_handle || what == "indicator_get" || what == "size") {
        "const "
    } else {
        ""
    };
    let comma = if parameters.is_empty() { "" } else { ", " };
    let parameters = format!("{constant}{owner} *h{comma}{parameters}");
    header.function(name, &format!("{owner}_{name}_{what}"), &parameters, body);
}

fn indicator(header: &mut Header<'_, '_>, access: &FieldAccess<'_>) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let body = format!("{guard}return rem_mco_get_null({object}, {leaf}, is_null);");
    emit(header, access, "indicator_get", "uint1 *is_null", &body);
    let body = format!("{guard}return rem_mco_put_null({object}, {leaf}, is_null);");
    emit(header, access, "indicator_put", "uint1 is_null", &body);
}

fn number(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, scalar: &CScalar) {
    let CScalar { c_type, dimension, size } = scalar;
    let (number, offset) = (access.field.leaf, access.offset);
    let call = |what: &str, value: &str| match access.in_struct {
        true => {
            format!("rem_mco_struct_{what}_fixed(&h->h, {number}u, {offset}u, {value}, {size}u)")
        }
        false => format!("rem_mco_{what}_fixed(&h->object, {number}u, {value}, {size}u)"),
    };
    if matches!(access.field.field_type, FieldType::Enum(_)) {
        let body = format!("int4 raw = (int4)value;\nreturn {};", call("put", "&raw"));
        emit(header, access, "put", &format!("{c_type} value"), &body);
        let body = format!(
            "int4 raw = 0;\nMCO_RET status = {};\nif (status == MCO_S_OK)\n    \
             *value = ({c_type})raw;\nreturn status;",
            call("get", "&raw")
        );
        return emit(header, access, "get", &format!("{c_type} *value"), &body);
    }
    if dimension.is_empty() {
        let body = format!("return {};", call("put", "&value"));
        emit(header, access, "put", &format!("{c_type} value"), &body);
        let body = format!("return {};", call("get", "value"));
        return emit(header, access, "get", &format!("{c_type} *value"), &body);
    }
    let body = format!("return {};", call("put", "value"));
    emit(header, access, "put", &format!("const {c_type} value{dimension}"), &body);
    let body = format!("return {};", call("get", "value"));
    emit(header, access, "get", &format!("{c_type} value{dimension}"), &body);
}

fn text(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, width: Width) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let (c_type, bytes) = match width {
        Width::Char => {
            let (number, offset) = (access.field.leaf, access.offset);
            let capacity = match &access.field.field_type {
                FieldType::Chars(_, size) => *size,
                _ => 0,
            };
            let (put, get) = match access.in_struct {
                true => {
                    let at = format!("{number}u, {offset}u, {capacity}u");
                    (
                        format!("rem_mco_struct_put_text(&h->h, {at}, value, length)"),
                        format!("rem_mco_struct_get_text(&h->h, {at}, buffer, size, length)"),
                    )
                }
                false => (
                    format!("rem_mco_put_text({object}, {leaf}, value, length)"),
                    format!("rem_mco_get_text({object}, {leaf}, buffer, size, length)"),
                ),
            };
            let parameters = "const char *value, uint2 length";
            emit(header, access, "put", parameters, &format!("return {put};"));
            let parameters = "char *buffer, uint2 size, uint2 *length";
            emit(header, access, "get", parameters, &format!("return {get};"));
            return size(header, access, "uint2");
        }
        Width::National => ("uint2", 2),
        Width::Wide => ("wchar_t", 4),
    };
    let body =
        format!("{guard}return rem_mco_put_wide({object}, {leaf}, value, length, {bytes}u);");
    emit(header, access, "put", &format!("const {c_type} *value, uint2 length"), &body);
    let body = format!(
        "{guard}return rem_mco_get_wide({object}, {leaf}, buffer, size, {bytes}u, length);"
    );
    emit(header, access, "get", &format!("{c_type} *buffer, uint2 size, uint2 *length"), &body);
}

/// `_size`: in `uint2` what is longer reads as 65535.
fn size(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, c_type: &str) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    if c_type == "uint4" {
        let body = format!("{guard}return rem_mco_size({object}, {leaf}, size);");
        return emit(header, access, "size", "uint4 *size", &body);
    }
    let call = format!("rem_mco_size({object}, {leaf}, &all)");
    emit(header, access, "size", "uint2 *size", &narrowed(guard, &call));
}

fn narrowed(guard: &str, call: &str) -> String {
    let (declare, guard) = ("uint32_t all = 0;\nMCO_RET status;\n", guard);
    format!(
        "{declare}{guard}status = {call};\nif (status == MCO_S_OK)\n    \
         *size = (uint2)(all > 65535u ? 65535u : all);\nreturn status;"
    )
}

fn bytes(header: &mut Header<'_, '_>, access: &FieldAccess<'_>) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let body = format!("{guard}return rem_mco_blob_put({object}, {leaf}, value, length);");
    emit(header, access, "put", "const void *value, uint2 length", &body);
    let body = format!(
        "uint32_t all = 0;\nMCO_RET status;\n{guard}\
         status = rem_mco_blob_get({object}, {leaf}, 0u, buffer, size, &all);\n\
         if (status == MCO_S_OK && length)\n    *length = (uint2)(all > 65535u ? 65535u : all);\n\
         return status;"
    );
    emit(header, access, "get", "void *buffer, uint2 size, uint2 *length", &body);
    size(header, access, "uint2");
}

fn blob(header: &mut Header<'_, '_>, access: &FieldAccess<'_>) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    for what in ["put", "append"] {
        let body = format!("{guard}return rem_mco_blob_{what}({object}, {leaf}, from, length);");
        emit(header, access, what, "const void *from, uint4 length", &body);
    }
    let body =
        format!("{guard}return rem_mco_blob_get({object}, {leaf}, offset, buffer, size, length);");
    let parameters = "uint4 offset, void *buffer, uint4 size, uint4 *length";
    emit(header, access, "get", parameters, &body);
    size(header, access, "uint4");
}

fn vector(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, element: &FieldType) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let family = if c_scalar(element).is_some() { "vector" } else { "packed" };
    let body = format!("{guard}return rem_mco_{family}_alloc({object}, {leaf}, count);");
    emit(header, access, "alloc", "uint2 count", &body);
    let body = format!("{guard}return rem_mco_{family}_erase({object}, {leaf}, index, 1u);");
    emit(header, access, "erase", "uint2 index", &body);
    if family == "vector" {
        size(header, access, "uint2");
    } else {
        let call = format!("rem_mco_packed_size({object}, {leaf}, &all)");
        emit(header, access, "size", "uint2 *size", &narrowed(guard, &call));
    }
    match (element, c_scalar(element)) {
        (_, Some(scalar)) => {
            let CScalar { c_type, dimension, size } = &scalar;
            let amp = if dimension.is_empty() { "&" } else { "" };
            let star = if dimension.is_empty() {
                "*value".to_owned()
            } else {
                format!("value{dimension}")
            };
            let constant = if dimension.is_empty() { "" } else { "const " };
            let at = format!("{object}, {leaf}, index");
            let body = format!("{guard}return rem_mco_vector_put({at}, 1u, {amp}value, {size}u);");
            let parameters = format!("uint2 index, {constant}{c_type} value{dimension}");
            emit(header, access, "put", &parameters, &body);
            let body = format!("{guard}return rem_mco_vector_get({at}, 1u, value, {size}u);");
            emit(header, access, "at", &format!("uint2 index, {c_type} {star}"), &body);
            let body = format!("{guard}return rem_mco_vector_put({at}, count, from, {size}u);");
            let parameters = format!("uint2 index, uint2 count, const {c_type} *from");
            emit(header, access, "put_range", &parameters, &body);
            let body = format!("{guard}return rem_mco_vector_get({at}, count, to, {size}u);");
            let parameters = format!("uint2 index, uint2 count, {c_type} *to");
            emit(header, access, "get_range", &parameters, &body);
        }
        (FieldType::Struct(name), None) => {
            for (what, write) in [("at", 0), ("put", 1)] {
                let body = format!(
                    "{guard}return rem_mco_struct_of({object}, REM_MCO_NO_ELEMENT, {leaf}, index, \
                     0u, {write}, &element->h);"
                );
                emit(header, access, what, &format!("uint2 index, {name} *element"), &body);
            }
        }
        _ => {
            let at = format!("{object}, {leaf}, index");
            let body = format!("{guard}return rem_mco_packed_put_text({at}, value, length);");
            emit(header, access, "put", "uint2 index, const char *value, uint2 length", &body);
            let body =
                format!("{guard}return rem_mco_packed_get_text({at}, buffer, size, length);");
            let parameters = "uint2 index, char *buffer, uint2 size, uint2 *length";
            emit(header, access, "at", parameters, &body);
        }
    }
}

/// An array of scalars, or of bytes of one size.
fn array(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, scalar: &CScalar, count: u32) {
    let CScalar { c_type, dimension, size } = scalar;
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let bounds = format!("{guard}if (index >= {count}u)\n    return MCO_E_ILLEGAL_PARAM;\n");
    let at = format!("{object}, {leaf}, (uint32_t)index * {size}u");
    let by_value = dimension.is_empty();
    let (put, amp) = if by_value {
        (format!("{c_type} value"), "&")
    } else {
        (format!("const {c_type} *value"), "")
    };
    let body = format!("{bounds}return rem_mco_part_put({at}, {amp}value, {size}u);");
    emit(header, access, "put", &format!("uint2 index, {put}"), &body);
    let body = format!("{bounds}return rem_mco_part_get({at}, value, {size}u);");
    emit(header, access, "at", &format!("uint2 index, {c_type} *value"), &body);
    if by_value {
        let bounds = format!(
            "{guard}if (index > {count}u || count > {count}u - index)\n    \
             return MCO_E_ILLEGAL_PARAM;\n"
        );
        let bytes = format!("(uint32_t)count * {size}u");
        let body = format!("{bounds}return rem_mco_part_put({at}, from, {bytes});");
        let parameters = format!("uint2 index, uint2 count, const {c_type} *from");
        emit(header, access, "put_range", &parameters, &body);
        let body = format!("{bounds}return rem_mco_part_get({at}, to, {bytes});");
        let parameters = format!("uint2 index, uint2 count, {c_type} *to");
        emit(header, access, "get_range", &parameters, &body);
    }
}

fn text_array(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, capacity: u32, count: u32) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let bounds = format!("{guard}if (index >= {count}u)\n    return MCO_E_ILLEGAL_PARAM;\n");
    let at = format!("{object}, {leaf}, (uint32_t)index * {capacity}u, {capacity}u");
    let body = format!("{bounds}return rem_mco_part_put_text({at}, value, length);");
    emit(header, access, "put", "uint2 index, const char *value, uint2 length", &body);
    let body = format!("{bounds}return rem_mco_part_get_text({at}, buffer, size, length);");
    emit(header, access, "at", "uint2 index, char *buffer, uint2 size, uint2 *length", &body);
}

fn struct_handles(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, name: &Name) {
    let (object, nullable) = (access.object(), access.field.nullable);
    let leaf = access.leaf(u32::from(nullable));
    let presence = if nullable { access.leaf(0) } else { "REM_MCO_NO_ELEMENT".to_owned() };
    for (what, write) in [("read_handle", 0), ("write_handle", 1)] {
        let body = match access.in_struct && !nullable {
            true => format!(
                "return rem_mco_struct_within(&h->h, {}u, {}u, &part->h);",
                access.field.leaf, access.offset
            ),
            false => format!(
                "{}return rem_mco_struct_of({object}, {presence}, {leaf}, REM_MCO_NO_ELEMENT, 0u, \
                 {write}, &part->h);",
                access.guard()
            ),
        };
        emit(header, access, what, &format!("{name} *part"), &body);
    }
}

fn struct_array(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, name: &Name, count: u32) {
    let (object, leaf, guard) = (access.object(), access.leaf(0), access.guard());
    let stride = header.shape_of(&access.field.field_type).0;
    for (what, write) in [("at", 0), ("put", 1)] {
        let body = format!(
            "{guard}if (index >= {count}u)\n    return MCO_E_ILLEGAL_PARAM;\n\
             return rem_mco_struct_of({object}, REM_MCO_NO_ELEMENT, {leaf}, index, {stride}u, \
             {write}, &part->h);"
        );
        emit(header, access, what, &format!("uint2 index, {name} *part"), &body);
    }
}

/// A `ref`: a number if the object id is one, else the id's leaves one after the other.
fn reference(header: &mut Header<'_, '_>, access: &FieldAccess<'_>, count: Option<u32>) {
    let leaves = header.oid_leaves();
    if access.field.leaf_count == 1 && leaves.len() == 1 {
        let number_of = CScalar { c_type: "uint8".to_owned(), dimension: "", size: 8 };
        return match count {
            None => number(header, access, &number_of),
            Some(count) => array(header, access, &number_of, count),
        };
    }
    if access.in_struct || count.is_some() {
        return;
    }
    let oid = format!("{}_oid", header.schema.name);
    let first = access.field.leaf + u32::from(access.field.nullable);
    let (mut put, mut get) = (String::new(), String::new());
    for (leaf, (path, field_type)) in (first..).zip(&leaves) {
        let member = path.replace('.', "_");
        let one = put_member(&header.schema.name, field_type, &member, leaf);
        put.push_str(&format!("if (status == MCO_S_OK)\n    status = {one};\n"));
        let one = get_member(field_type, &member, leaf);
        get.push_str(&format!("if (status == MCO_S_OK)\n    status = {one};\n"));
    }
    let body = |calls: &str| format!("MCO_RET status = MCO_S_OK;\n{calls}return status;");
    emit(header, access, "put", &format!("const {oid} *oid"), &body(&put));
    emit(header, access, "get", &format!("{oid} *oid"), &body(&get));
}

/// Puts a member of the object id's C struct into a leaf.
pub(super) fn put_member(
    database: &str,
    field_type: &FieldType,
    member: &str,
    leaf: u32,
) -> String {
    match field_type {
        FieldType::Chars(_, size) => {
            let length = text_length(database, member, *size);
            format!("rem_mco_put_text(&h->object, {leaf}u, oid->{member}, {length})")
        }
        FieldType::Binary(size) => {
            format!("rem_mco_blob_put(&h->object, {leaf}u, oid->{member}, {size}u)")
        }
        _ => {
            let size = format!("(uint32_t)sizeof(oid->{member})");
            format!("rem_mco_put_fixed(&h->object, {leaf}u, &oid->{member}, {size})")
        }
    }
}

/// Reads a leaf into a member of the object id's C struct.
pub(super) fn get_member(field_type: &FieldType, member: &str, leaf: u32) -> String {
    match field_type {
        FieldType::Chars(_, size) => {
            format!("rem_mco_get_text(&h->object, {leaf}u, oid->{member}, {size}u, 0)")
        }
        FieldType::Binary(size) => {
            format!("rem_mco_blob_get(&h->object, {leaf}u, 0u, oid->{member}, {size}u, 0)")
        }
        _ => {
            let size = format!("(uint32_t)sizeof(oid->{member})");
            format!("rem_mco_get_fixed(&h->object, {leaf}u, &oid->{member}, {size})")
        }
    }
}

/// The initializer of a key's part that is a member of the object id's C struct.
pub(super) fn key_of_member(database: &str, field_type: &FieldType, member: &str) -> String {
    match field_type {
        FieldType::Chars(_, size) => {
            format!("{{ oid->{member}, {} }}", text_length(database, member, *size))
        }
        FieldType::Binary(size) => format!("{{ oid->{member}, {size}u }}"),
        _ => format!("{{ &oid->{member}, (uint32_t)sizeof(oid->{member}) }}"),
    }
}

/// The bytes of a text before its first NUL.
fn text_length(database: &str, member: &str, size: u32) -> String {
    format!("{database}_text_length(oid->{member}, {size}u)")
}
