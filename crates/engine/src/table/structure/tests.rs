//! What the region says of tables and indexes, read without anything that the process knows of
//! them.

use super::*;
use crate::memory::Memory;
use crate::schema::ColumnType;
use crate::{Database, Options};

/// The tables as they stand in the region, each with its indexes by ordinal.
fn stored(memory: &Memory) -> Vec<TableSchema> {
    let schema = |at: u64, len: u64| {
        let bytes = memory.region().bytes(at, len as usize);
        TableSchema::from_bytes(bytes).expect("it was a schema")
    };
    let mut tables = Vec::new();
    let mut next = memory.header().tables.load(Relaxed);
    while next != 0 {
        let root = memory.get(Ref::<TableRoot>::new(next));
        let mut table = schema(root.schema.load(Relaxed), root.schema_len.load(Relaxed).into());
        table.indexes.clear();
        for at in root.indexes.iter().map(|word| word.load(Relaxed)).filter(|&at| at != 0) {
            let head = memory.get(Ref::<IndexHead>::new(at));
            assert_ne!(head.root.load(Relaxed), 0);
            let place = at + size_of::<IndexHead>() as u64;
            let with_it = schema(place, head.schema_len.load(Relaxed));
            assert_eq!((&with_it.name, &with_it.columns), (&table.name, &table.columns));
            table.indexes.extend(with_it.indexes);
        }
        tables.push(table);
        next = root.next.load(Relaxed);
    }
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    tables
}

/// Indexes that are created and dropped one by one are in the region as those of CREATE TABLE are.
#[test]
fn the_region_knows_every_index() {
    let db = Database::open(Options::new().budget(4 << 20)).expect("it opens");
    let memory = db.instance.memory();
    let schema = |name: &str| {
        TableSchema::new(name)
            .column("a", ColumnType::U32)
            .column("b", ColumnType::STRING)
            .primary_key(["a"])
            .hash_index("by_b", ["b"])
    };
    let one = db.create_table(schema("One")).expect("there is memory");
    let two = db.create_table(schema("Two")).expect("there is memory");
    let check = || {
        let known = [&one, &two].map(|table| table.core.current_schema());
        assert_eq!(stored(memory), known);
    };
    check();
    let internal = db.memory().internal;
    let made = db.create_index(&one, IndexSchema::new("later", ["b", "a"])).expect("room");
    check();
    let by_b = two.index("by_b").expect("it is there");
    db.drop_index(&two, by_b).expect("it is there");
    check();
    db.create_index(&two, IndexSchema::new("instead", ["a"]).hash()).expect("room");
    check();
    let refused = db.create_index(&two, IndexSchema::new("bad", ["nothing"]));
    assert!(refused.is_err());
    db.drop_index(&one, made).expect("it is there");
    check();
    db.reclaim();
    assert!(db.memory().internal <= internal + 512, "heads of dropped indexes are freed");
    db.drop_table(&one).expect("it is there");
    db.drop_table(&two).expect("it is there");
    db.reclaim();
    assert_eq!(stored(memory), []);
}
