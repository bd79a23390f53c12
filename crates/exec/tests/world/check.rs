//! Compares the rows that a filter leaves with those that meet its predicates one by one.
//!
//! Whoever calls says which evaluation it has to be: what is evaluated on decoded values leaves all
//! rows, so a test that meant encoded ones would pass for nothing.

use remanent_exec::{BATCH_ROWS, Evaluation, SegmentFilter};

use super::World;
use super::asked::{Asked, Given};

/// Rows of stretches, as scans have them, and as they have them for few rows.
const STRETCHES: [usize; 5] = [BATCH_ROWS, 777, 64, 1, 1000];

/// The rows that a filter leaves, in stretches that begin anywhere.
pub(crate) fn left(world: &World, filter: &SegmentFilter) -> Vec<usize> {
    world.show(|rows, _| {
        let (mut left, mut from) = (Vec::new(), 0);
        for len in STRETCHES.into_iter().cycle() {
            let to = rows.len().min(from + len);
            let selection = filter.select(rows, from..to).expect("rows of the table");
            let list = selection.rows().map(|row| row);
            assert_eq!(list.len(), selection.len());
            left.extend(list);
            if to == rows.len() {
                return left;
            }
            from = to;
        }
        left
    })
}

/// Says where two lists of rows differ first.
#[track_caller]
pub(crate) fn assert_same(found: &[usize], expected: &[usize], context: &str) {
    let differs = found.iter().zip(expected).find(|(found, expected)| found != expected);
    assert_eq!(differs, None, "{context}");
    assert_eq!(found.len(), expected.len(), "{context}");
}

/// Checks a predicate by itself; where it was evaluated.
#[must_use]
pub(crate) fn check(world: &World, asked: &Asked, context: &str) -> Evaluation {
    let mut filter = SegmentFilter::default();
    let given = Given::new(asked.clone());
    let evaluation = world.show(|rows, _| filter.add(rows, world.column(), &given));
    let evaluation = evaluation.expect("a column of the table");
    let meets = |row: &usize| asked.of(&world.cells[*row]) == Some(true);
    let all = 0..world.cells.len();
    match evaluation {
        Evaluation::NoRow => {
            let met = all.clone().find(meets);
            assert_eq!(met, None, "{context}: no row meets {asked:?}");
        }
        Evaluation::Encoded => {
            let expected: Vec<_> = all.filter(meets).collect();
            assert_same(&left(world, &filter), &expected, &format!("{context}: {asked:?}"));
        }
        Evaluation::Decoded => {
            assert_eq!(left(world, &filter).len(), all.len(), "{context}: {asked:?}");
        }
    }
    evaluation
}
