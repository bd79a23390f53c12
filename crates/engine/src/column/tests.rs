//! Whatever the values, a block gives rows back byte for byte, and its columns read as the rows do.

use proptest::prelude::*;
use remanent_schema::{Column, ColumnType, RowLayout, TableSchema, Value};

use super::block::{Block, EncodedBlock, HEADS_AT};
use super::check::is_well_formed;
use super::ends::{Ends, NARROW, WIDE};
use super::head::{ALL_NULL, CONSTANT, DICTIONARY, FSST, OFFSETS, PLAIN, STRINGS};
use super::sketch::DistinctSketch;
use super::view::{Encoding, FrozenColumn, integer_of};
use super::zones::Zones;
use crate::memory::scratch::aligned_copy;

/// The rows as a block, in memory that begins where a block may.
fn block_of<'m>(
    layout: &RowLayout,
    rows: &[Option<Vec<u8>>],
    memory: &'m mut Vec<u128>,
) -> &'m [u8] {
    let rows: Vec<_> = rows.iter().map(|row| row.as_deref()).collect();
    let encoded = EncodedBlock::of_rows(layout, &rows).expect("it is small enough");
    let mut bytes = vec![0; encoded.len()];
    encoded.write(&mut bytes);
    aligned_copy(&bytes, memory)
}

fn row(layout: &RowLayout, values: &[Option<Value<'_>>]) -> Vec<u8> {
    let mut row = vec![0; layout.encoded_len(values).expect("the values fit")];
    layout.encode(values, &mut row).expect("the values fit");
    row
}

/// Checks a block against the rows that it was made of.
fn check(layout: &RowLayout, rows: &[Option<Vec<u8>>]) {
    let mut memory = Vec::new();
    let bytes = block_of(layout, rows, &mut memory);
    assert!(is_well_formed(bytes, layout));
    let block = Block::new(bytes);
    assert_eq!(block.rows() as usize, rows.len());
    for (i, row) in (0..).zip(rows) {
        assert_eq!(block.has(i), row.is_some());
        let Some(row) = row else { continue };
        let mut out = vec![0xaa; block.row_len(layout, i)];
        block.write_row(layout, i, &mut out);
        assert_eq!(&out, row, "row {i}");
        let mut room = Vec::new();
        for (leaf, of) in layout.leaves().iter().enumerate() {
            let column = FrozenColumn::new(block.column(leaf), &of.column_type);
            let (value, expected) =
                (column.value(i as usize, &mut room), layout.read_value(row, leaf));
            assert_eq!(value.to_string(), expected.to_string(), "{} of row {i}", of.path);
            check_zone(&column, &value);
            check_zones(&column, i as usize, &value);
            check_nulls(&column, i as usize, &value);
        }
    }
}

fn check_zone(column: &FrozenColumn<'_>, value: &Value<'_>) {
    let (Some(min), Some(max)) = (column.min(), column.max()) else { return };
    let order = |value: &Value<'_>| match *value {
        Value::F64(number) => (number, String::new()),
        Value::F32(number) => (f64::from(number), String::new()),
        Value::String(text) => (0.0, text.to_owned()),
        Value::Bytes(bytes) => (0.0, bytes.iter().map(|byte| char::from(*byte)).collect()),
        Value::Date(days) => (f64::from(days), String::new()),
        Value::Decimal(number) => (number as f64, String::new()),
        Value::Bool(truth) => (f64::from(u8::from(truth)), String::new()),
        ref other => (other.as_integer().unwrap_or(0) as f64, String::new()),
    };
    if !value.is_null() {
        assert!(order(&min) <= order(value) && order(value) <= order(&max), "{value} in a zone");
    }
}

fn check_zones(column: &FrozenColumn<'_>, row: usize, value: &Value<'_>) {
    let (Some(zones), Some(number)) = (column.zones(), integer_of(value)) else { return };
    let (least, greatest) = zones.get(row / Zones::ROWS);
    assert!((least..=greatest).contains(&number), "{number} of row {row} in its zone");
}

fn check_nulls(column: &FrozenColumn<'_>, row: usize, value: &Value<'_>) {
    let marked = column.nulls().is_some_and(|bits| bits[row / 64] >> (row % 64) & 1 == 1);
    assert_eq!(marked, value.is_null());
}

fn layout_of(columns: Vec<Column>) -> RowLayout {
    let schema = TableSchema { columns, ..TableSchema::new("T") };
    RowLayout::new(&schema.build().expect("it is a schema"))
}

/// One column of every kind, each with and without nulls.
fn every_type() -> Vec<Column> {
    let types = [
        ColumnType::I8,
        ColumnType::I64,
        ColumnType::U16,
        ColumnType::U64,
        ColumnType::Bool,
        ColumnType::F32,
        ColumnType::F64,
        ColumnType::Decimal { precision: 12, scale: 2 },
        ColumnType::Decimal { precision: 38, scale: 0 },
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::Char(7),
        ColumnType::Binary(3),
        ColumnType::STRING,
        ColumnType::BLOB,
        ColumnType::Array { element: Box::new(ColumnType::I16), count: 2 },
        ColumnType::Vector { element: Box::new(ColumnType::U32), max: None },
    ];
    let mut columns = Vec::new();
    for (i, column_type) in types.into_iter().enumerate() {
        columns.push(Column::new(format!("c{i}"), column_type.clone()));
        columns.push(Column::new(format!("n{i}"), column_type).nullable());
    }
    let pair =
        vec![Column::new("a", ColumnType::I32), Column::new("b", ColumnType::STRING).nullable()];
    columns.push(Column::new("pair", ColumnType::Struct(pair)).nullable());
    columns
}

/// A row whose values are drawn from a range of this width, or null.
fn values<'v>(
    layout: &'v RowLayout,
    draws: &[u64],
    texts: &'v [String],
    lists: &'v [Vec<Value<'v>>],
    width: u64,
) -> Vec<Option<Value<'v>>> {
    let leaves = layout.leaves().iter().zip(draws.iter().cycle().zip(0_u32..));
    let value = |(leaf, (&draw, i)): (&remanent_schema::Leaf, (&u64, u32))| {
        let number = draw.rotate_left(i) % width;
        let text = texts[number as usize % texts.len()].as_str();
        if leaf.nullable && leaf.path != "pair.a" && draw.rotate_right(i).is_multiple_of(4) {
            return Some(Value::Null);
        }
        Some(match &leaf.column_type {
            ColumnType::I8 => Value::I8(number as i8),
            ColumnType::I64 => Value::I64((number as i64).wrapping_sub(1 << 40)),
            ColumnType::I32 => Value::I32(number as i32),
            ColumnType::U16 => Value::U16(number as u16),
            ColumnType::U64 => Value::U64(u64::MAX - number),
            ColumnType::Bool => Value::Bool(number.is_multiple_of(2)),
            ColumnType::F32 => Value::F32(number as f32 / 3.0),
            ColumnType::F64 => Value::F64(-(number as f64) / 7.0),
            ColumnType::Decimal { precision: 12, .. } => {
                Value::Decimal(i128::from(number % 999_999_999_999))
            }
            ColumnType::Decimal { .. } => Value::Decimal(i128::from(number) << 62),
            ColumnType::Date => Value::Date(number as i32),
            ColumnType::Timestamp => Value::Timestamp(number as i64),
            ColumnType::Char(_) => Value::String(&text[..text.len().min(7)]),
            ColumnType::Binary(_) => {
                Value::Bytes(&b"abcdefghijklmnop"[number as usize % 13..][..3])
            }
            ColumnType::String { .. } => Value::String(text),
            ColumnType::Blob { .. } => Value::Bytes(text.as_bytes()),
            ColumnType::Array { .. } | ColumnType::Vector { .. } => {
                Value::List(&lists[number as usize % lists.len()])
            }
            _ => Value::Bool(true),
        })
    };
    leaves.map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn rows_of_every_type_come_back(
        draws in prop::collection::vec(prop::option::weighted(0.9, any::<[u64; 3]>()), 1..200),
        texts in prop::collection::vec("[a-z ]{0,12}", 1..40),
        width in prop::sample::select(vec![1, 2, 200, 70_000, 1 << 25, 1 << 33, u64::MAX]),
    ) {
        let layout = layout_of(every_type());
        let lists: Vec<Vec<Value<'_>>> =
            (0..5).map(|i| vec![Value::I16(i), Value::I16(-i)]).collect();
        let list_of = |list: &Vec<Value<'_>>| list.iter().map(|it| match it {
            Value::I16(number) => Value::I32(i32::from(*number).abs()),
            other => panic!("{other}"),
        }).collect::<Vec<_>>();
        let positive: Vec<Vec<Value<'_>>> = lists.iter().map(list_of).collect();
        let rows: Vec<_> = draws
            .iter()
            .map(|draw| {
                let row_of = |draw: [u64; 3]| {
                    row(&layout, &values(&layout, &draw, &texts, &positive, width))
                };
                draw.map(row_of)
            })
            .collect();
        prop_assume!(rows.iter().any(Option::is_some));
        check(&layout, &rows);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        numbers in prop::collection::vec(any::<u8>(), 1..40),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let layout = layout_of(every_type());
        let texts = ["a".to_owned(), "bcd".to_owned(), String::new()];
        let lists = vec![vec![Value::I32(1), Value::I32(2)]];
        let rows: Vec<_> = numbers
            .iter()
            .map(|&n| Some(row(&layout, &values(&layout, &[n.into()], &texts, &lists, 300))))
            .collect();
        let mut memory = Vec::new();
        let mut bytes = block_of(&layout, &rows, &mut memory).to_vec();
        let len = bytes.len();
        for (place, byte) in places {
            bytes[place.index(len)] ^= byte;
        }
        let bytes = aligned_copy(&bytes, &mut memory);
        if is_well_formed(bytes, &layout) {
            read_all(&layout, Block::new(bytes));
        }
    }
}

/// Reads everything there is of a block that is well formed.
fn read_all(layout: &RowLayout, block: Block<'_>) {
    for row in (0..block.rows()).filter(|&row| block.has(row)) {
        let mut out = vec![0; block.row_len(layout, row)];
        block.write_row(layout, row, &mut out);
        assert!(layout.is_well_formed(&out));
    }
    let mut room = Vec::new();
    for (leaf, of) in layout.leaves().iter().enumerate() {
        let column = FrozenColumn::new(block.column(leaf), &of.column_type);
        let _ = (column.min(), column.max());
        (0..block.rows()).filter(|&row| block.has(row)).for_each(|row| {
            let _ = column.value(row as usize, &mut room);
        });
        for range in block.evictable(leaf).iter().filter(|_| block.is_orderly()) {
            assert!(range.start <= range.end && range.end <= block.bytes().len(), "{range:?}");
        }
    }
}

#[test]
fn no_damaged_head_makes_a_reader_panic() {
    let layout = layout_of(every_type());
    let lists = vec![vec![Value::I32(1), Value::I32(2)]];
    let mut passed = 0;
    // Empty text has no place in the block; constants, dictionaries and offsets.
    for (texts, numbers) in [([""; 2], 0..1), (["", "bcd"], 0..9), (["a", "bcd"], 250..290)] {
        let texts = texts.map(str::to_owned);
        let rows: Vec<_> = numbers
            .map(|number| Some(row(&layout, &values(&layout, &[number], &texts, &lists, 300))))
            .collect();
        let mut memory = Vec::new();
        let whole = block_of(&layout, &rows, &mut memory).to_vec();
        let heads = HEADS_AT + layout.leaves().len() * super::head::HEAD_SIZE;
        for (place, byte) in (0..heads).flat_map(|place| [1, 0x17, 0xff].map(|byte| (place, byte)))
        {
            let mut bytes = whole.clone();
            bytes[place] ^= byte;
            let bytes = aligned_copy(&bytes, &mut memory);
            if is_well_formed(bytes, &layout) {
                passed += 1;
                read_all(&layout, Block::new(bytes));
            }
        }
    }
    assert!(passed > 100, "what a head does not use may be anything");
}

/// The encoding of a column of these values.
fn encoding_of(column: Column, values: impl Iterator<Item = Value<'static>>) -> (u32, u32) {
    let layout = layout_of(vec![column]);
    let rows: Vec<_> = values.map(|value| Some(row(&layout, &[Some(value)]))).collect();
    check(&layout, &rows);
    let mut memory = Vec::new();
    let head = Block::new(block_of(&layout, &rows, &mut memory)).column(0).head;
    (head.encoding(), head.width())
}

#[test]
fn the_narrowest_encoding_is_chosen() {
    let i64s = |f: fn(i64) -> i64| {
        encoding_of(Column::new("a", ColumnType::I64), (0..5000).map(move |i| Value::I64(f(i))))
    };
    assert_eq!(i64s(|_| 7), (CONSTANT, 0));
    assert_eq!(i64s(|i| -100 + i % 256), (OFFSETS, 1));
    assert_eq!(i64s(|i| i % 257), (OFFSETS, 2));
    assert_eq!(i64s(|i| i * 14), (OFFSETS, 3));
    assert_eq!(i64s(|i| if i < 4999 { i } else { (1 << 24) - 1 }), (OFFSETS, 3));
    assert_eq!(i64s(|i| if i < 4999 { i } else { 1 << 24 }), (OFFSETS, 4));
    assert_eq!(i64s(|i| i << 40), (PLAIN, 8));
    assert_eq!(i64s(|i| (i % 10) << 40), (DICTIONARY, 1));
    let texts = |f: fn(usize) -> String| {
        let values = (0..5000).map(move |i| Value::String(f(i).leak()));
        encoding_of(Column::new("a", ColumnType::STRING), values)
    };
    assert_eq!(texts(|_| "Ulm".to_owned()), (CONSTANT, 0));
    assert_eq!(texts(|i| format!("{:05}", i % 300)), (DICTIONARY, 2));
    assert_eq!(texts(|i| format!("number {i}")), (STRINGS, NARROW));
    let long = |len: usize| {
        let values = (0..100).map(move |i| format!("{i:02}").repeat(if i == 50 { len } else { 1 }));
        let values = values.map(|text| Value::Bytes(text.leak().as_bytes()));
        encoding_of(Column::new("a", ColumnType::BLOB), values)
    };
    // The line of 30 places that says where the long one ends begins 40 bytes before it.
    assert_eq!(long((1 << 15) - 29), (STRINGS, NARROW));
    assert_eq!(long((1 << 15) - 28), (STRINGS, WIDE));
    let nulls = (0..10).map(|_| Value::Null);
    assert_eq!(encoding_of(Column::new("a", ColumnType::F64).nullable(), nulls), (ALL_NULL, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn ends_come_back(lengths in prop::collection::vec(0..5000_u32, 0..200), long in 0..3_u32) {
        let longer = lengths.iter().enumerate().map(|(i, len)| match i {
            70 => len << (6 * long),
            _ => *len,
        });
        let places: Vec<u32> = std::iter::once(0)
            .chain(longer.scan(0, |end, len| { *end += len; Some(*end) }))
            .collect();
        let (bytes, width) = super::ends::encode_ends(&places);
        let texts = places.len() - 1;
        prop_assert_eq!(bytes.len(), super::ends::size_of_ends(texts, width));
        let mut memory = Vec::new();
        let ends = Ends::read(aligned_copy(&bytes, &mut memory), width);
        for (text, bounds) in places.windows(2).enumerate() {
            prop_assert_eq!(ends.range(text), bounds[0] as usize..bounds[1] as usize);
        }
        prop_assert_eq!(ends.start(texts), places[texts] as usize);
    }
}

#[test]
fn a_dictionary_is_searched_and_sorted() {
    let layout = layout_of(vec![Column::new("a", ColumnType::STRING)]);
    let names = ["pear", "apple", "fig"];
    let rows: Vec<_> =
        (0..100).map(|i| Some(row(&layout, &[Some(Value::String(names[i % 3]))]))).collect();
    let mut memory = Vec::new();
    let block = Block::new(block_of(&layout, &rows, &mut memory));
    let column = FrozenColumn::new(block.column(0), &ColumnType::STRING);
    let Encoding::Dictionary { values, codes, .. } = column.encoding() else {
        panic!("{column:?}")
    };
    let sorted: Vec<_> = (0..3).map(|code| values.get(code).to_string()).collect();
    assert_eq!(sorted, ["apple", "fig", "pear"]);
    assert_eq!(values.find(&Value::String("fig")), Ok(1));
    assert_eq!(values.find(&Value::String("grape")), Err(2));
    assert_eq!(values.offsets(), Some(&[0, 5, 8, 12][..]));
    assert_eq!(&codes[..3], [2, 0, 1]);
}

/// A remark by its number: a few words over and over, now and then what is in no sample.
fn remark(i: usize) -> String {
    let words = ["carefully", "final", "deposits", "sleep", "across", "the", "ironic", "packages"];
    let chosen = (0..4 + i % 5).map(|place| words[(i * 7 + place * place * 3 + i / 11) % 8]);
    let text = chosen.collect::<Vec<_>>().join(" ");
    match i % 97 {
        0 => String::new(),
        1 => format!("{text} \u{1f980} naïve \0\u{1}\u{7f}ÿ{i}"),
        2 => "x".repeat(1 + i % 20),
        _ => format!("{text} {i}"),
    }
}

fn remarks(count: usize) -> (RowLayout, Vec<Option<Vec<u8>>>) {
    let columns = vec![
        Column::new("a", ColumnType::STRING),
        Column::new("b", ColumnType::I32),
        Column::new("c", ColumnType::STRING).nullable(),
    ];
    let layout = layout_of(columns);
    let row_of = |i: usize| {
        let (text, other) = (remark(i), remark(i * 31 + 5));
        let other = if i % 10 == 3 { Value::Null } else { Value::String(&other) };
        row(&layout, &[Some(Value::String(&text)), Some(Value::I32(i as i32)), Some(other)])
    };
    let rows = (0..count).map(|i| (i % 13 != 4).then(|| row_of(i))).collect();
    (layout, rows)
}

#[test]
fn text_in_symbols_comes_back() {
    let (layout, rows) = remarks(3000);
    check(&layout, &rows);
    let mut memory = Vec::new();
    let block = Block::new(block_of(&layout, &rows, &mut memory));
    for column in [0, 2] {
        let head = block.column(column).head;
        assert_eq!(head.encoding(), FSST);
        let text: usize = rows.iter().flatten().map(|row| row.len() - layout.fixed_size()).sum();
        let own = head.text_len() as usize + head.value_size() as usize;
        assert!(own * 5 < text, "{own} of {text} bytes");
    }
}

#[test]
fn text_that_does_not_repeat_stays_as_it_is() {
    let layout = layout_of(vec![Column::new("a", ColumnType::STRING)]);
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + (state >> 33) as u8 % 94)
    };
    let texts: Vec<String> = (0..2000).map(|_| (0..30).map(|_| letter()).collect()).collect();
    let rows: Vec<_> =
        texts.iter().map(|text| Some(row(&layout, &[Some(Value::String(text))]))).collect();
    let mut memory = Vec::new();
    let block = Block::new(block_of(&layout, &rows, &mut memory));
    assert_eq!(block.column(0).head.encoding(), STRINGS);
    check(&layout, &rows);
}

#[test]
fn no_damaged_symbols_make_a_reader_panic() {
    let (layout, rows) = remarks(900);
    let mut memory = Vec::new();
    let whole = block_of(&layout, &rows, &mut memory).to_vec();
    let block = Block::new(&whole);
    let head = block.column(0).head;
    let (table, codes) = (head.values() as usize, head.text() as usize);
    // The heads, the table of symbols, and places all over the codes and where they end.
    let heads = 0..HEADS_AT + 3 * super::head::HEAD_SIZE;
    let symbols = table..table + head.value_size() as usize;
    let others = (head.data() as usize..whole.len()).step_by(601);
    let mut passed = 0;
    for (place, byte) in
        heads.chain(symbols).chain(others).flat_map(|place| [(place, 0xff), (place, 1)])
    {
        let mut bytes = whole.clone();
        bytes[place] ^= byte;
        let bytes = aligned_copy(&bytes, &mut memory);
        if !is_well_formed(bytes, &layout) {
            continue;
        }
        passed += 1;
        let block = Block::new(bytes);
        let columns: Vec<_> = (layout.leaves().iter().enumerate())
            .map(|(leaf, of)| FrozenColumn::new(block.column(leaf), &of.column_type))
            .collect();
        let mut room = Vec::new();
        for row in (0..block.rows()).filter(|&row| block.has(row)) {
            let mut out = vec![0; block.row_len(&layout, row)];
            block.write_row(&layout, row, &mut out);
            assert!(layout.is_well_formed(&out));
            columns.iter().for_each(|column| {
                let _ = column.value(row as usize, &mut room);
            });
        }
        columns.iter().for_each(|column| {
            let _ = (column.min(), column.max());
        });
    }
    assert!(passed > 10, "most codes are those of other text");
    // A code of no symbol, and an escape with nothing behind it.
    for bad in [head.value_count() as u8, 255] {
        let mut bytes = whole.clone();
        let end = codes + head.text_len() as usize;
        bytes[end - 2..end].copy_from_slice(&[0, bad]);
        assert!(!is_well_formed(aligned_copy(&bytes, &mut memory), &layout));
    }
}

fn encoding_tag(column: &FrozenColumn<'_>) -> u32 {
    match column.encoding() {
        Encoding::Constant(Value::Null) => ALL_NULL,
        Encoding::Constant(_) => CONSTANT,
        Encoding::Offsets { .. } => OFFSETS,
        Encoding::Plain { .. } => PLAIN,
        Encoding::Dictionary { .. } => DICTIONARY,
        Encoding::Strings { .. } => STRINGS,
        Encoding::Fsst { .. } => FSST,
    }
}

/// Columns of one type with these values of rows 0 to `rows`, frozen, given to `visit`.
fn with_column(
    of: Column,
    rows: usize,
    value: impl Fn(usize) -> Option<Value<'static>>,
    visit: impl FnOnce(&FrozenColumn<'_>),
) {
    let layout = layout_of(vec![of]);
    let rows: Vec<_> = (0..rows).map(|i| Some(row(&layout, &[value(i)]))).collect();
    check(&layout, &rows);
    let mut memory = Vec::new();
    let block = Block::new(block_of(&layout, &rows, &mut memory));
    visit(&FrozenColumn::new(block.column(0), &layout.leaves()[0].column_type));
}

#[test]
fn sketches_count_values_in_every_encoding() {
    let many = 20_000;
    let text = |i: usize, long: bool| -> &'static str {
        let remark = if long { "a remark that is repeated in all of the texts" } else { "" };
        Box::leak(format!("{i}{remark}").into_boxed_str())
    };
    type Make<'m> = &'m dyn Fn(usize) -> Value<'static>;
    let decimal = ColumnType::Decimal { precision: 38, scale: 2 };
    let cases: [(ColumnType, u32, Make<'_>); 16] = [
        (ColumnType::I64, CONSTANT, &|_| Value::I64(7)),
        (ColumnType::I64, OFFSETS, &|i| Value::I64((i % 200) as i64 - 100)),
        (ColumnType::I32, OFFSETS, &|i| Value::I32((i % 5000) as i32 * 3)),
        (ColumnType::I64, OFFSETS, &|i| Value::I64(i as i64 * 100)),
        (ColumnType::I64, PLAIN, &|i| Value::I64(i as i64 - (1 << (i % 60)))),
        (ColumnType::F64, PLAIN, &|i| Value::F64(i as f64 / 7.0)),
        (ColumnType::I64, DICTIONARY, &|i| Value::I64(1 << (i % 50) << (i % 2))),
        (ColumnType::STRING, DICTIONARY, &|i| Value::String(["x", "y", "zz"][i % 3])),
        (ColumnType::STRING, STRINGS, &|i| Value::String(text(i, false))),
        (ColumnType::U64, OFFSETS, &|i| Value::U64(u64::MAX - i as u64 * 9)),
        (ColumnType::U64, PLAIN, &|i| Value::U64(u64::MAX / (i as u64 + 1))),
        (decimal.clone(), OFFSETS, &|i| Value::Decimal((1 << 90) + i as i128 * 70)),
        (decimal, PLAIN, &|i| Value::Decimal(-(i as i128) << 80)),
        (ColumnType::Timestamp, PLAIN, &|i| Value::Timestamp(i as i64 * 86_400_000_000)),
        (ColumnType::F32, PLAIN, &|i| Value::F32(i as f32 / 3.0)),
        (ColumnType::Char(8), STRINGS, &|i| Value::String(text(i, false))),
    ];
    for (of, encoding, make) in cases {
        let mut own = DistinctSketch::default();
        let mut different: Vec<_> = (0..many).map(|i| make(i).to_string()).collect();
        (0..many).for_each(|i| own.add(&make(i)));
        different.sort();
        different.dedup();
        with_column(
            Column::new("a", of.clone()),
            many,
            |i| Some(make(i)),
            |column| {
                assert_eq!(encoding_tag(column), encoding, "{of:?}");
                let sketch = column.sketch().expect("there are rows enough");
                assert_eq!(sketch, own, "{of:?}, by its values");
                let share = sketch.estimate() / different.len() as f64;
                assert!((0.8..1.25).contains(&share), "{share} of {} {of:?}", different.len());
            },
        );
    }
    let long = |i: usize| Some(Value::String(text(i % 9000, true)));
    with_column(Column::new("a", ColumnType::STRING), many, long, |column| {
        assert_eq!(encoding_tag(column), FSST);
        let estimate = column.sketch().expect("there are rows enough").estimate();
        assert!((7500.0..10_500.0).contains(&estimate), "{estimate} of 9000");
    });
}

#[test]
fn sketches_of_few_values_are_near_and_of_none_nothing() {
    assert_eq!(DistinctSketch::default().estimate(), 0.0);
    for count in [1, 2, 3, 10, 40, 100] {
        let mut sketch = DistinctSketch::default();
        (0..1000).for_each(|i| sketch.add(&Value::I64(i % count)));
        sketch.add(&Value::Null);
        let wrong = (sketch.estimate() - count as f64).abs();
        assert!(wrong < 1.0_f64.max(count as f64 * 0.15), "{} of {count}", sketch.estimate());
    }
    let null = |_| None;
    with_column(Column::new("a", ColumnType::I64).nullable(), 2000, null, |column| {
        assert_eq!(column.sketch().map(|sketch| sketch.estimate()), Some(0.0));
    });
    with_column(
        Column::new("a", ColumnType::I64),
        1000,
        |_| Some(Value::I64(1)),
        |column| {
            assert_eq!(column.sketch(), None);
        },
    );
}

#[test]
fn zones_are_there_where_they_tell_rows_apart() {
    type Make<'m> = &'m dyn Fn(i64) -> Value<'static>;
    let cases: [(ColumnType, Make<'_>, bool); 6] = [
        (ColumnType::I64, &|i| Value::I64(i - 30_000), true),
        (ColumnType::U64, &|i| Value::U64(u64::MAX - (i as u64) * 1_000_000_007), true),
        (ColumnType::I64, &|i| Value::I64(i * 1_000_000_007 - (1 << 62)), true),
        (ColumnType::Timestamp, &|i| Value::Timestamp(i * 60_000_000 + i % 7), true),
        (ColumnType::I64, &|i| Value::I64(i * 7919 % 65_521), false),
        (ColumnType::I64, &|i| Value::I64(i / 300), false),
    ];
    for (of, make, has) in cases {
        let value = |i: usize| Some(make(i as i64));
        with_column(Column::new("a", of.clone()), 50_000, value, |column| {
            assert_eq!(column.zones().is_some(), has, "{of:?}");
            let Some(zones) = column.zones() else { return };
            assert_eq!(zones.len(), 25);
            let ends = [0, 2047].map(|i| integer_of(&make(i)).expect("it is a number"));
            assert_eq!(zones.get(0), (ends[0].min(ends[1]), ends[0].max(ends[1])));
        });
    }
    // Nulls are not in the way.
    let some = |i: usize| (!i.is_multiple_of(3)).then_some(Value::I64(i as i64));
    with_column(Column::new("a", ColumnType::I64).nullable(), 10_000, some, |column| {
        assert_eq!(column.zones().map(|zones| zones.len()), Some(5));
    });
}

/// Zones that do not hold a row, and registers that no hash makes, are refused.
#[test]
fn wrong_zones_and_sketches_are_damage() {
    let layout = layout_of(vec![Column::new("a", ColumnType::I64)]);
    let rows: Vec<_> = (0..5000).map(|i| Some(row(&layout, &[Some(Value::I64(i * 10))]))).collect();
    let mut memory = Vec::new();
    let bytes = block_of(&layout, &rows, &mut memory).to_vec();
    let block = Block::new(&bytes);
    let (zones, sketches) = (block.column(0).head.values() as usize, block.sketches_at() as usize);
    let refused = |at: usize, byte: u8| {
        let (mut bytes, mut memory) = (bytes.clone(), Vec::new());
        bytes[at] = byte;
        !is_well_formed(aligned_copy(&bytes, &mut memory), &layout)
    };
    assert!(zones > 0 && sketches > 0);
    // The least of the first zone is 0, of the second 20,480.
    assert!(refused(zones, 1) && refused(zones + 8 + 1, 0xff) && refused(zones + 12, 0));
    assert!(refused(sketches, 58) && !refused(sketches, 57));
    // Offsets of zones and sketches that lead out of the block, or where no array begins.
    assert!(refused(HEADS_AT + 40 + 3, 1) && refused(HEADS_AT + 40, 1));
    assert!(refused(32 + 3, 1) && refused(32, 1) && refused(32 + 7, 0xff));
}
