//! Files of databases: what was committed is there after a crash, what earlier versions wrote is
//! read, and a schema that says `inmemory` has it so.

use std::fs;
use std::path::Path;

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
