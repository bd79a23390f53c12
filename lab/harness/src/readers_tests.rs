use super::*;

#[test]
fn a_packed_row_is_unpacked_as_it_was() {
    let row = Row { id: 77, hexkey: [1, -2, i16::MAX], payload: std::array::from_fn(|i| i as u8) };
    let mut value = [0; VALUE_LEN];
    pack(&row, &mut value);
    assert_eq!(unpack(77, &value), Some(row.view()));
}

#[test]
fn a_value_without_its_integers_is_no_row() {
    assert_eq!(unpack(1, &[0; HEXKEY_LEN - 1]), None);
    assert_eq!(unpack(1, &[0; HEXKEY_LEN]).map(|row| row.payload.len()), Some(0));
}
