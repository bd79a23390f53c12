use super::*;

fn key(part: &impl KeyValue, descending: bool) -> Vec<u8> {
    let mut key = KeyBuffer::new();
    part.encode_part(descending, &mut key).expect("room");
    key.as_slice().to_vec()
}

#[test]
fn integers_are_big_endian_with_the_sign_flipped() {
    assert_eq!(key(&0x0102u16, false), [1, 2]);
    assert_eq!(key(&0x0102u16, true), [!1, !2]);
    assert_eq!(key(&-1i16, false), [0x7f, 0xff]);
    assert_eq!(key(&-1i16, true), [0x80, 0]);
    assert_eq!(key(&Date(0), false), [0x80, 0, 0, 0]);
}

#[test]
fn options_have_a_mark_and_nulls_are_first() {
    assert_eq!(key(&None::<u8>, false), [0]);
    assert_eq!(key(&Some(5u8), false), [1, 5]);
    assert_eq!(key(&None::<u8>, true), [0xff]);
    assert_eq!(key(&Some("a"), true), [0xfe, !b'a', 0xff, 0xfe]);
}

#[test]
fn decimals_beyond_their_column_sort_beyond_its_values() {
    let most = Decimal::<18, 0>(10i128.pow(18) - 1);
    assert!(key(&Decimal::<18, 0>(i128::MAX), false) > key(&most, false));
    assert!(key(&Decimal::<18, 0>(i128::MIN), false) < key(&Decimal::<18, 0>(-most.0), false));
    assert_eq!(key(&Decimal::<38, 0>(1), false).len(), 16);
}

#[test]
fn char_arrays_are_text_and_binary_arrays_are_not() {
    assert_eq!(key(&CharArray::<4>::new("ab").expect("it fits"), false), [b'a', b'b', 0, 1]);
    assert_eq!(key(&BinaryArray([0, 1]), false), [0, 1]);
    assert_eq!(key(&[0u8, 1], true), [0xff, 0xfe]);
}
