use super::*;

#[test]
fn sizes_and_alignments_of_scalars() {
    let cases = [
        (ColumnType::I8, 1, 1),
        (ColumnType::U16, 2, 2),
        (ColumnType::F32, 4, 4),
        (ColumnType::Date, 4, 4),
        (ColumnType::Timestamp, 8, 8),
        (ColumnType::Decimal { precision: 18, scale: 0 }, 8, 8),
        (ColumnType::Decimal { precision: 19, scale: 0 }, 16, 8),
        (ColumnType::Char(5), 5, 1),
        (ColumnType::Binary(16), 16, 1),
        (ColumnType::STRING, 0, 4),
    ];
    for (column_type, size, alignment) in cases {
        assert_eq!(column_type.fixed_size(), size, "{column_type}");
        assert_eq!(column_type.alignment(), alignment, "{column_type}");
    }
}

#[test]
fn a_struct_in_an_array_is_laid_out_as_in_c() {
    let fields = vec![
        Column::new("a", ColumnType::U8),
        Column::new("b", ColumnType::U32),
        Column::new("c", ColumnType::U16),
    ];
    let offsets: Vec<u64> = struct_offsets(&fields).map(|(_, offset)| offset).collect();
    assert_eq!(offsets, [0, 4, 8]);
    let element = ColumnType::Struct(fields);
    assert_eq!((element.fixed_size(), element.alignment()), (12, 4));
    let array = ColumnType::Array { element: Box::new(element), count: 3 };
    assert_eq!(array.fixed_size(), 36);
}

#[test]
fn absurd_sizes_do_not_overflow() {
    let mut column_type = ColumnType::Char(u32::MAX);
    for _ in 0..4 {
        column_type = ColumnType::Array { element: Box::new(column_type), count: u32::MAX };
    }
    assert_eq!(column_type.fixed_size(), u64::MAX);
}

#[test]
fn types_are_shown_as_they_are_written() {
    let fields = vec![
        Column::new("a", ColumnType::Decimal { precision: 9, scale: 2 }),
        Column::new("b", ColumnType::String { max: Some(10) }),
    ];
    let text = ColumnType::Struct(fields).to_string();
    assert_eq!(text, "Struct(a Decimal(9, 2), b String(10))");
    let vector = ColumnType::Vector { element: Box::new(ColumnType::F32), max: None };
    assert_eq!(vector.to_string(), "Vector(F32)");
}

#[test]
fn key_types_are_scalars_and_strings() {
    assert!(ColumnType::F64.is_key_type());
    assert!(ColumnType::STRING.is_key_type());
    assert!(ColumnType::BLOB.is_key_type());
    let array = ColumnType::Array { element: Box::new(ColumnType::U8), count: 2 };
    assert!(!array.is_key_type());
}
