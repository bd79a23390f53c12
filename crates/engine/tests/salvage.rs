//! Salvage: bits flipped, files cut and taken away, and what is undamaged is there.
//!
//! Each test spoils the files of one folder, made once: an image of several blocks, a log behind
//! it with new rows, changed rows, rows that are gone, a transaction in parts, and a set. Whatever
//! was done to them, no row is there that never was, indexes agree with rows, and links lead to
//! rows.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use remanent_engine::schema::*;
use remanent_engine::{
    Database, ErrorKind, LogEntryKind, LogOperation, Options, Salvaged, Storage, WriteTransaction,
};
use temp_folder::TempFolder;

/// Rows in the image; some 900 fill a block.
const ROWS: u64 = 4000;
const LOG_ROWS: u64 = 300;

type Files = BTreeMap<String, Vec<u8>>;

fn options() -> Options {
    Options::new().budget(64 << 20).log_file_size(16 << 10).log_buffer_size(4 << 10)
}

fn text(n: u64, version: u64) -> String {
    format!("{n}.{version} {}", "remanent ".repeat(30))
}

/// The files of a database, and those of its log as they were.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let place = TempFolder::new();
        write_all(&place).unwrap();
        let read = |name: String| (name.clone(), std::fs::read(place.path().join(name)).unwrap());
        place.folder().names().unwrap().into_iter().map(read).collect()
    })
}

fn write_all(place: &TempFolder) -> remanent_engine::Result<()> {
    let db = place.open(options());
    let schema = TableSchema::new("Number")
        .column("n", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .primary_key(["n"])
        .hash_index("by_hash", ["n"]);
    let table = db.create_table(schema)?;
    let set = SetSchema::new("Follows", "Number", SetOrder::Last).member("Number");
    let set = db.create_set(set)?;
    let insert = |tx: &WriteTransaction<'_>, n: u64| {
        tx.insert_values(&table, &[Some(n.into()), Some(text(n, 0).as_str().into())])
    };
    let rows: Vec<_> = db.write(|tx| (0..ROWS).map(|n| insert(tx, n)).collect())?;
    db.write(|tx| (1..100).try_for_each(|n| tx.connect(&set, rows[0], &table, rows[n * 40])))?;
    db.checkpoint()?;
    for n in 0..LOG_ROWS {
        db.write(|tx| insert(tx, ROWS + n))?;
    }
    let column = table.column("text")?;
    db.write(|tx| {
        (0..400).try_for_each(|n| {
            let (row, text) = (rows[n * 10 + 1], text(n as u64 * 10 + 1, 1));
            tx.update_values(&table, row, &[(column, text.as_str().into())])
        })
    })?;
    for n in 0..100 {
        db.write(|tx| tx.delete(&table, rows[n * 40 + 2]))?;
    }
    Ok(())
}

/// Salvages a folder with these files, checks what always holds, and returns what there is.
fn salvage(files: &Files) -> (BTreeMap<u64, String>, Salvaged) {
    let place = TempFolder::new();
    let folder = place.folder();
    for (name, bytes) in files {
        std::fs::write(place.path().join(name), bytes).unwrap();
    }
    let (db, salvaged) = Database::salvage(&*folder, options()).unwrap();
    assert!(db.memory().held < 64 << 20);
    let Ok(table) = db.table("Number") else { return (BTreeMap::new(), salvaged) };
    let (n, text_of) = (table.column("n").unwrap(), table.column("text").unwrap());
    let indexes = ["primary", "by_hash"].map(|name| table.index(name).unwrap());
    let tx = db.begin_read().unwrap();
    let mut found = BTreeMap::new();
    for row in tx.scan(&table).unwrap() {
        let key = row.get::<u64>(n).unwrap();
        let content = row.str(text_of).unwrap();
        assert!([0, 1].iter().any(|&version| content == text(key, version)), "{content}");
        for index in indexes {
            let by_key = tx.find(&table, index, &[key.into()]).unwrap();
            assert_eq!(by_key.map(|row| row.id()), Some(row.id()));
        }
        assert!(found.insert(key, content.to_owned()).is_none());
    }
    let mut cursor = tx.cursor(&table, indexes[0]).unwrap();
    let mut count = usize::from(cursor.first().is_some());
    while count > 0 && cursor.next().is_some() {
        count += 1;
    }
    assert_eq!(count, found.len());
    if let Ok(set) = db.set("Follows") {
        for row in tx.scan(&table).unwrap() {
            let mut members = tx.members(&set, row.id()).unwrap();
            while members.next().unwrap().is_some() {}
        }
    }
    // What was salvaged is a database like any other.
    let row = [Some(Value::U64(1 << 40)), Some("later".into())];
    drop(tx);
    db.write(|tx| tx.insert_values(&table, &row)).unwrap();
    let copy = TempFolder::new();
    db.backup(&*copy.folder()).unwrap();
    let copied = copy.open(options());
    let tx = copied.begin_read().unwrap();
    assert_eq!(tx.scan(&copied.table("Number").unwrap()).unwrap().count(), found.len() + 1);
    (found, salvaged)
}

fn image_of(files: &Files) -> String {
    files.keys().find(|name| name.starts_with("image-")).unwrap().clone()
}

/// Numbers from a seed, the same on every run.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % below
    }
}

#[test]
fn of_an_undamaged_folder_all_is_there() {
    let (found, salvaged) = salvage(files());
    assert!(!salvaged.is_less_than_all(), "{salvaged:?}");
    assert_eq!(found.len() as u64, ROWS + LOG_ROWS - 100);
    assert_eq!((found[&11].as_str(), found[&10].as_str()), (&*text(11, 1), &*text(10, 0)));
    assert_eq!(salvaged.rows, ROWS + 99);
    assert_eq!(salvaged.changes, LOG_ROWS + 500);
}

#[test]
fn a_flipped_bit_in_the_image_costs_a_block() {
    let name = image_of(files());
    let length = files()[&name].len();
    for at in (1..60).map(|i| length * i / 60).chain([0, 9, 20, 40, 60, 100, length - 1]) {
        let mut files = files().clone();
        files.get_mut(&name).unwrap()[at] ^= 0x10;
        let (found, salvaged) = salvage(&files);
        if salvaged.rows > 0 {
            assert!(found.len() as u64 > ROWS + LOG_ROWS - 1200, "{at}: {salvaged:?}");
            // What the log has inserted is there in any case.
            assert!((ROWS..ROWS + LOG_ROWS).all(|n| found.contains_key(&n)));
            assert_eq!(salvaged.commits_refused, 0);
        }
        let head = at < 8;
        assert!(salvaged.is_less_than_all() || head, "{at}: {salvaged:?}");
        assert_eq!(salvaged.rows_refused == 0 && salvaged.rows > 0, found.len() > 300, "{at}");
    }
}

#[test]
fn a_cut_image_gives_its_beginning() {
    let name = image_of(files());
    let length = files()[&name].len();
    let mut before = 0;
    for cut in (0..=20).map(|i| length * i / 20) {
        let mut files = files().clone();
        files.get_mut(&name).unwrap().truncate(cut);
        let (found, salvaged) = salvage(&files);
        assert_eq!(salvaged.image_is_cut, cut < length);
        assert!(salvaged.rows >= before);
        before = salvaged.rows;
        assert!(found.len() as u64 <= salvaged.rows + LOG_ROWS + 400);
    }
}

#[test]
fn the_log_is_repeated_up_to_its_damage() {
    let logs: Vec<_> = files().keys().filter(|name| name.starts_with("log-0")).collect();
    assert!(logs.len() > 3);
    for (number, name) in logs.iter().enumerate() {
        for at in [2000, 10_000, 14_000] {
            let mut files = files().clone();
            let Some(byte) = files.get_mut(*name).unwrap().get_mut(at) else { continue };
            *byte ^= 1;
            let (found, salvaged) = salvage(&files);
            assert!(found.len() as u64 >= ROWS, "{name} {at} {}", found.len());
            let damaged = salvaged.log_damage.as_ref().map(|damage| &damage.file);
            if number + 2 < logs.len() {
                assert_eq!(damaged, Some(*name));
            }
        }
    }
    // Without its first file the log does not follow on, and nobody guesses.
    let mut without = files().clone();
    without.remove(logs[0]);
    let (found, salvaged) = salvage(&without);
    assert_eq!(found.len() as u64, ROWS);
    assert!(salvaged.log_unusable.is_some(), "{salvaged:?}");
}

#[test]
fn without_the_image_new_tables_are_all_there_is() {
    let mut files = files().clone();
    let name = image_of(&files);
    files.remove(&name);
    let (found, salvaged) = salvage(&files);
    assert!(found.is_empty() && salvaged.changes == 0 && salvaged.changes_refused > 0);
    let place = TempFolder::new();
    let error = Database::salvage(&*place.folder(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DamagedImage);
}

#[test]
fn whatever_is_flipped_and_cut_nothing_panics() {
    for seed in 1..=60 {
        let mut random = random(seed);
        let mut files = files().clone();
        let names: Vec<_> = files.keys().cloned().collect();
        for _ in 0..1 + random(12) {
            let name = &names[random(names.len() as u64) as usize];
            let bytes = files.get_mut(name).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let at = random(bytes.len() as u64) as usize;
            let end = bytes.len().min(at + 5000);
            match random(10) {
                0 => bytes.truncate(at),
                1 => bytes[at..end].fill(0),
                2 => bytes.copy_within(at..end, 0),
                _ => bytes[at] ^= 1 << random(8),
            }
        }
        salvage(&files);
    }
}

#[test]
fn the_log_is_shown_entry_by_entry() {
    let place = TempFolder::new();
    let folder = place.folder();
    for (name, bytes) in files() {
        std::fs::write(place.path().join(name), bytes).unwrap();
    }
    let (mut inserts, mut deletes, mut parts, mut commits) = (0, 0, 0, 0);
    let mut positions = HashSet::new();
    let mut last = None;
    let damage = Database::read_log(&*folder, &mut |entry| {
        assert!(positions.insert(entry.position) && place.path().join(entry.file).exists());
        for operation in entry.operations() {
            match operation.unwrap() {
                LogOperation::Insert { .. } => inserts += 1,
                LogOperation::Delete { .. } => deletes += 1,
                _ => {}
            }
        }
        match entry.kind {
            LogEntryKind::Part { .. } => parts += 1,
            LogEntryKind::Commit { is_whole, .. } => {
                assert!(is_whole);
                commits += 1;
            }
            _ => {}
        }
        last = Some(matches!(entry.kind, LogEntryKind::Close));
        ControlFlow::Continue(())
    });
    assert_eq!(damage.unwrap(), None);
    assert_eq!((inserts, deletes, commits), (LOG_ROWS, 100, LOG_ROWS + 101));
    assert!(parts > 0 && last == Some(true));
    let mut count = 0;
    Database::read_log(&*folder, &mut |_| {
        count += 1;
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(count, 1);
}
