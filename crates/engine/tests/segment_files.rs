//! Segment files: columns are written once, and images refer to them.
//!
//! Whatever is frozen, changed, dropped and frozen again between checkpoints, what is opened is
//! what was there; files go when no image needs them; and whatever happens to a file, nobody gets a
//! wrong answer.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

#[path = "durability/shelf.rs"]
mod shelf;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    Database, Durability, ErrorKind, Folder, Options, RecoverUntil, Result, Storage, StorageFile,
    Table,
};
use shelf::Shelf;
use temp_folder::TempFolder;

const SEGMENT: u64 = 1 << 16;

fn options() -> Options {
    Options::new().budget(512 << 20).durability(Durability::Buffered).checkpoint_after(0)
}

/// A table with two columns of numbers that are not encoded to nothing, and a text.
fn create(db: &Database, name: &str) -> Result<Table> {
    let schema = TableSchema::new(name)
        .column("key", ColumnType::U64)
        .column("number", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .primary_key(["key"]);
    db.create_table(schema)
}

fn mixed(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn fill(db: &Database, table: &Table, keys: std::ops::Range<u64>) -> Result<()> {
    for from in keys.clone().step_by(1 << 14) {
        let part = from..keys.end.min(from + (1 << 14));
        db.write(|tx| {
            part.clone().try_for_each(|key| {
                let text = format!("{:x}", mixed(key));
                let row = [Value::U64(key), Value::U64(mixed(key)), Value::String(&text)];
                tx.insert_values(table, &row.map(Some)).map(|_| ())
            })
        })?;
    }
    Ok(())
}

/// Gives the rows with these keys another number.
fn change(db: &Database, table: &Table, keys: impl Iterator<Item = u64> + Clone) -> Result<()> {
    let (primary, number) = (table.index("primary")?, table.column("number")?);
    db.write(|tx| {
        keys.clone().try_for_each(|key| {
            let row = tx.find(table, primary, &[Value::U64(key)])?.expect("it is there").id();
            tx.update_values(table, row, &[(number, Value::U64(key))])
        })
    })
}

fn delete(db: &Database, table: &Table, keys: impl Iterator<Item = u64> + Clone) -> Result<()> {
    let primary = table.index("primary")?;
    db.write(|tx| {
        keys.clone().try_for_each(|key| {
            let row = tx.find(table, primary, &[Value::U64(key)])?.expect("it is there").id();
            tx.delete(table, row)
        })
    })
}

/// A digest of all rows of all tables: their tables, ids and values, in any order.
fn digest(db: &Database) -> Result<u64> {
    let mut digest = 0_u64;
    for name in db.table_names() {
        let table = db.table(&name)?;
        let (key, number) = (table.column("key")?, table.column("number")?);
        let text = table.column("text")?;
        db.read(|tx| {
            tx.each_row(&table, |row| {
                let of_text = row.str(text).unwrap_or("-").bytes();
                let of_text =
                    of_text.fold(name.len() as u64, |hash, byte| mixed(hash ^ u64::from(byte)));
                let numbers =
                    [row.get::<u64>(key).unwrap_or(1), row.get::<u64>(number).unwrap_or(2)];
                let hash = mixed(row.id().number() ^ mixed(numbers[0] ^ mixed(numbers[1])));
                digest = digest.wrapping_add(mixed(hash ^ of_text));
                Ok(())
            })
        })?;
    }
    Ok(digest)
}

fn segment_files(folder: &Folder) -> Vec<String> {
    let mut names = folder.names().expect("the folder can be read");
    names.retain(|name| name.starts_with("segments-"));
    names.sort();
    names
}

fn bytes_of(place: &TempFolder) -> u64 {
    let length =
        |name: &String| std::fs::metadata(place.path().join(name)).map_or(0, |it| it.len());
    segment_files(&place.folder()).iter().map(length).sum()
}

/// The files of a folder, to be read.
fn shelf(place: &TempFolder) -> Shelf {
    let read = |name: String| {
        let bytes = std::fs::read(place.path().join(&name)).expect("it can be read");
        (name, bytes)
    };
    let names = place.folder().names().expect("the folder can be read");
    Shelf(names.into_iter().map(read).collect::<BTreeMap<_, _>>())
}

fn check_reopened(place: &TempFolder, db: Database) -> Result<Database> {
    let before = digest(&db)?;
    drop(db);
    let db = place.open(options());
    assert_eq!(digest(&db)?, before);
    Ok(db)
}

#[test]
fn columns_are_written_once() -> Result<()> {
    let place = TempFolder::new();
    let mut db = place.open(options());
    let mut table = create(&db, "T")?;
    fill(&db, &table, 0..4 * SEGMENT)?;
    db.freeze(&table)?;
    let first = db.checkpoint()?;
    let stored = bytes_of(&place);
    assert!(first > stored && stored > 4 * SEGMENT * 8, "{first}, {stored} in segment files");
    for round in 0..3 {
        let again = db.checkpoint()?;
        // Rows that were changed before are written each time, beside the columns.
        assert!(again * 100 < first * (1 + 3 * round), "{again} of {first} bytes, {round}");
        // One row in a hundred, of all segments.
        change(&db, &table, (0..4 * SEGMENT / 100).map(|i| i * 100 + round))?;
        let changed = db.checkpoint()?;
        assert!(changed * 100 < first * (4 + 3 * round), "{changed} of {first} bytes, {round}");
        assert_eq!(bytes_of(&place), stored);
        db = check_reopened(&place, db)?;
        table = db.table("T")?;
        assert!(db.memory_by_table()?[0].frozen_rows > 3 * SEGMENT);
    }
    Ok(())
}

#[test]
fn files_go_when_no_image_needs_them() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let (kept, gone) = (create(&db, "Kept")?, create(&db, "Gone")?);
    for table in [&kept, &gone] {
        fill(&db, table, 0..SEGMENT)?;
        db.freeze(table)?;
        db.checkpoint()?;
    }
    let before = segment_files(&place.folder());
    assert_eq!(before.len(), 2);
    db.drop_table(&gone)?;
    db.checkpoint()?;
    assert_eq!(segment_files(&place.folder()), before[..1]);
    // The next file gets a number that none has had.
    let again = create(&db, "Again")?;
    fill(&db, &again, 0..SEGMENT)?;
    db.freeze(&again)?;
    db.checkpoint()?;
    let names = segment_files(&place.folder());
    assert!(names.len() == 2 && names[0] == before[0] && names[1] > before[1], "{names:?}");
    // Of a segment of which most has gone, the rest are rows.
    delete(&db, &kept, 0..SEGMENT * 2 / 3)?;
    db.checkpoint()?;
    assert_eq!(segment_files(&place.folder()), names[1..]);
    let db = check_reopened(&place, db)?;
    // So are those of a segment that was frozen again and is not the one in the file.
    let again = db.table("Again")?;
    change(&db, &again, 0..SEGMENT / 4)?;
    db.reclaim();
    assert_eq!(db.freeze(&again)?.refrozen, 1);
    db.checkpoint()?;
    assert!(segment_files(&place.folder())[0] > names[1]);
    check_reopened(&place, db).map(drop)
}

#[test]
fn a_file_that_is_mostly_waste_is_written_anew() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let tables: Vec<Table> =
        (0..5).map(|i| create(&db, &format!("T{i}"))).collect::<Result<_>>()?;
    for table in &tables {
        fill(&db, table, 0..SEGMENT)?;
        db.freeze(table)?;
    }
    db.checkpoint()?;
    let (names, whole) = (segment_files(&place.folder()), bytes_of(&place));
    assert_eq!(names.len(), 1);
    for table in &tables[..2] {
        db.drop_table(table)?;
        db.checkpoint()?;
        assert_eq!(bytes_of(&place), whole, "most of it is needed");
    }
    db.drop_table(&tables[2])?;
    db.checkpoint()?;
    assert!(bytes_of(&place) < whole / 2 && segment_files(&place.folder()) != names);
    let db = check_reopened(&place, db)?;
    let again = db.checkpoint()?;
    assert!(again * 20 < whole, "{again} bytes");
    Ok(())
}

#[test]
fn a_backup_needs_no_other_file() -> Result<()> {
    let (place, other) = (TempFolder::new(), TempFolder::new());
    let db = place.open(options());
    let table = create(&db, "T")?;
    fill(&db, &table, 0..SEGMENT)?;
    db.freeze(&table)?;
    db.checkpoint()?;
    db.backup(&*other.folder())?;
    assert!(segment_files(&other.folder()).is_empty());
    let copy = other.open(options());
    assert_eq!(digest(&copy)?, digest(&db)?);
    copy.checkpoint()?;
    assert_eq!(segment_files(&other.folder()).len(), 1);
    // A folder with such a file is no place for a backup.
    let file = other.path().join(&segment_files(&other.folder())[0]);
    drop(check_reopened(&other, copy)?);
    let third = TempFolder::new();
    let folder = third.folder();
    std::fs::copy(file, third.path().join("segments-0000000000000001")).expect("there is room");
    let refused = db.backup(&*folder).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidOptions);
    Ok(())
}

#[test]
fn older_images_that_are_kept_have_their_files() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options().keep_history(true));
    let table = create(&db, "T")?;
    fill(&db, &table, 0..SEGMENT)?;
    db.freeze(&table)?;
    db.checkpoint()?;
    let (before, timestamp) = (digest(&db)?, db.read(|tx| Ok(tx.timestamp()))?);
    db.drop_table(&table)?;
    db.checkpoint()?;
    let until = RecoverUntil::Timestamp(timestamp);
    let earlier = Database::recover(&*place.folder(), options(), until)?;
    assert_eq!(digest(&earlier)?, before);
    assert!(db.table_names().is_empty());
    Ok(())
}

/// A folder with an image that refers to two segments in one file, and what is in it.
fn two_segments() -> Result<(TempFolder, u64)> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db, "T")?;
    fill(&db, &table, 0..2 * SEGMENT)?;
    db.freeze(&table)?;
    db.checkpoint()?;
    let digest = digest(&db)?;
    Ok((place, digest))
}

#[test]
fn whatever_happens_to_a_file_is_noticed() -> Result<()> {
    let (place, digest_before) = two_segments()?;
    let whole = shelf(&place);
    let name = &segment_files(&place.folder())[0];
    let recovered = |shelf: &Shelf| Database::recover(shelf, options(), RecoverUntil::End);
    assert_eq!(digest(&recovered(&whole)?)?, digest_before);
    let damaged = |shelf: &Shelf, what: &str| {
        let error = recovered(shelf).map(|_| ()).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::DamagedImage, "{what}: {error}");
        assert!(error.to_string().contains(name.as_str()), "{what}: {error}");
    };
    let len = whole.0[name].len();
    let mut spoilt = whole.clone();
    // One bit in each part, and in the header and the tables more.
    let places = (0..48).chain(48..148).chain((0..200).map(|i| mixed(i) as usize % len));
    for at in places.chain([len - 1]) {
        let bit = 1 << (mixed(at as u64) >> 61);
        spoilt.0.get_mut(name).expect("it is there")[at] ^= bit;
        damaged(&spoilt, &format!("bit {bit} of byte {at}"));
        spoilt.0.get_mut(name).expect("it is there")[at] ^= bit;
    }
    for cut in [0, 20, 48, 60, len / 2, len - 1] {
        let mut spoilt = whole.clone();
        spoilt.0.get_mut(name).expect("it is there").truncate(cut);
        damaged(&spoilt, &format!("cut at {cut}"));
    }
    let mut spoilt = whole.clone();
    spoilt.0.remove(name);
    damaged(&spoilt, "gone");
    // The same file of another database.
    let (other, _) = two_segments()?;
    let other = shelf(&other);
    spoilt.0.insert(name.clone(), other.0[name].clone());
    damaged(&spoilt, "another's");
    Ok(())
}

#[test]
fn what_is_not_damaged_is_salvaged() -> Result<()> {
    let (place, digest_before) = two_segments()?;
    let mut files = shelf(&place);
    let (db, salvaged) = Database::salvage(&files, options())?;
    assert_eq!((digest(&db)?, salvaged.rows), (digest_before, 2 * SEGMENT));
    assert!(!salvaged.is_less_than_all());
    let name = &segment_files(&place.folder())[0];
    let bytes = files.0.get_mut(name).expect("it is there");
    let last = bytes.len() - 9;
    bytes[last] ^= 1;
    let images = Database::images(&files)?;
    assert!(images[0].damage.as_ref().is_some_and(|damage| damage.contains(name.as_str())));
    let (db, salvaged) = Database::salvage(&files, options())?;
    assert_eq!((salvaged.rows, salvaged.gaps), (SEGMENT, 1));
    assert!(salvaged.is_less_than_all() && salvaged.bytes_lost > SEGMENT);
    assert_eq!(db.read(|tx| Ok(tx.scan(&db.table("T")?)?.count()))?, SEGMENT as usize);
    Ok(())
}

/// A folder whose segment files and images take so many bytes more.
#[derive(Debug)]
struct Full(Arc<Folder>, Arc<AtomicI64>);

#[derive(Debug)]
struct FullFile(Box<dyn StorageFile>, Arc<AtomicI64>);

impl Storage for Full {
    fn names(&self) -> std::io::Result<Vec<String>> {
        self.0.names()
    }
    fn create(&self, name: &str) -> std::io::Result<Box<dyn StorageFile>> {
        let file = self.0.create(name)?;
        match name.starts_with("segments-") || name.starts_with("image") {
            true => Ok(Box::new(FullFile(file, Arc::clone(&self.1)))),
            false => Ok(file),
        }
    }
    fn open(&self, name: &str) -> std::io::Result<Box<dyn StorageFile>> {
        self.0.open(name)
    }
    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.0.remove(name)
    }
    fn sync_names(&self) -> std::io::Result<()> {
        self.0.sync_names()
    }
    fn lock(&self) -> std::io::Result<Box<dyn std::fmt::Debug + Send + Sync>> {
        self.0.lock()
    }
}

impl StorageFile for FullFile {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read_at(at, bytes)
    }
    fn write_at(&self, at: u64, bytes: &[u8]) -> std::io::Result<usize> {
        match self.1.fetch_sub(bytes.len() as i64, Ordering::Relaxed) < bytes.len() as i64 {
            true => Err(std::io::ErrorKind::StorageFull.into()),
            false => self.0.write_at(at, bytes),
        }
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }
    fn sync(&self) -> std::io::Result<()> {
        self.0.sync()
    }
}

#[test]
fn a_checkpoint_that_a_full_disk_refuses_leaves_nothing() -> Result<()> {
    let place = TempFolder::new();
    let left = Arc::new(AtomicI64::new(0));
    let storage = Arc::new(Full(place.folder(), Arc::clone(&left)));
    let db = Database::open_in(storage, options())?;
    let table = create(&db, "T")?;
    fill(&db, &table, 0..4 * SEGMENT)?;
    db.freeze(&table)?;
    let written = |mut names: Vec<String>| {
        names.retain(|name| name.starts_with("image") || name.starts_with("segments-"));
        names.sort();
        names
    };
    for room in [0, 10, 100, 5_000, 1 << 20, 3 << 20, 5 << 20] {
        left.store(room, Ordering::Relaxed);
        let refused = db.checkpoint().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StorageFailed, "{room}");
        let names = written(place.folder().names().expect("it can be read"));
        assert!(names.is_empty(), "{room}: {names:?}");
    }
    left.store(i64::MAX, Ordering::Relaxed);
    db.checkpoint()?;
    // The first one that is made is whole; so is what comes of the next one that is not.
    change(&db, &table, (0..SEGMENT).map(|key| key * 2))?;
    db.reclaim();
    db.freeze(&table)?;
    let before = written(place.folder().names().expect("it can be read"));
    left.store(1 << 20, Ordering::Relaxed);
    assert_eq!(db.checkpoint().unwrap_err().kind(), ErrorKind::StorageFailed);
    assert_eq!(written(place.folder().names().expect("it can be read")), before);
    check_reopened(&place, db).map(drop)
}

/// Names that are nearly those of segment files are somebody else's.
#[test]
fn files_of_other_names_are_left_alone() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db, "T")?;
    let odd = [
        "segments-000000000000000A",
        "segments-+00000000000000f",
        "segments-1",
        "segments-00000000000000001",
        "segments-",
    ];
    for name in odd {
        std::fs::write(place.path().join(name), "not ours").expect("there is room");
    }
    fill(&db, &table, 0..SEGMENT)?;
    db.freeze(&table)?;
    db.checkpoint()?;
    db.checkpoint()?;
    for name in odd {
        assert!(place.path().join(name).is_file(), "{name}");
    }
    check_reopened(&place, db).map(drop)
}
