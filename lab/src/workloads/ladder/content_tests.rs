use std::collections::BTreeSet;

use super::*;

#[test]
fn keys_are_ordered_as_numbers_are() {
    let numbers = [0, 1, 255, 256, 65_536, 1 << 32, 63 << 32];
    assert!(numbers.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
}

#[test]
fn no_value_passes_for_another() {
    let mut seen = BTreeSet::new();
    for number in 0..500 {
        for generation in 0..20 {
            assert!(seen.insert(value(number, generation)), "{number} {generation}");
        }
    }
    let words: BTreeSet<_> = value(7, 7).chunks(8).map(<[u8]>::to_vec).collect();
    assert_eq!(words.len(), 4);
}
