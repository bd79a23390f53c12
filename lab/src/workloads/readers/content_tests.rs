use super::*;

#[test]
fn a_row_tells_its_generation() {
    for (id, generation) in [(0, 1), (1, 0), (9_999, u32::MAX), (0, 0)] {
        let row = row(id, generation);
        assert_eq!(generation_of(id, &row.view()), Some(generation));
        assert_eq!(generation_of(id + 1, &row.view()), None, "another id was asked for");
    }
}

/// A reader that copies while the writer writes gets the beginning of one and the end of another.
#[test]
fn a_torn_row_is_none() {
    let (old, new) = (row(7, 1), row(7, 2));
    for cut in 1..PAYLOAD_LEN {
        let mut torn = old;
        torn.payload[cut..].copy_from_slice(&new.payload[cut..]);
        let same = torn == old || torn == new;
        assert_eq!(generation_of(7, &torn.view()).is_some(), same, "cut at {cut}");
    }
}

#[test]
fn every_byte_counts() {
    let row = row(4_321, 99);
    for place in 0..PAYLOAD_LEN {
        let mut other = row;
        other.payload[place] ^= 1;
        assert_eq!(generation_of(4_321, &other.view()), None, "byte {place}");
    }
    let other = Row { hexkey: [0; 3], ..row };
    assert_eq!(generation_of(4_321, &other.view()), None);
    let short = RowView { payload: &row.payload[8..], ..row.view() };
    assert_eq!(generation_of(4_321, &short), None);
}
