use super::*;

#[test]
fn long_keys_move_to_the_heap_and_back() {
    let mut key = KeyBuffer::new();
    for byte in 0..100u8 {
        key.push(&[byte]).expect("room");
        assert_eq!(key.as_slice(), (0..=byte).collect::<Vec<_>>());
    }
    key.truncate(80);
    assert_eq!(key.as_slice(), (0..80).collect::<Vec<_>>());
    key.truncate(3);
    assert_eq!(key.as_slice(), [0, 1, 2]);
    key.push(&[9; 70]).expect("room");
    assert_eq!(key.as_slice()[..4], [0, 1, 2, 9]);
    key.clear();
    key.push(&[5]).expect("room");
    assert_eq!(key.as_slice(), [5]);
}

#[test]
fn a_full_buffer_refuses_and_keeps_what_it_has() {
    let mut key = KeyBuffer::new();
    key.push(&[1; KEY_LEN_MAX]).expect("room");
    assert_eq!(key.check_len(), Ok(()));
    key.push(&[2; 16]).expect("room for a row id");
    assert_eq!(key.check_len(), Err(KeyTooLong));
    assert_eq!(key.push(&[3]), Err(KeyTooLong));
    assert_eq!(key.len(), KEY_LEN_MAX + 16);
    assert_eq!(key.clone(), key);
}

#[test]
fn complements_reach_either_place() {
    for len in [10, 100] {
        let mut key = KeyBuffer::new();
        key.push(&vec![0x0f; len]).expect("room");
        key.complement_from(len - 1);
        assert_eq!(key.as_slice()[len - 2..], [0x0f, 0xf0]);
    }
}
