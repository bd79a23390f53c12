//! A selection has the rows of its bits, whatever it is kept as.

use super::Selection;
use crate::rows::Run;
use crate::rows::bits::RowBits;

fn selection(len: usize, left: impl Fn(usize) -> bool) -> Selection {
    let mut bits = RowBits::all(len);
    bits.keep_each(left);
    Selection::of(&bits, 1000)
}

#[test]
fn long_runs_are_runs_and_single_rows_are_a_list() {
    assert_eq!(selection(130, |_| true), Selection::Stretch(1000, 1130));
    let without_one = selection(130, |row| row != 70);
    let runs = vec![Run { from: 1000, to: 1070 }, Run { from: 1071, to: 1130 }];
    assert_eq!(without_one, Selection::Runs { runs, len: 129 });
    assert_eq!(selection(130, |row| row == 70), Selection::List(vec![1070]));
    assert!(selection(130, |_| false).is_empty());
    assert_eq!(selection(0, |_| false), Selection::Stretch(1000, 1000));
}

#[test]
fn rows_are_those_of_the_bits_and_so_are_kept_ones() {
    let shapes: [fn(usize) -> bool; 6] = [
        |row| row % 64 != 0,
        |row| row % 100 != 99,
        |row| row / 64 % 2 == 0,
        |row| row / 64 % 2 == 1,
        |row| row % 3 == 0,
        |row| row >= 128,
    ];
    for (number, left) in shapes.into_iter().enumerate() {
        for len in [1, 64, 127, 128, 129, 500] {
            let mut selected = selection(len, left);
            let expected: Vec<usize> =
                (0..len).filter(|row| left(*row)).map(|row| 1000 + row).collect();
            assert_eq!(selected.rows().map(|row| row), expected, "shape {number}, {len} rows");
            assert_eq!(selected.len(), expected.len());
            selected.keep((0..expected.len()).step_by(5));
            let fifth: Vec<_> = expected.into_iter().step_by(5).collect();
            assert_eq!(selected.rows().map(|row| row), fifth, "shape {number}, {len} rows");
        }
    }
}

#[test]
#[should_panic(expected = "as many rows as there are indexes")]
fn an_index_beyond_the_runs_is_refused() {
    selection(130, |row| row != 70).keep([129].into_iter());
}
