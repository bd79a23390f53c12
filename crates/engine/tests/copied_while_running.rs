//! A folder that somebody copies, a file at a time, while its database is written to and makes
//! checkpoints. Nobody said that this is a backup; but what opens is right, and what is not whole
//! is said to be so.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, thread};

use remanent_engine::schema::{ColumnType, TableSchema, TableStorage, Value};
use remanent_engine::{Database, Durability, ErrorKind, Options, Result, Table, WriteTransaction};

const COPIES: u32 = 30;
/// Pairs of rows that a transaction inserts, and transactions that do.
const PAIRS: i64 = 20;
const INSERTING: i64 = 3000;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

fn options() -> Options {
    let options = Options::new().budget(256 << 20).buffer_cache(1 << 20).freeze_at_checkpoint(true);
    let options = options.durability(Durability::Os).log_file_size(256 << 10);
    options.checkpoint_after(256 << 10).checkpoint_slice(64 << 10)
}

fn text_of(pair: i64) -> String {
    format!("text of {}", pair.wrapping_mul(7919))
}

/// The values of a pair are opposite, and so they stay.
fn insert_pair(tx: &WriteTransaction<'_>, table: &Table, pair: i64) -> Result<()> {
    let text = text_of(pair);
    for (id, value) in [(2 * pair, pair + 5), (2 * pair + 1, -pair - 5)] {
        let values = [Value::I64(id), Value::I64(value), Value::String(&text)];
        tx.insert_values(table, &values.map(Some))?;
    }
    Ok(())
}

fn change_pair(tx: &WriteTransaction<'_>, table: &Table, pair: i64, value: i64) -> Result<()> {
    let (primary, column) = (table.index("primary")?, table.column("value")?);
    for (id, value) in [(2 * pair, value), (2 * pair + 1, -value)] {
        let found = tx.find(table, primary, &[Value::I64(id)])?;
        let row = found.expect("none is deleted").id();
        tx.update_values(table, row, &[(column, value.into())])?;
    }
    Ok(())
}

/// Ends the writer, also where a check fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn write_until(stop: &AtomicBool, db: &Database, table: &Table) -> Result<()> {
    for turn in 0.. {
        if stop.load(Relaxed) {
            break;
        }
        db.write(|tx| {
            if turn < INSERTING {
                let pairs = turn * PAIRS..(turn + 1) * PAIRS;
                pairs.into_iter().try_for_each(|pair| insert_pair(tx, table, pair))?;
            }
            let pairs = turn.min(INSERTING) * PAIRS;
            change_pair(tx, table, turn * 7919 % pairs.max(1), turn)
        })?;
        if turn % 4 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Copies files in the order of their names, or the other way round with pauses. What has gone
/// meanwhile is not copied.
fn copy(from: &Path, to: &Path, slowly: bool) -> io::Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    let names = fs::read_dir(from)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    if slowly {
        names.reverse();
    }
    for name in names {
        match fs::copy(from.join(&name), to.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ if slowly => thread::sleep(Duration::from_millis(1)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a copy is said to be whole. If it opens, to be read alone perhaps, every row in it is
/// whole, and so is every transaction, from the first to the last one that it has.
fn is_right(path: &Path) -> bool {
    let db = match Database::open_at(path, options()) {
        Ok(db) => db,
        Err(error) => {
            let kinds = [ErrorKind::DamagedLog, ErrorKind::DamagedImage, ErrorKind::StorageFailed];
            assert!(kinds.contains(&error.kind()), "{error}");
            return false;
        }
    };
    let Ok(table) = db.table("T") else {
        assert!(db.damage().is_some(), "its table was there from the beginning");
        return false;
    };
    let [id, value, text] =
        ["id", "value", "text"].map(|it| table.column(it).expect("it is there"));
    let (mut count, mut sum, mut last) = (0, 0, -1);
    db.read(|tx| {
        for row in tx.scan(&table)? {
            let id = row.get::<i64>(id).expect("it is not null");
            let pair = id / 2;
            last = last.max(id);
            assert_eq!(row.str(text), Some(text_of(pair).as_str()), "of pair {pair}");
            sum += row.get::<i64>(value).expect("it is not null");
            count += 1;
        }
        Ok(())
    })
    .expect("all columns can be read");
    assert_eq!((sum, count % (2 * PAIRS), last), (0, 0, count - 1), "of {count} rows");
    db.damage().is_none()
}

#[test]
fn a_copy_is_right_or_said_to_be_damaged() {
    let (from, to) = (folder("copied_from"), folder("copied_to"));
    let db = Database::open_at(&from, options()).expect("it opens");
    let schema = TableSchema::new("T").column("id", ColumnType::I64);
    let schema = schema.column("value", ColumnType::I64).column("text", ColumnType::STRING);
    let schema = schema.primary_key(["id"]).storage(TableStorage::Paged);
    let table = db.create_table(schema).expect("it is new");
    let stop = AtomicBool::new(false);
    let right = thread::scope(|scope| {
        let writer = scope.spawn(|| write_until(&stop, &db, &table));
        let ending = Ending(&stop);
        let mut right = 0;
        for number in 0..COPIES {
            thread::sleep(Duration::from_millis(u64::from(number) * 7 % 30));
            copy(&from, &to, number % 2 == 1).expect("it is copied");
            right += u32::from(is_right(&to));
        }
        drop(ending);
        writer.join().expect("it did not panic").expect("there is room");
        right
    });
    // How many depends on what else the machine does.
    assert!(
        right > 0 && db.statistics().checkpoints > 0,
        "{right} are whole, {:?}",
        db.statistics()
    );
    drop(db);
    assert!(is_right(&from));
    for path in [from, to] {
        fs::remove_dir_all(path).expect("it is there");
    }
}
