use super::*;
use crate::values::column_type::Column;

#[test]
fn vectors_are_as_long_as_their_bytes() {
    let vector = ColumnType::Vector { element: Box::new(ColumnType::U16), max: None };
    let elements = Elements::new(&[1, 0, 2, 0], &vector);
    assert_eq!(elements.len(), 2);
    assert_eq!(elements.iter().collect::<Vec<_>>(), [Value::U16(1), Value::U16(2)]);
    assert_eq!(elements.get(2), None);
    assert_eq!(elements.get(usize::MAX), None);
    assert!(Elements::new(&[], &vector).is_empty());
}

#[test]
fn structs_in_arrays_are_read_field_by_field() {
    let fields = vec![Column::new("a", ColumnType::U8), Column::new("b", ColumnType::U16)];
    let element = Box::new(ColumnType::Struct(fields));
    let array = ColumnType::Array { element, count: 2 };
    let bytes = [1, 0, 2, 0, 3, 0, 4, 0];
    let read = Value::Elements(Elements::new(&bytes, &array));
    let first = [Value::U8(1), Value::U16(2)];
    let second = [Value::U8(3), Value::U16(4)];
    assert_eq!(read, Value::List(&[Value::List(&first), Value::List(&second)]));
}
