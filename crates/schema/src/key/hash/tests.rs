use std::collections::HashSet;

use super::*;

#[test]
fn every_byte_of_any_length_counts() {
    for len in 0..80 {
        let zeros = vec![0u8; len];
        let mut seen = HashSet::from([hash_key(0, &zeros)]);
        for at in 0..len {
            for bit in 0..8 {
                let mut bytes = zeros.clone();
                bytes[at] ^= 1 << bit;
                assert!(seen.insert(hash_key(0, &bytes)), "length {len}, byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn lengths_of_equal_bytes_differ() {
    let zeros = [0u8; 100];
    let hashes: HashSet<u64> = (0..=100).map(|len| hash_key(0, &zeros[..len])).collect();
    assert_eq!(hashes.len(), 101);
}

/// Consecutive numbers, as keys are, must spread over the low bits and the high bits alike:
/// 65,536 keys into as many buckets leave 1/e of them empty, give or take 1 %.
#[test]
fn consecutive_keys_spread_like_random_ones() {
    for shift in [0, 16, 32, 48] {
        let low = |key: u32| (hash_key(0, &key.to_be_bytes()) >> shift) as u16;
        let filled: HashSet<u16> = (0..65_536).map(low).collect();
        let share = filled.len() as f64 / 65_536.0;
        assert!((share - 0.632).abs() < 0.01, "bits from {shift}: {share}");
    }
}

/// Keys whose first half makes the first operand 0 if there is no seed, and so all hashes one.
#[test]
fn keys_that_collide_under_one_seed_do_not_under_another() {
    let chosen = |i: u64| [SECRET[1].to_le_bytes(), i.to_le_bytes()].concat();
    let long = |i: u64| [chosen(i), vec![7; 9]].concat();
    for key in [&chosen as &dyn Fn(u64) -> Vec<u8>, &long] {
        let hashes = |seed| (0..100).map(|i| hash_key(seed, &key(i))).collect::<HashSet<_>>().len();
        assert_eq!((hashes(0), hashes(1)), (1, 100));
    }
}
