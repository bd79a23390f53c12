use proptest::prelude::*;

use super::*;

const ROOM: usize = 1000;

/// The decoded text, as far as it fits.
fn decoded(text: &[u8], room: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ROOM);
    let len = decode(text, &mut bytes.spare_capacity_mut()[..room]);
    assert_eq!(len, decoded_len(text));
    let mut again = Vec::new();
    each_byte(text, |byte| again.push(byte));
    assert_eq!(again.len(), len);
    again.truncate(room);
    bytes.extend_from_slice(&again);
    bytes
}

fn round_trip(bytes: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::new();
    let text = encode(bytes, &mut buffer).to_owned();
    decoded(text.as_bytes(), ROOM)
}

#[test]
fn valid_text_is_stored_as_it_is() {
    for text in
        ["", "Ulm", "Gr\u{fc}\u{df}e", "\u{65e5}\u{672c}", "\u{feff}mark", "\u{f77f}\u{f800}"]
    {
        let mut buffer = Vec::new();
        assert_eq!(encode(text.as_bytes(), &mut buffer), text);
        assert!(buffer.is_empty());
    }
}

#[test]
fn other_bytes_take_three() {
    let mut buffer = Vec::new();
    assert_eq!(encode(b"Gr\xfc\xdfe", &mut buffer), "Gr\u{f7fc}\u{f7df}e");
    assert_eq!(round_trip(b"Gr\xfc\xdfe"), b"Gr\xfc\xdfe");
}

#[test]
fn the_escape_itself_is_escaped() {
    let text = "a\u{f780}\u{f7ff}b";
    let mut buffer = Vec::new();
    assert_ne!(encode(text.as_bytes(), &mut buffer), text);
    assert_eq!(round_trip(text.as_bytes()), text.as_bytes());
}

#[test]
fn a_small_buffer_gets_the_beginning_and_the_whole_length() {
    let mut buffer = Vec::new();
    let text = encode(b"\xff\xfe\xfd", &mut buffer);
    assert_eq!(decoded_len(text.as_bytes()), 3);
    assert_eq!(decoded(text.as_bytes(), 2), [0xff, 0xfe]);
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(round_trip(&bytes), bytes);
    }

    #[test]
    fn bytes_near_the_escape_come_back(
        bytes in prop::collection::vec(
            prop::sample::select(vec![0xef, 0x9e, 0x9f, 0x80, 0xbf, 0xc0, 0x41, 0xe2]), 0..60),
    ) {
        prop_assert_eq!(round_trip(&bytes), bytes);
    }
}
