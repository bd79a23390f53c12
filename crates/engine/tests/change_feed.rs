//! The change feed against what was done: every change with the row before and after, whatever
//! kind of row it was, wherever a feed begins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use remanent_engine::schema::{ColumnType, TableSchema, TableStorage, Value};
use remanent_engine::{
    ChangeFeed, ChangeKind, Database, Durability, ErrorKind, Options, Result, RowId, Table,
};

struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("remanent-changes-{}-{count}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn options(&self) -> Options {
        // Files so small that a feed goes through many of them, and transactions have many parts.
        Options::new()
            .budget(256 << 20)
            .durability(Durability::Buffered)
            .log_file_size(512 << 10)
            .log_buffer_size(16 << 10)
            .keep_history(true)
    }

    fn open(&self) -> Database {
        Database::open_at(&self.0, self.options().log_old_rows(true)).expect("a database")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Rows by table and number, as a consumer of the feed keeps them.
type Mirror = BTreeMap<(String, u32), Vec<u8>>;

/// Follows to the end, and checks each change against what the mirror has. Returns how many commits
/// there were, and their positions.
fn follow<D: std::ops::Deref<Target = Database>>(
    feed: &mut ChangeFeed<D>,
    mirror: &mut Mirror,
) -> Vec<u64> {
    let (mut commits, mut number) = (Vec::new(), 0);
    while let Some(change) = feed.next_change().expect("a change") {
        assert_eq!(change.number, number);
        number += 1;
        match change.kind {
            ChangeKind::Row { table, row, old, new } => {
                let key = (table.schema.name.clone(), row);
                assert_eq!(mirror.get(&key).map(Vec::as_slice), old, "the row before, {key:?}");
                match new {
                    Some(new) => mirror.insert(key, new.to_vec()),
                    None => mirror.remove(&key),
                };
            }
            ChangeKind::Definition { table, words } if words.starts_with("drop the table") => {
                mirror.retain(|(name, _), _| *name != table);
            }
            ChangeKind::Commit => {
                number = 0;
                commits.push(change.position);
            }
            _ => {}
        }
    }
    commits
}

/// What a database has.
fn content(db: &Database) -> Mirror {
    let tx = db.begin_read().expect("a transaction");
    let mut rows = Mirror::new();
    for name in db.table_names() {
        let table = db.table(&name).expect("it is there");
        let scan = tx.scan(&table).expect("it is there");
        rows.extend(scan.map(|row| {
            let number = u32::try_from(row.id().number()).expect("a number");
            ((name.clone(), number), row.bytes().to_vec())
        }));
    }
    rows
}

fn table(db: &Database, name: &str, storage: TableStorage) -> Table {
    let schema = TableSchema::new(name)
        .column("key", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .storage(storage)
        .primary_key(["key"]);
    db.create_table(schema).expect("a table")
}

fn insert(db: &Database, table: &Table, keys: std::ops::Range<u64>) {
    let texts: Vec<_> = keys.clone().map(|key| format!("it came as {key}")).collect();
    let rows = keys
        .zip(&texts)
        .map(|(key, text)| [Some(Value::U64(key)), Some(Value::String(text.as_str()))]);
    db.write(|tx| tx.insert_all_values(table, rows.clone()).map(|_| ())).expect("to fit");
}

fn row_of(tx: &remanent_engine::ReadTransaction<'_>, table: &Table, key: u64) -> Result<RowId> {
    let row = tx.find(table, table.index("primary")?, &[Value::U64(key)])?;
    Ok(row.expect("it is there").id())
}

/// Changes of every kind: of rows that came just now, of frozen ones, twice in a transaction, of
/// many at once, taken back.
fn work(db: &Database, table: &Table, first: u64) -> Result<()> {
    let text = table.column("text")?;
    let set = |tx: &remanent_engine::WriteTransaction<'_>, key: u64, now: &str| {
        let row = row_of(tx, table, first + key)?;
        tx.update_values(table, row, &[(text, now.into())])
    };
    insert(db, table, first..first + 3000);
    db.write(|tx| set(tx, 1, "it came as 1, and became"))?;
    db.write(|tx| set(tx, 2, "something else"))?;
    db.write(|tx| {
        set(tx, 3, "once")?;
        set(tx, 3, "twice")?;
        tx.delete(table, row_of(tx, table, first + 3)?)
    })?;
    db.write(|tx| {
        let row = row_of(tx, table, first + 4)?;
        tx.delete(table, row)?;
        let again = [Some(Value::U64(first + 4)), Some("again".into())];
        tx.insert_values(table, &again)?;
        set(tx, 4, "again and again")
    })?;
    db.write(|tx| {
        let row = [Some(Value::U64(first + 5000)), Some("never seen".into())];
        let row = tx.insert_values(table, &row)?;
        tx.delete(table, row)
    })?;
    db.freeze_all(table)?;
    db.write(|tx| set(tx, 10, "it was frozen"))?;
    db.write(|tx| tx.delete(table, row_of(tx, table, first + 11)?))?;
    db.write(|tx| (100..600).try_for_each(|key| set(tx, key, &"long ".repeat(60))))?;
    db.write(|tx| {
        (1000..2500).try_for_each(|key| tx.delete(table, row_of(tx, table, first + key)?))
    })?;
    let taken_back = db.write(|tx| {
        (100..200).try_for_each(|key| tx.delete(table, row_of(tx, table, first + key)?))?;
        Err::<(), _>(remanent_engine::Error::new(ErrorKind::RowNotFound))
    });
    assert!(taken_back.is_err());
    Ok(())
}

#[test]
fn every_change_has_the_row_before_and_after() -> Result<()> {
    for storage in [TableStorage::Memory, TableStorage::Paged] {
        let home = Home::new();
        let db = home.open();
        let mut mirror = Mirror::new();
        let t = table(&db, "T", storage);
        work(&db, &t, 0)?;
        db.checkpoint()?;
        work(&db, &t, 10_000)?;
        let gone = table(&db, "Gone", storage);
        insert(&db, &gone, 0..10);
        let mut feed = db.change_feed(0)?;
        let commits = follow(&mut feed, &mut mirror);
        assert!(commits.len() > 20);
        assert_eq!(mirror, content(&db));

        // What comes later, beside a table that goes.
        db.drop_table(&gone)?;
        work(&db, &t, 20_000)?;
        follow(&mut feed, &mut mirror);
        assert_eq!(mirror, content(&db));

        // In another process, after all was opened anew, by somebody who does not think of it.
        let position = feed.position();
        drop((feed, t, gone));
        drop(db);
        let db = Database::open_at(&home.0, home.options())?;
        let t = db.table("T")?;
        let mut feed = db.change_feed(position)?;
        follow(&mut feed, &mut mirror);
        work(&db, &t, 30_000)?;
        follow(&mut feed, &mut mirror);
        assert_eq!(mirror, content(&db));
        assert_eq!(feed.position(), db.change_position()?);
    }
    Ok(())
}

#[test]
fn a_feed_goes_on_from_every_commit() -> Result<()> {
    let home = Home::new();
    let db = home.open();
    let t = table(&db, "T", TableStorage::Memory);
    work(&db, &t, 0)?;
    let (mut whole, mut commits) = (Mirror::new(), Vec::new());
    let mut feed = db.change_feed(0)?;
    commits.extend(follow(&mut feed, &mut whole));
    for (count, &position) in commits.iter().enumerate() {
        let mut mirror = Mirror::new();
        let mut first = db.change_feed(0)?;
        while first.position() < position {
            let change = first.next_change()?.expect("there are more");
            if let ChangeKind::Row { table, row, new, .. } = change.kind {
                let key = (table.schema.name.clone(), row);
                match new {
                    Some(new) => mirror.insert(key, new.to_vec()),
                    None => mirror.remove(&key),
                };
            }
        }
        let mut rest = db.change_feed(position)?;
        assert_eq!(follow(&mut rest, &mut mirror).len(), commits.len() - count - 1);
        assert_eq!(mirror, whole);
    }
    Ok(())
}

/// While others commit, what a feed gives is never behind itself, and in the end it is all there.
#[test]
fn a_feed_beside_writers_has_it_all() -> Result<()> {
    let home = Home::new();
    let db = home.open();
    let t = table(&db, "T", TableStorage::Memory);
    insert(&db, &t, 0..200);
    let mut mirror = Mirror::new();
    let mut feed = db.change_feed(0)?;
    std::thread::scope(|scope| {
        for writer in 0..3_u64 {
            let (db, t) = (&db, &t);
            scope.spawn(move || {
                let text = t.column("text").expect("it");
                for n in 0..300_u64 {
                    let key = (n * 7 + writer * 13) % 200;
                    db.write(|tx| {
                        let row = row_of(tx, t, key)?;
                        let now = format!("by {writer}, {n}");
                        tx.update_values(t, row, &[(text, now.as_str().into())])
                    })
                    .expect("to commit, now or later");
                }
            });
        }
        while follow(&mut feed, &mut mirror).len() < 100 {}
    });
    follow(&mut feed, &mut mirror);
    assert_eq!(mirror, content(&db));
    Ok(())
}

#[test]
fn what_a_feed_cannot_give_it_says() -> Result<()> {
    let home = Home::new();
    let db = Database::open_at(&home.0, home.options())?;
    let t = table(&db, "T", TableStorage::Memory);
    insert(&db, &t, 0..1);
    let text = t.column("text")?;
    db.write(|tx| tx.update_values(&t, row_of(tx, &t, 0)?, &[(text, "before".into())]))?;
    drop((t, db));
    let db = home.open();
    let t = db.table("T")?;
    db.write(|tx| tx.update_values(&t, row_of(tx, &t, 0)?, &[(text, "after".into())]))?;

    let mut feed = db.change_feed(0)?;
    let error = loop {
        match feed.next_change() {
            Ok(change) => assert!(change.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    let words = error.to_string();
    let position = words.split("position ").nth(1).and_then(|rest| rest.split(' ').next());
    let position: u64 = position.expect("a position").parse().expect("a number");
    let mut feed = db.change_feed(position)?;
    let change = feed.next_change()?.expect("the update");
    let ChangeKind::Row { table, old: Some(old), new: Some(new), .. } = change.kind else {
        panic!("{change:?}");
    };
    let text = |row| table.layout.get_str(row, 1);
    assert_eq!((text(old), text(new)), (Some("before"), Some("after")));

    assert_eq!(
        db.change_feed(position + 1).map(drop).unwrap_err().kind(),
        ErrorKind::InvalidOptions
    );
    let in_memory = Database::open(Options::new())?;
    assert_eq!(in_memory.change_feed(0).map(drop).unwrap_err().kind(), ErrorKind::InvalidOptions);
    Ok(())
}

#[test]
fn what_checkpoints_let_go_is_as_much_as_was_said() -> Result<()> {
    for kept in [0, 1 << 20] {
        let home = Home::new();
        let options = home.options().keep_history(false).log_file_size(16 << 10);
        let options = options.log_old_rows(true).keep_log(kept);
        let db = Database::open_at(&home.0, options)?;
        let t = table(&db, "T", TableStorage::Memory);
        for round in 0..30 {
            insert(&db, &t, round * 2000..(round + 1) * 2000);
            db.checkpoint()?;
        }
        assert_eq!(db.change_feed(0).map(drop).unwrap_err().kind(), ErrorKind::LogPositionGone);
        let end = db.change_position()?;
        assert!(end > 3 << 19, "{end}");
        let is_there = |back: &u64| {
            // Most places are within a frame; they are there as well.
            let opened = db.change_feed(end - back).map(drop).map_err(|error| error.kind());
            matches!(opened, Ok(()) | Err(ErrorKind::InvalidOptions))
        };
        let reach =
            (0..end).step_by(64 << 10).take_while(is_there).last().expect("the end is there");
        assert!(if kept == 0 { reach < 256 << 10 } else { reach >= kept - (64 << 10) }, "{reach}");
    }
    Ok(())
}
