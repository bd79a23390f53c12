//! That a table says what it is, and that rows are taken apart as the format has it.

use remanent_engine::schema::{Record, RowLayout, TableSchema};

use super::{KvOptions, Pair, options_of, pair_of, schema_of};

const ALL: [fn() -> KvOptions; 4] = [
    KvOptions::ordered,
    KvOptions::hashed,
    || KvOptions::ordered().with_duplicates(),
    || KvOptions::hashed().with_duplicates(),
];

#[test]
fn a_schema_tells_its_options() {
    for options in ALL {
        let schema = schema_of("d", options()).build().unwrap();
        assert_eq!(options_of(&schema), Some(options()));
        // Further indexes, of programs that use the table as a table, do not matter.
        let further = schema.ordered_index("by_value", ["value"]).build().unwrap();
        assert_eq!(options_of(&further), Some(options()));
    }
}

#[test]
fn other_tables_are_no_databases() {
    let schema = schema_of("d", KvOptions::ordered());
    let without = TableSchema { indexes: Vec::new(), ..schema };
    assert_eq!(options_of(&without), None);
    let other = Pair::schema().nullable_column("more", remanent_engine::schema::ColumnType::I32);
    assert_eq!(options_of(&other.primary_key(["key"])), None);
    assert_eq!(options_of(&Pair::schema().primary_key(["value"])), None);
}

#[test]
fn rows_are_taken_apart_as_the_layout_has_it() {
    let layout = RowLayout::new(&schema_of("d", KvOptions::ordered()));
    for (key, value) in [(&b""[..], &b""[..]), (b"k", b""), (b"", b"v"), (b"\0\xff", b"value")] {
        let pair = Pair { key, value };
        let mut row = vec![0; pair.encoded_len().unwrap()];
        pair.encode(&mut row);
        assert!(layout.is_well_formed(&row));
        assert_eq!(pair_of(&row), (key, value));
        assert_eq!(layout.get_bytes(&row, 0), Some(key));
        assert_eq!(layout.get_bytes(&row, 1), Some(value));
    }
}
