//! Numbers stay the same for ever: printed seeds depend on it.

use super::Random;

#[test]
fn a_seed_gives_the_same_numbers_for_ever() {
    let mut random = Random::new(7);
    let numbers: Vec<u64> = (0..4).map(|_| random.below(1000)).collect();
    assert_eq!(numbers, NUMBERS);
}

const NUMBERS: [u64; 4] = [721, 649, 549, 604];

#[test]
fn numbers_stay_within_their_limits() {
    let mut random = Random::new(1);
    for _ in 0..1000 {
        assert!(random.below(3) < 3);
        assert!((5..=6).contains(&random.between(5, 6)));
        assert_eq!(random.weighted(&[(0, 'a'), (2, 'b')]), Some('b'));
        assert!(!random.percent(0) && random.percent(100));
    }
    assert_eq!(random.pick::<u8>(&[]), None);
}
