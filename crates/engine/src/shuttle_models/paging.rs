//! Columns that leave memory and come back while others read, change and freeze them again.

use super::{check, race};
use crate::column::block::Block;
use crate::error::Result;
use crate::memory::modelled;
use crate::memory::pages::buffer_cache::{EvictedBytes, EvictedRecord};
use crate::schema::{ColumnType, TableSchema, TableStorage, Value};
use crate::segment_files::StoredBlock;
use crate::table::columns::paging::set_stored;
use crate::table::table::TableAt;
use crate::{ColumnHandle, Database, IndexHandle, Options, Table};

/// Rows, and bytes of each, so that pages of the system lie within a column.
const ROWS: u32 = 4;
const LEN: usize = 5000;

/// A file in memory with the extents of one block.
#[derive(Debug)]
struct Record(Vec<Vec<u8>>);

impl EvictedBytes for Record {
    fn read(
        &self,
        _: EvictedRecord,
        extents: &[usize],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        extents.iter().try_for_each(|&extent| take(extent, &self.0[extent]))
    }

    fn will_read(&self, _: EvictedRecord, _: &[usize]) {}
}

/// A paged table whose rows are frozen and stand in a file.
struct Paged {
    db: Database,
    table: Table,
    text: ColumnHandle,
    index: IndexHandle,
}

/// The text of a row with a key and a number, which no encoding makes short.
fn text_of(key: u32, number: u32) -> Vec<u8> {
    let mut state = u64::from(key) << 32 | u64::from(number) | 1 << 20;
    let next = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    let mut text: Vec<u8> = (0..LEN).map(next).collect();
    text[0] = number as u8;
    text
}

impl Paged {
    fn new() -> Self {
        modelled::quietly(|| {
            let options = Options::new().budget(4 << 20).transactions_max(8);
            let db = Database::open(options).expect("the budget is large enough");
            let schema = TableSchema::new("T")
                .column("key", ColumnType::U32)
                .column("text", ColumnType::BLOB)
                .primary_key(["key"])
                .storage(TableStorage::Paged);
            let table = db.create_table(schema).expect("it is created");
            let text = table.column("text").expect("it is there");
            let index = table.index("primary").expect("it is there");
            let paged = Self { db, table, text, index };
            let texts: Vec<_> = (0..ROWS).map(|key| text_of(key, 0)).collect();
            paged
                .db
                .write(|tx| {
                    for (key, text) in (0..ROWS).zip(&texts) {
                        let row = [Some(key.into()), Some(Value::Bytes(text))];
                        tx.insert_values(&paged.table, &row)?;
                    }
                    Ok(())
                })
                .expect("there is memory");
            paged.db.freeze_all(&paged.table).expect("there is memory");
            paged.store();
            paged
        })
    }

    /// Says that the segment stands in a file.
    fn store(&self) {
        let memory = self.db.instance.memory();
        let at = TableAt { memory, core: &self.table.core };
        let frozen = at.directory().frozen(memory, 0).expect("it is frozen");
        let block: Block<'_> = frozen.block(memory);
        let extents = block.extents().into_iter().map(|it| block.bytes()[it].to_vec());
        memory.buffer_cache.set_source(Record(extents.collect()));
        set_stored(at, frozen, StoredBlock { file: 1, at: 0, len: 1, checksum: 0 });
        assert!(memory.buffer_cache.bytes() > 0, "pages lie within the column");
    }

    fn evict(&self) {
        self.db.set_buffer_cache(1);
    }

    /// Reads the texts as columns, and those of rows that have changed.
    fn read_columns(&self) {
        let tx = self.db.begin_read().expect("there are slots");
        let mut pieces = tx.scan_pieces(&self.table).expect("the table is there");
        while let Some(rows) = pieces.next_frozen() {
            let column = rows.column(self.text).expect("it is read");
            let mut room = Vec::new();
            for i in 0..rows.len() {
                if !rows.sees(i) {
                    continue;
                }
                for _ in 0..2 {
                    let Value::Bytes(text) = column.value(i, &mut room) else { panic!("no text") };
                    assert!(text == text_of(i as u32, u32::from(text[0])), "row {i}");
                    modelled::scheduling_point();
                }
            }
        }
    }

    /// Reads a text by its key; the number in it.
    fn read_row(&self, key: u32) -> u32 {
        let tx = self.db.begin_read().expect("there are slots");
        let row = tx.find(&self.table, self.index, &[key.into()]).expect("it is read");
        let Value::Bytes(text) = row.expect("it is there").value(self.text) else { panic!("text") };
        modelled::scheduling_point();
        let number = u32::from(text[0]);
        assert!(text == text_of(key, number), "row {key}");
        number
    }

    fn change(&self, key: u32, number: u32) {
        let text = text_of(key, number);
        let changed = self.db.write(|tx| {
            let found = tx.find(&self.table, self.index, &[key.into()])?;
            let row = found.expect("nobody deletes it").id();
            tx.update_values(&self.table, row, &[(self.text, Value::Bytes(&text))])
        });
        changed.expect("it is retried");
    }
}

/// Columns are read as such and as rows, by two threads, while another evicts them again and again.
#[test]
fn shuttle_what_is_read_is_not_evicted() {
    check(|| {
        let paged = Paged::new();
        modelled::quietly(|| paged.evict());
        let read_rows = || {
            for key in [0, 3, 0] {
                assert_eq!(paged.read_row(key), 0);
            }
        };
        let evict = || {
            for _ in 0..4 {
                paged.evict();
            }
        };
        let read = || paged.read_columns();
        race(vec![Box::new(read), Box::new(read_rows), Box::new(evict)]);
        modelled::quietly(|| {
            paged.evict();
            paged.evict();
            let use_of = paged.db.memory();
            assert!(use_of.cached == 0 && use_of.evicted > 0, "{use_of:?}");
        });
    });
}

/// A column that is in memory is asked for while another thread is about to evict it.
#[test]
fn shuttle_who_pins_waits_for_who_evicts() {
    check(|| {
        let paged = Paged::new();
        race(vec![Box::new(|| paged.read_columns()), Box::new(|| paged.evict())]);
        modelled::quietly(|| paged.read_columns());
    });
}

/// A row is changed, and its segment frozen again and freed, while another thread evicts.
#[test]
fn shuttle_segments_that_go_are_not_evicted() {
    check(|| {
        let paged = Paged::new();
        modelled::quietly(|| paged.evict());
        let change = || {
            paged.change(1, 7);
            paged.change(2, 7);
            paged.db.freeze_all(&paged.table).expect("there is memory");
            paged.db.reclaim();
        };
        let evict = || {
            for _ in 0..3 {
                paged.evict();
            }
        };
        let read = || {
            assert!([0, 7].contains(&paged.read_row(1)));
            paged.read_columns();
        };
        race(vec![Box::new(change), Box::new(evict), Box::new(read)]);
        modelled::quietly(|| {
            let numbers: Vec<u32> = (0..ROWS).map(|key| paged.read_row(key)).collect();
            assert_eq!(numbers, [0, 7, 7, 0]);
            paged.db.drop_table(&paged.table).expect("it is dropped");
            paged.db.reclaim();
            let use_of = paged.db.memory();
            assert_eq!((use_of.cached, use_of.evicted), (0, 0), "{use_of:?}");
        });
    });
}
