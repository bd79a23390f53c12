//! Calls one by one where a model of one task does not reach: text, locks of several tasks, files,
//! several databases.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Options};
use remanent_navigation::{CURR_DB, Declared, Outcome, Status, Task, attach, detach, register};
use tempfile::TempDir;

const SCHEMA: &str = "database calls {
    record Owner { unique key char name[10]; }
    record Item { unique key long id; char note[10]; varwchar wide[5]; }
    set Items { order last; owner Owner; member Item; }
}";
const OWNER: i32 = 10_000;
const ITEM: i32 = 10_001;
const ITEMS: i32 = 20_000;
/// struct Item { long id; char note[10]; wchar_t wide[5]; }
const ITEM_SIZE: usize = 40;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let (name, text) = ("calls".to_owned(), SCHEMA.to_owned());
        register(Declared { name, text, records: Vec::new() });
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn task(&self, mode: &str) -> Outcome<Task> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut task = Task::new();
        task.user_id(&format!("calls{}", NUMBER.fetch_add(1, Ordering::Relaxed)))?;
        task.timeout(0);
        task.open(&format!("{}/calls", self.0.path().display()), mode)?;
        Ok(task)
    }
}

fn item(id: i64, note: &[u8], wide: &str) -> [u8; ITEM_SIZE] {
    let mut bytes = [0; ITEM_SIZE];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    bytes[8..8 + note.len()].copy_from_slice(note);
    for (place, letter) in bytes[20..].chunks_exact_mut(4).zip(wide.chars()) {
        place.copy_from_slice(&u32::from(letter).to_le_bytes());
    }
    bytes
}

fn status<T>(outcome: Outcome<T>) -> Status {
    match outcome {
        Ok(_) => panic!("it should have failed"),
        Err(fault) => fault.status,
    }
}

#[test]
fn text_of_any_bytes_comes_back() -> Outcome {
    let folder = Folder::new();
    let mut task = folder.task("o")?;
    // Ten letters of Latin-1 fill the field; wide letters are beyond the first plane too.
    let notes: [&[u8]; 4] = [b"plain", &[0xe9; 10], "h\u{f7fc}\u{e9}".as_bytes(), b""];
    for (id, note) in (0..).zip(notes) {
        let given = item(id, note, "a\u{e9}\u{1f980}");
        task.fill_new(ITEM, &given, CURR_DB)?;
        let mut got = [0xaa; ITEM_SIZE];
        got[18..20].fill(0);
        task.record_read(&mut got, CURR_DB)?;
        assert_eq!(got, given);
    }
    // What follows the end of a text is not stored.
    let mut garbage = item(9, b"ab\0cd", "");
    garbage[20] = 0;
    task.fill_new(ITEM, &garbage, CURR_DB)?;
    let mut note = [0xaa; 10];
    task.field_read(1001, &mut note, CURR_DB)?;
    assert_eq!(&note, b"ab\0\0\0\0\0\0\0\0");
    // A key of text and a field of it may be given without what follows the end.
    task.fill_new(OWNER, b"Ulm\0\0\0\0\0\0\0", CURR_DB)?;
    task.key_find(0, Some(b"Ulm"), CURR_DB)?;
    task.field_write(0, b"Aalen", CURR_DB)?;
    assert_eq!(status(task.key_find(0, Some(b"Ulm"), CURR_DB)), Status::NOT_FOUND);
    task.key_find(0, Some(b"Aalen"), CURR_DB)
}

#[test]
fn a_text_that_is_too_long_for_the_struct_is_refused() -> Outcome {
    let folder = Folder::new();
    let text = "database long_text { record R { char name[4]; } }";
    let (name, text) = ("long_text".to_owned(), text.to_owned());
    register(Declared { name, text, records: Vec::new() });
    let db = Arc::new(Database::open(Options::new())?);
    let schema = TableSchema::new("R").column("name", ColumnType::STRING);
    let table = db.create_table(schema)?;
    db.write(|tx| tx.insert_values(&table, &[Some("longer".into())]))?;
    attach("long_text", Arc::clone(&db));
    let mut task = Task::new();
    task.open("long_text", "o")?;
    task.record_first(10_000, CURR_DB)?;
    let mut name = [0; 4];
    assert_eq!(status(task.record_read(&mut name, CURR_DB)), Status::BAD_DATA);
    assert_eq!(&name, b"long");
    task.close()?;
    detach("long_text");
    drop(folder);
    Ok(())
}

#[test]
fn a_table_of_other_columns_is_refused_and_nothing_is_made() -> Outcome {
    let _folder = Folder::new();
    let db = Arc::new(Database::open(Options::new())?);
    db.create_table(TableSchema::new("Item").column("id", ColumnType::Bool))?;
    attach("calls", Arc::clone(&db));
    let mut task = Task::new();
    assert_eq!(status(task.open("calls", "s")), Status::DAMAGED);
    detach("calls");
    assert_eq!(db.table_names(), ["Item"]);
    Ok(())
}

#[test]
fn what_is_unlinked_has_to_be_locked() -> Outcome {
    let folder = Folder::new();
    let mut task = folder.task("s")?;
    task.transaction_begin("t")?;
    task.record_lock(OWNER, "w", CURR_DB)?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    task.fill_new(OWNER, b"Ulm\0\0\0\0\0\0\0", CURR_DB)?;
    task.set_owner(ITEMS, CURR_DB)?;
    task.fill_new(ITEM, &item(1, b"", ""), CURR_DB)?;
    task.connect(ITEMS, CURR_DB)?;
    task.transaction_end()?;
    task.transaction_begin("t")?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    assert_eq!(status(task.disconnect_and_delete(CURR_DB)), Status::NOT_LOCKED);
    task.record_lock(OWNER, "w", CURR_DB)?;
    task.disconnect_and_delete(CURR_DB)?;
    task.transaction_end()
}

#[test]
fn locks_are_what_they_are_called() -> Outcome {
    let folder = Folder::new();
    let (mut one, mut two) = (folder.task("s")?, folder.task("s")?);
    assert_eq!(status(one.record_lock(ITEM, "w", CURR_DB)), Status::LOCK_OUTSIDE);
    assert_eq!(status(one.record_lock(ITEM, "q", CURR_DB)), Status::BAD_TYPE);
    assert_eq!(status(one.record_lock(7, "r", CURR_DB)), Status::INVALID_RECORD);
    assert_eq!(status(one.record_lock(ITEM, "k", CURR_DB)), Status::NOT_LOCKED);
    one.record_lock(ITEM, "r", CURR_DB)?;
    assert_eq!(status(one.record_lock(ITEM, "r", CURR_DB)), Status::NOT_FREE);
    two.record_lock(ITEM, "r", CURR_DB)?;
    one.transaction_begin("t")?;
    assert_eq!(status(one.record_free(ITEM, CURR_DB)), Status::FREE_IN_TRANSACTION);
    assert_eq!(status(one.record_lock(ITEM, "w", CURR_DB)), Status::UNAVAILABLE);
    two.record_free(ITEM, CURR_DB)?;
    one.record_lock(ITEM, "w", CURR_DB)?;
    assert_eq!(status(two.record_lock(ITEM, "r", CURR_DB)), Status::UNAVAILABLE);
    one.record_lock(ITEM, "k", CURR_DB)?;
    one.transaction_end()?;
    // Kept, for reading.
    assert_eq!(one.lock_status(ITEM, CURR_DB)?, 'k');
    two.record_lock(ITEM, "r", CURR_DB)?;
    two.record_free(ITEM, CURR_DB)?;
    assert_eq!(status(two.record_lock(ITEM, "x", CURR_DB)), Status::UNAVAILABLE);
    one.record_free(ITEM, CURR_DB)?;
    two.record_lock(ITEM, "x", CURR_DB)?;
    assert_eq!(status(two.read_only_begin(CURR_DB)), Status::HAS_WRITE_LOCKS);
    two.transaction_begin("t")?;
    two.transaction_abort()?;
    assert_eq!(two.lock_status(ITEM, CURR_DB)?, 'x');
    two.close()?;
    one.record_lock(ITEM, "r", CURR_DB)
}

/// A task that waits for a lock in its transaction sees what its last holder committed.
#[test]
fn no_update_is_lost_between_tasks() -> Outcome {
    const ROUNDS: i64 = 300;
    let folder = Folder::new();
    let mut task = folder.task("s")?;
    task.transaction_begin("t")?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    task.fill_new(ITEM, &item(0, b"0", ""), CURR_DB)?;
    task.transaction_end()?;
    let work = |number: i64| -> Outcome {
        let mut task = folder.task("s")?;
        task.timeout(60);
        for round in 0..ROUNDS {
            task.transaction_begin("t")?;
            task.record_lock(OWNER, "w", CURR_DB)?;
            let name = format!("{number}.{round:06}");
            task.fill_new(OWNER, name.as_bytes().first_chunk::<8>().expect("eight"), CURR_DB).ok();
            task.record_lock(ITEM, "w", CURR_DB)?;
            task.record_first(ITEM, CURR_DB)?;
            let mut note = [0; 10];
            task.field_read(1001, &mut note, CURR_DB)?;
            let text = String::from_utf8_lossy(&note);
            let count: i64 = text.trim_end_matches('\0').parse().expect("a number");
            task.field_write(1001, (count + 1).to_string().as_bytes(), CURR_DB)?;
            task.transaction_end()?;
        }
        task.close()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    task.record_first(ITEM, CURR_DB)?;
    let mut note = [0; 10];
    task.field_read(1001, &mut note, CURR_DB)?;
    assert_eq!(note[..3], *b"900");
    Ok(())
}

#[test]
fn files_are_kept_locked_and_checked() -> Outcome {
    let folder = Folder::new();
    let mut task = folder.task("s")?;
    assert_eq!(status(folder.task("x")), Status::UNAVAILABLE);
    task.transaction_begin("t")?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    task.fill_new(ITEM, &item(5, b"five", ""), CURR_DB)?;
    task.transaction_end()?;
    task.close()?;
    let folder_of = folder.0.path().join("calls.db");
    assert!(folder_of.is_dir());
    let mut task = folder.task("o")?;
    assert_eq!(status(folder.task("s")), Status::UNAVAILABLE);
    task.key_find(1000, Some(&5_i64.to_le_bytes()), CURR_DB)?;
    task.close()?;
    // What is damaged is not opened, and nothing is changed.
    let logs = std::fs::read_dir(&folder_of).expect("it can be read").map_while(Result::ok);
    let logs = logs.filter(|entry| entry.file_name().to_string_lossy().starts_with("log-0"));
    let first = logs.map(|entry| entry.path()).min().expect("there is a log");
    let whole = std::fs::read(&first).expect("it can be read");
    let mut spoilt = whole.clone();
    let middle = 4096 + 250;
    spoilt[middle] ^= 1;
    std::fs::write(&first, &spoilt).expect("it can be written");
    assert_eq!(status(folder.task("s")), Status::DAMAGED);
    std::fs::write(&first, &whole).expect("it can be written");
    let mut task = folder.task("s")?;
    task.key_find(1000, Some(&5_i64.to_le_bytes()), CURR_DB)?;
    Ok(())
}
