//! Numbered lists: places are used again, numbers are not.

use std::collections::HashSet;

use super::*;

#[test]
fn what_comes_and_goes_takes_one_place() {
    let mut list = Numbered::<u64, 32, 64>::default();
    let stays = list.add(7).expect("there is room");
    let mut last = 0;
    for value in 0..10_000 {
        let number = list.add(value).expect("there is room");
        assert_ne!(number, last);
        assert_eq!(list.get(last), None, "what is gone is not found");
        assert_eq!(list.get(number), Some(&mut value.clone()));
        assert_eq!((list.remove(number), list.remove(number)), (Some(value), None));
        last = number;
    }
    assert_eq!((list.entries.len(), list.get(stays).copied()), (2, Some(7)));
    assert_eq!(list.get(0), None);
    assert_eq!(list.get(u64::MAX), None);
    let mut taken = Vec::new();
    list.clear(|value| taken.push(value));
    assert_eq!((taken, list.get(stays)), (vec![7], None));
}

/// Numbers of few bits: each is given once, then its place stays empty.
#[test]
fn no_number_comes_twice() {
    let mut list = Numbered::<(), 3, 6>::default();
    let mut seen = HashSet::new();
    while let Some(number) = list.add(()) {
        assert!((1..64).contains(&number) && seen.insert(number), "{number} came twice");
        list.remove(number);
    }
    assert_eq!(seen.len(), 7 * 8, "seven places, eight times each");
}
