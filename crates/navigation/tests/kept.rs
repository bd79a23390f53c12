//! Files of databases: what was committed is there after a crash, what earlier versions wrote is
//! read, and a schema that says `inmemory` has it so.

use std::fs;
use std::path::Path;

use remanent_engine::schema::TableStorage;
use remanent_engine::{Database, Options};
use remanent_navigation::{CURR_DB, Declared, Outcome, Status, Task, register};
use tempfile::TempDir;

const ITEM: i32 = 10_000;
const ID: i64 = 0;

/// A folder in which databases of this name and storage are opened.
fn folder(name: &str, storage: &str) -> TempDir {
    let text = format!("database {name} {storage} {{ record Item {{ unique key long id; }} }}");
    register(Declared { name: name.to_owned(), text, records: Vec::new() });
    tempfile::tempdir().expect("a folder")
}

fn open(folder: &Path, name: &str, mode: &str) -> Outcome<Task> {
    let mut task = Task::new();
    task.open(&format!("{}/{name}", folder.display()), mode)?;
    Ok(task)
}

/// Adds a record in a transaction.
fn add(task: &mut Task, id: i64) -> Outcome {
    task.transaction_begin("add")?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    task.fill_new(ITEM, &id.to_le_bytes(), CURR_DB)?;
    task.transaction_end()
}

fn has(task: &mut Task, id: i64) -> bool {
    task.key_find(ID, Some(&id.to_le_bytes()), CURR_DB).is_ok()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room");
    for entry in fs::read_dir(from).expect("it is there").map_while(Result::ok) {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("it can be copied");
    }
}

#[test]
fn what_was_committed_needs_no_close() -> Outcome {
    let here = folder("needs_none", "");
    let mut task = open(here.path(), "needs_none", "s")?;
    for (id, syncs) in [(1, true), (2, false), (3, true)] {
        task.sync_files(syncs);
        add(&mut task, id)?;
    }
    task.transaction_begin("never ends")?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    task.fill_new(ITEM, &4_i64.to_le_bytes(), CURR_DB)?;
    // As the files are now, they are when the program is killed.
    let there = tempfile::tempdir().expect("a folder");
    copy(&here.path().join("needs_none.db"), &there.path().join("needs_none.db"));
    let mut after = open(there.path(), "needs_none", "o")?;
    assert_eq!([1, 2, 3, 4].map(|id| has(&mut after, id)), [true, true, true, false]);
    // Alone, calls without a transaction are there as well.
    after.fill_new(ITEM, &5_i64.to_le_bytes(), CURR_DB)?;
    let last = tempfile::tempdir().expect("a folder");
    copy(&there.path().join("needs_none.db"), &last.path().join("needs_none.db"));
    assert!(has(&mut open(last.path(), "needs_none", "s")?, 5));
    Ok(())
}

#[test]
fn an_image_of_an_earlier_version_is_converted() -> Outcome {
    let here = folder("earlier", "inmemory");
    let path = |end: &str| here.path().join(format!("earlier.{end}"));
    let mut task = open(here.path(), "earlier", "o")?;
    task.fill_new(ITEM, &7_i64.to_le_bytes(), CURR_DB)?;
    task.close()?;
    assert!(path("image").is_file() && !path("db").exists());
    // The same database of a schema that is not inmemory.
    let text = "database later { record Item { unique key long id; } }".to_owned();
    register(Declared { name: "later".to_owned(), text, records: Vec::new() });
    let later = |end: &str| here.path().join(format!("later.{end}"));
    fs::copy(path("image"), later("image")).expect("there is room");
    // What a conversion that did not end has left is no matter.
    fs::create_dir(later("db.new")).expect("there is room");
    fs::write(later("db.new").join("image-0000000000000001"), "half").expect("there is room");
    let mut task = open(here.path(), "later", "s")?;
    assert!(has(&mut task, 7));
    add(&mut task, 8)?;
    task.close()?;
    assert!(later("db").is_dir() && later("image.converted").is_file());
    assert!(!later("image").exists() && !later("db.new").exists());
    let mut task = open(here.path(), "later", "s")?;
    assert!(has(&mut task, 7) && has(&mut task, 8));
    task.close()?;
    // An image that is none stays as it is.
    fs::remove_dir_all(later("db")).expect("it is there");
    fs::write(later("image"), "no image").expect("there is room");
    let refused = open(here.path(), "later", "s").map(|_| ()).unwrap_err();
    assert_eq!(refused.status, Status::DAMAGED);
    assert!(later("image").is_file() && !later("db").exists() && !later("db.new").exists());
    Ok(())
}

#[test]
fn data_files_say_which_records_may_leave_memory() -> Outcome {
    let text = "database files {
        data file \"a.d01\" contains A;
        data file \"b.d01\" inmemory contains B;
        key file \"c.k01\" inmemory contains C.id;
        record A { long id; }
        record B { long id; }
        record C { unique key long id; }
    }";
    register(Declared { name: "files".to_owned(), text: text.to_owned(), records: Vec::new() });
    let here = tempfile::tempdir().expect("a folder");
    open(here.path(), "files", "o")?.close()?;
    let db = Database::open_at(here.path().join("files.db"), Options::new()).expect("it is closed");
    let storage = |name| db.table(name).expect("it is there").schema().storage;
    let expected = [TableStorage::Paged, TableStorage::Memory, TableStorage::Paged];
    assert_eq!(["A", "B", "C"].map(storage), expected);
    Ok(())
}

/// Steps along a key, of records that have become columns, and some that are deleted.
#[test]
fn records_that_became_columns_are_read_on() -> Outcome {
    const RECORDS: i64 = 3000;
    let text = "database leaves { record Item { unique key long id; char name[200]; } }";
    register(Declared { name: "leaves".to_owned(), text: text.to_owned(), records: Vec::new() });
    let item = |id: i64| {
        let mut bytes = id.to_le_bytes().to_vec();
        let name = format!("{:x}", id.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)).repeat(12);
        bytes.extend(name.bytes().take(199).chain(std::iter::repeat(0)).take(200));
        bytes
    };
    let here = tempfile::tempdir().expect("a folder");
    let mut task = open(here.path(), "leaves", "o")?;
    for id in 0..RECORDS {
        task.fill_new(ITEM, &item(id), CURR_DB)?;
    }
    task.close()?;
    // As checkpoints do that come by themselves in a database of some size.
    let path = here.path().join("leaves.db");
    let db = Database::open_at(&path, Options::new().buffer_cache(1)).expect("it is closed");
    db.freeze_all(&db.table("Item").expect("it is there")).expect("it is frozen");
    db.checkpoint().expect("it is written");
    assert!(db.memory().evicted > 100 << 10, "{:?}", db.memory());
    drop(db);
    let mut task = open(here.path(), "leaves", "o")?;
    let mut bytes = vec![0; item(0).len()];
    for round in 0..2 {
        let mut seen = 0;
        let mut found = task.key_first(ID, CURR_DB);
        while found.is_ok() {
            task.record_read(&mut bytes, CURR_DB)?;
            let id = i64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            assert_eq!(bytes, item(id), "{id} in round {round}");
            seen += 1;
            found = task.key_next(ID, CURR_DB);
        }
        assert_eq!(found.unwrap_err().status, Status::NOT_FOUND);
        assert_eq!(seen, RECORDS - round * 10);
        for id in (0..10).filter(|_| round == 0) {
            task.key_find(ID, Some(&(id * 100_i64).to_le_bytes()), CURR_DB)?;
            task.delete(CURR_DB)?;
        }
    }
    task.close()
}

#[test]
fn a_schema_says_what_is_in_memory() -> Outcome {
    for (name, words, files, is_kept) in [
        ("forgets", "inmemory volatile", [false, false], false),
        ("persists", "inmemory persistent", [true, false], true),
        ("plain", "inmemory", [true, false], true),
        ("reads", "inmemory read", [true, false], false),
        ("disk", "", [false, true], true),
    ] {
        let here = folder(name, words);
        let path = |end: &str| here.path().join(format!("{name}.{end}"));
        if name == "reads" {
            let first = folder("reads_first", "inmemory");
            let mut task = open(first.path(), "reads_first", "o")?;
            task.fill_new(ITEM, &1_i64.to_le_bytes(), CURR_DB)?;
            task.close()?;
            fs::copy(first.path().join("reads_first.image"), path("image")).expect("room");
        }
        let mut task = open(here.path(), name, "o")?;
        assert_eq!(has(&mut task, 1), name == "reads", "{name}");
        task.fill_new(ITEM, &2_i64.to_le_bytes(), CURR_DB)?;
        task.close()?;
        assert_eq!([path("image").is_file(), path("db").is_dir()], files, "{name}");
        let mut task = open(here.path(), name, "o")?;
        assert_eq!(has(&mut task, 2), is_kept, "{name}");
        task.close()?;
    }
    // A folder is not passed over because the schema says another word now.
    let here = folder("disk", "");
    fs::create_dir(here.path().join("plain.db")).expect("there is room");
    let refused = open(here.path(), "plain", "o").map(|_| ()).unwrap_err();
    assert_eq!(refused.status, Status::DAMAGED);
    Ok(())
}
