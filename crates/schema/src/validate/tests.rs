use super::*;
use crate::definition::table_schema::KeyPart;

fn table(column_type: ColumnType) -> TableSchema {
    TableSchema::new("T").column("a", column_type)
}

fn array(element: ColumnType, count: u32) -> ColumnType {
    ColumnType::Array { element: Box::new(element), count }
}

fn vector(element: ColumnType) -> ColumnType {
    ColumnType::Vector { element: Box::new(element), max: None }
}

#[test]
fn names_are_checked() {
    let long = "x".repeat(NAME_LEN_MAX + 1);
    for name in ["", "a.b", "a\n", long.as_str()] {
        let bad = Err(SchemaError::BadName { name: name.into() });
        assert_eq!(TableSchema::new(name).column("a", ColumnType::U8).validate(), bad);
        assert_eq!(TableSchema::new("T").column(name, ColumnType::U8).validate(), bad);
        assert_eq!(table(ColumnType::U8).ordered_index(name, ["a"]).validate(), bad);
    }
    let twice = table(ColumnType::U8).column("a", ColumnType::U8).validate();
    assert_eq!(twice, Err(SchemaError::DuplicateName { name: "a".into() }));
    let twice = table(ColumnType::U8).hash_index("i", ["a"]).hash_index("i", ["a"]).validate();
    assert_eq!(twice, Err(SchemaError::DuplicateName { name: "i".into() }));
    assert_eq!(TableSchema::new("T").validate(), Err(SchemaError::NoColumns));
}

#[test]
fn types_are_checked() {
    let field = |column: Column| ColumnType::Struct(vec![column]);
    let bad = [
        ColumnType::Decimal { precision: 0, scale: 0 },
        ColumnType::Decimal { precision: 39, scale: 0 },
        ColumnType::Decimal { precision: 5, scale: 6 },
        ColumnType::Decimal { precision: 38, scale: 200 },
        ColumnType::Char(0),
        ColumnType::Binary(TEXT_SIZE_MAX + 1),
        array(ColumnType::U8, 0),
        array(ColumnType::STRING, 1),
        array(vector(ColumnType::U8), 1),
        array(field(Column::new("x", ColumnType::U8).nullable()), 1),
        array(field(Column::new("x", ColumnType::U8).with_default(1u8)), 1),
        array(field(Column::new("x", ColumnType::BLOB)), 1),
        vector(array(ColumnType::U8, 1)),
        vector(ColumnType::Char(0)),
        vector(ColumnType::STRING),
    ];
    for column_type in bad {
        let shown = column_type.to_string();
        let refused = table(column_type).validate();
        assert!(matches!(refused, Err(SchemaError::BadType { .. })), "{shown}: {refused:?}");
    }
    let good = [
        ColumnType::Decimal { precision: 38, scale: 38 },
        ColumnType::Char(TEXT_SIZE_MAX),
        array(array(field(Column::new("x", ColumnType::Char(3))), 2), 2),
        vector(ColumnType::Char(3)),
        field(Column::new("x", ColumnType::BLOB).nullable()),
    ];
    for column_type in good {
        let shown = column_type.to_string();
        assert_eq!(table(column_type).validate(), Ok(()), "{shown}");
    }
}

#[test]
fn counts_and_sizes_are_limited() {
    let mut deep = ColumnType::U8;
    for _ in 0..NESTING_MAX {
        deep = ColumnType::Struct(vec![Column::new("x", deep)]);
    }
    assert!(matches!(table(deep).validate(), Err(SchemaError::TooMany { .. })));
    let mut deep = ColumnType::U8;
    for _ in 0..NESTING_MAX {
        deep = array(deep, 1);
    }
    assert!(matches!(table(deep).validate(), Err(SchemaError::TooMany { .. })));
    let fields = |count| (0..count).map(|n| Column::new(format!("f{n}"), ColumnType::U8)).collect();
    let wide = table(ColumnType::Struct(fields(COLUMN_COUNT_MAX + 1))).validate();
    assert!(matches!(wide, Err(SchemaError::TooMany { what: "columns", .. })));
    let many = (0..5).fold(TableSchema::new("T"), |schema, n| {
        schema.column(format!("s{n}"), ColumnType::Struct(fields(COLUMN_COUNT_MAX)))
    });
    assert!(matches!(many.validate(), Err(SchemaError::TooMany { what: "leaves", .. })));
    let long = table(array(ColumnType::U64, 1 << 27)).column("b", ColumnType::U8).validate();
    assert_eq!(long, Err(SchemaError::RowTooLong { len: (1 << 30) + 1 }));
    let absurd = table(array(array(ColumnType::U64, u32::MAX), u32::MAX)).validate();
    assert!(matches!(absurd, Err(SchemaError::RowTooLong { .. })));
    let indexes = (0..=INDEX_COUNT_MAX)
        .fold(table(ColumnType::U8), |schema, n| schema.ordered_index(format!("i{n}"), ["a"]));
    assert!(matches!(indexes.validate(), Err(SchemaError::TooMany { what: "indexes", .. })));
}

#[test]
fn defaults_are_checked() {
    let bad = Err(SchemaError::BadDefault { column: "a".into() });
    assert_eq!(table(ColumnType::U8).default(256u16).validate(), bad);
    assert_eq!(table(ColumnType::U8).default("x").validate(), bad);
    assert_eq!(table(ColumnType::String { max: Some(1) }).default("xy").validate(), bad);
    assert_eq!(table(ColumnType::Binary(2)).default(vec![1u8]).validate(), bad);
    assert_eq!(table(vector(ColumnType::U8)).default(vec![1u8]).validate(), bad);
    let fields = vec![Column::new("x", ColumnType::U8)];
    assert_eq!(table(ColumnType::Struct(fields)).default(1u8).validate(), bad);
    assert_eq!(table(ColumnType::I8).default(-5i64).validate(), Ok(()));
    assert_eq!(table(ColumnType::BLOB).default(vec![1u8]).validate(), Ok(()));
}

#[test]
fn keys_are_checked() {
    let thing = ColumnType::Struct(vec![Column::new("x", ColumnType::U8)]);
    let vector = ColumnType::Vector { element: Box::new(ColumnType::U8), max: None };
    let table = || {
        table(ColumnType::U8)
            .nullable_column("n", ColumnType::U8)
            .column("vector", vector.clone())
            .column("thing", thing.clone())
            .nullable_column("maybe", thing.clone())
    };
    let with = |part: &str| table().ordered_index("i", [part]).validate();
    let (index, column) = (|| Box::from("i"), |name: &str| Box::from(name));
    assert_eq!(
        with("b"),
        Err(SchemaError::UnknownKeyColumn { index: index(), column: column("b") })
    );
    for name in ["vector", "thing", "maybe"] {
        let bad = SchemaError::BadKeyType { index: index(), column: column(name) };
        assert_eq!(with(name), Err(bad));
    }
    assert_eq!(with("thing.x"), Ok(()));
    assert_eq!(with("maybe.x"), Ok(()));
    for name in ["n", "maybe.x"] {
        let bad = SchemaError::NullablePrimaryKey { column: column(name) };
        assert_eq!(table().primary_key([name]).validate(), Err(bad));
    }
    let none: [KeyPart; 0] = [];
    assert!(matches!(table().ordered_index("i", none).validate(), Err(SchemaError::BadKey { .. })));
    let twice = table().ordered_index("i", ["a", "a"]).validate();
    assert!(matches!(twice, Err(SchemaError::BadKey { .. })));
    let loose = IndexSchema { primary: true, ..IndexSchema::new("i", ["a"]) };
    assert!(matches!(table().index(loose).validate(), Err(SchemaError::BadKey { .. })));
    let second = IndexSchema { primary: true, ..IndexSchema::new("i", ["a"]).unique() };
    assert_eq!(
        table().primary_key(["a"]).index(second).validate(),
        Err(SchemaError::SecondPrimaryKey { index: index() })
    );
}
