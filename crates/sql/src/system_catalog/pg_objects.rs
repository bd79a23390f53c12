//! The numbers and names that PostgreSQL's catalog gives to objects and types.
//!
//! Types have PostgreSQL's own numbers. Other objects have numbers made of their names, which are
//! the same as long as the name is.

use crate::names::Name;
use crate::values::sql_type::SqlType;

/// The number of an object of this kind.
pub(crate) fn oid(kind: &str, schema: &str, name: &str) -> i64 {
    // FNV-1a, of 32 bits.
    let mut hash: u32 = 0x811c_9dc5;
    for byte in [kind, ":", schema, ":", name].iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    i64::from(hash & 0x3fff_ffff) + 16_384
}

/// Tables of the catalog whose numbers clients know, or ask for to say what a number is of.
const CATALOGS: &[(&str, i64)] = &[
    ("pg_attrdef", 2604),
    ("pg_class", 1259),
    ("pg_constraint", 2606),
    ("pg_database", 1262),
    ("pg_namespace", 2615),
    ("pg_proc", 1255),
    ("pg_type", 1247),
];

/// The number of a table, view, index or sequence.
pub(crate) fn class_oid(name: &Name) -> i64 {
    let known = CATALOGS.iter().find(|(catalog, _)| name.name == *catalog);
    if let Some((_, number)) = known.filter(|_| name.schema == "pg_catalog") {
        return *number;
    }
    oid("class", &name.schema, &name.name)
}

/// The number of a schema.
pub(crate) fn namespace_oid(schema: &str) -> i64 {
    match schema {
        "pg_catalog" => 11,
        "public" => 2200,
        other => oid("schema", "", other),
    }
}

/// The number of a type.
pub(crate) fn type_oid(sql_type: &SqlType) -> i64 {
    match sql_type {
        SqlType::Boolean => 16,
        SqlType::Bytea => 17,
        SqlType::BigInt | SqlType::UInteger => 20,
        SqlType::TinyInt | SqlType::UTinyInt | SqlType::SmallInt => 21,
        SqlType::USmallInt | SqlType::Integer => 23,
        SqlType::Text | SqlType::Unknown => 25,
        SqlType::Json => 114,
        SqlType::Real => 700,
        SqlType::Double => 701,
        SqlType::Char(_) => 1042,
        SqlType::Varchar(_) => 1043,
        SqlType::Date => 1082,
        SqlType::Time => 1083,
        SqlType::Timestamp => 1114,
        SqlType::TimestampTz => 1184,
        SqlType::Interval => 1186,
        SqlType::Numeric { .. } | SqlType::UBigInt => 1700,
        SqlType::Uuid => 2950,
        SqlType::Array(element) => array_oid(type_oid(element)),
    }
}

/// The number of the type of lists of a type.
fn array_oid(element: i64) -> i64 {
    match element {
        16 => 1000,
        17 => 1001,
        20 => 1016,
        21 => 1005,
        23 => 1007,
        114 => 199,
        700 => 1021,
        701 => 1022,
        1042 => 1014,
        1043 => 1015,
        1082 => 1182,
        1083 => 1183,
        1114 => 1115,
        1184 => 1185,
        1186 => 1187,
        1700 => 1231,
        2950 => 2951,
        _ => 1009,
    }
}

/// PostgreSQL's inner name of a type.
pub(crate) fn type_name(sql_type: &SqlType) -> String {
    name_of_type(type_oid(sql_type)).to_owned()
}

/// The types there are: number, inner name, name in SQL, length, category.
pub(crate) const TYPES: &[(i64, &str, &str, i64, &str)] = &[
    (16, "bool", "boolean", 1, "B"),
    (17, "bytea", "bytea", -1, "U"),
    (18, "char", "\"char\"", 1, "Z"),
    (19, "name", "name", 64, "S"),
    (20, "int8", "bigint", 8, "N"),
    (21, "int2", "smallint", 2, "N"),
    (23, "int4", "integer", 4, "N"),
    (25, "text", "text", -1, "S"),
    (26, "oid", "oid", 4, "N"),
    (114, "json", "json", -1, "U"),
    (700, "float4", "real", 4, "N"),
    (701, "float8", "double precision", 8, "N"),
    (705, "unknown", "unknown", -2, "X"),
    (1042, "bpchar", "character", -1, "S"),
    (1043, "varchar", "character varying", -1, "S"),
    (1082, "date", "date", 4, "D"),
    (1083, "time", "time without time zone", 8, "D"),
    (1114, "timestamp", "timestamp without time zone", 8, "D"),
    (1184, "timestamptz", "timestamp with time zone", 8, "D"),
    (1186, "interval", "interval", 16, "T"),
    (1700, "numeric", "numeric", -1, "N"),
    (2205, "regclass", "regclass", 4, "N"),
    (2950, "uuid", "uuid", 16, "U"),
    (3802, "jsonb", "jsonb", -1, "U"),
    (199, "_json", "json[]", -1, "A"),
    (1000, "_bool", "boolean[]", -1, "A"),
    (1001, "_bytea", "bytea[]", -1, "A"),
    (1005, "_int2", "smallint[]", -1, "A"),
    (1007, "_int4", "integer[]", -1, "A"),
    (1009, "_text", "text[]", -1, "A"),
    (1014, "_bpchar", "character[]", -1, "A"),
    (1015, "_varchar", "character varying[]", -1, "A"),
    (1016, "_int8", "bigint[]", -1, "A"),
    (1021, "_float4", "real[]", -1, "A"),
    (1022, "_float8", "double precision[]", -1, "A"),
    (1115, "_timestamp", "timestamp without time zone[]", -1, "A"),
    (1182, "_date", "date[]", -1, "A"),
    (1183, "_time", "time without time zone[]", -1, "A"),
    (1185, "_timestamptz", "timestamp with time zone[]", -1, "A"),
    (1187, "_interval", "interval[]", -1, "A"),
    (1231, "_numeric", "numeric[]", -1, "A"),
    (2951, "_uuid", "uuid[]", -1, "A"),
];

/// The number of the type of this name, its inner one or SQL's.
pub(crate) fn type_by_name(name: &str) -> Option<i64> {
    let name = name.trim().trim_start_matches("pg_catalog.").to_lowercase();
    let name = match name.as_str() {
        "int" => "integer",
        "decimal" => "numeric",
        "float" => "double precision",
        "bit varying" => return None,
        other => other,
    };
    let found = TYPES.iter().find(|(_, inner, outer, ..)| *inner == name || *outer == name);
    found.map(|(number, ..)| *number)
}

/// The inner name of the type with this number.
pub(crate) fn name_of_type(number: i64) -> &'static str {
    TYPES.iter().find(|(oid, ..)| *oid == number).map_or("unknown", |(_, name, ..)| name)
}

/// A type as SQL writes it, with what was given in parentheses.
pub(crate) fn format_type(number: i64, modifier: i64) -> String {
    let found = TYPES.iter().find(|(oid, ..)| *oid == number);
    let name = found.map_or("???", |(_, _, name, ..)| *name);
    match (number, modifier) {
        (_, modifier) if modifier < 4 => name.to_owned(),
        (1700, modifier) => {
            let inner = modifier - 4;
            format!("numeric({},{})", inner >> 16, inner & 0xffff)
        }
        (1042 | 1043, modifier) => format!("{name}({})", modifier - 4),
        _ => name.to_owned(),
    }
}

/// What was given in parentheses, as PostgreSQL packs it into a number.
pub(crate) fn type_modifier(sql_type: &SqlType) -> i64 {
    match sql_type {
        SqlType::Varchar(length) | SqlType::Char(length) => i64::from(*length) + 4,
        SqlType::Numeric { precision, scale } if sql_type.to_string() != "numeric" => {
            ((i64::from(*precision) << 16) | i64::from(*scale)) + 4
        }
        _ => -1,
    }
}
