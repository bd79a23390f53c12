//! Files that no version ever wrote: whatever their bytes, reading them ends with a database or
//! with an error, soon, and never otherwise.
//!
//! Real files are spoilt in places, cut, lengthened, exchanged for one another or for noise. What
//! stands behind a checksum that is right is spoilt in `src/recovery/tests.rs`.

#[path = "durability/shelf.rs"]
mod shelf;

use std::path::Path;

use proptest::prelude::*;
use remanent_engine::{Database, Options, RecoverUntil};
use shelf::Shelf;

#[derive(Clone, Debug)]
enum Harm {
    Overwrite { at: usize, bytes: Vec<u8> },
    Zero { at: usize, count: usize },
    Cut { at: usize },
    Lengthen { bytes: Vec<u8> },
    Remove { at: usize, count: usize },
    Exchange { with: usize },
    Forget,
}

fn harm() -> impl Strategy<Value = Harm> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        (any::<usize>(), bytes()).prop_map(|(at, bytes)| Harm::Overwrite { at, bytes }),
        (any::<usize>(), 1..600_usize).prop_map(|(at, count)| Harm::Zero { at, count }),
        any::<usize>().prop_map(|at| Harm::Cut { at }),
        bytes().prop_map(|bytes| Harm::Lengthen { bytes }),
        (any::<usize>(), 1..100_usize).prop_map(|(at, count)| Harm::Remove { at, count }),
        any::<usize>().prop_map(|with| Harm::Exchange { with }),
        Just(Harm::Forget),
    ]
}

/// Folders of both versions of the log, with and without an image.
const FOLDERS: [&str; 4] = [
    "folder-version-1",
    "folder-version-1-checkpoint",
    "folder-version-2",
    "folder-version-2-checkpoint",
];

fn shelf_of(folder: &str) -> Shelf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats").join(folder);
    let entries = std::fs::read_dir(path).expect("it is committed");
    let read = entries.map(|entry| {
        let entry = entry.expect("it can be read");
        let name = entry.file_name().into_string().expect("names are text");
        (name, std::fs::read(entry.path()).expect("it can be read"))
    });
    Shelf(read.filter(|(_, bytes)| !bytes.is_empty()).collect())
}

fn spoil(shelf: &mut Shelf, file: usize, harm: Harm) {
    let names: Vec<String> = shelf.0.keys().cloned().collect();
    if names.is_empty() {
        return;
    }
    let name = &names[file % names.len()];
    let Some(bytes) = shelf.0.get_mut(name) else { return };
    let len = bytes.len().max(1);
    match harm {
        Harm::Overwrite { at, bytes: new } => {
            new.iter().zip(bytes.iter_mut().skip(at % len)).for_each(|(new, old)| *old = *new);
        }
        Harm::Zero { at, count } => {
            bytes.iter_mut().skip(at % len).take(count).for_each(|b| *b = 0)
        }
        Harm::Cut { at } => bytes.truncate(at % len),
        Harm::Lengthen { bytes: new } => bytes.extend(new),
        Harm::Remove { at, count } => {
            let at = at % len;
            bytes.drain(at.min(bytes.len())..(at + count).min(bytes.len()));
        }
        Harm::Exchange { with } => {
            let other = shelf.0[&names[with % names.len()]].clone();
            shelf.0.insert(name.clone(), other);
        }
        Harm::Forget => {
            shelf.0.remove(name);
        }
    }
}

/// Reads what is there; a database can be gone through from end to end. What is not a database is
/// refused for what it is, and not because somebody wanted to write.
fn read(shelf: &Shelf) {
    let options = Options::new().budget(64 << 20).budget_max(64 << 20);
    let db = match Database::recover(shelf, options, RecoverUntil::End) {
        Ok(db) => db,
        Err(error) => return assert!(error.is_damage(), "{error}"),
    };
    let tx = db.begin_read().expect("a transaction can begin");
    for name in db.table_names() {
        let table = db.table(&name).expect("its name was just told");
        let rows = tx.scan(&table).expect("it can be read");
        let mut count = 0;
        for row in rows {
            assert_eq!(row.values().count(), table.layout().leaves().len());
            count += 1;
        }
        for (_, index) in table.indexes() {
            if let Ok(mut cursor) = tx.cursor(&table, index) {
                let mut entries = usize::from(cursor.first().is_some());
                while entries > 0 && cursor.next().is_some() {
                    entries += 1;
                }
                assert_eq!(entries, count);
            }
        }
    }
}

#[test]
fn what_is_not_spoilt_is_read() {
    for folder in FOLDERS {
        let options = Options::new().budget(64 << 20);
        let db = Database::recover(&shelf_of(folder), options, RecoverUntil::End);
        assert!(
            db.expect("it is whole").table_names().starts_with(&["City".into(), "Near".into()])
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, ..ProptestConfig::default() })]

    #[test]
    fn spoilt_files(
        folder in prop::sample::select(&FOLDERS[..]),
        harms in prop::collection::vec((any::<usize>(), harm()), 1..5),
    ) {
        let mut shelf = shelf_of(folder);
        for (file, harm) in harms {
            spoil(&mut shelf, file, harm);
        }
        read(&shelf);
    }

    #[test]
    fn noise(
        image in prop::collection::vec(any::<u8>(), 0..300),
        log in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut shelf = shelf_of("folder-version-1");
        let name = "log-0000000000000001";
        let mut bytes = shelf.0[name][..128].to_vec();
        bytes.extend(log);
        shelf.0.insert(name.to_owned(), bytes);
        read(&shelf);
        shelf.0.insert("image-0000000000000005".to_owned(), image);
        read(&shelf);
    }
}
