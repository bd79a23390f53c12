//! What a change of tables or indexes says, as it stands in the log.
//!
//! A commit makes all of its definitions with its rows or nothing
//! (`transaction/write/defining.rs`); here they are bytes, and text for whoever looks at a log.

use remanent_schema::TableSchema;

/// A change as it is logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Definition {
    CreateTable {
        table: u32,
        schema: TableSchema,
    },
    DropTable {
        table: u32,
    },
    /// The schema has one index, the one that is created.
    CreateIndex {
        table: u32,
        schema: TableSchema,
    },
    DropIndex {
        table: u32,
        name: String,
    },
}

/// A change that was logged, as text: the table's number, its name if that is known from the
/// change, and what becomes of it.
pub(crate) fn describe(bytes: &[u8]) -> Option<(u32, Option<String>, String)> {
    Some(match Definition::from_bytes(bytes)? {
        Definition::CreateTable { table, schema } => {
            let what = if schema.set.is_some() { "set" } else { "table" };
            let text = format!("create {what} {}", schema.name);
            (table, Some(schema.name), text)
        }
        Definition::DropTable { table } => (table, None, "drop the table".to_owned()),
        Definition::CreateIndex { table, schema } => {
            let name = schema.indexes.first().map_or("", |index| index.name.as_str());
            (table, Some(schema.name.clone()), format!("create index {name} of {}", schema.name))
        }
        Definition::DropIndex { table, name } => (table, None, format!("drop index {name}")),
    })
}

impl Definition {
    /// The bytes that are logged: a byte for the kind, the table's number, then the schema, the
    /// schema with the index alone, or the index's name.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (kind, table, rest) = match self {
            Self::CreateTable { table, schema } => (1_u8, table, schema.to_bytes()),
            Self::DropTable { table } => (2, table, Vec::new()),
            Self::CreateIndex { table, schema } => (3, table, schema.to_bytes()),
            Self::DropIndex { table, name } => (4, table, name.clone().into_bytes()),
        };
        [&[kind][..], &table.to_le_bytes(), &rest].concat()
    }

    /// The definition in these bytes of the log.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(5)?;
        let table = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        Some(match head[0] {
            1 => Self::CreateTable { table, schema: TableSchema::from_bytes(rest).ok()? },
            2 => Self::DropTable { table },
            3 => Self::CreateIndex { table, schema: TableSchema::from_bytes(rest).ok()? },
            4 => Self::DropIndex { table, name: String::from_utf8(rest.to_vec()).ok()? },
            _ => return None,
        })
    }
}
