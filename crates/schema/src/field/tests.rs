use super::*;
use crate::row::fixed_layout::fixed_layout;

const SLOTS: &Slots<'static> =
    &fixed_layout(&[LeafShape::fixed(2, 2), LeafShape::VARIABLE.nullable(), LeafShape::VARIABLE])
        .slots();

fn slot(leaf: usize) -> FieldSlot<'static> {
    FieldSlot { slots: SLOTS, leaf }
}

#[test]
fn fields_are_read_where_they_were_written() {
    let numbers = [1u16, 2];
    let (text, vector) = (Some("abc"), VectorRef::from(&numbers));
    let mut row = vec![0xaa; SLOTS.fixed_size as usize + 7];
    let writer = &mut RowWriter::new(&mut row, SLOTS);
    Field::write(&7u16, slot(0), writer);
    Field::write(&text, slot(1), writer);
    Field::write(&vector, slot(2), writer);
    let row = RowBytes::written_by_test(&row);
    assert_eq!(<u16 as Field>::read(slot(0), row), 7);
    assert_eq!(<Option<&str> as Field>::read(slot(1), row), text);
    assert_eq!(<Option<String> as Field>::read(slot(1), row).as_deref(), text);
    assert_eq!(<VectorRef<'_, u16> as Field>::read(slot(2), row), vector);
}

#[test]
fn null_is_a_bit_and_no_bytes() {
    let mut row = vec![0xaa; SLOTS.fixed_size as usize + 1];
    let writer = &mut RowWriter::new(&mut row, SLOTS);
    Field::write(&7u16, slot(0), writer);
    Field::write(&None::<&str>, slot(1), writer);
    Field::write(&vec![9u8], slot(2), writer);
    let row = RowBytes::written_by_test(&row);
    assert_eq!(<Option<&str> as Field>::read(slot(1), row), None);
    assert_eq!(<&[u8] as Field>::read(slot(2), row), [9]);
    assert_eq!(row[SLOTS.null_offset as usize], 1);
}

#[test]
fn lengths_are_measured_and_limited() {
    assert_eq!(Field::measure(&Some("abc"), Some(3)), Ok(3));
    assert_eq!(Field::measure(&None::<&str>, Some(0)), Ok(0));
    let long = Field::measure(&"abcd", Some(3));
    assert_eq!(long, Err(RowError::ValueTooLong { column: "".into(), len: 4, max: 3 }));
    assert_eq!(Field::measure(&VectorRef::from(&[1u64, 2]), Some(2)), Ok(16));
    const { assert!(!<u8 as Field>::TAKES_MAX && <Option<String> as Field>::TAKES_MAX) };
}
