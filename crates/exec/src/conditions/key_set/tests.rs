//! Numbers are found where they were put, at the ends of words and beyond the set alike.

use super::KeySet;
use crate::encodings::offsets::Entries;
use crate::rows::bits::RowBits;

fn set(low: i128, numbers: &[i128], len: usize) -> KeySet {
    let mut set = KeySet { low, len, bits: vec![0; len.div_ceil(64)] };
    numbers.iter().for_each(|number| set.add((number - low) as usize));
    set
}

#[test]
fn numbers_beyond_the_set_are_not_in_it() {
    let set = set(-10, &[-10, 53, 54, 189], 200);
    for number in -300..300 {
        assert_eq!(set.has(number), [-10, 53, 54, 189].contains(&number), "{number}");
    }
    assert!(!set.has(i128::from(u64::MAX) - 9), "what wraps around");
}

#[test]
fn a_stretch_has_what_one_of_its_numbers_is() {
    let numbers = [3, 64, 127, 128, 200, 299];
    let set = set(0, &numbers, 300);
    for first in -70..370 {
        for last in first..370 {
            let expected = numbers.iter().any(|number| (first..=last).contains(number));
            assert_eq!(set.has_between(first, last), expected, "{first} to {last}");
        }
    }
}

#[test]
fn offsets_are_looked_up_from_either_side_of_the_least_key() {
    let set = set(1000, &[1000, 1007, 1499], 500);
    let entries = [0_u16, 1, 7, 8, 499, 500, 65_535];
    let offsets = Entries { entries: &entries, read: u32::from };
    // The least number of a segment is less than the least key, the same, or greater.
    for min in [900, 1000, 1007] {
        let mut rows = RowBits::all(7);
        set.filter(min, offsets, 0, &mut rows);
        let has = |row: &usize| set.has(min + i128::from(entries[*row]));
        let expected = (0..7).filter(has).fold(0, |word, row| word | 1 << row);
        assert_eq!(rows.words(), [expected], "{min}");
    }
    let mut rows = RowBits::all(7);
    rows.keep_each(|_| false);
    set.filter(1000, offsets, 0, &mut rows);
    assert_eq!(rows.words(), [0], "what was out stays out");
}
