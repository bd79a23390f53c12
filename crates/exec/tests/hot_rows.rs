//! Predicates on the bytes of hot rows leave those that meet them, one by one, and the columns of
//! these become the vectors that their values are.

mod world;

use std::cmp::Ordering;
use std::sync::Arc;

use remanent_exec::{Comparison, KeySet, RowFilter};

use world::Cell;
use world::asked::{Asked, Given};
use world::check::assert_same;
use world::columns::{Nulls, Shape, every, numbers, texts};
use world::hot::{HotWorld, V, W};
use world::random::Random;

const BOTH: [Nulls; 2] = [Nulls::No, Nulls::Some];

/// Compares what a filter leaves with the rows that meet a condition, and their values.
fn check(world: &HotWorld, filter: &RowFilter, meets: impl Fn(usize) -> bool, context: &str) {
    let (left, values) = world.left(filter);
    let all = 0..world.cells[0].len();
    let expected: Vec<usize> = all.filter(|row| meets(*row)).collect();
    assert_same(&left, &expected, context);
    if let Some(values) = values {
        let cells: Vec<Cell> = expected.iter().map(|row| world.cells[0][*row].clone()).collect();
        let differs = values.iter().zip(&cells).position(|(value, cell)| value != cell);
        assert_eq!(differs, None, "{context}");
        assert_eq!(values.len(), cells.len(), "{context}");
    }
}

/// Adds a predicate on `V`; whether it is evaluated.
fn add(world: &HotWorld, filter: &mut RowFilter, asked: &Asked) -> bool {
    filter.add(world.layout(), V, &Given::new(asked.clone()))
}

/// Values of a column, of its like, and none.
fn cells(shape: &Shape, random: &mut Random) -> Vec<Cell> {
    let mut cells = vec![Cell::Null, Cell::Number(0), Cell::text("AIR"), Cell::float(1.5)];
    cells.extend((0..9).map(|row| shape.cell(random, row)));
    cells
}

fn meets(world: &HotWorld, asked: &Asked, row: usize) -> bool {
    asked.of(&world.cells[0][row]) == Some(true)
}

#[test]
fn whatever_is_evaluated_leaves_the_rows_that_meet_it() {
    for (seed, shape) in every().iter().enumerate() {
        for nulls in BOTH {
            let world = HotWorld::new(shape, nulls, seed as u64);
            let random = &mut Random(seed as u64 ^ 0x5a5a);
            let cells = cells(shape, random);
            check(&world, &RowFilter::default(), |_| true, shape.name);
            for _ in 0..15 {
                let (mut filter, mut evaluated) = (RowFilter::default(), Vec::new());
                for _ in 0..1 + random.below(3) {
                    let asked = Asked::draw(&cells, random, 2);
                    if add(&world, &mut filter, &asked) {
                        evaluated.push(asked);
                    }
                }
                let all = |row| evaluated.iter().all(|asked| meets(&world, asked, row));
                check(&world, &filter, all, &format!("{} {nulls:?}: {evaluated:?}", shape.name));
            }
        }
    }
}

#[test]
fn ranges_hold_to_the_ends_of_types() {
    for (seed, shape) in numbers().iter().enumerate() {
        for nulls in BOTH {
            let world = HotWorld::new(shape, nulls, seed as u64);
            let all = world.cells[0].iter().filter_map(|cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            });
            let (least, greatest) = (all.clone().min().expect("one"), all.max().expect("one"));
            let bounds =
                [i128::MIN, least - 1, least, least + 1, greatest, greatest + 1, i128::MAX];
            for low in bounds {
                for high in bounds {
                    let asked = Asked::Between(low, high);
                    let mut filter = RowFilter::default();
                    let is_number = shape.column_type != remanent_engine::schema::ColumnType::Bool;
                    assert_eq!(add(&world, &mut filter, &asked), is_number, "{}", shape.name);
                    if is_number {
                        let met = |row| meets(&world, &asked, row);
                        check(&world, &filter, met, &format!("{}: {asked:?}", shape.name));
                    }
                }
            }
        }
    }
}

#[test]
fn lists_of_numbers_are_many_ranges() {
    for (seed, shape) in numbers().iter().enumerate() {
        let world = HotWorld::new(shape, Nulls::Some, seed as u64);
        let random = &mut Random(seed as u64);
        let list = (0..40).map(|row| shape.cell(random, row)).step_by(2).collect();
        let is_in = Asked::In(list);
        for asked in [is_in.clone(), Asked::Not(Box::new(is_in))] {
            let mut filter = RowFilter::default();
            if add(&world, &mut filter, &asked) {
                check(&world, &filter, |row| meets(&world, &asked, row), shape.name);
            }
        }
    }
}

#[test]
fn two_columns_compare_as_their_numbers_do() {
    use Comparison as C;
    let comparisons =
        [C::Less, C::LessOrEqual, C::Equal, C::NotEqual, C::GreaterOrEqual, C::Greater];
    for (seed, shape) in every().iter().enumerate() {
        for nulls in BOTH {
            let world = HotWorld::new(shape, nulls, seed as u64);
            for comparison in comparisons {
                let mut filter = RowFilter::default();
                if !filter.add_comparison(world.layout(), V, comparison, W) {
                    continue;
                }
                let met = |row: usize| {
                    let (Cell::Number(v), Cell::Number(w)) =
                        (&world.cells[0][row], &world.cells[1][row])
                    else {
                        return false;
                    };
                    match v.cmp(w) {
                        Ordering::Less => [C::Less, C::LessOrEqual, C::NotEqual],
                        Ordering::Equal => [C::Equal, C::LessOrEqual, C::GreaterOrEqual],
                        Ordering::Greater => [C::Greater, C::GreaterOrEqual, C::NotEqual],
                    }
                    .contains(&comparison)
                };
                check(&world, &filter, met, &format!("{} {nulls:?} {comparison:?}", shape.name));
            }
        }
    }
}

#[test]
fn keys_are_found_by_numbers_of_every_type() {
    for (seed, shape) in numbers().iter().enumerate() {
        for nulls in BOTH {
            let world = HotWorld::new(shape, nulls, seed as u64);
            // Some of the column's numbers that lie close to one another, and their neighbours.
            let mut some: Vec<i64> = Vec::new();
            for cell in &world.cells[0] {
                let Cell::Number(number) = cell else { continue };
                let Ok(number) = i64::try_from(*number) else { continue };
                if some.is_empty() || some[0].abs_diff(number) < 2000 {
                    some.extend([number, number.saturating_add(3)]);
                }
            }
            for numbers in [&some[..some.len().min(40)], &[], &[i64::MIN], &[i64::MAX]] {
                let keys = Arc::new(KeySet::of_numbers(numbers).expect("they lie close"));
                let mut filter = RowFilter::default();
                if !filter.add_keys(world.layout(), V, &keys) {
                    continue;
                }
                let met = |row: usize| match world.cells[0][row] {
                    // A column of this type has no number that is beyond it.
                    Cell::Number(number) => keys.has(number),
                    _ => false,
                };
                check(&world, &filter, met, &format!("{} {nulls:?} {numbers:?}", shape.name));
            }
        }
    }
}

#[test]
fn texts_are_compared_with_lists_and_patterns() {
    let patterns = ["%", "a%", "%a", "%a%", "%AI%", "%é%b%", "word number 1%", "%the%door%", "%%"];
    for (seed, shape) in texts().iter().enumerate() {
        for nulls in BOTH {
            let world = HotWorld::new(shape, nulls, seed as u64);
            let random = &mut Random(seed as u64);
            let lists = (0..8).map(|count| {
                Asked::In((0..count).map(|row| shape.cell(random, row + 10)).collect())
            });
            let mut asked: Vec<Asked> = lists.collect();
            for pattern in patterns {
                let like = |negated| Asked::Like { pattern: pattern.to_owned(), negated };
                asked.extend([like(false), like(true)]);
            }
            let equal = Asked::Equal(shape.cell(random, 7));
            asked.extend([equal.clone(), Asked::Not(Box::new(equal))]);
            for asked in asked {
                let mut filter = RowFilter::default();
                assert!(add(&world, &mut filter, &asked), "{}: {asked:?}", shape.name);
                let context = format!("{} {nulls:?}: {asked:?}", shape.name);
                check(&world, &filter, |row| meets(&world, &asked, row), &context);
            }
        }
    }
}
