use super::*;
use crate::definition::table_schema::TableSchema;

fn layout() -> RowLayout {
    let vector = ColumnType::Vector { element: Box::new(ColumnType::Bool), max: None };
    let schema = TableSchema::new("T")
        .column("id", ColumnType::U32)
        .column("flag", ColumnType::Bool)
        .column("code", ColumnType::Char(2))
        .nullable_column("name", ColumnType::STRING)
        .column("flags", vector);
    RowLayout::new(&schema)
}

fn row(layout: &RowLayout, name: Value<'_>) -> Vec<u8> {
    let flags = [Value::Bool(true), Value::Bool(false)];
    let (id, flag) = (Value::U32(7), Value::Bool(true));
    let values = [id, flag, Value::String("c"), name, Value::List(&flags)].map(Some);
    let mut row = vec![0; layout.encoded_len(&values).expect("a length")];
    layout.encode(&values, &mut row).expect("a row");
    row
}

#[test]
fn typed_getters_know_their_type() {
    let layout = layout();
    let row = row(&layout, Value::String("n"));
    assert_eq!(layout.get::<u32>(&row, 0), Some(7));
    assert_eq!(layout.get::<i32>(&row, 0), None);
    assert_eq!(layout.get::<bool>(&row, 1), Some(true));
    assert_eq!(layout.get_str(&row, 2), Some("c"));
    assert_eq!(layout.get_bytes(&row, 2), Some(&b"c\0"[..]));
    assert_eq!(layout.get_str(&row, 3), Some("n"));
    assert_eq!(layout.get_str(&row, 0), None);
    assert_eq!(layout.read_value(&row, 4).to_string(), "[true, false]");
}

#[test]
fn null_reads_as_null_everywhere() {
    let layout = layout();
    let row = row(&layout, Value::Null);
    assert!(layout.is_null(&row, 3) && !layout.is_null(&row, 0));
    assert_eq!(layout.read_value(&row, 3), Value::Null);
    assert_eq!(layout.get_str(&row, 3), None);
    assert_eq!(layout.get_bytes(&row, 3), None);
}

/// Whatever one byte of a row is changed to, either the check refuses it or all reads succeed.
#[test]
fn damaged_rows_are_refused_or_readable() {
    let layout = layout();
    let good = row(&layout, Value::String("né"));
    assert!(layout.is_well_formed(&good));
    assert!(!layout.is_well_formed(&good[..good.len() - 1]));
    assert!(!layout.is_well_formed(&[]));
    let mut refused = 0;
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut damaged = good.clone();
            damaged[at] = byte;
            if layout.is_well_formed(&damaged) {
                for leaf in 0..layout.leaves().len() {
                    let _ = layout.read_value(&damaged, leaf).to_string();
                }
            } else {
                refused += 1;
            }
        }
    }
    assert!(refused > 1000);
}
