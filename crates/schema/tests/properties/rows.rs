//! Whatever the schema and the values: what is written is what is read, and an update gives the
//! row that encoding the changed values gives.

use crate::generate::{Dice, schema, value};
use proptest::prelude::*;
use remanent_schema::{Column, ColumnType, DefaultValue, RowLayout, Value};

proptest! {
    #![proptest_config(crate::cases(2000))]

    #[test]
    fn rows_read_as_they_were_written(seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let schema = schema(dice).build().expect("a schema");
        let layout = RowLayout::new(&schema);
        let (given, expected) = random_row(&schema.columns, dice);
        let row = encode(&layout, &given);
        prop_assert!(layout.is_well_formed(&row));
        for (leaf, value) in expected.iter().enumerate() {
            let path = &layout.leaves()[leaf].path;
            prop_assert_eq!(layout.read_value(&row, leaf), *value, "{}", path);
            prop_assert_eq!(layout.is_null(&row, leaf), value.is_null());
        }
        let again: Vec<_> =
            (0..expected.len()).map(|leaf| Some(layout.read_value(&row, leaf))).collect();
        prop_assert_eq!(encode(&layout, &again), row);
    }

    #[test]
    fn updates_give_what_encoding_gives(seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let schema = schema(dice).build().expect("a schema");
        let layout = RowLayout::new(&schema);
        let old_row = encode(&layout, &random_row(&schema.columns, dice).0);
        let (_, target) = random_row(&schema.columns, dice);
        // Some leaves change to another row's values; structs that come or go change with all
        // their leaves, so that the result is always a row.
        let mut values: Vec<_> =
            (0..target.len()).map(|leaf| Some(layout.read_value(&old_row, leaf))).collect();
        let mut changes = Vec::new();
        let all = dice.one_in(2);
        for (leaf, value) in target.iter().enumerate() {
            let target_leaf = &layout.leaves()[leaf];
            let dotted = target_leaf.path.contains('.') || target_leaf.is_presence();
            if all || (!dotted && dice.one_in(2)) {
                values[leaf] = Some(*value);
                changes.push((leaf, *value));
            }
        }
        if dice.one_in(2) {
            changes.reverse();
        }
        let mut updated = vec![0xaa; layout.updated_len(&old_row, &changes).expect("a length")];
        let len = layout.update(&old_row, &changes, &mut updated).expect("a row");
        prop_assert_eq!(len, updated.len());
        prop_assert_eq!(updated, encode(&layout, &values));
    }

    #[test]
    fn edits_one_by_one_give_what_encoding_gives(seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let schema = schema(dice).build().expect("a schema");
        let layout = RowLayout::new(&schema);
        let mut row = Vec::new();
        layout.blank_row(&mut row);
        for round in 0..2 {
            let (_, target) = random_row(&schema.columns, dice);
            let mut order: Vec<usize> = (0..target.len()).collect();
            // Structs come and go before their leaves are given; the rest in any order.
            order.sort_by_cached_key(|&leaf| match layout.leaves()[leaf].is_presence() {
                true => (0, leaf as u64),
                false => (1, dice.number()),
            });
            for leaf in order {
                let value = target[leaf];
                let inside_absent = value.is_null() && !layout.leaves()[leaf].is_presence()
                    && layout.leaves()[leaf].path.contains('.');
                let raw = layout.get_bytes(&row, leaf).map(<[u8]>::to_vec);
                if let Some(raw) = raw.filter(|_| !layout.leaves()[leaf].is_presence()) {
                    let before = row.clone();
                    prop_assert_eq!(layout.set_raw(&mut row, leaf, &raw), Ok(()));
                    prop_assert_eq!(&row, &before, "its own bytes change nothing");
                }
                let set = layout.set(&mut row, leaf, &value);
                prop_assert!(set.is_ok() || inside_absent, "{:?}", set);
                prop_assert!(layout.is_well_formed(&row));
            }
            let values: Vec<_> = target.iter().copied().map(Some).collect();
            prop_assert_eq!(&row, &encode(&layout, &values), "round {}", round);
        }
    }

    #[test]
    fn a_blank_row_has_the_defaults(seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let schema = schema(dice).build().expect("a schema");
        let layout = RowLayout::new(&schema);
        let mut row = vec![1, 2, 3];
        layout.blank_row(&mut row);
        prop_assert!(layout.is_well_formed(&row));
        let none = vec![None; layout.leaves().len()];
        if let Ok(len) = layout.encoded_len(&none) {
            let mut encoded = vec![0; len];
            // Where nothing is required, it is the row that encoding no values gives.
            if layout.encode(&none, &mut encoded).is_ok() {
                prop_assert_eq!(row, encoded);
            }
        }
    }

    #[test]
    fn no_bytes_make_the_check_panic(seed in any::<u64>(), noise in any::<Vec<u8>>()) {
        let dice = &mut Dice(seed);
        let schema = schema(dice).build().expect("a schema");
        let layout = RowLayout::new(&schema);
        let mut row = encode(&layout, &random_row(&schema.columns, dice).0);
        for byte in noise.iter().take(3) {
            let at = dice.below(row.len() as u64) as usize;
            row[at] = *byte;
        }
        for bytes in [row, noise] {
            if layout.is_well_formed(&bytes) {
                for leaf in 0..layout.leaves().len() {
                    let _ = layout.read_value(&bytes, leaf).to_string();
                }
            }
        }
    }
}

fn encode(layout: &RowLayout, values: &[Option<Value<'_>>]) -> Vec<u8> {
    let mut row = vec![0xaa; layout.encoded_len(values).expect("a length")];
    assert_eq!(layout.encode(values, &mut row).expect("a row"), row.len());
    row
}

/// The values given for each leaf, and what must be read.
fn random_row(
    columns: &[Column],
    dice: &mut Dice,
) -> (Vec<Option<Value<'static>>>, Vec<Value<'static>>) {
    let (mut given, mut expected) = (Vec::new(), Vec::new());
    fill(columns, false, dice, &mut given, &mut expected);
    (given, expected)
}

fn fill(
    columns: &[Column],
    absent: bool,
    dice: &mut Dice,
    given: &mut Vec<Option<Value<'static>>>,
    expected: &mut Vec<Value<'static>>,
) {
    for column in columns {
        let null = absent || (column.nullable && dice.one_in(3));
        if let ColumnType::Struct(fields) = &column.column_type {
            let presence = given.len();
            if column.nullable {
                given.push(Some(if null { Value::Null } else { Value::Bool(true) }));
                expected.push(given[presence].expect("just pushed"));
            }
            fill(fields, null, dice, given, expected);
            // Without a word about its presence, a struct is there if a value in it is.
            let implied = given[presence..].iter().skip(1).flatten().any(|value| !value.is_null());
            if column.nullable && implied != null && dice.one_in(2) {
                given[presence] = None;
            }
            continue;
        }
        let default = column.default.as_ref().map(leaked);
        let random = value(&column.column_type, dice);
        let (value_given, value_expected) = match null {
            true if absent && dice.one_in(2) => (None, Value::Null),
            true if default.is_none() && dice.one_in(2) => (None, Value::Null),
            true => (Some(Value::Null), Value::Null),
            false => match default {
                Some(default) if dice.one_in(2) => (None, default),
                _ => (Some(random), random),
            },
        };
        given.push(value_given);
        expected.push(value_expected);
    }
}

fn leaked(default: &DefaultValue) -> Value<'static> {
    Box::leak(Box::new(default.clone())).as_value()
}
