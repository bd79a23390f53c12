//! A derived record writes, for every field type, the same bytes as the run-time layout of its own
//! schema, reads back what it wrote, and refuses what the layout refuses.

use proptest::prelude::*;
use remanent_derive::{Record, RecordStruct};
use remanent_schema::{
    CharArray, Column, ColumnType, Date, Decimal, DefaultValue, FixedField, Record, RowError,
    RowLayout, TableStorage, Time, Timestamp, Value, VectorRef,
};

#[derive(RecordStruct, Clone, Debug, PartialEq)]
struct Inner<'a> {
    flag: bool,
    text: &'a str,
    depth: Option<i16>,
}

#[derive(RecordStruct, Clone, Debug, PartialEq)]
struct Outer<'a> {
    #[record(max = 4)]
    samples: VectorRef<'a, u16>,
    inner: Option<Inner<'a>>,
    #[record(name = "kind", default = 3)]
    r#type: u8,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(name = "everything")]
struct Everything<'a> {
    a: i8,
    b: i16,
    c: i32,
    d: i64,
    e: u8,
    f: u16,
    g: u32,
    h: u64,
    i: f32,
    j: f64,
    k: bool,
    l: Date,
    m: Time,
    n: Timestamp,
    o: Decimal<12, 2>,
    p: Decimal<30, 5>,
    q: CharArray<5>,
    #[record(binary)]
    r: [u8; 3],
    #[record(binary)]
    s: Option<[u8; 2]>,
    t: [[i16; 2]; 3],
    #[record(max = 10, default = "none")]
    u: &'a str,
    v: String,
    #[record(max = 10)]
    w: &'a [u8],
    x: Option<Vec<u8>>,
    y: Option<VectorRef<'a, f64>>,
    z: Option<Decimal<20, 0>>,
    inner: Inner<'a>,
    outer: Option<Outer<'a>>,
}

fn inner() -> impl Strategy<Value = Inner<'static>> {
    let parts = (any::<bool>(), "[a-zé]{0,5}", any::<Option<i16>>());
    parts.prop_map(|(flag, text, depth)| Inner { flag, text: text.leak(), depth })
}

fn outer() -> impl Strategy<Value = Outer<'static>> {
    let samples = proptest::collection::vec(any::<u16>(), 0..5);
    let parts = (samples, proptest::option::of(inner()), any::<u8>());
    parts.prop_map(|(samples, inner, kind)| Outer {
        samples: VectorRef::from(&*samples.leak()),
        inner,
        r#type: kind,
    })
}

fn everything() -> impl Strategy<Value = Everything<'static>> {
    let numbers = any::<(i8, i16, i32, i64, u8, u16, u32, u64)>();
    let finite = (-1e30f32..1e30, -1e300f64..1e300);
    let decimals = (-999_999_999_999i128..1_000_000_000_000, any::<i64>(), any::<Option<u64>>());
    let bytes = any::<([u8; 3], Option<[u8; 2]>, [[i16; 2]; 3])>();
    let texts = ("[a-zé]{0,5}", "[a-z\0]{0,9}", any::<Option<Vec<u8>>>());
    let floats = proptest::option::of(proptest::collection::vec(-1e9f64..1e9, 0..4));
    let structs = (inner(), proptest::option::of(outer()));
    (numbers, finite, decimals, bytes, texts, floats, structs).prop_map(
        |(numbers, finite, decimals, bytes, texts, floats, (inner, outer))| {
            let (a, b, c, d, e, f, g, h) = numbers;
            let short = texts.0.chars().take(2).collect::<String>();
            Everything {
                a,
                b,
                c,
                d,
                e,
                f,
                g,
                h,
                i: finite.0,
                j: finite.1,
                k: a > 0,
                l: Date(c),
                m: Time(d),
                n: Timestamp(d),
                o: Decimal(decimals.0),
                p: Decimal(i128::from(decimals.1) * 100_000_000_000),
                q: CharArray::new(&short).expect("it fits"),
                r: bytes.0,
                s: bytes.1,
                t: bytes.2,
                u: texts.0.clone().leak(),
                v: texts.1,
                w: texts.0.into_bytes().leak(),
                x: texts.2,
                y: floats.map(|floats| VectorRef::from(&*floats.leak())),
                z: decimals.2.map(|unscaled| Decimal(unscaled.into())),
                inner,
                outer,
            }
        },
    )
}

/// The record's leaves as values, in declared order.
fn values<'v>(record: &'v Everything<'v>) -> Vec<Value<'v>> {
    let list = |values: Vec<Value<'static>>| Value::List(values.leak());
    let pairs = record.t.map(|pair| list(pair.map(Value::I16).to_vec()));
    let floats = record.y.map(|floats| list(floats.iter().map(Value::F64).collect()));
    let mut values = vec![
        record.a.into(),
        record.b.into(),
        record.c.into(),
        record.d.into(),
        record.e.into(),
        record.f.into(),
        record.g.into(),
        record.h.into(),
        record.i.into(),
        record.j.into(),
        record.k.into(),
        record.l.into(),
        record.m.into(),
        record.n.into(),
        record.o.into(),
        record.p.into(),
        (&record.q).into(),
        Value::Bytes(&record.r),
        record.s.as_ref().map(|bytes| &bytes[..]).into(),
        list(pairs.to_vec()),
        record.u.into(),
        (&record.v).into(),
        record.w.into(),
        record.x.as_ref().into(),
        floats.unwrap_or(Value::Null),
        record.z.into(),
    ];
    push_inner(&mut values, &record.inner);
    match &record.outer {
        None => values.extend([Value::Null; 7]),
        Some(outer) => {
            let samples = list(outer.samples.iter().map(Value::U16).collect());
            values.extend([Value::Bool(true), samples]);
            match &outer.inner {
                None => values.extend([Value::Null; 4]),
                Some(inner) => {
                    values.push(Value::Bool(true));
                    push_inner(&mut values, inner);
                }
            }
            values.push(outer.r#type.into());
        }
    }
    values
}

fn push_inner<'v>(values: &mut Vec<Value<'v>>, inner: &Inner<'v>) {
    let leaves: [Value<'v>; 3] = [inner.flag.into(), inner.text.into(), inner.depth.into()];
    values.extend(leaves);
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn bytes_are_those_of_the_layout(record in everything()) {
        let layout = RowLayout::new(&Everything::schema().build().expect("a schema"));
        let values = values(&record);
        let given: Vec<_> = values.iter().copied().map(Some).collect();
        let mut expected = vec![0xaa; layout.encoded_len(&given).expect("a length")];
        layout.encode(&given, &mut expected).expect("a row");
        let mut row = vec![0x55; record.encoded_len().expect("a length")];
        record.encode(&mut row);
        prop_assert_eq!(&row, &expected);
        prop_assert!(layout.is_well_formed(&row));
        let decoded = Everything::decode_checked(&row);
        prop_assert_eq!(decoded.as_ref(), Some(&record));
        for (leaf, value) in values.iter().enumerate() {
            prop_assert_eq!(layout.read_value(&row, leaf), *value);
        }
    }
}

#[test]
fn the_schema_says_what_the_struct_says() {
    let schema = Everything::schema().build().expect("a schema");
    assert_eq!(schema.name, "everything");
    assert_eq!(Everything::FIXED_SIZE, RowLayout::new(&schema).fixed_size());
    let column = |name: &str| {
        let found = schema.columns.iter().find(|column| column.name == name);
        found.expect("a column").clone()
    };
    let u = Column::new("u", ColumnType::String { max: Some(10) }).with_default("none");
    assert_eq!(column("u"), u);
    assert_eq!(column("s"), Column::new("s", ColumnType::Binary(2)).nullable());
    assert_eq!(column("t").column_type, <[[i16; 2]; 3]>::column_type());
    let outer = column("outer");
    let ColumnType::Struct(fields) = outer.column_type else { panic!("a struct") };
    assert!(outer.nullable);
    assert_eq!(fields[2].name, "kind");
    assert_eq!(fields[2].default, Some(DefaultValue::Signed(3)));
}

#[test]
fn storage_is_memory_unless_it_is_said() {
    #[derive(Record)]
    #[record(storage = paged)]
    struct Paged {
        a: u32,
    }
    #[derive(Record)]
    #[record(storage = memory)]
    struct InMemory {
        a: u32,
    }
    assert_eq!(Paged::schema().storage, TableStorage::Paged);
    assert_eq!(InMemory::schema().storage, TableStorage::Memory);
    assert_eq!(Everything::schema().storage, TableStorage::Memory);
}

#[test]
fn what_does_not_fit_is_named_by_its_path() {
    let inner = Inner { flag: true, text: "", depth: None };
    let small = Small { price: Decimal(999), inner, outer: None };
    assert_eq!(small.encoded_len().map(|_| ()), Ok(()));
    let priced = Small { price: Decimal(1000), ..small.clone() };
    assert_eq!(priced.encoded_len(), Err(RowError::ValueOutOfRange { column: "price".into() }));
    let samples = VectorRef::from(&[0; 5]);
    let outer = Some(Outer { samples, inner: None, r#type: 0 });
    let column = "outer.samples".into();
    let expected = Err(RowError::ValueTooLong { column, len: 5, max: 4 });
    assert_eq!(Small { outer, ..small }.encoded_len(), expected);
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Small<'a> {
    price: Decimal<3, 2>,
    inner: Inner<'a>,
    outer: Option<Outer<'a>>,
}

#[test]
fn rows_of_another_layout_are_refused() {
    assert!(Small::decode_checked(&[0; 3]).is_none());
}
