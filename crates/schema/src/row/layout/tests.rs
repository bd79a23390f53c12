use super::*;

fn nested() -> TableSchema {
    let inner =
        vec![Column::new("x", ColumnType::U8), Column::new("y", ColumnType::STRING).nullable()];
    let outer = vec![
        Column::new("inner", ColumnType::Struct(inner)).nullable(),
        Column::new("z", ColumnType::U64),
    ];
    TableSchema::new("T")
        .column("id", ColumnType::U32)
        .nullable_column("outer", ColumnType::Struct(outer.clone()))
        .column("plain", ColumnType::Struct(outer))
}

#[test]
fn structs_become_leaves_and_nullable_ones_a_presence() {
    let layout = RowLayout::new(&nested());
    let paths: Vec<&str> = layout.leaves().iter().map(|leaf| leaf.path.as_str()).collect();
    let expected = [
        "id",
        "outer",
        "outer.inner",
        "outer.inner.x",
        "outer.inner.y",
        "outer.z",
        "plain.inner",
        "plain.inner.x",
        "plain.inner.y",
        "plain.z",
    ];
    assert_eq!(paths, expected);
    let presences: Vec<usize> =
        (0..10).filter(|leaf| layout.leaves()[*leaf].is_presence()).collect();
    assert_eq!(presences, [1, 2, 6]);
    assert_eq!(layout.leaf_by_path("outer.inner.y"), Some(4));
    assert_eq!(layout.leaf_by_path("plain"), None);
}

#[test]
fn leaves_under_a_nullable_struct_have_a_bit_to_look_at() {
    let layout = RowLayout::new(&nested());
    let bit = |path: &str| {
        let leaf = layout.leaf_by_path(path).expect("a leaf");
        layout.leaves()[leaf].null_bit
    };
    assert_eq!(bit("id"), NO_NULL_BIT);
    assert_eq!(bit("outer.inner.x"), bit("outer.inner"));
    assert_ne!(bit("outer.inner.y"), bit("outer.inner"));
    assert_eq!(bit("outer.z"), bit("outer"));
    assert_eq!(bit("plain.z"), NO_NULL_BIT);
}

#[test]
fn the_length_of_the_fixed_part_is_known_beforehand() {
    let schema = nested();
    let layout = RowLayout::new(&schema);
    assert_eq!(fixed_len(&schema.columns), layout.fixed_size() as u64);
    assert!(!layout.is_fixed());
    assert_eq!(layout.variable(), [4, 8]);
}
