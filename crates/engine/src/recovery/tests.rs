//! Logs whose frames are whole and whose content makes no sense: an error, or a database.

use proptest::prelude::*;
use remanent_schema::{ColumnType, IndexSchema, TableSchema};

use crate::checksum::Checksum;
use crate::database::Database;
use crate::definition::Definition;
use crate::log::file::{Header, name_of};
use crate::log::record::{FrameAddress, Head, Redo, put_frame};
use crate::options::Options;
use crate::recovery::RecoverUntil;
use crate::storage::{Folder, Storage, write_all_at};

#[derive(Clone, Debug)]
enum Part {
    Insert { table: u32, row: u32, bytes: Vec<u8> },
    Update { table: u32, row: u32, old: Vec<u8>, new: Vec<u8> },
    Delete { table: u32, row: u32 },
    Noise(Vec<u8>),
    Define(Vec<u8>),
    Fragment(u64, Vec<u8>),
    CommitOf(u64, Vec<u8>),
}

fn row_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        // Rows of the table below, so that some of them are right.
        (any::<u8>(), 0..5_u8).prop_map(|(a, n)| {
            let mut bytes = vec![0; 8 + usize::from(n)];
            bytes[0] = a;
            bytes
        }),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let noise = || prop::collection::vec(any::<u8>(), 0..60);
    let (table, row) = (|| 0..3_u32, || prop_oneof![0..5_u32, 0..70_000_u32]);
    prop_oneof![
        4 => (table(), row(), row_bytes())
            .prop_map(|(table, row, bytes)| Part::Insert { table, row, bytes }),
        2 => (table(), row(), row_bytes(), row_bytes())
            .prop_map(|(table, row, old, new)| Part::Update { table, row, old, new }),
        2 => (table(), row()).prop_map(|(table, row)| Part::Delete { table, row }),
        1 => noise().prop_map(Part::Noise),
        1 => noise().prop_map(Part::Define),
        1 => (0..300_u64, noise()).prop_map(|(back, bytes)| Part::Fragment(back, bytes)),
        1 => (0..300_u64, noise()).prop_map(|(back, bytes)| Part::CommitOf(back, bytes)),
    ]
}

fn table(name: &str) -> Vec<u8> {
    let schema = TableSchema::new(name)
        .column("a", ColumnType::U8)
        .index(IndexSchema::new("primary", ["a"]).unique())
        .build()
        .expect("it is one");
    let table = u32::from(name != "First");
    Definition::CreateTable { table, schema }.to_bytes()
}

fn frame(out: &mut Vec<u8>, header: &Header, head: Head, operations: &[u8]) {
    let mut checksum = Checksum::new();
    checksum.add(operations);
    let address = FrameAddress { position: out.len() as u64, salt: header.salt() };
    put_frame(out, head, operations, checksum, address);
}

fn put(out: &mut Vec<u8>, header: &Header, part: &Part) {
    let mut redo = Redo::default();
    let back = |back: u64| back.min(out.len() as u64);
    match part {
        Part::Insert { table, row, bytes } => redo.insert(*table, *row, bytes),
        Part::Update { table, row, old, new } => redo.update(*table, *row, old, new),
        Part::Delete { table, row } => redo.delete(*table, *row),
        Part::Noise(bytes) => return frame(out, header, Head::Commit { delta: 1 }, bytes),
        Part::Define(bytes) => return frame(out, header, Head::Define { delta: 1 }, bytes),
        Part::Fragment(far, bytes) => {
            let back = back(*far);
            return frame(out, header, Head::Fragment { back }, bytes);
        }
        Part::CommitOf(far, bytes) => {
            let back = back(*far);
            return frame(out, header, Head::CommitOf { delta: 1, back }, bytes);
        }
    }
    frame(out, header, Head::Commit { delta: 1 }, redo.bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn frames_that_make_no_sense(parts in prop::collection::vec(part(), 0..12)) {
        let name = format!("remanent-frames-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let folder = Folder::create(&path).expect("a folder");
        let header = Header {
            database: [7; 16],
            number: 1,
            start: 0,
            timestamp: 1,
            nonce: 3,
            length: 576,
            version: 2,
        };
        let mut bytes = Vec::new();
        frame(&mut bytes, &header, Head::Define { delta: 1 }, &table("First"));
        frame(&mut bytes, &header, Head::Define { delta: 1 }, &table("Second"));
        parts.iter().for_each(|part| put(&mut bytes, &header, part));
        {
            let file = folder.create(&name_of(1)).expect("a file");
            header.write(&*file).expect("it is written");
            write_all_at(&*file, header.len(), &bytes).expect("it is written");
        }
        let options = Options::new().budget(16 << 20).budget_max(16 << 20);
        if let Ok(db) = Database::recover(&folder, options, RecoverUntil::End) {
            prop_assert!(db.damage().is_none());
            let tx = db.begin_read().expect("a transaction");
            for name in db.table_names() {
                let table = db.table(&name).expect("it was just named");
                let mut rows = tx.scan(&table).expect("it is there");
                prop_assert!(rows.all(|row| row.values().count() > 0));
            }
        }
        std::fs::remove_dir_all(&path).expect("it is removed");
    }
}
