//! Rows that a filter leaves are those that meet its predicates, one by one, whatever the encoding.

mod world;

use std::sync::Arc;

use remanent_engine::schema::ColumnType;
use remanent_exec::{
    Decoded, Evaluation, KeySet, KeySketch, KeyTally, SegmentFilter, WantedNumbers, consecutive,
};

use world::asked::{Asked, Given};
use world::check::{assert_same, check, left};
use world::columns::{Nulls, ROWS, Shape, every, numbers};
use world::random::Random;
use world::{Cell, World, cells_of};

/// Numbers around those of a column, and at the ends of everything.
fn bounds(world: &World) -> Vec<i128> {
    let all = world.cells.iter().filter_map(|cell| match cell {
        Cell::Number(number) => Some(*number),
        _ => None,
    });
    let all: Vec<i128> = all.collect();
    let (least, greatest) = (*all.iter().min().expect("one"), *all.iter().max().expect("one"));
    let middle = least / 2 + greatest / 2;
    vec![i128::MIN, least - 1, least, least + 1, middle, greatest - 1, greatest, i128::MAX]
}

#[test]
fn ranges_over_numbers_of_every_encoding() {
    for (seed, shape) in numbers().iter().enumerate() {
        for nulls in [Nulls::No, Nulls::Some] {
            let world = shape.build(ROWS, nulls, seed as u64);
            let bounds = bounds(&world);
            let mut encoded = 0;
            for low in &bounds {
                for high in &bounds {
                    let asked = Asked::Between(*low, *high);
                    encoded +=
                        usize::from(check(&world, &asked, shape.name) == Evaluation::Encoded);
                }
            }
            let is_encoded = shape.encoding.starts_with("offsets")
                || shape.encoding.starts_with("dictionary")
                || shape.encoding.starts_with("plain")
                || nulls == Nulls::No;
            assert_eq!(encoded > 0, is_encoded, "{} {nulls:?}", shape.name);
        }
    }
}

#[test]
fn whatever_is_asked_of_codes_is_answered_by_codes() {
    for (seed, shape) in every().iter().enumerate() {
        for nulls in [Nulls::No, Nulls::Some] {
            let world = shape.build(ROWS, nulls, seed as u64);
            let mut random = Random(seed as u64 ^ 0xa5a5);
            // Values of the column, of its like, and none.
            let mut cells = vec![Cell::Null, Cell::Number(0), Cell::text("AIR"), Cell::float(1.5)];
            cells.extend((0..9).map(|row| shape.cell(&mut random, row)));
            if cells.iter().any(|cell| matches!(cell, Cell::Bytes(_))) {
                // Nobody compares them with text.
                cells.retain(|cell| !matches!(cell, Cell::Text(_)));
            }
            for _ in 0..25 {
                let asked = Asked::draw(&cells, &mut random, 2);
                let evaluation = check(&world, &asked, shape.name);
                let is_coded = shape.encoding == "offsets 1"
                    || shape.encoding.starts_with("dictionary")
                    || shape.encoding == "constant" && nulls == Nulls::No;
                if is_coded {
                    assert_ne!(evaluation, Evaluation::Decoded, "{}: {asked:?}", shape.name);
                }
            }
        }
    }
}

#[test]
fn wide_offsets_answer_sets_of_numbers_and_nothing_else() {
    for (seed, shape) in numbers().iter().enumerate() {
        if !["offsets 2", "offsets 3", "offsets 4"].contains(&shape.encoding) {
            continue;
        }
        let world = shape.build(ROWS, Nulls::Some, seed as u64);
        let number = world.cells.iter().find(|cell| **cell != Cell::Null).expect("one").clone();
        let list = Asked::In(vec![number.clone(), Cell::Null]);
        let equal = Asked::Equal(number.clone());
        let other = Asked::Not(Box::new(equal.clone()));
        let all_numbers = || world.cells.iter().filter(|cell| **cell != Cell::Null).cloned();
        let few = Asked::In(all_numbers().step_by(1_200).take(6).collect());
        for asked in [equal, other, few] {
            assert_eq!(check(&world, &asked, shape.name), Evaluation::Encoded, "{asked:?}");
        }
        // More ranges than are compared one after the other.
        let many = Asked::In(all_numbers().step_by(20).take(300).collect());
        for asked in [list, Asked::IsNull, many] {
            assert_eq!(check(&world, &asked, shape.name), Evaluation::Decoded, "{asked:?}");
        }
    }
}

#[test]
fn several_predicates_leave_what_meets_all() {
    let shapes: Vec<Shape> = every();
    for (seed, shape) in shapes.iter().enumerate() {
        let world = shape.build(ROWS, Nulls::Some, seed as u64);
        // The last first: rows are counted without those that are gone.
        world.delete(8_500);
        world.delete(7);
        let mut random = Random(seed as u64);
        let cells: Vec<Cell> = (0..9).map(|row| shape.cell(&mut random, row)).collect();
        for _ in 0..5 {
            let mut filter = SegmentFilter::default();
            let mut kept = Vec::new();
            for _ in 0..3 {
                let not = Box::new(Asked::draw(&cells, &mut random, 1));
                let given =
                    Given::new(Asked::Or(Box::new(Asked::IsNull), Box::new(Asked::Not(not))));
                let evaluation = world.show(|rows, _| filter.add(rows, world.column(), &given));
                if evaluation.expect("its column") == Evaluation::Encoded {
                    kept.push(given.asked);
                }
            }
            let meets = |row: &usize| {
                let is_there = ![7, 8_500].contains(row);
                is_there && kept.iter().all(|asked| asked.of(&world.cells[*row]) == Some(true))
            };
            let expected: Vec<_> = (0..ROWS).filter(meets).collect();
            assert_same(&left(&world, &filter), &expected, &format!("{}: {kept:?}", shape.name));
        }
    }
}

/// Whether a column of this type can have a number.
fn is_of(column_type: &ColumnType, number: i128) -> bool {
    let values = consecutive(number, 1, column_type).expect("a type of numbers");
    cells_of(&Decoded { values, valid: None }, &[]) == [Cell::Number(number)]
}

#[test]
fn keys_of_joins_over_numbers_of_every_encoding() {
    for (seed, shape) in numbers().iter().enumerate() {
        let is_integer =
            !matches!(shape.column_type, ColumnType::Decimal { .. } | ColumnType::Bool);
        if !is_integer {
            continue;
        }
        for nulls in [Nulls::No, Nulls::Some] {
            let world = shape.build(ROWS, nulls, seed as u64);
            let offsets = shape.encoding.starts_with("offsets");
            let [_, _, least, _, middle, _, greatest, _] = bounds(&world)[..] else {
                unreachable!()
            };
            for first in [least - 200, least, middle, greatest - 5, greatest, greatest + 1] {
                let wanted: Vec<_> = (0..9).map(|step| first + step * step * 3).collect();
                let listed = wanted.iter().map(|number| i64::try_from(*number));
                let Ok(listed) = listed.collect::<Result<Vec<_>, _>>() else { continue };
                let keys = KeySet::of_numbers(&listed).expect("they are close");
                for number in first - 70..first + 270 {
                    // What the type cannot have is nowhere, and may be among the keys.
                    if is_of(&shape.column_type, number) {
                        assert_eq!(keys.has(number), wanted.contains(&number), "{number}");
                    }
                }
                let keys = WantedNumbers::Set(Arc::new(keys));
                check_keys(&world, &keys, &wanted, offsets, shape.name);
                let sketch = KeySketch::of_numbers(&listed).expect("there are numbers");
                let keys = WantedNumbers::Sketch(Arc::new(sketch));
                check_keys(&world, &keys, &wanted, offsets, shape.name);
            }
        }
    }
}

fn check_keys(
    world: &World,
    keys: &WantedNumbers,
    listed: &[i128],
    is_offsets: bool,
    context: &str,
) {
    let mut filter = SegmentFilter::default();
    let tally = Arc::new(KeyTally::default());
    let evaluation = world.show(|rows, _| filter.add_keys(rows, world.column(), keys, &tally));
    let meets = |row: &usize| match world.cells[*row] {
        Cell::Number(number) => keys.may_have(number),
        _ => false,
    };
    let expected: Vec<_> = (0..world.cells.len()).filter(meets).collect();
    match evaluation.expect("a column of the table") {
        // A sketch has numbers beyond its ends.
        Evaluation::NoRow => {
            let is_key = |cell: &Cell| matches!(cell, Cell::Number(it) if listed.contains(it));
            assert!(!world.cells.iter().any(is_key), "{context}");
        }
        Evaluation::Decoded => assert!(!is_offsets, "{context}"),
        Evaluation::Encoded => {
            let left = left(world, &filter);
            let is_key = |cell: &Cell| matches!(cell, Cell::Number(it) if listed.contains(it));
            // What a sketch has beside its keys is not looked for in zones beyond its ends.
            let mut missed = expected.iter().filter(|row| !left.contains(row));
            let is_sketch = matches!(keys, WantedNumbers::Sketch(_));
            assert!(missed.all(|row| is_sketch && !is_key(&world.cells[*row])), "{context}");
            // A constant: what is null is left to the join.
            assert!(!is_offsets || left.iter().all(|row| expected.contains(row)), "{context}");
        }
    }
}
