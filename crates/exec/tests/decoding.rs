//! What is decoded is what was put in, whatever the encoding, the rows asked for and the nulls.

mod world;

use remanent_engine::schema::ColumnType;
use remanent_engine::{Encoding, FrozenColumn};
use remanent_exec::{Dictionary, Rows, Run, Vector, consecutive, decode};

use world::columns::{Nulls, ROWS, Shape, every, numbers, texts};
use world::random::Random;
use world::{Cell, World, cells_of, encoding_of};

/// Rows of a column as cells, decoded with the column's dictionary and without.
fn decoded(column: &FrozenColumn<'_>, rows: Rows<'_>) -> Vec<Cell> {
    let alone = cells_of(&decode(column, None, rows), &[]);
    if let Encoding::Dictionary { values, .. } = column.encoding()
        && let Some((dictionary, text)) = Dictionary::of(column.column_type(), &values)
    {
        let by_views = cells_of(&decode(column, Some(&dictionary), rows), &text);
        assert_eq!(by_views, alone, "with views of the dictionary and without");
    }
    alone
}

fn check(world: &World, name: &str) {
    let cells = &world.cells;
    let last = cells.len();
    world.show(|_, column| {
        for (from, to) in [(0, last), (0, last.min(1)), (last / 3, last / 2), (last, last)] {
            let found = decoded(column, Rows::Stretch(from, to));
            assert_eq!(found, cells[from..to], "{name}: {from} to {to}");
        }
        let mut random = Random(last as u64);
        for len in [0, 1, 100] {
            let list: Vec<u32> = (0..len).map(|_| random.below(last as u64) as u32).collect();
            let expected: Vec<_> = list.iter().map(|row| cells[*row as usize].clone()).collect();
            assert_eq!(decoded(column, Rows::List(&list)), expected, "{name}: {list:?}");
        }
        let run = |from: usize, to: usize| Run { from: from as u32, to: to as u32 };
        let runs = [run(0, last / 4), run(last / 3, last / 3), run(last / 2, last)];
        let expected = runs.iter().flat_map(|run| &cells[run.range()]).cloned();
        let expected: Vec<_> = expected.collect();
        let rows = Rows::Runs { runs: &runs, len: expected.len() };
        assert_eq!(decoded(column, rows), expected, "{name}: {runs:?}");
    });
}

#[test]
fn every_encoding_gives_back_what_was_put_in() {
    for (seed, shape) in every().iter().enumerate() {
        for nulls in [Nulls::No, Nulls::Some] {
            check(&shape.build(ROWS, nulls, seed as u64), shape.name);
        }
    }
}

#[test]
fn each_encoding_is_among_the_columns() {
    let mut found: Vec<_> = every().iter().map(|shape| shape.encoding).collect();
    found.sort_unstable();
    found.dedup();
    let expected = [
        "constant",
        "dictionary 1",
        "dictionary 2",
        "fsst",
        "offsets 1",
        "offsets 2",
        "offsets 3",
        "offsets 4",
        "plain 16",
        "plain 4",
        "plain 5",
        "plain 8",
        "strings 2",
        "strings 4",
    ];
    assert_eq!(found, expected);
}

#[test]
fn segments_of_few_rows_and_odd_lengths() {
    // What has few rows may have another encoding: it is read all the same.
    for rows in [1, 2, 63, 64, 65, 127, 1023] {
        for (seed, shape) in every().into_iter().enumerate() {
            let mut random = Random(seed as u64);
            let cell = |row: usize| match row % 5 {
                4 => Cell::Null,
                _ => shape.cell(&mut random, row),
            };
            let world = World::new(shape.column_type.clone(), (0..rows).map(cell).collect());
            check(&world, shape.name);
        }
    }
}

#[test]
fn columns_in_which_all_is_null() {
    for Shape { column_type, name, .. } in every() {
        let world = World::new(column_type, vec![Cell::Null; 100]);
        world.show(|_, column| assert_eq!(encoding_of(column), "null", "{name}"));
        check(&world, name);
    }
}

#[test]
fn one_value_among_nulls() {
    for shape in numbers().into_iter().chain(texts()) {
        let mut cells = vec![Cell::Null; 131];
        cells[64] = shape.cell(&mut Random(1), 64);
        let world = World::new(shape.column_type.clone(), cells);
        world.show(|_, column| {
            let encoding = encoding_of(column);
            assert_eq!(encoding, "constant", "{}", shape.name);
        });
        check(&world, shape.name);
    }
}

#[test]
fn texts_of_all_lengths_around_that_of_a_view() {
    // Noise of these lengths: short ones stand in their views, long ones behind one another.
    let mut random = Random(3);
    let mut letter = |_| char::from(b'!' + random.below(90) as u8);
    let cells = (0..3000).map(|row| Cell::Text((0..row % 30).map(&mut letter).collect()));
    let world = World::new(ColumnType::STRING, cells.collect());
    world.show(|_, column| assert_eq!(encoding_of(column), "strings 2"));
    check(&world, "texts");
}

#[test]
fn consecutive_numbers_wrap_around_in_their_type() {
    let Some(Vector::I8(numbers)) = consecutive(126, 4, &ColumnType::I8) else { panic!("of I8") };
    assert_eq!(numbers, [126, 127, -128, -127]);
    let Some(Vector::I64(numbers)) = consecutive(i64::MAX.into(), 2, &ColumnType::I64) else {
        panic!("of I64")
    };
    assert_eq!(numbers, [i64::MAX, i64::MIN]);
    let Some(Vector::Bool(truths)) = consecutive(0, 3, &ColumnType::Bool) else { panic!("truths") };
    assert_eq!(truths, [false, true, true]);
    assert!(consecutive(0, 1, &ColumnType::STRING).is_none());
}
