//! Words of bits say what each row by itself says, at whatever row a stretch begins.

use super::{RowBits, bits_of, low_bits, packed, word_of};

/// Every row whose number has this remainder by seven.
fn bitmap(rows: usize, remainder: usize) -> Vec<u64> {
    let mut words = vec![0; rows.div_ceil(64)];
    for row in (0..rows).filter(|row| row % 7 == remainder) {
        words[row / 64] |= 1 << (row % 64);
    }
    words
}

fn rows_of(bits: &RowBits) -> Vec<usize> {
    (0..bits.len()).filter(|row| bits.words()[row / 64] >> (row % 64) & 1 == 1).collect()
}

#[test]
fn bytes_are_packed_in_their_order() {
    for bit in 0..64 {
        let mut truths = [0; 64];
        truths[bit] = 1;
        assert_eq!(packed(&truths), 1 << bit);
    }
    assert_eq!(packed(&[1; 64]), u64::MAX);
    let entries: Vec<usize> = (0..64).collect();
    for len in 0..=64 {
        let word = word_of(&entries[..len], |entry| entry % 3 == 0);
        let expected = (0..len).step_by(3).fold(0, |word, bit| word | 1 << bit);
        assert_eq!(word, expected, "{len}");
    }
}

#[test]
fn stretches_begin_and_end_within_words() {
    let bitmap = bitmap(300, 3);
    for first in [0, 1, 63, 64, 65, 130] {
        for len in [0, 1, 63, 64, 65, 128, 170] {
            let of_bitmap = RowBits::of_bitmap(&bitmap, first..first + len);
            let expected: Vec<_> = (0..len).filter(|row| (first + row) % 7 == 3).collect();
            assert_eq!(rows_of(&of_bitmap), expected, "{first} {len}");
            let mut others = RowBits::all(len);
            assert_eq!(others.count(), len);
            let common = others.common(&bitmap, first);
            assert_eq!(rows_of(&common), expected);
            others.remove(&bitmap, first);
            assert_eq!(others.count(), len - expected.len());
            others.add(&common);
            assert_eq!(others.count(), len);
        }
    }
    assert_eq!(bits_of(&bitmap, 300..300), 0);
    assert_eq!([low_bits(0), low_bits(1), low_bits(64)], [0, 1, u64::MAX]);
}

#[test]
fn few_rows_and_many_are_compared_alike() {
    let entries: Vec<usize> = (0..300).collect();
    let meets = |entry: usize| entry.is_multiple_of(2);
    for share in [1, 5, 20, 64] {
        let mut rows = RowBits::all(200);
        rows.keep_each(|row| row % share == 0);
        let expected: Vec<_> = (0..200).filter(|row| row % share == 0 && meets(row + 50)).collect();
        rows.keep_entries(50, &entries, meets);
        assert_eq!(rows_of(&rows), expected, "one in {share}");
    }
}

#[test]
fn a_part_of_a_stretch_is_removed_wherever_it_lies() {
    for len in [1, 64, 100, 200] {
        for from in [0, 1, 63, 64, 65, 99].into_iter().filter(|from| *from <= len) {
            for to in [from, from + 1, from + 63, 128, len].into_iter().filter(|to| *to <= len) {
                let mut left = RowBits::all(len);
                left.remove_stretch(from..to.max(from));
                let expected: Vec<_> = (0..len).filter(|row| !(from..to).contains(row)).collect();
                assert_eq!(rows_of(&left), expected, "{from}..{to} of {len}");
                assert_eq!(left.is_none(), expected.is_empty());
            }
        }
    }
}
