use super::*;

fn pair(number: u64) -> Pair {
    (number.to_be_bytes(), [number as u8; VALUE_LEN])
}

fn seen(pairs: &[Pair]) -> Seen {
    let mut seen = Seen::keeping(pairs.len());
    pairs.iter().for_each(|(key, value)| seen.see(key, value));
    seen
}

#[test]
fn values_that_changed_places_are_noticed() {
    let (first, second) = (pair(1), pair(2));
    let right = seen(&[first, second]).check();
    assert_eq!(right, seen(&[first, second]).check());
    assert_ne!(right, seen(&[(first.0, second.1), (second.0, first.1)]).check());
    assert_ne!(right, seen(&[first]).check());
    assert_eq!(right.pairs, 2);
}

#[test]
fn a_key_that_does_not_ascend_is_counted() {
    assert_eq!(seen(&[pair(0), pair(1), pair(u64::MAX)]).check().out_of_order, 0);
    assert_eq!(seen(&[pair(1), pair(0)]).check().out_of_order, 1);
    assert_eq!(seen(&[pair(1), pair(1)]).check().out_of_order, 1);
}

#[test]
fn a_pair_of_another_length_is_no_pair() {
    let mut seen = Seen::checking();
    let (key, value) = pair(7);
    seen.see_bytes(&key, &value);
    seen.see_bytes(&key[1..], &value);
    assert_eq!((seen.check().pairs, seen.check().out_of_order), (1, 1));
    assert!(seen.pairs().is_empty());
}
