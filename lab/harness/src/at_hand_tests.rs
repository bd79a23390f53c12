use super::*;

#[test]
fn any_number_of_bytes_is_touched() {
    for bytes in [0, 1, PAGE_BYTES, (3 << 20) + 5] {
        touch(bytes).unwrap();
    }
}
