//! An append-only list: many entries, each found by its number and by its key.

use super::*;

#[test]
fn there_are_many_places_and_each_is_found() {
    let list = AppendList::<usize>::new();
    let count = FIRST + CHUNK + 10;
    for value in 0..count {
        let filled = list.find_or_fill(Some(value * 8), |index| {
            assert_eq!(index, value);
            Ok::<_, ()>(value)
        });
        assert_eq!(filled, Ok(Some((value, &value))));
    }
    assert_eq!(list.count(), count);
    assert!((0..count).all(|value| list.get(value) == Some(&value)));
    let known = list.find_or_fill(Some(80_000), |_| Err("it is known"));
    assert_eq!(known, Err("it is known"));
    let known = list.find_or_fill(Some(40_000), |_| Err("it is known"));
    assert_eq!(known, Ok(Some((5_000, &5_000))));
    assert_eq!((list.get(count), list.get(LIST_MAX), list.count()), (None, None, count));
}

#[test]
fn what_has_no_key_has_a_place_of_its_own() {
    let list = AppendList::<u8>::new();
    for index in 0..3 {
        assert_eq!(list.find_or_fill(None, |_| Ok::<_, ()>(1)), Ok(Some((index, &1))));
    }
}
