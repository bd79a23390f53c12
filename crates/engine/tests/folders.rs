//! What a folder is to those outside: who may open it, who may read it, and what is said when a
//! piece of it is gone.
//!
//! With the beginning of the newest file of the log zeroed, or that file removed, half of all
//! acknowledged commits were missing after opening, and nothing was said: what could have told was
//! in that file alone. With the file `lock` removed beneath a server, a second one was let in.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{Database, Durability, ErrorKind, Options, Result};
use temp_folder::TempFolder;

const COMMITS: u64 = 300;

/// What is done to a file, in a word and in deed.
type Harm<'h> = (&'h str, &'h dyn Fn(&Path));

fn options() -> Options {
    Options::new().budget(64 << 20).durability(Durability::Disk).log_file_size(64 << 10)
}

fn insert(db: &Database, from: u64, count: u64) -> Result<()> {
    let schema = || TableSchema::new("Number").column("n", ColumnType::U64);
    let table = db.table("Number").or_else(|_| db.create_table(schema()))?;
    (from..from + count).try_for_each(|n| {
        db.write(|tx| tx.insert_values(&table, &[Some(Value::U64(n))])).map(|_| ())
    })
}

fn count(db: &Database) -> Result<u64> {
    let table = db.table("Number")?;
    db.read(|tx| Ok(tx.scan(&table)?.count() as u64))
}

/// Two files of the log with half of the commits each; the second was not closed, if it is so.
fn filled(is_closed: bool) -> (TempFolder, String) {
    let place = TempFolder::new();
    let db = place.open(options());
    insert(&db, 0, COMMITS / 2).unwrap();
    drop(db);
    let db = place.open(options());
    insert(&db, COMMITS / 2, COMMITS / 2).unwrap();
    let newest = names(&place).into_iter().rfind(|name| name.starts_with("log-0")).unwrap();
    if is_closed {
        drop(db);
        return (place, newest);
    }
    let copy = TempFolder::new();
    fs::create_dir(copy.path()).unwrap();
    for name in names(&place) {
        fs::copy(place.path().join(&name), copy.path().join(&name)).unwrap();
    }
    (copy, newest)
}

fn names(place: &TempFolder) -> Vec<String> {
    let entries = fs::read_dir(place.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn overwrite(path: &Path, from: usize, count: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[from..from + count].fill(0);
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_newest_file_of_the_log_does_not_vanish_in_silence() {
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    let rename = |path: &Path| fs::rename(path, path.with_extension("old")).unwrap();
    let shorten = |path: &Path| {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(5000).unwrap();
    };
    let empty = |path: &Path| fs::write(path, []).unwrap();
    let zero = |path: &Path| overwrite(path, 0, 8192);
    let forms: [Harm<'_>; 5] = [
        ("removed", &remove),
        ("renamed", &rename),
        ("shortened", &shorten),
        ("emptied", &empty),
        ("zeroed", &zero),
    ];
    for is_closed in [false, true] {
        for (form, damage) in forms {
            let (place, newest) = filled(is_closed);
            damage(&place.path().join(&newest));
            let db = place.open(options());
            let told = db.damage().unwrap_or_else(|| panic!("{form}: nothing is said")).clone();
            assert_eq!(told.file, newest, "{form}: {told}");
            assert_eq!(db.begin_write().err().unwrap().kind(), ErrorKind::DatabaseReadOnly);
            assert!((COMMITS / 2..COMMITS).contains(&count(&db).unwrap()), "{form}");
            drop(db);

            let db = place.open(options().accept_damage(true));
            let before = count(&db).unwrap();
            insert(&db, 1000, 5).unwrap();
            drop(db);
            let db = place.open(options());
            assert!(db.damage().is_none(), "{form}: {:?}", db.damage());
            assert_eq!(count(&db).unwrap(), before + 5);
        }
    }
}

#[test]
fn one_copy_of_a_header_is_enough() {
    for (from, count_of) in [(0, 512), (0, 4096), (4096, 64)] {
        let (place, newest) = filled(false);
        overwrite(&place.path().join(newest), from, count_of);
        let db = place.open(options());
        assert!(db.damage().is_none(), "{:?}", db.damage());
        assert_eq!(count(&db).unwrap(), COMMITS);
    }
}

#[test]
fn a_database_that_was_closed_ends_where_it_ended() {
    let (place, newest) = filled(true);
    let path = place.path().join(newest);
    let bytes = fs::read(&path).unwrap();
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    for lost in [1, 20, 2000] {
        fs::write(&path, &bytes).unwrap();
        overwrite(&path, last + 1 - lost, lost);
        assert!(place.open(options()).damage().is_some(), "{lost}");
    }
}

#[test]
fn all_files_of_the_log_gone_is_damage_and_no_new_database() {
    let (place, _) = filled(true);
    let files = names(&place);
    for name in files.iter().filter(|name| name.starts_with("log-0")) {
        fs::remove_file(place.path().join(name)).unwrap();
    }
    let error = Database::open_at(place.path(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DamagedLog);
}

#[test]
fn a_folder_without_its_lock_file_is_locked() {
    let place = TempFolder::new();
    let db = place.open(options());
    fs::remove_file(place.path().join("lock")).unwrap();
    let error = Database::open_at(place.path(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DatabaseInUse);
    drop(db);
    drop(place.open(options()));
    // A version that knows the file alone is kept out, too, and keeps others out.
    let file = fs::File::open(place.path().join("lock")).unwrap();
    file.lock().unwrap();
    let error = Database::open_at(place.path(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DatabaseInUse);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_database_is_its_owners() {
    let (place, copy) = (TempFolder::new(), TempFolder::new());
    let small = || options().log_file_size(4096).keep_history(false);
    let db = place.open(small());
    insert(&db, 0, COMMITS).unwrap();
    db.checkpoint().unwrap();
    db.backup(&*copy.folder()).unwrap();
    drop(db);
    for place in [&place, &copy] {
        assert_eq!(mode(place.path()), 0o700);
        let files = names(place);
        assert!(files.len() > 1, "{files:?}");
        for name in files {
            assert_eq!(mode(&place.path().join(&name)), 0o600, "{name}");
        }
    }
    // A folder that is there keeps its mode; what is made in it, or used again, is not like it.
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in names(&place).iter().filter(|name| name.starts_with("spare-")) {
        fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let db = place.open(small());
    insert(&db, COMMITS, COMMITS).unwrap();
    drop(db);
    assert_eq!(mode(place.path()), 0o755);
    for name in names(&place).iter().filter(|name| name.starts_with("log-0")) {
        assert_eq!(mode(&place.path().join(name)), 0o600, "{name}");
    }
}
