//! The arithmetic of sequences, at the ends of ranges above all.

use super::{SequenceOptions, State};

fn state(options: SequenceOptions) -> State {
    options.state().unwrap()
}

/// All numbers until the sequence is used up, taken `wanted` at a time.
fn numbers(mut state: State, wanted: u64, max: usize) -> Vec<i64> {
    let mut all = Vec::new();
    while all.len() < max {
        let Ok((first, count)) = state.take(wanted) else { break };
        all.extend((0..count).map(|i| first + i as i64 * state.increment));
        assert_eq!(State::of(&state.to_bytes()).unwrap(), state);
    }
    all
}

#[test]
fn every_number_of_the_range_comes_once_whatever_is_taken_at_a_time() {
    for wanted in [1, 2, 3, 7, 1000] {
        let up = state(SequenceOptions::new().range(-3, 8).increment(2));
        assert_eq!(numbers(up, wanted, 100), [-3, -1, 1, 3, 5, 7]);
        let down = state(SequenceOptions::new().range(-3, 8).increment(-3));
        assert_eq!(numbers(down, wanted, 100), [8, 5, 2, -1]);
    }
}

#[test]
fn a_wrapping_sequence_goes_on_at_the_other_end() {
    let options = SequenceOptions::new().range(1, 3).initial(2).wrap(true);
    for wanted in [1, 2, 5] {
        assert_eq!(numbers(state(options), wanted, 6)[..6], [2, 3, 1, 2, 3, 1]);
    }
}

#[test]
fn the_greatest_range_has_its_last_numbers() {
    let options = SequenceOptions::new().range(i64::MIN, i64::MAX);
    let end = state(options.initial(i64::MAX - 2));
    assert_eq!(numbers(end, 2, 100), [i64::MAX - 2, i64::MAX - 1, i64::MAX]);
    let end = state(options.initial(i64::MIN + 1).increment(-1));
    assert_eq!(numbers(end, 10, 100), [i64::MIN + 1, i64::MIN]);
    let mut whole = state(options);
    assert_eq!(whole.take(u64::MAX).unwrap(), (i64::MIN, u64::MAX));
    assert_eq!(whole.take(u64::MAX).unwrap(), (i64::MAX, 1));
    let leap = state(options.increment(i64::MIN).initial(0));
    assert_eq!(numbers(leap, 1, 10), [0, i64::MIN]);
}

#[test]
fn other_bytes_are_no_sequence() {
    let good = state(SequenceOptions::new()).to_bytes();
    assert!(State::of(&good).is_ok());
    assert!(State::of(&good[..39]).is_err());
    assert!(State::of(&[0; 40]).is_err());
    let mut other_format = good;
    other_format[0] = 2;
    assert!(State::of(&other_format).is_err());
}
