use super::*;
use crate::values::default_value::DefaultValue;

fn schema() -> TableSchema {
    let element = ColumnType::Struct(vec![Column::new("e", ColumnType::Char(4))]);
    let fields = vec![
        Column::new("x", ColumnType::F64).with_default(f64::NAN),
        Column::new("y", ColumnType::Array { element: Box::new(element), count: 3 }),
    ];
    TableSchema::new("Täble")
        .column("id", ColumnType::U64)
        .default(u64::MAX)
        .nullable_column("at", ColumnType::Timestamp)
        .default(DefaultValue::Timestamp(-1))
        .column("s", ColumnType::Struct(fields))
        .column("v", ColumnType::Vector { element: Box::new(ColumnType::Date), max: Some(9) })
        .column("t", ColumnType::String { max: Some(5) })
        .default("five")
        .primary_key(["id"])
        .index(IndexSchema::new("h", [KeyPart::desc("s.x")]).hash())
}

#[test]
fn everything_comes_back() {
    let schema = schema();
    assert_eq!(TableSchema::from_bytes(&schema.to_bytes()), Ok(schema));
}

#[test]
fn the_bytes_of_version_1_do_not_change() {
    let schema = TableSchema::new("T")
        .nullable_column("a", ColumnType::Decimal { precision: 9, scale: 2 })
        .default(DefaultValue::Date(1));
    let bytes =
        [1, 1, 0, 0, 0, b'T', 1, 0, 0, 0, 1, 0, 0, 0, b'a', 12, 9, 2, 1, 6, 1, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(schema.to_bytes(), bytes);
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    let bytes = schema().to_bytes();
    for len in 0..bytes.len() {
        let refused = TableSchema::from_bytes(&bytes[..len]);
        assert!(matches!(refused, Err(SchemaError::BadEncoding { .. })), "{len}");
    }
    let longer = [&bytes[..], &[0]].concat();
    let offset = bytes.len();
    assert_eq!(TableSchema::from_bytes(&longer), Err(SchemaError::BadEncoding { offset }));
}

#[test]
fn later_versions_are_named() {
    let refused = TableSchema::from_bytes(&[200]);
    assert_eq!(refused, Err(SchemaError::UnknownVersion { version: 200 }));
}

#[test]
fn deep_nesting_ends_in_an_error() {
    let mut bytes = vec![1, 1, 0, 0, 0, b'T', 1, 0, 0, 0, 1, 0, 0, 0, b'a'];
    bytes.extend([20; 100_000]);
    assert!(matches!(TableSchema::from_bytes(&bytes), Err(SchemaError::BadEncoding { .. })));
}
