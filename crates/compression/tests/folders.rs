//! Databases whose columns are compressed in files: smaller, read back unchanged, and nothing but
//! an error without the library or of damaged files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use remanent_compression::{Lz4, folder, open_at};
use remanent_engine::schema::*;
use remanent_engine::{
    Compression, Database, ErrorKind, Folder, Options, RecoverUntil, Result, Storage, Table,
};

const ROWS: i64 = 65_536;
/// Bytes of the buffer cache: of a few columns.
const CACHE: u64 = 300 << 10;

/// A key, a column that LZ4 makes short, one that it does not, and text.
fn row(i: i64, text: &str) -> [Option<Value<'_>>; 4] {
    let short = i / 64 % 977 * 7_000_000_000;
    let long = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
    let values = [Value::I64(i), Value::I64(short), Value::I64(long), Value::String(text)];
    values.map(Some)
}

fn text_of(i: i64) -> String {
    format!("{:08x}{:08x}", i.wrapping_mul(0x2545_f491), i.wrapping_mul(0x9e37_79b1))
}

/// Makes a paged table of frozen rows, of which a checkpoint is made; two segments of them.
fn fill(db: &Database) -> Table {
    let schema = TableSchema::new("T")
        .column("id", ColumnType::I64)
        .column("short", ColumnType::I64)
        .column("long", ColumnType::I64)
        .column("text", ColumnType::STRING)
        .primary_key(["id"])
        .storage(TableStorage::Paged);
    let table = db.create_table(schema).expect("it is created");
    for part in 0..2 {
        let texts: Vec<String> = (0..ROWS).map(|i| text_of(part * ROWS + i)).collect();
        let rows = texts.iter().zip(part * ROWS..).map(|(text, i)| row(i, text));
        db.write(|tx| tx.insert_all_values(&table, rows.clone())).expect("there is room");
    }
    db.freeze_all(&table).expect("it is frozen");
    db.checkpoint().expect("it is written");
    table
}

/// Reads all columns that can leave memory, and compares them.
fn read(db: &Database, table: &Table) -> Result<()> {
    let tx = db.begin_read()?;
    let mut pieces = tx.scan_pieces(table)?;
    let (mut room, mut seen) = (Vec::new(), 0);
    while let Some(rows) = pieces.next_frozen() {
        for (place, name) in ["id", "short", "long", "text"].into_iter().enumerate() {
            let column = rows.column(table.column(name)?)?;
            for i in (0..rows.len()).step_by(61) {
                let number = rows.first_row() as i64 + i as i64;
                let text = text_of(number);
                let expected = row(number, &text)[place].unwrap_or(Value::Null);
                assert_eq!(column.value(i, &mut room), expected, "row {number}, column {name}");
            }
        }
        seen += rows.len();
    }
    assert_eq!(seen as i64, 2 * ROWS);
    Ok(())
}

/// Bytes of the segment files in a folder.
fn segment_bytes(path: &Path) -> u64 {
    let files = fs::read_dir(path).expect("it is there").map(|file| file.expect("it is there"));
    let segments = files.filter(|it| it.file_name().to_string_lossy().starts_with("segments-"));
    segments.map(|it| it.metadata().expect("it is there").len()).sum()
}

fn options() -> Options {
    Options::new().buffer_cache(CACHE)
}

#[test]
fn columns_take_less_room_and_come_back() {
    let places = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let plain = Database::open_at(places[0].path(), options()).expect("it opens");
    fill(&plain);
    let db = open_at(places[1].path(), options()).expect("it opens");
    let table = fill(&db);
    let [as_it_is, compressed] = [0, 1].map(|i| segment_bytes(places[i].path()));
    // The codes of a column, of two bytes each, are as good as gone.
    assert!(compressed + 3 * ROWS as u64 <= as_it_is, "{compressed} of {as_it_is}");
    assert!(db.memory().evicted > 1 << 20, "{:?}", db.memory());
    for _ in 0..3 {
        read(&db, &table).expect("it is whole");
    }
    assert!(db.memory().read_back > 2 << 20);
    drop((table, db));
    let db = open_at(places[1].path(), options()).expect("it opens again");
    read(&db, &db.table("T").expect("it is there")).expect("it is whole");
}

#[test]
fn without_the_library_it_is_said_what_is_missing() {
    let place = tempfile::tempdir().expect("a folder");
    fill(&open_at(place.path(), options()).expect("it opens"));
    let without = Folder::existing(place.path()).expect("it is there");
    let recovered = Database::recover(&without, options(), RecoverUntil::End);
    let error = recovered.expect_err("columns cannot be read").to_string();
    assert!(error.contains("compressed by method 1"), "{error}");
    assert!(error.contains("segments-"), "{error}");
    let with = without.compressed_by(Arc::new(Lz4));
    let db = Database::recover(&with, options(), RecoverUntil::End).expect("it is whole");
    read(&db, &db.table("T").expect("it is there")).expect("it is whole");
}

#[test]
fn files_of_before_are_read_and_go_when_they_are_not_needed() {
    let place = tempfile::tempdir().expect("a folder");
    fill(&Database::open_at(place.path(), options()).expect("it opens"));
    let before = segment_bytes(place.path());
    let db = open_at(place.path(), options()).expect("it opens");
    let table = db.table("T").expect("it is there");
    read(&db, &table).expect("what was written without the library is read with it");
    db.checkpoint().expect("it is written");
    assert_eq!(segment_bytes(place.path()), before, "segments are written once");
    // A backup is a folder of its own, with or without the library.
    let target = tempfile::tempdir().expect("a folder");
    db.backup(&folder(target.path()).expect("it is there")).expect("it is written");
    let copy = Database::open_at(target.path(), options()).expect("it opens");
    read(&copy, &copy.table("T").expect("it is there")).expect("it is whole");
}

/// Changes a byte of the segment files, which are taken as one.
fn flip(folder: &Folder, at: u64) {
    let mut names = folder.names().expect("they are listed");
    names.retain(|name| name.starts_with("segments-"));
    names.sort_unstable();
    let files: Vec<_> = names.iter().map(|name| folder.open(name).expect("it opens")).collect();
    let lens: Vec<u64> = files.iter().map(|file| file.len().expect("it is there")).collect();
    let mut at = at % lens.iter().sum::<u64>();
    for (file, len) in files.iter().zip(lens) {
        if at < len {
            let mut byte = [0];
            file.read_at(at, &mut byte).expect("it is read");
            file.write_at(at, &[byte[0] ^ 1 << (at % 8)]).expect("it is written");
            return;
        }
        at -= len;
    }
}

#[test]
fn damage_is_an_error_of_the_statement_and_no_more() {
    let place = tempfile::tempdir().expect("a folder");
    let db = open_at(place.path(), options()).expect("it opens");
    let table = fill(&db);
    let folder = Folder::existing(place.path()).expect("it is there");
    let mut errors = 0;
    let flips = std::env::var("REMANENT_FLIPS").map_or(60, |it| it.parse().expect("a number"));
    for at in (0..flips).map(|i: u64| i * 104_729) {
        flip(&folder, at);
        if let Err(error) = read(&db, &table) {
            assert_eq!(error.kind(), ErrorKind::DamagedImage);
            assert!(error.to_string().contains("segments-"), "{error}");
            errors += 1;
        }
        flip(&folder, at);
        read(&db, &table).expect("it is whole again");
    }
    assert!(errors > flips / 4, "{errors} of {flips} were met");
}

/// What comes out of a library is believed no more than what stands in a file.
#[derive(Debug)]
struct Wrong;

impl Compression for Wrong {
    fn method(&self) -> u32 {
        Lz4.method()
    }

    fn compress(&self, bytes: &[u8], out: &mut Vec<u8>) {
        Lz4.compress(bytes, out);
    }

    fn decompress(&self, method: u32, bytes: &[u8], out: &mut [u8]) -> std::io::Result<()> {
        Lz4.decompress(method, bytes, out)?;
        out[out.len() / 2] ^= 1;
        Ok(())
    }
}

#[test]
fn a_library_that_errs_is_found_out() {
    let place = tempfile::tempdir().expect("a folder");
    let wrong = folder(place.path()).expect("it is there").compressed_by(Arc::new(Wrong));
    let db = Database::open_in(Arc::new(wrong), options()).expect("it opens");
    let table = fill(&db);
    let error = read(&db, &table).expect_err("a column is wrong");
    assert!(error.to_string().contains("has a wrong checksum"), "{error}");
}
