//! Keys have the groups in which they came first, whether they ascend or not.

use std::collections::HashMap;

use super::{AnyGroups, groups_of};
use crate::sources::account::Account;

/// The groups of keys of one and of two numbers, which come tile by tile.
fn check(tiles: &[Vec<u64>]) {
    for numbers in [1, 2] {
        let mut groups: Box<dyn AnyGroups> = groups_of(numbers).expect("few numbers");
        let (mut known, mut keys) = (HashMap::new(), Vec::new());
        let mut taken = 0;
        let mut account = Account { taken: &mut taken, memory: &mut |_| true };
        for tile in tiles {
            groups.make_room(tile.len(), &mut account).expect("memory");
            let mut found = vec![0; tile.len()];
            let columns = [tile.clone(), tile.iter().map(|number| number % 3).collect()];
            groups.find_all(&columns[..numbers], &mut found, &mut account).expect("memory");
            for (key, group) in tile.iter().zip(found) {
                let next = known.len() as u32;
                let expected = *known.entry(*key).or_insert_with(|| {
                    keys.push(*key);
                    next
                });
                assert_eq!(group, expected, "{key} of {tile:?}");
            }
        }
        assert_eq!(groups.len(), keys.len());
        assert_eq!(groups.numbers(0..keys.len(), 0), keys);
    }
}

#[test]
fn groups_are_those_of_the_first_key() {
    check(&[vec![0, 0, 1, 1, 5], vec![5, 5, 6], vec![], vec![u64::MAX], vec![u64::MAX]]);
    check(&[vec![3, 3, 4], vec![4, 2, 4, 9], vec![3, 9, 10, 11]]);
    check(&[vec![7], vec![6], vec![7, 8]]);
    check(&[vec![u64::MAX, 0], vec![0, u64::MAX]]);
    let ascending = |from: u64| (from..from + 1000).map(|number| number / 3).collect();
    check(&[ascending(0), ascending(1000), ascending(1500), ascending(2999)]);
}
