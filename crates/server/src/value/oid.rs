//! The numbers that PostgreSQL's types have, and which of our types each is.
//!
//! Types that PostgreSQL does not have go out as the next wider one that it has.

use remanent_sql::SqlType;

/// Digits of NUMERIC that says nothing of them, and of these after the point.
const NUMERIC: SqlType = SqlType::Numeric { precision: 38, scale: 10 };

pub(crate) const TEXT: u32 = 25;
pub(crate) const JSONB: u32 = 3802;

/// Number, number of its array, bytes of a value or -1; and the type.
const TYPES: [(u32, u32, i16, SqlType); 21] = [
    (16, 1000, 1, SqlType::Boolean),
    (21, 1005, 2, SqlType::SmallInt),
    (23, 1007, 4, SqlType::Integer),
    (20, 1016, 8, SqlType::BigInt),
    (700, 1021, 4, SqlType::Real),
    (701, 1022, 8, SqlType::Double),
    (1700, 1231, -1, NUMERIC),
    (1082, 1182, 4, SqlType::Date),
    (1083, 1183, 8, SqlType::Time),
    (1114, 1115, 8, SqlType::Timestamp),
    (1184, 1185, 8, SqlType::TimestampTz),
    (1186, 1187, 16, SqlType::Interval),
    (TEXT, 1009, -1, SqlType::Text),
    (2950, 2951, 16, SqlType::Uuid),
    (114, 199, -1, SqlType::Json),
    (17, 1001, -1, SqlType::Bytea),
    // What only comes in.
    (1043, 1015, -1, SqlType::Text),
    (1042, 1014, -1, SqlType::Text),
    (19, 1003, 64, SqlType::Text),
    (26, 1028, 4, SqlType::BigInt),
    (JSONB, 3807, -1, SqlType::Json),
];

/// The number of a type.
pub(crate) fn of(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Array(element) => {
            let element = of(element);
            TYPES.iter().find(|known| known.0 == element).map_or(1009, |known| known.1)
        }
        other => scalar(other),
    }
}

fn scalar(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::TinyInt | SqlType::UTinyInt => 21,
        SqlType::USmallInt => 23,
        SqlType::UInteger => 20,
        SqlType::UBigInt | SqlType::Numeric { .. } => 1700,
        SqlType::Varchar(_) => 1043,
        SqlType::Char(_) => 1042,
        other => TYPES.iter().find(|known| known.3 == *other).map_or(TEXT, |known| known.0),
    }
}

/// The type with a number; `None` for one that is not known.
pub(crate) fn to_sql(oid: u32) -> Option<SqlType> {
    TYPES.iter().find_map(|(scalar, array, _, sql_type)| {
        if *scalar == oid {
            Some(sql_type.clone())
        } else if *array == oid {
            Some(SqlType::Array(Box::new(sql_type.clone())))
        } else {
            None
        }
    })
}

/// Whether a type is one of lists.
pub(crate) fn is_list(oid: u32) -> bool {
    TYPES.iter().any(|known| known.1 == oid)
}

/// The bytes of each value of a type, or -1.
pub(crate) fn size(oid: u32) -> i16 {
    TYPES.iter().find(|known| known.0 == oid).map_or(-1, |known| known.2)
}

/// What a type says beside its number: digits or characters, plus the four bytes that PostgreSQL
/// once had in front of them.
pub(crate) fn modifier(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Numeric { precision, scale } if *sql_type != NUMERIC => {
            (i32::from(*precision) << 16 | i32::from(*scale)) + 4
        }
        SqlType::Varchar(length) | SqlType::Char(length) => {
            i32::try_from(*length).map_or(-1, |length| length.saturating_add(4))
        }
        _ => -1,
    }
}
