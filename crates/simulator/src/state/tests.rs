//! The model's answers, row by row.

use std::sync::Arc;

use super::State;
use crate::history::{Bound, Column, Content, Query, Range};

/// Rows 1 to 4 with keys 4 to 1; the first two are at place 7, the others at place 8.
fn state() -> State {
    let mut state = State::default();
    for row in 1..=4 {
        let place = if row <= 2 { 7 } else { 8 };
        let content = Content { item: row, key: 5 - row as u32, place, mark: row, list: vec![] };
        state.set(row, Some(Arc::new(content)));
    }
    state
}

fn ids(query: Query) -> Vec<u64> {
    state().answer(&query).into_iter().map(|(row, _)| row).collect()
}

#[test]
fn ranges_are_in_the_order_of_their_column() {
    let range = |by, low, high, backward, limit| {
        let bound =
            |value: Option<(u32, bool)>| value.map(|(value, inclusive)| Bound { value, inclusive });
        let (low, high) = (bound(low), bound(high));
        ids(Query::Range(Range { by, low, high, backward, limit, typed: false }))
    };
    assert_eq!(range(Column::Key, None, None, false, 9), [4, 3, 2, 1]);
    assert_eq!(range(Column::Key, Some((2, true)), Some((4, false)), false, 9), [3, 2]);
    assert_eq!(range(Column::Key, Some((2, false)), Some((4, true)), true, 9), [1, 2]);
    assert_eq!(range(Column::Place, None, None, true, 3), [4, 3, 2]);
    assert_eq!(range(Column::Place, Some((8, true)), None, false, 1), [3]);
    assert!(range(Column::Place, Some((7, false)), Some((8, false)), false, 9).is_empty());
}

#[test]
fn keys_are_found_where_they_are() {
    assert_eq!(ids(Query::Key { key: 4, hash: false, typed: false }), [1]);
    assert!(ids(Query::Key { key: 9, hash: true, typed: true }).is_empty());
    assert_eq!(ids(Query::Batch { keys: vec![1, 9, 4, 1], hash: false }), [4, 1, 4]);
    assert_eq!(ids(Query::Place { place: 7, hash: true }), [1, 2]);
    assert_eq!(ids(Query::Scan { limit: 2, typed: false }), [1, 2]);
    assert_eq!(ids(Query::Row { row: 3, typed: false }), [3]);
}

#[test]
fn a_key_that_two_rows_have_is_named() {
    let mut state = state();
    assert_eq!(state.key_held_twice(), None);
    let content = Content { item: 5, key: 2, place: 0, mark: 5, list: vec![] };
    state.set(5, Some(Arc::new(content)));
    assert_eq!(state.key_held_twice(), Some(2));
}
