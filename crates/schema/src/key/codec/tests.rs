use super::*;

fn text_key(text: &str, descending: bool) -> Vec<u8> {
    let mut key = KeyBuffer::new();
    put_text(text.as_bytes(), descending, &mut key).expect("room");
    key.as_slice().to_vec()
}

#[test]
fn text_is_escaped_and_ended() {
    assert_eq!(text_key("", false), [0, 1]);
    assert_eq!(text_key("a\0b", false), [b'a', 0, 0xff, b'b', 0, 1]);
    assert_eq!(text_key("a", true), [!b'a', 0xff, 0xfe]);
}

#[test]
fn text_sorts_as_text_does() {
    let mut texts =
        ["", "\0", "\0\0", "\0\u{1}", "\u{1}", "a", "a\0", "a\0b", "ab", "é", "\u{ffff}"];
    texts.sort_unstable();
    let mut keys: Vec<_> = texts.iter().map(|text| text_key(text, false)).collect();
    assert!(keys.is_sorted());
    keys = texts.iter().map(|text| text_key(text, true)).collect();
    assert!(keys.iter().rev().is_sorted());
}

#[test]
fn floats_sort_as_numbers_with_nan_last() {
    let numbers = [
        f64::NEG_INFINITY,
        -1e300,
        -1.0,
        -f64::MIN_POSITIVE,
        0.0,
        5e-324,
        1.0,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    assert!(numbers.windows(2).all(|pair| ordered_f64(pair[0]) < ordered_f64(pair[1])));
    assert_eq!(ordered_f64(-0.0), ordered_f64(0.0));
    assert_eq!(ordered_f64(-f64::NAN), ordered_f64(f64::NAN));
    assert_eq!(ordered_f32(-0.0), ordered_f32(0.0));
    assert!(ordered_f32(f32::INFINITY) < ordered_f32(-f32::NAN));
}

#[test]
fn comparisons_stop_at_the_first_difference() {
    let compare = |bytes: [u8; 2], key: &[u8]| {
        let mut comparison = KeyComparison::new(key);
        comparison.put(bytes).map_or_else(|order| order, |()| comparison.finish())
    };
    assert_eq!(compare([1, 2], &[1, 2]), Ordering::Equal);
    assert_eq!(compare([1, 2], &[1, 3]), Ordering::Less);
    assert_eq!(compare([1, 2], &[1]), Ordering::Greater);
    assert_eq!(compare([1, 2], &[1, 2, 0]), Ordering::Less);
    assert_eq!(compare([2, 2], &[1, 2, 0]), Ordering::Greater);
}
