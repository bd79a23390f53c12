//! Tables of keys find what a map of the standard library finds, whether keys come once or again,
//! and whether there are few or more than a processor's cache has room for.

use std::collections::HashMap;

use super::{NO_ENTRY, NumberTable, TOGETHER_MIN, WideTable};
use crate::sources::account::Account;

/// Numbers far apart, of which about one in so many comes again.
fn numbers(count: usize, again: usize) -> Vec<i64> {
    let of = |at: usize| (at as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let is_again = |at: usize| again > 0 && at > 0 && at.is_multiple_of(again);
    (0..count).map(|at| of(if is_again(at) { at * 7919 % at } else { at })).collect()
}

/// The entry of each: the different ones have numbers in the order in which they came.
fn expected(numbers: &[i64]) -> (Vec<u32>, HashMap<i64, u32>) {
    let mut entries = HashMap::new();
    let entry = |number: &i64| {
        let next = entries.len() as u32;
        *entries.entry(*number).or_insert(next)
    };
    (numbers.iter().map(entry).collect(), entries)
}

#[test]
fn numbers_have_the_entries_in_whose_order_they_came() {
    for count in [0, 1, 63, 65, 5_000, TOGETHER_MIN, TOGETHER_MIN + 4_711] {
        for again in [0, 3, 1_000] {
            let numbers = numbers(count, again);
            let (mut taken, memory) = (0, &mut |_| true);
            let mut account = Account { taken: &mut taken, memory };
            let mut entries = vec![NO_ENTRY; count];
            let table = NumberTable::of(&numbers, &mut entries, &mut account).expect("memory");
            let (all, by_number) = expected(&numbers);
            assert!(entries == all, "{count} numbers, one of {again} comes again");
            let asked: Vec<i64> = numbers.iter().flat_map(|it| [*it, it.wrapping_add(1)]).collect();
            let mut found = vec![0; asked.len()];
            table.find_all(&asked, &mut found);
            for (number, entry) in asked.iter().zip(found) {
                assert_eq!(entry, by_number.get(number).copied().unwrap_or(NO_ENTRY), "{number}");
            }
        }
    }
}

#[test]
fn keys_of_several_numbers_have_entries_in_their_order_too() {
    for count in [0, 1, 63, 65, 20_000] {
        let firsts = numbers(count, 2);
        let seconds: Vec<i64> = (0..count as i64).map(|at| at % 3).collect();
        let mut by_key = HashMap::new();
        let keys = || firsts.iter().copied().zip(seconds.iter().copied());
        let all: Vec<u32> = keys()
            .map(|key| {
                let next = by_key.len() as u32;
                *by_key.entry(key).or_insert(next)
            })
            .collect();
        let (mut taken, memory) = (0, &mut |_| true);
        let mut account = Account { taken: &mut taken, memory };
        let mut table = WideTable::new(2, count, &mut account).expect("memory");
        let mut entries = vec![NO_ENTRY; count];
        table.insert_all(&[firsts.clone(), seconds.clone()], &mut entries);
        assert!(entries == all, "{count} keys");
        let others: Vec<i64> = seconds.iter().map(|second| second + 1).collect();
        let mut found = vec![0; count];
        table.find_all(&[firsts.clone(), others.clone()], &mut found);
        for (key, entry) in firsts.iter().copied().zip(others).zip(found) {
            assert_eq!(entry, by_key.get(&key).copied().unwrap_or(NO_ENTRY), "{key:?}");
        }
    }
}

#[test]
fn memory_that_is_refused_is_said() {
    let numbers = numbers(TOGETHER_MIN, 0);
    let (mut taken, mut left) = (0, 1);
    let memory = &mut |_| std::mem::replace(&mut left, 0) > 0;
    let mut account = Account { taken: &mut taken, memory };
    let mut entries = vec![NO_ENTRY; numbers.len()];
    assert!(NumberTable::of(&numbers, &mut entries, &mut account).is_err());
}
