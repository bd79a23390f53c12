use super::*;
use crate::definition::table_schema::TableSchema;
use crate::values::column_type::Column;
use crate::values::default_value::DefaultValue;

fn layout() -> RowLayout {
    let thing = vec![
        Column::new("a", ColumnType::U16),
        Column::new("b", ColumnType::STRING).nullable(),
        Column::new("c", ColumnType::U8).with_default(5u8),
    ];
    let schema = TableSchema::new("T")
        .column("id", ColumnType::U32)
        .column("name", ColumnType::String { max: Some(5) })
        .default("none")
        .nullable_column("thing", ColumnType::Struct(thing))
        .nullable_column("note", ColumnType::BLOB)
        .build()
        .expect("a schema");
    RowLayout::new(&schema)
}

// Leaves: 0 id, 1 name, 2 thing, 3 thing.a, 4 thing.b, 5 thing.c, 6 note.

fn encoded(layout: &RowLayout, values: &[Option<Value<'_>>]) -> Result<Vec<u8>, RowError> {
    let mut row = vec![0xaa; layout.encoded_len(values)?];
    assert_eq!(layout.encode(values, &mut row)?, row.len());
    assert!(layout.is_well_formed(&row));
    Ok(row)
}

fn updated(
    layout: &RowLayout,
    old_row: &[u8],
    changes: &[(usize, Value<'_>)],
) -> Result<Vec<u8>, RowError> {
    let mut row = vec![0xaa; layout.updated_len(old_row, changes)?];
    assert_eq!(layout.update(old_row, changes, &mut row)?, row.len());
    assert!(layout.is_well_formed(&row));
    Ok(row)
}

fn shown(layout: &RowLayout, row: &[u8]) -> String {
    let values = (0..layout.leaves().len()).map(|leaf| layout.read_value(row, leaf).to_string());
    values.collect::<Vec<_>>().join(" ")
}

#[test]
fn missing_values_become_defaults_or_null_or_an_error() {
    let layout = layout();
    let row = encoded(&layout, &[Some(Value::U32(1))]).expect("a row");
    assert_eq!(shown(&layout, &row), "1 none NULL NULL NULL NULL NULL");
    let refused = encoded(&layout, &[]);
    assert_eq!(refused, Err(RowError::NullInNotNull { column: "id".into() }));
}

#[test]
fn a_value_under_a_struct_makes_it_present() {
    let layout = layout();
    let id = Some(Value::U32(1));
    let row = encoded(&layout, &[id, None, None, Some(Value::U16(2))]).expect("a row");
    assert_eq!(shown(&layout, &row), "1 none true 2 NULL 5 NULL");
    let refused = encoded(&layout, &[id, None, Some(Value::Bool(true))]);
    assert_eq!(refused, Err(RowError::NullInNotNull { column: "thing.a".into() }));
    let wrong = encoded(&layout, &[id, None, Some(Value::U8(1))]);
    assert!(matches!(wrong, Err(RowError::WrongType { .. })));
}

#[test]
fn an_absent_struct_is_empty_whatever_is_given() {
    let layout = layout();
    let (id, a) = (Some(Value::U32(1)), Some(Value::U16(2)));
    let row = encoded(&layout, &[id, None, Some(Value::Null), a]).expect("a row");
    assert_eq!(row, encoded(&layout, &[id]).expect("a row"));
}

#[test]
fn updates_of_fixed_leaves_change_nothing_else() {
    let layout = layout();
    let old = encoded(&layout, &[Some(Value::U32(1))]).expect("a row");
    let row = updated(&layout, &old, &[(0, Value::U32(2)), (0, Value::I8(3))]).expect("a row");
    assert_eq!(shown(&layout, &row), "3 none NULL NULL NULL NULL NULL");
    assert_eq!(row.len(), old.len());
}

#[test]
fn updates_of_variable_leaves_move_the_others() {
    let layout = layout();
    let note = Value::Bytes(&[1, 2, 3]);
    let values = [Some(Value::U32(1)), None, None, None, None, None, Some(note)];
    let old = encoded(&layout, &values).expect("a row");
    let row = updated(&layout, &old, &[(1, Value::String("x"))]).expect("a row");
    assert_eq!(shown(&layout, &row), "1 x NULL NULL NULL NULL 0x010203");
    let row = updated(&layout, &row, &[(6, Value::Null)]).expect("a row");
    assert_eq!(shown(&layout, &row), "1 x NULL NULL NULL NULL NULL");
    assert_eq!(row.len(), layout.fixed_size() + 1);
}

#[test]
fn updates_make_structs_appear_and_vanish() {
    let layout = layout();
    let old = encoded(&layout, &[Some(Value::U32(1))]).expect("a row");
    let changes = [(3, Value::U16(2)), (4, Value::String("b"))];
    let present = updated(&layout, &old, &changes).expect("a row");
    assert_eq!(shown(&layout, &present), "1 none true 2 b 5 NULL");
    let changed = updated(&layout, &present, &[(5, Value::U8(6))]).expect("a row");
    assert_eq!(shown(&layout, &changed), "1 none true 2 b 6 NULL");
    let gone = updated(&layout, &changed, &[(2, Value::Null)]).expect("a row");
    assert_eq!(gone, old);
    let refused = updated(&layout, &old, &[(5, Value::U8(6))]);
    assert_eq!(refused, Err(RowError::NullInNotNull { column: "thing.a".into() }));
}

#[test]
fn faults_are_named() {
    let layout = layout();
    let id = Some(Value::U32(1));
    let long = encoded(&layout, &[id, Some(Value::String("longer"))]);
    assert_eq!(long, Err(RowError::ValueTooLong { column: "name".into(), len: 6, max: 5 }));
    let wrong = encoded(&layout, &[id, Some(Value::U8(1))]).unwrap_err();
    assert_eq!(wrong.to_string(), "column name is String(5) and does not accept U8");
    let many = encoded(&layout, &[None; 8]);
    assert_eq!(many, Err(RowError::TooManyValues { expected: 7, found: 8 }));
    let old = encoded(&layout, &[id]).expect("a row");
    let unknown = updated(&layout, &old, &[(7, Value::Null)]);
    assert_eq!(unknown, Err(RowError::UnknownColumn { column: "7".into() }));
    let null = updated(&layout, &old, &[(0, Value::Null)]);
    assert_eq!(null, Err(RowError::NullInNotNull { column: "id".into() }));
}

#[test]
fn outputs_that_are_too_small_are_refused_at_any_length() {
    let layout = layout();
    let values = [Some(Value::U32(1)), Some(Value::String("abc"))];
    let row = encoded(&layout, &values).expect("a row");
    for len in 0..row.len() {
        let refused = layout.encode(&values, &mut vec![0; len]);
        assert!(matches!(refused, Err(RowError::BufferTooSmall { .. })), "{len}");
        let refused = layout.update(&row, &[(1, Value::String("abc"))], &mut vec![0; len]);
        assert!(matches!(refused, Err(RowError::BufferTooSmall { .. })), "{len}");
    }
}

#[test]
fn defaults_of_every_kind_are_written() {
    let schema = TableSchema::new("T")
        .column("a", ColumnType::F32)
        .default(0.5)
        .column("b", ColumnType::Decimal { precision: 5, scale: 2 })
        .default(DefaultValue::Decimal(125))
        .column("c", ColumnType::Binary(2))
        .default(&[1u8, 2][..])
        .build()
        .expect("a schema");
    let layout = RowLayout::new(&schema);
    let row = encoded(&layout, &[]).expect("a row");
    assert_eq!(shown(&layout, &row), "0.5 125 0x0102");
}
