//! Paged tables: columns leave memory when they stand in a file, and come back unchanged.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use remanent_engine::schema::*;
use remanent_engine::{Database, ErrorKind, Folder, Options, Piece, Storage, StorageFile, Table};

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("remanent-paged-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const ROWS: i64 = 4 * 65_536;
const CACHE: u64 = 300 << 10;

fn text_of(i: i64) -> String {
    format!("{:x} of {}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64), i % 1000)
}

fn schema() -> TableSchema {
    TableSchema::new("T")
        .column("id", ColumnType::I64)
        .column("number", ColumnType::I64)
        .nullable_column("float", ColumnType::F64)
        .column("text", ColumnType::STRING)
        .primary_key(["id"])
        .storage(TableStorage::Paged)
}

fn row_of(i: i64, text: &str) -> [Option<Value<'_>>; 4] {
    let float = (i % 7 != 0).then_some(Value::F64(i as f64 / 3.0));
    [Some(Value::I64(i)), Some(Value::I64(i * 31 % 65_521)), float, Some(Value::String(text))]
}

/// A database with a paged table of frozen rows, of which a checkpoint was made.
fn filled(place: &Place) -> (Database, Table) {
    let db = Database::open_at(&place.0, Options::new().buffer_cache(CACHE)).expect("it opens");
    let table = db.create_table(schema()).expect("it is created");
    for part in 0..4 {
        db.write(|tx| {
            let texts: Vec<String> = (0..65_536).map(|i| text_of(part * 65_536 + i)).collect();
            let rows = (0..65_536).map(|i| row_of(part * 65_536 + i, &texts[i as usize]));
            tx.insert_all_values(&table, rows)
        })
        .expect("there is room");
    }
    db.freeze_all(&table).expect("it is frozen");
    db.checkpoint().expect("it is written");
    (db, table)
}

/// Reads all columns, and compares.
fn check_columns(db: &Database, table: &Table) {
    let tx = db.begin_read().expect("there are slots");
    let mut pieces = tx.scan_pieces(table).expect("the table is there");
    let columns =
        ["id", "number", "float", "text"].map(|it| table.column(it).expect("it is there"));
    let mut seen = 0;
    while let Some(piece) = pieces.next_piece() {
        let Piece::Frozen(rows) = piece else { panic!("all rows are frozen") };
        let mut room = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let column = rows.column(*column).expect("it is read");
            for i in (0..rows.len()).step_by(97) {
                let number = rows.first_row() as i64 + i as i64;
                let text = text_of(number);
                let expected = row_of(number, &text)[place].unwrap_or(Value::Null);
                assert_eq!(column.value(i, &mut room), expected, "row {number}, column {place}");
            }
        }
        seen += rows.len();
    }
    assert_eq!(seen as i64, ROWS);
}

#[test]
fn columns_leave_memory_and_come_back() {
    let place = Place::new("columns");
    let (db, table) = filled(&place);
    let memory = db.memory();
    assert!(memory.cached <= CACHE, "{} are cached", memory.cached);
    assert!(memory.evicted > 2 << 20, "{} are evicted", memory.evicted);
    assert_eq!(memory.read_back, 0);
    for _ in 0..3 {
        check_columns(&db, &table);
    }
    let after = db.memory();
    assert!(after.read_back >= 2 * memory.evicted, "{} were read", after.read_back);
    let reads = db.statistics().column_reads;
    assert!(reads.count > 0 && reads.count <= after.read_back / 4096, "{reads:?}");
    assert!(reads.waiting > Duration::ZERO && reads.unpacking > Duration::ZERO, "{reads:?}");
    assert_eq!(after.cached + after.evicted, memory.cached + memory.evicted);
    // Opened again, they need no more memory than is given to them.
    drop((table, db));
    let db = Database::open_at(&place.0, Options::new().buffer_cache(CACHE)).expect("it opens");
    let table = db.table("T").expect("it is there");
    assert!(db.memory().cached <= CACHE && db.memory().evicted > 2 << 20);
    check_columns(&db, &table);
}

/// What a full cache has no room for is read beside it: within the budget, and no longer than the
/// rows are held.
#[test]
fn columns_that_have_no_room_are_read_beside_the_cache() {
    let place = Place::new("beside");
    let (db, table) = filled(&place);
    db.set_buffer_cache(1);
    let before = db.memory();
    assert_eq!(before.cached, 0);
    let columns = ["number", "float", "text"].map(|it| table.column(it).expect("it is there"));
    let tx = db.begin_read().expect("there are slots");
    let mut pieces = tx.scan_pieces(&table).expect("the table is there");
    let mut held = Vec::new();
    while let Some(rows) = pieces.next_frozen() {
        for column in columns {
            assert!(rows.column(column).expect("it is read").sketch().is_some());
        }
        // What is held twice is given back once.
        held.extend([rows.clone(), rows]);
    }
    let memory = db.memory();
    assert!(memory.cached < memory.evicted, "{memory:?}");
    assert!(memory.columns > before.columns + (2 << 20), "{memory:?}");
    assert!(memory.held > before.held + (2 << 20), "{memory:?}");
    drop((held, pieces));
    drop(tx);
    db.set_buffer_cache(1);
    let after = db.memory();
    assert_eq!((after.columns, after.cached), (before.columns, 0));
    assert_eq!(after.evicted, before.evicted);
    check_columns(&db, &table);
}

/// Threads that share the rows of a segment read each column once, and give it back once.
#[test]
fn threads_share_what_was_read_beside_the_cache() {
    let place = Place::new("shared");
    let (db, table, counted) = failing(&place);
    db.set_buffer_cache(1);
    let columns = ["number", "float", "text"].map(|it| table.column(it).expect("it is there"));
    let before = db.memory();
    for _ in 0..20 {
        let tx = db.begin_read().expect("there are slots");
        let mut pieces = tx.scan_pieces(&table).expect("the table is there");
        let rows = pieces.next_frozen().expect("all are frozen");
        counted.reads.store(1 << 20, Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for column in columns {
                        rows.column(column).expect("it is read");
                    }
                });
            }
        });
        let reads = (1 << 20) - counted.reads.load(Relaxed);
        // The first time a file is opened and a table read.
        assert!(reads <= 3 + 2, "{reads} reads of three columns");
        drop((rows, pieces));
        drop(tx);
        db.set_buffer_cache(1);
        assert_eq!(db.memory().columns, before.columns);
    }
}

/// A column that has no page of the system stays, and nothing is read for it.
#[test]
fn small_columns_stay() {
    let place = Place::new("small");
    drop(filled(&place));
    let db = Database::open_at(&place.0, Options::new()).expect("it opens");
    let schema = TableSchema::new("S")
        .column("same", ColumnType::I64)
        .column("long", ColumnType::I64)
        .storage(TableStorage::Paged);
    let table = db.create_table(schema).expect("it is created");
    let long = |i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64);
    let rows = (0..65_536_i64).map(|i| [Some(Value::I64(7)), Some(Value::I64(long(i)))]);
    db.write(|tx| tx.insert_all_values(&table, rows.clone())).expect("there is room");
    db.freeze_all(&table).expect("it is frozen");
    db.checkpoint().expect("it is written");
    db.set_buffer_cache(1);
    let before = db.memory();
    assert_eq!(before.cached, 0);
    let tx = db.begin_read().expect("there are slots");
    let mut pieces = tx.scan_pieces(&table).expect("the table is there");
    let rows = pieces.next_frozen().expect("it is frozen");
    let read = |name| {
        let column = rows.column(table.column(name).expect("it is there")).expect("it is read");
        column.value(9, &mut Vec::new()).as_integer()
    };
    assert_eq!(read("same"), Some(7));
    assert_eq!(db.memory().read_back, before.read_back, "nothing was read");
    assert_eq!(read("long"), Some(long(9).into()));
    assert!(db.memory().read_back > before.read_back);
}

#[test]
fn rows_are_read_changed_and_deleted() {
    let place = Place::new("rows");
    let (db, table) = filled(&place);
    let [number, text] = ["number", "text"].map(|it| table.column(it).expect("it is there"));
    let primary = table.index("primary").expect("it is there");
    for i in (0..ROWS).step_by(4099) {
        let tx = db.begin_read().expect("there are slots");
        let row = tx.find(&table, primary, &[i.into()]).expect("it is read").expect("it is there");
        assert_eq!(row.value(text), Value::String(&text_of(i)));
        let id = row.id();
        drop(tx);
        db.write(|tx| match i % 2 {
            0 => tx.update_values(&table, id, &[(number, Value::I64(-i))]).map(|_| ()),
            _ => tx.delete(&table, id),
        })
        .expect("it is changed");
    }
    let check = |db: &Database| {
        let table = db.table("T").expect("it is there");
        let tx = db.begin_read().expect("there are slots");
        for i in (0..ROWS).step_by(4099) {
            let row = tx.find(&table, primary, &[i.into()]).expect("it is read");
            assert_eq!(row.and_then(|row| row.get::<i64>(number)), (i % 2 == 0).then_some(-i));
        }
    };
    check(&db);
    db.freeze_all(&table).expect("it is frozen");
    db.checkpoint().expect("it is written");
    check(&db);
    drop((table, db));
    check(&Database::open_at(&place.0, Options::new().buffer_cache(CACHE)).expect("it opens"));
}

/// Flips a bit in every segment file, somewhere behind the header.
fn flip(folder: &Folder, at: u64) {
    let names = folder.names().expect("it is listed");
    for name in names.iter().filter(|name| name.starts_with("segments-")) {
        let file = folder.open(name).expect("it opens");
        let mut byte = [0];
        let place = 1000 + at % (file.len().expect("it has a length") - 1000);
        file.read_at(place, &mut byte).expect("it is read");
        file.write_at(place, &[byte[0] ^ 1]).expect("it is written");
    }
}

#[test]
fn damage_is_an_error_of_the_statement_and_no_more() {
    let place = Place::new("damage");
    let (db, table) = filled(&place);
    let folder = Folder::create(&place.0).expect("it is there");
    let columns = ["number", "float", "text"].map(|it| table.column(it).expect("it is there"));
    let read = || -> Result<u64, remanent_engine::Error> {
        let (tx, mut room, mut sum) = (db.begin_read()?, Vec::new(), 0_u64);
        let mut pieces = tx.scan_pieces(&table)?;
        while let Some(rows) = pieces.next_frozen() {
            for column in columns {
                let column = rows.column(column)?;
                for i in 0..rows.len() {
                    let number = match column.value(i, &mut room) {
                        Value::I64(number) => number as u64,
                        Value::F64(number) => number.to_bits(),
                        Value::String(text) => text
                            .as_bytes()
                            .iter()
                            .fold(7, |sum: u64, it| sum.wrapping_mul(31) ^ u64::from(*it)),
                        _ => 3,
                    };
                    sum = sum.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
                }
            }
        }
        Ok(sum)
    };
    let right = read().expect("nothing is damaged");
    let flips = std::env::var("REMANENT_FLIPS").map_or(40, |it| it.parse().expect("a number"));
    let mut errors = 0;
    for at in (0..flips).map(|i: u64| i * 104_729) {
        flip(&folder, at);
        match read() {
            Ok(sum) => assert_eq!(sum, right, "a wrong answer"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::DamagedImage);
                assert!(error.to_string().contains("segments-"), "{error}");
                errors += 1;
            }
        }
        flip(&folder, at);
        assert_eq!(read().expect("it is whole again"), right);
    }
    assert!(errors > flips / 4, "{errors} of {flips} were met");
}

/// With more than 64 columns, some come back together: all of them or none.
#[test]
fn columns_that_come_together_come_all_or_not() {
    const COLUMNS: i64 = 150;
    const NUMBERS: i64 = 4096;
    let number = |row: i64, column: i64| {
        (row * COLUMNS + column).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)
    };
    let place = Place::new("together");
    let db = Database::open_at(&place.0, Options::new().buffer_cache(1)).expect("it opens");
    let schema = TableSchema::new("T").storage(TableStorage::Paged);
    let schema = (0..COLUMNS).fold(schema, |it, i| it.column(format!("c{i}"), ColumnType::I64));
    let table = db.create_table(schema).expect("it is created");
    let values = |row| (0..COLUMNS).map(move |column| Some(Value::I64(number(row, column))));
    let rows: Vec<Vec<_>> = (0..NUMBERS).map(|row| values(row).collect()).collect();
    db.write(|tx| tx.insert_all_values(&table, &rows)).expect("there is room");
    db.freeze_all(&table).expect("it is frozen");
    db.checkpoint().expect("it is written");
    assert!(db.memory().evicted > 4 << 20 && db.memory().cached == 0);
    let folder = Folder::create(&place.0).expect("it is there");
    let mut errors = 0;
    for at in (0..30).map(|i: u64| 200_000 + i * 98_317) {
        flip(&folder, at);
        // There is room for all of them: none is read to pages of its own.
        db.set_buffer_cache(64 << 20);
        let tx = db.begin_read().expect("there are slots");
        let mut pieces = tx.scan_pieces(&table).expect("the table is there");
        let rows = pieces.next_frozen().expect("all are frozen");
        for i in 0..COLUMNS {
            let column = table.column(&format!("c{i}")).expect("it is there");
            match rows.column(column) {
                Ok(column) => {
                    let mut room = Vec::new();
                    let value = column.value(7, &mut room);
                    assert_eq!(value, Value::I64(number(7, i)), "column {i}");
                }
                Err(_) => errors += 1,
            }
        }
        flip(&folder, at);
        drop((rows, pieces));
        drop(tx);
        db.set_buffer_cache(1);
        assert_eq!(db.memory().cached, 0);
    }
    assert_eq!(errors, 30 * 3, "the columns of one unit each time");
}

#[test]
fn an_index_is_built_of_columns_that_left() {
    let place = Place::new("index");
    let (db, table) = filled(&place);
    check_columns(&db, &table);
    let index = IndexSchema::new("by_text", ["text"]);
    let index = db.create_index(&table, index).expect("it is built");
    let before = db.memory();
    for i in (0..ROWS).step_by(1009) {
        let tx = db.begin_read().expect("there are slots");
        let key = text_of(i);
        let row = tx.find(&table, index, &[Value::String(&key)]).expect("it is read");
        assert!(row.is_some(), "row {i}");
    }
    assert!(before.evicted > 0);
    check_columns(&db, &table);
}

/// Threads read all columns at once, each in its own order, through a cache that holds few of them.
#[test]
fn many_read_at_once() {
    let place = Place::new("many");
    let (db, table) = filled(&place);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..3).for_each(|_| check_columns(&db, &table)));
        }
        scope.spawn(|| {
            for _ in 0..20 {
                db.checkpoint().expect("it is written");
            }
        });
    });
}

#[test]
fn a_table_that_was_dropped_is_read_on() {
    let place = Place::new("dropped");
    let (db, table) = filled(&place);
    let text = table.column("text").expect("it is there");
    let tx = db.begin_read().expect("there are slots");
    let mut pieces = tx.scan_pieces(&table).expect("the table is there");
    db.drop_table(&table).expect("it is dropped");
    for _ in 0..2 {
        db.checkpoint().expect("it is written");
    }
    let mut room = Vec::new();
    while let Some(rows) = pieces.next_frozen() {
        let column = rows.column(text).expect("its file is there");
        let expected = text_of(rows.first_row() as i64);
        assert_eq!(column.value(0, &mut room), Value::String(&expected));
    }
    drop(pieces);
    drop(tx);
    drop(table);
    db.reclaim();
    db.checkpoint().expect("it is written");
    let names = Folder::create(&place.0).expect("it is there").names().expect("it is listed");
    assert!(!names.iter().any(|name| name.starts_with("segments-")), "{names:?}");
    assert_eq!(db.memory().evicted, 0);
}

/// Checks that the budget holds, and what is said of the one table.
fn check_memory(db: &Database, budget: u64) {
    let memory = db.memory();
    assert!(memory.held <= budget, "{} are held", memory.held);
    let of_table = &db.memory_by_table().expect("there are slots")[0];
    assert_eq!(of_table.evicted_bytes, memory.evicted);
    assert_eq!(of_table.column_bytes, memory.columns);
}

/// Several times as much as the budget is loaded, changed, indexed and read, and opened again.
#[test]
fn data_is_larger_than_the_budget() {
    const PARTS: i64 = 20;
    const BUDGET: u64 = 16 << 20;
    let place = Place::new("larger");
    let options = || Options::new().budget(BUDGET).budget_max(1 << 30);
    let db = Database::open_at(&place.0, options()).expect("it opens");
    let schema = TableSchema::new("T")
        .column("id", ColumnType::I64)
        .column("number", ColumnType::I64)
        .nullable_column("float", ColumnType::F64)
        .column("text", ColumnType::STRING)
        .storage(TableStorage::Paged);
    let table = db.create_table(schema).expect("it is created");
    let [id, number, text] = ["id", "number", "text"].map(|it| table.column(it).expect("one"));
    for part in 0..PARTS {
        db.write(|tx| {
            let texts: Vec<String> = (0..65_536).map(|i| text_of(part * 65_536 + i)).collect();
            let rows = (0..65_536).map(|i| row_of(part * 65_536 + i, &texts[i as usize]));
            tx.insert_all_values(&table, rows)
        })
        .expect("columns make room");
        db.freeze_all(&table).expect("columns make room");
        db.reclaim();
        db.checkpoint().expect("it is written");
    }
    let memory = db.memory();
    assert!(memory.evicted > BUDGET * 3 / 2, "{} are evicted", memory.evicted);
    let check = |db: &Database, changed: i64| {
        let table = db.table("T").expect("it is there");
        let tx = db.begin_read().expect("there are slots");
        let mut pieces = tx.scan_pieces(&table).expect("the table is there");
        let (mut seen, mut room) = (0, Vec::new());
        while let Some(piece) = pieces.next_piece() {
            match piece {
                Piece::Frozen(rows) => {
                    let [ids, texts] = [id, text].map(|it| rows.column(it).expect("it is read"));
                    for i in (0..rows.len()).step_by(31) {
                        let Value::I64(id) = ids.value(i, &mut Vec::new()) else { panic!("id") };
                        assert_eq!(texts.value(i, &mut room), Value::String(&text_of(id)));
                    }
                    seen += rows.visible_count();
                }
                Piece::Rows(rows) => {
                    assert!(rows.iter().all(|row| row.get::<i64>(number) == Some(-1)));
                    assert_eq!(rows.len() as i64, changed.min(1));
                    seen += rows.len();
                }
            }
        }
        assert_eq!(seen as i64, PARTS * 65_536);
        check_memory(db, BUDGET);
    };
    check(&db, 0);
    let ids: Vec<_> = {
        let tx = db.begin_read().expect("there are slots");
        let mut pieces = tx.scan_pieces(&table).expect("the table is there");
        std::iter::from_fn(|| pieces.next_frozen().map(|rows| rows.row_id(7))).collect()
    };
    for id in &ids {
        db.write(|tx| tx.update_values(&table, *id, &[(number, Value::I64(-1))]))
            .expect("it is changed");
    }
    check(&db, 1);
    db.checkpoint().expect("it is written");
    drop((table, db));
    let db = Database::open_at(&place.0, options()).expect("it opens");
    check(&db, 1);
}

/// A folder that does what it is told not to be able to.
#[derive(Debug)]
struct Failing {
    folder: Folder,
    fails: Arc<Fails>,
}

#[derive(Debug, Default)]
struct Fails {
    renames: AtomicBool,
    /// Reads of segment files from this one on; 0 is none.
    reads: AtomicU64,
    /// Bytes of segment files that were said to be read soon.
    announced: AtomicU64,
    /// Bytes of segment files that the system need not keep.
    passed: AtomicU64,
}

#[derive(Debug)]
struct FailingFile(Box<dyn StorageFile>, Option<Arc<Fails>>);

fn refused() -> io::Error {
    io::Error::other("as it was told")
}

impl Failing {
    fn file(&self, name: &str, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        let is_of_segments = name.starts_with("segments-");
        Box::new(FailingFile(file, is_of_segments.then(|| Arc::clone(&self.fails))))
    }
}

impl Storage for Failing {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.file(name, self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.file(name, self.folder.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if self.fails.renames.load(Relaxed) { Err(refused()) } else { self.folder.rename(from, to) }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.folder.sync_names()
    }

    fn lock(&self) -> io::Result<Box<dyn std::fmt::Debug + Send + Sync>> {
        self.folder.lock()
    }
}

impl StorageFile for FailingFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(fails) = &self.1 {
            let left = fails.reads.load(Relaxed);
            if left == 1 {
                return Err(refused());
            }
            fails.reads.store(left.saturating_sub(1), Relaxed);
        }
        self.0.read_at(at, bytes)
    }

    fn will_read(&self, at: u64, len: u64) {
        if let Some(fails) = &self.1 {
            fails.announced.fetch_add(len, Relaxed);
        }
        self.0.will_read(at, len);
    }

    fn was_read(&self, at: u64, len: u64) {
        if let Some(fails) = &self.1 {
            fails.passed.fetch_add(len, Relaxed);
        }
        self.0.was_read(at, len);
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_at(at, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

/// As [`filled`], in a folder that can fail.
fn failing(place: &Place) -> (Database, Table, Arc<Fails>) {
    drop(filled(place));
    let fails = Arc::new(Fails::default());
    let folder = Folder::create(&place.0).expect("it is there");
    let storage = Arc::new(Failing { folder, fails: Arc::clone(&fails) });
    let db = Database::open_in(storage, Options::new().buffer_cache(CACHE)).expect("it opens");
    let table = db.table("T").expect("it is there");
    (db, table, fails)
}

#[test]
fn a_read_that_fails_is_an_error_of_the_statement_and_no_more() {
    let place = Place::new("eio");
    let (db, table, fails) = failing(&place);
    let primary = table.index("primary").expect("it is there");
    let [number, text] = ["number", "text"].map(|it| table.column(it).expect("it is there"));
    // Whichever read of a statement it is that fails.
    for nth in 1..12 {
        for i in [1, 70_000, 140_000, 210_000] {
            // A row that nobody has changed, of a segment that is not in memory.
            let i = i + nth as i64;
            (0..3).for_each(|_| db.set_buffer_cache(1));
            fails.reads.store(nth, Relaxed);
            let error = db.write(|tx| {
                let row = tx.find(&table, primary, &[i.into()])?.expect("it is there").id();
                tx.update_values(&table, row, &[(number, Value::I64(-i))])
            });
            fails.reads.store(0, Relaxed);
            if let Err(error) = &error {
                assert_eq!(error.kind(), ErrorKind::StorageFailed);
                assert!(error.to_string().contains("segments-"), "{error}");
            }
            let tx = db.begin_read().expect("there are slots");
            let row = tx.find(&table, primary, &[i.into()]).expect("it is read");
            let row = row.expect("it is there");
            let expected = if error.is_ok() { -i } else { i * 31 % 65_521 };
            assert_eq!(row.get::<i64>(number), Some(expected));
            assert_eq!(row.value(text), Value::String(&text_of(i)));
            assert!(nth > 1 || error.is_err(), "the first read is one");
        }
    }
    let failed = || -> Result<(), remanent_engine::Error> {
        let tx = db.begin_read()?;
        let mut pieces = tx.scan_pieces(&table)?;
        while let Some(rows) = pieces.next_frozen() {
            rows.column(text)?;
        }
        Ok(())
    };
    (0..3).for_each(|_| db.set_buffer_cache(1));
    fails.reads.store(3, Relaxed);
    assert_eq!(failed().unwrap_err().kind(), ErrorKind::StorageFailed);
    fails.reads.store(0, Relaxed);
    failed().expect("it is read");
}

/// A row by its key is two reads from a file that is open: the table of the record, and all columns
/// that are not in memory. The next one of its segment is one.
#[test]
fn a_row_is_read_at_once() {
    const MANY: u64 = 1 << 20;
    let place = Place::new("reads");
    let (db, table, counted) = failing(&place);
    let primary = table.index("primary").expect("it is there");
    let reads_of = |id: i64| {
        db.set_buffer_cache(1);
        assert_eq!(db.memory().cached, 0);
        counted.reads.store(MANY, Relaxed);
        let before = db.statistics().column_reads.count;
        let tx = db.begin_read().expect("there are slots");
        let row = tx.find(&table, primary, &[Value::I64(id)]).expect("it is read");
        let text = text_of(id);
        let values: Vec<_> = row.expect("it is there").values().collect();
        assert_eq!(values, row_of(id, &text).map(|it| it.unwrap_or(Value::Null)));
        let reads = MANY - counted.reads.load(Relaxed);
        assert_eq!(db.statistics().column_reads.count - before, reads, "as they are counted");
        reads
    };
    // The file is opened, and its header checked.
    assert_eq!(reads_of(7), 3);
    assert_eq!(reads_of(3 * 65_536 + 7), 2);
    assert_eq!(reads_of(3 * 65_536 + 700), 1);
    assert_eq!(reads_of(700), 1);
}

#[test]
fn the_next_segment_can_be_announced() {
    let place = Place::new("next");
    let (db, table, fails) = failing(&place);
    db.set_buffer_cache(1);
    let [number, text] = ["number", "text"].map(|it| table.column(it).expect("it is there"));
    let announced = || fails.announced.swap(0, Relaxed);
    announced();
    let tx = db.begin_read().expect("there are slots");
    let mut pieces = tx.scan_pieces(&table).expect("the table is there");
    for segment in 1..4 {
        pieces.next_piece();
        let next = pieces.following().expect("there is another");
        assert_eq!(next.first_row(), segment * 65_536);
        next.announce(&[number]).expect("it is of the table");
        let of_numbers = announced();
        assert!((65_536..200_000).contains(&of_numbers), "{of_numbers}");
        next.announce(&[number, text]).expect("it is of the table");
        assert!(announced() > 3 * of_numbers, "texts are longer");
    }
    pieces.next_piece();
    assert!(pieces.following().is_none(), "it was the last");
    drop(pieces);
    drop(tx);
    // What has changed is not looked for ahead, nor what never leaves memory.
    db.write(|tx| {
        let row = tx.find(&table, table.index("primary")?, &[70_000_i64.into()])?;
        tx.delete(&table, row.expect("it is there").id())
    })
    .expect("it is deleted");
    let tx = db.begin_read().expect("there are slots");
    let mut pieces = tx.scan_pieces(&table).expect("the table is there");
    pieces.next_piece();
    assert!(pieces.following().is_none());
}

#[test]
fn the_system_keeps_what_was_read_or_not() {
    let place = Place::new("once");
    drop(filled(&place));
    let open = |keeps| {
        let fails = Arc::new(Fails::default());
        let folder = Folder::create(&place.0).expect("it is there");
        let storage = Arc::new(Failing { folder, fails: Arc::clone(&fails) });
        let options = Options::new().buffer_cache(CACHE).system_cache(keeps);
        let db = Database::open_in(storage, options).expect("it opens");
        let at_open = fails.passed.swap(0, Relaxed);
        check_columns(&db, &db.table("T").expect("it is there"));
        (at_open, fails.passed.load(Relaxed), db.memory())
    };
    let (at_open, later, memory) = open(true);
    assert_eq!((at_open, later), (0, 0));
    // All is read when it is opened, and what has left memory again.
    let all = memory.columns + memory.evicted;
    let (at_open, later, memory) = open(false);
    assert!(at_open * 10 > all * 9 && later >= memory.read_back / 10 * 9, "{at_open} {later}");
}

#[test]
fn a_checkpoint_that_fails_lets_nothing_leave() {
    let place = Place::new("failed");
    let (db, table, fails) = failing(&place);
    let number = table.column("number").expect("it is there");
    // All segments are frozen again, and stand nowhere.
    let ids: Vec<_> = {
        let tx = db.begin_read().expect("there are slots");
        tx.scan(&table).expect("it is there").map(|row| row.id()).step_by(3).collect()
    };
    db.write(|tx| {
        ids.iter().try_for_each(|id| {
            tx.update_values(&table, *id, &[(number, Value::I64(5))]).map(|_| ())
        })
    })
    .expect("there is room");
    db.reclaim();
    db.freeze_all(&table).expect("it is frozen");
    db.reclaim();
    assert_eq!(db.memory().evicted, 0, "what was frozen anew stands nowhere");
    fails.renames.store(true, Relaxed);
    db.checkpoint().expect_err("a name cannot be given");
    db.set_buffer_cache(1);
    assert_eq!(db.memory().evicted, 0, "no file has it");
    fails.renames.store(false, Relaxed);
    db.checkpoint().expect("it is written");
    assert!(db.memory().evicted > 0);
    let tx = db.begin_read().expect("there are slots");
    let fives = tx.scan(&table).expect("it is there");
    let fives = fives.filter(|row| row.get::<i64>(number) == Some(5)).count();
    assert!(fives >= ids.len());
}

#[test]
fn memory_alone_has_nothing_to_evict_to() {
    let db = Database::open(Options::new().buffer_cache(1)).expect("it opens");
    let table = db.create_table(schema()).expect("it is created");
    let text = text_of(1);
    db.write(|tx| tx.insert_values(&table, &row_of(1, &text))).expect("there is room");
    db.freeze_all(&table).expect("it is frozen");
    assert_eq!((db.memory().evicted, db.memory().cached), (0, 0));
    let _shared: Arc<Database> = Arc::new(db);
}
