use super::*;

#[test]
fn the_builder_puts_things_in_order() {
    let schema = TableSchema::new("T")
        .column("a", ColumnType::U8)
        .default(1u8)
        .nullable_column("b", ColumnType::U8)
        .primary_key(["a"])
        .unique_index("u", ["b"])
        .hash_index("h", vec![String::from("b")])
        .unique_hash_index("uh", ["a", "b"])
        .ordered_index("o", [KeyPart::desc("b"), KeyPart::asc("a")])
        .build()
        .expect("a schema");
    assert_eq!(schema.columns[0].default, Some(DefaultValue::Unsigned(1)));
    assert!(schema.columns[1].nullable);
    let kinds: Vec<_> = schema
        .indexes
        .iter()
        .map(|index| (index.name.as_str(), index.unique, index.kind, index.primary))
        .collect();
    let expected = [
        ("primary", true, IndexKind::Ordered, true),
        ("u", true, IndexKind::Ordered, false),
        ("h", false, IndexKind::Hash, false),
        ("uh", true, IndexKind::Hash, false),
        ("o", false, IndexKind::Ordered, false),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(schema.index_by_name("h").map(|(ordinal, _)| ordinal), Some(2));
    assert_eq!(schema.primary_index(), Some(&schema.indexes[0]));
    assert!(schema.indexes[4].parts[0].descending);
}
