//! A derived key is the same bytes as the run-time plan of the same index, whole and in part.

use proptest::prelude::*;
use remanent_derive::{Record, RecordStruct};
use remanent_schema::{
    CharArray, Date, Decimal, IndexKind, Key, KeyBuffer, KeyError, KeyPlan, Record, RowLayout,
    Timestamp, Value,
};

#[derive(RecordStruct, Clone, Debug, PartialEq)]
struct Level {
    #[record(name = "deep")]
    depth: i16,
    unit: Option<String>,
}

#[derive(RecordStruct, Clone, Debug, PartialEq)]
struct Thing<'a> {
    name: &'a str,
    level: Option<Level>,
}

/// A record with keys of every kind.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(
    unique_index(by_text(text, code desc)),
    primary_key(id, day desc),
    hash_index(by_raw(raw)),
    unique_hash_index(by_number(float, price))
)]
#[record(index(
    by_thing(thing.name desc, maybe.level.depth, maybe.level.unit),
    flags(flag, wide desc, at),
))]
struct Item<'a> {
    id: u32,
    day: Date,
    text: Option<&'a str>,
    code: CharArray<4>,
    #[record(binary)]
    raw: [u8; 3],
    float: f64,
    price: Decimal<10, 2>,
    wide: Option<Decimal<25, 0>>,
    flag: bool,
    at: Timestamp,
    thing: Thing<'a>,
    maybe: Option<Thing<'a>>,
}

#[test]
fn indexes_are_in_order_with_the_primary_key_first() {
    let schema = Item::schema().build().expect("a schema");
    let indexes: Vec<_> = schema
        .indexes
        .iter()
        .map(|index| (index.name.as_str(), index.kind, index.unique, index.primary))
        .collect();
    let expected = [
        ("primary", IndexKind::Ordered, true, true),
        ("by_text", IndexKind::Ordered, true, false),
        ("by_raw", IndexKind::Hash, false, false),
        ("by_number", IndexKind::Hash, true, false),
        ("by_thing", IndexKind::Ordered, false, false),
        ("flags", IndexKind::Ordered, false, false),
    ];
    assert_eq!(indexes, expected);
    assert_eq!((ItemPrimary::INDEX, ItemPrimary::INDEX_ORDINAL), ("primary", 0));
    assert_eq!((ItemByThing::INDEX, ItemByThing::INDEX_ORDINAL), ("by_thing", 4));
    let columns: Vec<_> = schema.indexes[4].parts.iter().map(|part| part.column.as_str()).collect();
    assert_eq!(columns, ["thing.name", "maybe.level.deep", "maybe.level.unit"]);
    assert!(schema.indexes[4].parts[0].descending);
}

#[test]
fn more_parts_than_there_are_is_an_error() {
    let key = ItemPrimary { id: 1, day: Date(2) };
    let refused = key.encode_parts(3, &mut KeyBuffer::new());
    assert_eq!(refused, Err(KeyError::TooManyParts { expected: 2, found: 3 }));
}

#[test]
fn keys_that_are_too_long_are_refused() {
    let text = "x".repeat(1100);
    let key = ItemByText { text: Some(&text), code: CharArray::default() };
    assert_eq!(key.encode(&mut KeyBuffer::new()), Err(KeyError::KeyTooLong));
}

/// Checks a key against the plan of its index, for each number of parts.
fn check<K: Key>(key: &K, values: &[Value<'_>]) {
    let schema = K::Record::schema().build().expect("a schema");
    let layout = RowLayout::new(&schema);
    let index = &schema.indexes[K::INDEX_ORDINAL];
    assert_eq!((index.name.as_str(), index.parts.len()), (K::INDEX, K::PARTS));
    let plan = KeyPlan::new(&layout, index).expect("a plan");
    let (mut derived, mut planned) = (KeyBuffer::new(), KeyBuffer::new());
    for parts in 0..=K::PARTS {
        key.encode_parts(parts, &mut derived).expect("a key");
        plan.encode_values(&values[..parts], &mut planned).expect("a key");
        assert_eq!(derived, planned, "{} of {}", parts, K::INDEX);
    }
    key.encode(&mut derived).expect("a key");
    assert_eq!(derived, planned);
}

fn nullable<'v>(value: Option<impl Into<Value<'v>>>) -> Value<'v> {
    value.map_or(Value::Null, Into::into)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn derived_keys_are_planned_keys(
        numbers in any::<(u32, i32, f64, i32, Option<i64>, bool, i64)>(),
        texts in any::<(Option<String>, String, Option<String>, [u8; 3])>(),
        code in "[a-z]{0,4}",
        depth in any::<Option<i16>>(),
    ) {
        let (id, day, float, price, wide, flag, at) = numbers;
        let (text, name, unit, raw) = texts;
        let (day, price, at) = (Date(day), Decimal::<10, 2>(price.into()), Timestamp(at));
        let wide = wide.map(|unscaled| Decimal::<25, 0>(unscaled.into()));
        let text = text.as_deref();
        check(&ItemPrimary { id, day }, &[id.into(), day.into()]);
        let char_code = CharArray::new(&code).expect("it fits");
        check(&ItemByText { text, code: char_code }, &[text.into(), (&*code).into()]);
        check(&ItemByRaw { raw }, &[Value::Bytes(&raw)]);
        check(&ItemByNumber { float, price }, &[float.into(), price.into()]);
        check(&ItemFlags { flag, wide, at }, &[flag.into(), nullable(wide), at.into()]);
        let key = ItemByThing {
            thing_name: &name,
            maybe_level_depth: depth,
            maybe_level_unit: unit.as_deref(),
        };
        check(&key, &[(&*name).into(), depth.into(), unit.as_deref().into()]);
    }

    /// The plan finds in a derived row the key that the derived key has.
    #[test]
    fn derived_rows_have_their_derived_keys(id: u32, name in "[a-z\0]{0,5}", deep: Option<i16>) {
        let level = deep.map(|depth| Level { depth, unit: Some("m".to_owned()) });
        let item = Item {
            id,
            day: Date(-1),
            text: Some("text"),
            code: CharArray::new("code").expect("it fits"),
            raw: [1, 2, 3],
            float: -0.0,
            price: Decimal(5),
            wide: None,
            flag: true,
            at: Timestamp(9),
            thing: Thing { name: &name, level: None },
            maybe: Some(Thing { name: "", level }),
        };
        let mut row = vec![0; item.encoded_len().expect("a length")];
        item.encode(&mut row);
        let unit = deep.map(|_| "m");
        assert_finds(&row, &ItemPrimary { id, day: Date(-1) });
        assert_finds(&row, &ItemByText { text: item.text, code: item.code });
        assert_finds(&row, &ItemByNumber { float: 0.0, price: Decimal(5) });
        let (thing_name, maybe_level_depth, maybe_level_unit) = (&*name, deep, unit);
        let key = ItemByThing { thing_name, maybe_level_depth, maybe_level_unit };
        assert_finds(&row, &key);
        assert_finds(&row, &ItemFlags { flag: true, wide: None, at: Timestamp(9) });
    }
}

fn assert_finds<K: Key>(row: &[u8], key: &K) {
    let schema = K::Record::schema();
    let plan = KeyPlan::new(&RowLayout::new(&schema), &schema.indexes[K::INDEX_ORDINAL]);
    let mut bytes = KeyBuffer::new();
    key.encode(&mut bytes).expect("a key");
    assert!(plan.expect("a plan").matches_row(row, bytes.as_slice()), "{}", K::INDEX);
}
