//! The rows of the model test: a record whose keys are hard on a radix tree.
//!
//! Numbers lie densely around multiples of 256 or anywhere in 64 bits. Names begin with each
//! other, share stems longer than a node's prefix, are empty, and hold the bytes 0 and 1 that mark
//! the end of a name in a key.

use proptest::prelude::*;
use remanent_derive::Record;
use remanent_engine::Row;
use remanent_engine::schema::Value;

/// A row as the database holds it.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(
    primary_key(group, number),
    index(by_name(name, number desc)),
    unique_index(by_code(code)),
    unique_hash_index(by_tag(tag)),
    hash_index(by_kind(kind))
)]
pub(crate) struct Item<'a> {
    pub(crate) group: u8,
    pub(crate) number: u64,
    pub(crate) name: &'a str,
    pub(crate) code: Option<u32>,
    pub(crate) tag: &'a str,
    pub(crate) kind: u16,
    pub(crate) payload: &'a [u8],
}

/// A row as the model holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) group: u8,
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) code: Option<u32>,
    pub(crate) tag: String,
    pub(crate) kind: u16,
    pub(crate) payload: Payload,
}

/// Bytes that are all the same, so that a failing case can be read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Payload(pub(crate) Vec<u8>);

/// New values for some columns.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) number: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) code: Option<Option<u32>>,
    pub(crate) tag: Option<String>,
    pub(crate) kind: Option<u16>,
    pub(crate) payload: Option<Payload>,
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of {:?}", self.0.len(), self.0.first())
    }
}

impl Content {
    pub(crate) fn as_item(&self) -> Item<'_> {
        Item {
            group: self.group,
            number: self.number,
            name: &self.name,
            code: self.code,
            tag: &self.tag,
            kind: self.kind,
            payload: &self.payload.0,
        }
    }

    pub(crate) fn of_item(item: &Item<'_>) -> Self {
        Self {
            group: item.group,
            number: item.number,
            name: item.name.to_owned(),
            code: item.code,
            tag: item.tag.to_owned(),
            kind: item.kind,
            payload: Payload(item.payload.to_owned()),
        }
    }

    /// The content of a row, read value by value.
    pub(crate) fn of_row(row: &Row<'_>) -> Self {
        Self::of_values(&row.values().collect::<Vec<_>>())
    }

    /// The content of a row, from its values.
    pub(crate) fn of_values(values: &[Value<'_>]) -> Self {
        let number = |i: usize| values[i].as_integer().expect("a number");
        let text = |i: usize| values[i].as_str().expect("a text").to_owned();
        Self {
            group: number(0) as u8,
            number: number(1) as u64,
            name: text(2),
            code: values[3].as_integer().map(|code| code as u32),
            tag: text(4),
            kind: number(5) as u16,
            payload: Payload(values[6].as_bytes().expect("bytes").to_owned()),
        }
    }

    /// The values of all columns.
    pub(crate) fn values(&self) -> [Value<'_>; 7] {
        [
            Value::U8(self.group),
            Value::U64(self.number),
            Value::String(&self.name),
            self.code.map_or(Value::Null, Value::U32),
            Value::String(&self.tag),
            Value::U16(self.kind),
            Value::Bytes(&self.payload.0),
        ]
    }

    pub(crate) fn edited(&self, edit: &Edit) -> Self {
        let mut content = self.clone();
        content.number = edit.number.unwrap_or(content.number);
        content.name = edit.name.clone().unwrap_or(content.name);
        content.code = edit.code.unwrap_or(content.code);
        content.tag = edit.tag.clone().unwrap_or(content.tag);
        content.kind = edit.kind.unwrap_or(content.kind);
        content.payload = edit.payload.clone().unwrap_or(content.payload);
        content
    }

    /// The `i`-th of many rows that are like this one, but far apart in their unique keys.
    pub(crate) fn numbered(&self, i: u64) -> Self {
        let mut content = self.clone();
        content.number = self.number.wrapping_add(i);
        content.code = None;
        content.tag = format!("{}{i}", self.tag);
        content
    }
}

impl Edit {
    /// The new values, each with the path of its column.
    pub(crate) fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let code = self.code.map(|code| ("code", code.map_or(Value::Null, Value::U32)));
        let values = [
            self.number.map(|number| ("number", Value::U64(number))),
            self.name.as_ref().map(|name| ("name", Value::String(name))),
            code,
            self.tag.as_ref().map(|tag| ("tag", Value::String(tag))),
            self.kind.map(|kind| ("kind", Value::U16(kind))),
            self.payload.as_ref().map(|payload| ("payload", Value::Bytes(&payload.0))),
        ];
        values.into_iter().flatten().collect()
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 0..20u64,
        4 => 250..262u64,
        2 => 65_530..65_540u64,
        1 => (0..u64::MAX / 2).prop_map(|n| n | 0xff00),
        3 => (0..8u64).prop_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        1 => Just(u64::MAX),
    ]
}

fn name() -> impl Strategy<Value = String> {
    let stem = prop_oneof![
        4 => Just(String::new()),
        2 => Just("a".to_owned()),
        2 => Just("prefix-of-17-byte".to_owned()),
        2 => Just("a stem longer than two of the nodes' prefixes".to_owned()),
        1 => Just("x".repeat(300)),
    ];
    let end = prop_oneof![
        2 => Just(String::new()),
        4 => "[ab]{1,3}",
        2 => "[\0\u{1}a]{0,3}",
        1 => "[é\u{10ffff}]{1,2}",
    ];
    (stem, end).prop_map(|(stem, end)| stem + &end)
}

fn code() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![2 => Just(None), 3 => (0..8u32).prop_map(Some), 1 => (0..400u32).prop_map(Some)]
}

fn tag() -> impl Strategy<Value = String> {
    let number = (0..1000u32).prop_map(|number| number.to_string());
    prop_oneof![3 => "[a-d]{0,2}", 1 => "[a-z]{20,40}", 1 => number]
}

fn kind() -> impl Strategy<Value = u16> {
    prop_oneof![4 => 0..3u16, 1 => 0..1000u16]
}

fn payload() -> impl Strategy<Value = Payload> {
    let length = prop_oneof![6 => 0..40usize, 1 => 200..2000usize, 1 => Just(9000)];
    (length, any::<u8>()).prop_map(|(length, byte)| Payload(vec![byte; length]))
}

pub(crate) fn content() -> impl Strategy<Value = Content> {
    let parts = (0..3u8, number(), name(), code(), tag(), kind(), payload());
    parts.prop_map(|(group, number, name, code, tag, kind, payload)| Content {
        group,
        number,
        name,
        code,
        tag,
        kind,
        payload,
    })
}

pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    fn maybe<S: Strategy>(value: S) -> impl Strategy<Value = Option<S::Value>>
    where
        S::Value: Clone,
    {
        proptest::option::weighted(0.35, value)
    }
    let keys = (maybe(number()), maybe(name()), maybe(code()), maybe(tag()), maybe(kind()));
    let parts = (keys, maybe(payload()));
    parts.prop_map(|((number, name, code, tag, kind), payload)| Edit {
        number,
        name,
        code,
        tag,
        kind,
        payload,
    })
}
