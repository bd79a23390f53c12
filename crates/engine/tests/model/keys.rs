//! Indexes as the model knows them: which rows have which key, and in which order keys stand.
//!
//! Nothing here uses the engine's key bytes: parts are compared as values, which is what the bytes
//! promise to do.

use std::cmp::Ordering;

use remanent_engine::schema::{IndexKind, IndexSchema, KeyPart, Value};

use crate::item::Content;

/// A part of a key. NULL comes before all values.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Part {
    Null,
    Number(u64),
    Text(String),
}

/// An index by the schema it was created with.
#[derive(Clone, Debug)]
pub(crate) struct ModelIndex {
    pub(crate) schema: IndexSchema,
}

/// The indexes that are created and dropped while the test runs.
pub(crate) fn late_index(which: u8) -> IndexSchema {
    match which % 4 {
        0 => IndexSchema::new("late_kind", [KeyPart::asc("kind"), KeyPart::desc("name")]),
        1 => IndexSchema::new("late_number", [KeyPart::desc("number"), KeyPart::asc("code")])
            .unique(),
        2 => IndexSchema::new("late_name", ["name"]).hash(),
        _ => IndexSchema::new("late_code", ["code", "group"]).hash().unique(),
    }
}

impl ModelIndex {
    pub(crate) fn is_ordered(&self) -> bool {
        self.schema.kind == IndexKind::Ordered
    }

    pub(crate) fn key(&self, content: &Content) -> Vec<Part> {
        let columns = self.schema.parts.iter().map(|part| part.column.as_str());
        columns.map(|column| part(content, column)).collect()
    }

    /// The values of a key's parts, as the columns take them.
    pub(crate) fn values<'k>(&self, key: &'k [Part]) -> Vec<Value<'k>> {
        let columns = self.schema.parts.iter().map(|part| part.column.as_str());
        let value = |(column, part): (&str, &'k Part)| match part {
            Part::Null => Value::Null,
            Part::Text(text) => Value::String(text),
            Part::Number(number) => match column {
                "group" => Value::U8(*number as u8),
                "code" => Value::U32(*number as u32),
                "kind" => Value::U16(*number as u16),
                _ => Value::U64(*number),
            },
        };
        columns.zip(key).map(value).collect()
    }

    /// How a key stands to the first parts of another one, in the order of the index.
    pub(crate) fn compare(&self, key: &[Part], prefix: &[Part]) -> Ordering {
        let parts = self.schema.parts.iter().zip(key.iter().zip(prefix));
        let orderings = parts.map(
            |(part, (own, other))| {
                if part.descending { other.cmp(own) } else { own.cmp(other) }
            },
        );
        orderings.fold(Ordering::Equal, Ordering::then)
    }

    /// Whether two rows may not both have this key.
    pub(crate) fn is_exclusive(&self, key: &[Part]) -> bool {
        self.schema.unique && !key.contains(&Part::Null)
    }
}

fn part(content: &Content, column: &str) -> Part {
    match column {
        "group" => Part::Number(u64::from(content.group)),
        "number" => Part::Number(content.number),
        "name" => Part::Text(content.name.clone()),
        "code" => content.code.map_or(Part::Null, |code| Part::Number(u64::from(code))),
        "tag" => Part::Text(content.tag.clone()),
        "kind" => Part::Number(u64::from(content.kind)),
        other => unreachable!("no index has a column {other}"),
    }
}
