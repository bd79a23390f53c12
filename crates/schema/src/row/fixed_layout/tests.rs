use super::*;

#[test]
fn leaves_go_by_alignment_then_by_order() {
    const LAYOUT: FixedLayout<6> = fixed_layout(&[
        LeafShape::fixed(2, 2),
        LeafShape::fixed(8, 8),
        LeafShape::VARIABLE,
        LeafShape::fixed(4, 4),
        LeafShape::VARIABLE.nullable(),
        LeafShape::fixed(3, 1).nullable(),
    ]);
    assert_eq!(LAYOUT.offsets, [20, 0, 8, 12, 16, 22]);
    assert_eq!(LAYOUT.starts, [NO_START, NO_START, NO_START, NO_START, 8, NO_START]);
    assert_eq!(LAYOUT.null_bits[3..], [NO_NULL_BIT, 0, 1]);
    assert_eq!((LAYOUT.null_offset, LAYOUT.fixed_size), (25, 26));
}

#[test]
fn rows_without_nulls_have_no_bitmap() {
    const LAYOUT: FixedLayout<1> = fixed_layout(&[LeafShape::fixed(16, 8)]);
    assert_eq!((LAYOUT.null_offset, LAYOUT.fixed_size), (16, 16));
}

#[test]
fn presence_leaves_take_a_bit_and_no_bytes() {
    const LAYOUT: FixedLayout<2> = fixed_layout(&[LeafShape::PRESENCE, LeafShape::fixed(4, 4)]);
    assert_eq!(LAYOUT.null_bits, [0, NO_NULL_BIT]);
    assert_eq!((LAYOUT.null_offset, LAYOUT.fixed_size), (4, 5));
}

#[test]
fn nine_nullable_leaves_need_two_bytes() {
    const LAYOUT: FixedLayout<9> = fixed_layout(&[LeafShape::fixed(1, 1).nullable(); 9]);
    assert_eq!((LAYOUT.null_bits[8], LAYOUT.fixed_size), (8, 11));
}

#[test]
#[should_panic(expected = "too long")]
fn a_fixed_part_beyond_32_bits_is_refused() {
    fixed_layout(&[LeafShape::fixed(u32::MAX, 1); 2]);
}
