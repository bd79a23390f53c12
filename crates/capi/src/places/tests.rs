//! Places: many of them, each found by its number and by its key.

use super::*;

#[test]
fn there_are_many_places_and_each_is_found() {
    let places = Places::<usize>::new();
    let count = FIRST + CHUNK + 10;
    for value in 0..count {
        let filled = places.find_or_fill(Some(value * 8), |place| {
            assert_eq!(place, value);
            Ok::<_, ()>(value)
        });
        assert_eq!(filled, Ok(Some((value, &value))));
    }
    assert_eq!(places.count(), count);
    assert!((0..count).all(|value| places.get(value) == Some(&value)));
    let known = places.find_or_fill(Some(80_000), |_| Err("it is known"));
    assert_eq!(known, Err("it is known"));
    let known = places.find_or_fill(Some(40_000), |_| Err("it is known"));
    assert_eq!(known, Ok(Some((5_000, &5_000))));
    assert_eq!((places.get(count), places.get(PLACES_MAX), places.count()), (None, None, count));
}

#[test]
fn what_has_no_key_has_a_place_of_its_own() {
    let places = Places::<u8>::new();
    for place in 0..3 {
        assert_eq!(places.find_or_fill(None, |_| Ok::<_, ()>(1)), Ok(Some((place, &1))));
    }
}
