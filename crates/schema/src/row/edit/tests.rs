use crate::{Column, ColumnType, RowLayout, TableSchema, Value};

fn layout() -> RowLayout {
    let thing = ColumnType::Struct(vec![
        Column::new("a", ColumnType::I16),
        Column::new("note", ColumnType::STRING).nullable(),
    ]);
    let schema = TableSchema::new("T")
        .column("name", ColumnType::String { max: Some(5) })
        .with(Column::new("thing", thing).nullable())
        .column("flag", ColumnType::Bool)
        .column("price", ColumnType::Decimal { precision: 3, scale: 0 })
        .column("pair", ColumnType::Array { element: Box::new(ColumnType::I8), count: 2 })
        .column("many", ColumnType::Vector { element: Box::new(ColumnType::I16), max: Some(3) });
    RowLayout::new(&schema.build().expect("a schema"))
}

fn blank() -> (RowLayout, Vec<u8>) {
    let (layout, mut row) = (layout(), Vec::new());
    layout.blank_row(&mut row);
    (layout, row)
}

#[test]
fn a_value_inside_an_absent_struct_makes_it_appear_blank() {
    let (layout, mut row) = blank();
    let leaf = |path: &str| layout.leaf_by_path(path).expect("a leaf");
    assert!(layout.is_null(&row, leaf("thing")));
    layout.set(&mut row, leaf("thing.a"), &Value::I16(7)).expect("a value");
    assert_eq!(layout.get::<i16>(&row, leaf("thing.a")), Some(7));
    assert!(!layout.is_null(&row, leaf("thing")));
    assert!(layout.is_null(&row, leaf("thing.note")));
    layout.set(&mut row, leaf("thing.note"), &"x".into()).expect("a value");
    layout.set(&mut row, leaf("thing"), &Value::Null).expect("it may be absent");
    assert_eq!(row, blank().1);
}

#[test]
fn what_is_refused_changes_nothing() {
    let (layout, row) = blank();
    let leaf = |path: &str| layout.leaf_by_path(path).expect("a leaf");
    let refused: [(&str, Value<'_>); 6] = [
        ("name", "longer".into()),
        ("name", Value::Null),
        ("flag", Value::I8(1)),
        ("pair", Value::List(&[Value::I8(1), Value::I32(1000)])),
        ("many", Value::List(&[Value::I16(1), Value::I32(100_000)])),
        ("thing.a", Value::I32(100_000)),
    ];
    for (path, value) in refused {
        let mut edited = row.clone();
        assert!(layout.set(&mut edited, leaf(path), &value).is_err(), "{path}");
        assert_eq!(edited, row, "{path}");
    }
    let raw: [(&str, &[u8]); 7] = [
        ("name", b"longer"),
        ("name", &[0xff]),
        ("flag", &[2]),
        ("price", &1000_i64.to_le_bytes()),
        ("pair", &[1]),
        ("many", &[1]),
        ("many", &[0; 8]),
    ];
    for (path, bytes) in raw {
        let mut edited = row.clone();
        assert!(layout.set_raw(&mut edited, leaf(path), bytes).is_err(), "{path}");
        assert_eq!(edited, row, "{path}");
    }
    assert!(layout.set(&mut row.clone(), 99, &Value::Null).is_err());
}

#[test]
fn text_in_the_middle_grows_and_shrinks() {
    let (layout, mut row) = blank();
    let leaf = |path: &str| layout.leaf_by_path(path).expect("a leaf");
    layout.set_raw(&mut row, leaf("many"), &[1, 0, 2, 0]).expect("elements");
    for text in ["abcde", "", "ab", "abcd"] {
        layout.set(&mut row, leaf("name"), &text.into()).expect("text");
        assert_eq!(layout.get_str(&row, leaf("name")), Some(text));
        assert_eq!(layout.get_bytes(&row, leaf("many")), Some(&[1, 0, 2, 0][..]));
        assert!(layout.is_well_formed(&row));
    }
}
