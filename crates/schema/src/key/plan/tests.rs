use super::*;
use crate::definition::table_schema::{KeyPart, TableSchema};
use crate::values::column_type::Column;

fn layout_and_plan(parts: &[KeyPart]) -> (RowLayout, KeyPlan) {
    let thing = vec![Column::new("a", ColumnType::U16)];
    let schema = TableSchema::new("T")
        .column("id", ColumnType::U32)
        .column("name", ColumnType::STRING)
        .column("code", ColumnType::Char(3))
        .column("raw", ColumnType::Binary(2))
        .nullable_column("thing", ColumnType::Struct(thing))
        .column("note", ColumnType::STRING)
        .ordered_index("index", parts)
        .build()
        .expect("a schema");
    let layout = RowLayout::new(&schema);
    let plan = KeyPlan::new(&layout, &schema.indexes[0]).expect("a plan");
    (layout, plan)
}

fn row(layout: &RowLayout, values: &[Option<Value<'_>>]) -> Vec<u8> {
    let mut row = vec![0; layout.encoded_len(values).expect("a length")];
    layout.encode(values, &mut row).expect("a row");
    row
}

fn values<'v>(thing: Value<'v>, note: &'v str) -> [Option<Value<'v>>; 7] {
    let name = Some(Value::String("n"));
    let (code, raw) = (Some(Value::String("c")), Some(Value::Bytes(&[0, 1])));
    [Some(Value::U32(1)), name, code, raw, None, Some(thing), Some(Value::String(note))]
}

#[test]
fn every_form_of_part_is_written() {
    let parts = ["note", "code", "raw", "thing.a", "id"].map(KeyPart::asc);
    let (layout, plan) = layout_and_plan(&parts);
    let row = row(&layout, &values(Value::U16(7), "x"));
    let mut key = KeyBuffer::new();
    plan.encode_row(&row, &mut key).expect("a key");
    let expected = [b'x', 0, 1, b'c', 0, 1, 0, 1, 1, 0, 7, 0, 0, 0, 1];
    assert_eq!(key.as_slice(), expected);
    assert!(plan.matches_row(&row, &expected));
    assert!(!plan.matches_row(&row, &expected[..14]));
    assert_eq!(plan.leaves().collect::<Vec<_>>(), [6, 2, 3, 5, 0]);
    assert_eq!(plan.fixed_len(), None);
}

#[test]
fn an_absent_struct_makes_its_part_null() {
    let (layout, plan) = layout_and_plan(&[KeyPart::desc("thing.a")]);
    let absent = row(&layout, &values(Value::Null, "x"));
    let present = row(&layout, &values(Value::U16(7), "x"));
    assert!(plan.has_null(&absent) && !plan.has_null(&present));
    let mut key = KeyBuffer::new();
    plan.encode_row(&absent, &mut key).expect("a key");
    assert_eq!(key.as_slice(), [0xff]);
    assert_eq!(plan.compare_row(&present, key.as_slice()), Ordering::Less);
}

#[test]
fn prefixes_begin_the_keys_of_their_rows() {
    let (layout, plan) = layout_and_plan(&["id", "name", "code"].map(KeyPart::asc));
    let row = row(&layout, &values(Value::Null, "x"));
    let mut prefix = KeyBuffer::new();
    for parts in [&[][..], &[Value::U32(1)], &[Value::U32(1), Value::String("n")]] {
        assert_eq!(plan.encode_values(parts, &mut prefix), Ok(parts.len()));
        assert!(plan.row_starts_with(&row, prefix.as_slice()));
    }
    plan.encode_values(&[Value::U32(1), Value::String("")], &mut prefix).expect("a prefix");
    assert!(!plan.row_starts_with(&row, prefix.as_slice()));
    assert_eq!(plan.compare_row(&row, prefix.as_slice()), Ordering::Greater);
}

#[test]
fn wrong_values_are_named_by_part() {
    let (_, plan) = layout_and_plan(&["id", "raw", "thing.a"].map(KeyPart::asc));
    let mut key = KeyBuffer::new();
    let mut refused = |values: &[Value<'_>]| plan.encode_values(values, &mut key).unwrap_err();
    let found = "String";
    assert_eq!(refused(&[Value::String("1")]), KeyError::WrongKeyShape { part: 0, found });
    assert_eq!(refused(&[Value::I64(-1)]), KeyError::ValueOutOfRange { part: 0 });
    assert_eq!(refused(&[Value::Null]), KeyError::NullInNotNull { part: 0 });
    let short = [Value::U8(1), Value::Bytes(&[1])];
    assert_eq!(refused(&short), KeyError::WrongKeyShape { part: 1, found: "Bytes" });
    assert_eq!(refused(&[Value::Null; 4]), KeyError::TooManyParts { expected: 3, found: 4 });
}

#[test]
fn keys_are_at_most_as_long_as_allowed() {
    let (layout, plan) = layout_and_plan(&[KeyPart::asc("note")]);
    let mut key = KeyBuffer::new();
    for (len, expected) in
        [(1022, Ok(())), (1023, Err(KeyError::KeyTooLong)), (5000, Err(KeyError::KeyTooLong))]
    {
        let note = "x".repeat(len);
        let row = row(&layout, &values(Value::Null, &note));
        assert_eq!(plan.encode_row(&row, &mut key), expected, "{len}");
    }
}

#[test]
fn plans_are_refused_for_columns_that_are_not_there() {
    let (layout, _) = layout_and_plan(&[KeyPart::asc("id")]);
    let missing = KeyPlan::new(&layout, &IndexSchema::new("i", ["nothing"])).unwrap_err();
    assert!(matches!(missing, SchemaError::UnknownKeyColumn { .. }));
    let presence = KeyPlan::new(&layout, &IndexSchema::new("i", ["thing"])).unwrap_err();
    assert!(matches!(presence, SchemaError::BadKeyType { .. }));
}

#[test]
fn fixed_lengths_are_known() {
    let (_, plan) = layout_and_plan(&["id", "raw"].map(KeyPart::asc));
    assert_eq!((plan.fixed_len(), plan.parts()), (Some(6), 2));
}

#[test]
fn parts_as_rows_hold_them_make_the_key_that_values_make() {
    let columns: [(ColumnType, Value<'_>); 9] = [
        (ColumnType::I8, Value::I8(-3)),
        (ColumnType::U16, Value::U16(700)),
        (ColumnType::I32, Value::I32(-70_000)),
        (ColumnType::U32, Value::U32(70_000)),
        (ColumnType::I64, Value::I64(-1)),
        (ColumnType::U64, Value::U64(1 << 40)),
        (ColumnType::F32, Value::F32(-0.5)),
        (ColumnType::F64, Value::F64(2.5)),
        (ColumnType::Timestamp, Value::Timestamp(-9)),
    ];
    for (column_type, value) in columns {
        for part in [KeyPart::asc("a"), KeyPart::desc("a")] {
            for nullable in [false, true] {
                let mut schema = TableSchema::new("T");
                schema = match nullable {
                    true => schema.nullable_column("a", column_type.clone()),
                    false => schema.column("a", column_type.clone()),
                };
                let schema = schema.ordered_index("index", [part.clone()]).build().expect("fine");
                let layout = RowLayout::new(&schema);
                let plan = KeyPlan::new(&layout, &schema.indexes[0]).expect("a plan");
                let row = row(&layout, &[Some(value)]);
                let bytes = layout.get_bytes(&row, 0).expect("it is not null");
                let (mut plain, mut same) = (KeyBuffer::new(), KeyBuffer::new());
                assert_eq!(plan.encode_plain(&[bytes], &mut plain), Some(1));
                assert_eq!(plan.encode_values(&[value], &mut same), Ok(1));
                assert_eq!(plain, same, "{column_type:?}");
                assert!(plan.matches_row(&row, plain.as_slice()));
            }
        }
    }
}
