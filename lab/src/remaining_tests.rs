use super::*;

#[test]
fn nothing_is_said_before_something_was_measured() {
    assert_eq!(of(&[(2, &[1_000, 1_000])]).words(), "time unknown yet");
}

#[test]
fn measured_cells_take_as_long_again_and_others_as_long_as_they_did() {
    let mut remaining = of(&[(3, &[1_000, 1_000])]);
    remaining.took(0, 0, Duration::from_secs(4));
    // Two rounds of the first, three of the other.
    assert_eq!(remaining.words(), "about 20 s left");
    remaining.took(0, 1, Duration::from_secs(10));
    assert_eq!(remaining.words(), "about 28 s left");
    for case in [0, 1, 1, 0] {
        remaining.took(0, case, Duration::ZERO);
    }
    assert_eq!(remaining.words(), "about 0 s left");
}

#[test]
fn larger_cells_are_expected_to_take_longer_within_limits() {
    let mut remaining = of(&[(1, &[1_000]), (1, &[3_000]), (1, &[1_000_000]), (1, &[10])]);
    remaining.took(0, 0, Duration::from_secs(10));
    // 30, 100 and 10 seconds.
    assert_eq!(remaining.words(), "about 2 min left");
}

/// Groups of so many rounds, with the rows of each case.
fn of(groups: &[(u32, &[u64])]) -> Remaining {
    let part = |rows, rounds_left| Part { rows, rounds_left, seconds: None };
    let parts =
        |(rounds, rows): &(u32, &[u64])| rows.iter().map(|&rows| part(rows, *rounds)).collect();
    Remaining { groups: groups.iter().map(parts).collect() }
}
