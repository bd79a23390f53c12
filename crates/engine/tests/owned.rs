//! Owned transactions outlive what they were begun with, end for all who have them, and are one
//! thread's at a time.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, Isolation, Options, OwnedFrozenRows, OwnedTransaction, Piece, Result,
    SEGMENT_ROWS, Table, TransactionOptions,
};

const ROWS: i64 = 100;

fn filled() -> (Arc<Database>, Table) {
    let db = Arc::new(Database::open(Options::new()).expect("opens"));
    let schema = TableSchema::new("T").column("a", ColumnType::I64).primary_key(["a"]);
    let table = db.create_table(schema).expect("is new");
    let rows = (0..ROWS).map(|a| [Some(Value::I64(a))]);
    db.write(|tx| tx.insert_all_values(&table, rows.clone())).expect("inserts");
    (db, table)
}

fn reader(db: &Arc<Database>) -> OwnedTransaction {
    OwnedTransaction::begin_read(db, &TransactionOptions::new()).expect("begins")
}

fn writer(db: &Arc<Database>) -> OwnedTransaction {
    OwnedTransaction::begin_write(db, &TransactionOptions::new()).expect("begins")
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

fn delete_all(db: &Database, table: &Table) {
    db.write(|tx| {
        let ids: Vec<_> = tx.scan(table)?.map(|row| row.id()).collect();
        ids.into_iter().try_for_each(|id| tx.delete(table, id))
    })
    .expect("deletes");
    db.compact().expect("compacts");
}

fn keep_frozen(tx: &OwnedTransaction, table: &Table) -> OwnedFrozenRows {
    let mut pieces = tx.pieces(table, None).expect("begins");
    let kept = pieces.next_with(|piece, keeper| match piece {
        Piece::Frozen(rows) => keeper.keep(&rows),
        Piece::Rows(_) => unreachable!("all rows are frozen"),
    });
    kept.expect("goes on").expect("there are rows")
}

#[test]
fn a_cursor_keeps_the_database_and_the_table() {
    let (db, table) = filled();
    let gone = Arc::downgrade(&db);
    let (a, primary) = (table.column("a").unwrap(), table.index("primary").unwrap());
    let mut cursor = reader(&db).cursor(&table, primary, None, None).expect("begins");
    drop((db, table));
    let sum = thread::spawn(move || {
        let mut sum = 0;
        let mut row = cursor.with(|cursor| cursor.first()?.get::<i64>(a));
        while let Some(value) = row.expect("goes on") {
            sum += value;
            row = cursor.with(|cursor| cursor.next()?.get::<i64>(a));
        }
        sum
    });
    assert_eq!(sum.join().expect("runs"), (0..ROWS).sum());
    assert!(gone.upgrade().is_none(), "nobody has the database any more");
}

#[test]
fn what_was_read_stays_beyond_the_end() {
    let (db, table) = filled();
    let a = table.column("a").unwrap();
    db.freeze_all(&table).expect("freezes");
    let tx = writer(&db);
    let frozen = keep_frozen(&tx, &table);
    let rows = frozen.rows().expect("goes on");
    let reading = tx.read().expect("goes on");
    let row = reading.scan(&table).expect("begins").last().expect("there are rows");
    tx.commit().expect("commits");
    delete_all(&db, &table);
    // The transaction has ended; what is borrowed of it is still there.
    assert_eq!(rows.column(a).unwrap().value(7, &mut Vec::new()), Value::I64(7));
    assert_eq!(row.get::<i64>(a), Some(ROWS - 1));
    assert_eq!(kind(frozen.rows()), Some(ErrorKind::TransactionEnded));
}

#[test]
fn all_clones_end_together() {
    let (db, table) = filled();
    let (tx, primary) = (writer(&db), table.index("primary").unwrap());
    let clone = tx.clone();
    let mut cursor = tx.cursor(&table, primary, None, None).expect("begins");
    let mut pieces = tx.pieces(&table, None).expect("begins");
    tx.commit().expect("commits");
    assert_eq!(kind(clone.read()), Some(ErrorKind::TransactionEnded));
    assert_eq!(kind(clone.write()), Some(ErrorKind::TransactionEnded));
    assert_eq!(kind(clone.commit()), Some(ErrorKind::TransactionEnded));
    assert_eq!(kind(cursor.with(|_| ())), Some(ErrorKind::TransactionEnded));
    assert_eq!(kind(pieces.next_with(|_, _| ())), Some(ErrorKind::TransactionEnded));
    assert_eq!(kind(clone.cursor(&table, primary, None, None)), Some(ErrorKind::TransactionEnded));
}

#[test]
fn the_last_that_is_dropped_takes_back() {
    let (db, table) = filled();
    let tx = writer(&db);
    tx.write().unwrap().insert_values(&table, &[Some(Value::I64(ROWS))]).expect("inserts");
    let pieces = tx.pieces(&table, None).expect("begins");
    drop(tx);
    let count = || db.read(|tx| Ok(tx.scan(&table)?.count())).unwrap() as i64;
    assert_eq!(count(), ROWS);
    drop(pieces);
    let tx = writer(&db);
    tx.write().unwrap().insert_values(&table, &[Some(Value::I64(ROWS))]).expect("inserts");
    tx.roll_back();
    assert_eq!(kind(tx.read()), Some(ErrorKind::TransactionEnded));
    // The key is free at once, though the clone is still there.
    db.write(|tx| tx.insert_values(&table, &[Some(Value::I64(ROWS))])).expect("inserts");
    assert_eq!(count(), ROWS + 1);
}

#[test]
fn a_transaction_is_refreshed_where_nothing_reads_it() {
    let (db, table) = filled();
    let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    let mut tx = OwnedTransaction::begin_write(&db, &options).expect("begins");
    let pieces = tx.pieces(&table, None).expect("begins");
    db.write(|tx| tx.insert_values(&table, &[Some(Value::I64(ROWS))])).expect("inserts");
    assert_eq!(kind(tx.refresh()), Some(ErrorKind::TableBusy));
    assert_eq!(kind(tx.begin_defining_at_newest()), Some(ErrorKind::TableBusy));
    drop(pieces);
    assert_eq!(tx.read().unwrap().scan(&table).unwrap().count() as i64, ROWS);
    tx.refresh().expect("nothing reads it");
    assert_eq!(tx.read().unwrap().scan(&table).unwrap().count() as i64, ROWS + 1);
}

#[test]
fn a_reader_does_not_write() {
    let (db, _) = filled();
    let tx = reader(&db);
    assert!(!tx.writes() && writer(&db).writes());
    assert_eq!(kind(tx.write()), Some(ErrorKind::DatabaseReadOnly));
    assert_eq!(tx.commit().expect("ends"), None);
}

#[test]
fn threads_take_turns() {
    let (db, table) = filled();
    let tx = writer(&db);
    thread::scope(|scope| {
        for thread in 1..5 {
            let (tx, table) = (tx.clone(), &table);
            scope.spawn(move || {
                for a in thread * 1000..thread * 1000 + 500 {
                    let writing = tx.write().expect("goes on");
                    // Once more on the same thread.
                    tx.write().unwrap().insert_values(table, &[Some(Value::I64(a))]).unwrap();
                    assert!(writing.scan(table).is_ok());
                }
            });
        }
    });
    tx.commit().expect("commits");
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count())).unwrap() as i64, ROWS + 2000);
}

#[test]
fn a_thread_that_came_twice_leaves_twice() {
    let (db, _) = filled();
    let (tx, came) = (reader(&db), AtomicU32::new(0));
    thread::scope(|scope| {
        let (first, second) = (tx.read().expect("goes on"), tx.read().expect("goes on"));
        let other = scope.spawn(|| {
            let _reading = tx.read().expect("goes on");
            came.fetch_add(1, Relaxed);
        });
        drop(second);
        for _ in 0..100 {
            thread::yield_now();
            assert_eq!(came.load(Relaxed), 0, "the first is still inside");
        }
        thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(came.load(Relaxed), 0, "the first is still inside");
        drop(first);
        other.join().expect("comes in");
    });
    assert_eq!(came.into_inner(), 1);
}

#[test]
fn transactions_beside_one_another_see_the_same_in_several_threads() {
    let db = Arc::new(Database::open(Options::new()).expect("opens"));
    let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64)).unwrap();
    let a = table.column("a").unwrap();
    let count = 3 * SEGMENT_ROWS as i64 + 5000;
    let rows = (0..count).map(|a| [Some(Value::I64(a))]);
    db.write(|tx| tx.insert_all_values(&table, rows.clone())).unwrap();
    let tx = reader(&db);
    let mut helpers: Vec<_> = (0..2).map(|_| tx.beside().unwrap().unwrap()).collect();
    // Nothing of the other one is lost when its last holder but the helpers lets it go.
    helpers.push(tx.beside().unwrap().unwrap());
    drop(tx);
    delete_all(&db, &table);
    db.write(|tx| tx.insert_values(&table, &[Some((-1_i64).into())])).unwrap();
    db.compact().unwrap();
    let next = AtomicU32::new(0);
    let sums = thread::scope(|scope| {
        let read = |helper: OwnedTransaction| {
            let (table, next) = (&table, &next);
            move || {
                let mut pieces = helper.pieces(table, None).unwrap();
                let (mut sum, mut rows) = (0, 0);
                loop {
                    let first = u64::from(next.fetch_add(1, Relaxed)) * SEGMENT_ROWS as u64;
                    if first >= count as u64 {
                        return (sum, rows);
                    }
                    pieces.go_to(first..first + SEGMENT_ROWS as u64);
                    while let Some((piece_sum, piece_rows)) = pieces
                        .next_with(|piece, _| match piece {
                            Piece::Rows(rows) => {
                                let values = rows.iter().filter_map(|row| row.get::<i64>(a));
                                (values.sum::<i64>(), rows.len())
                            }
                            Piece::Frozen(_) => unreachable!("nothing is frozen"),
                        })
                        .unwrap()
                    {
                        sum += piece_sum;
                        rows += piece_rows;
                    }
                }
            }
        };
        let threads: Vec<_> = helpers.into_iter().map(|it| scope.spawn(read(it))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    let (sum, rows) = sums.into_iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert_eq!((sum, rows as i64), ((0..count).sum::<i64>(), count));
    assert_eq!(reader(&db).read().unwrap().scan(&table).unwrap().count(), 1);
}

#[test]
fn none_is_beside_a_transaction_that_writes_or_may_expire_or_has_ended() {
    let (db, table) = filled();
    assert!(writer(&db).beside().unwrap().is_none());
    let options = TransactionOptions::new().snapshot_pinned_max(1 << 30);
    assert!(OwnedTransaction::begin_read(&db, &options).unwrap().beside().unwrap().is_none());
    let options = TransactionOptions::new().snapshot_age_max(std::time::Duration::from_secs(999));
    assert!(OwnedTransaction::begin_read(&db, &options).unwrap().beside().unwrap().is_none());
    let tx = reader(&db);
    let mut helper = tx.beside().unwrap().unwrap();
    tx.commit().unwrap();
    assert_eq!(kind(tx.beside()), Some(ErrorKind::TransactionEnded));
    assert_eq!(helper.read().unwrap().scan(&table).unwrap().count(), ROWS as usize);
    // Another one may be beside a helper, and keeps it from going on by itself.
    let other = helper.beside().unwrap().unwrap();
    assert_eq!(kind(helper.refresh()), Some(ErrorKind::TableBusy));
    drop(other);
    helper.refresh().unwrap();
}

#[test]
fn pieces_go_to_the_rows_they_are_sent_to() {
    let (db, table) = filled();
    let tx = reader(&db);
    let mut pieces = tx.pieces(&table, None).unwrap();
    let ids = |pieces: &mut remanent_engine::OwnedPieces| {
        let mut ids = Vec::new();
        while pieces
            .next_with(|piece, _| match piece {
                Piece::Rows(rows) => ids.extend(rows.iter().map(|row| row.id().number())),
                Piece::Frozen(_) => unreachable!("nothing is frozen"),
            })
            .unwrap()
            .is_some()
        {}
        ids
    };
    pieces.go_to(10..13);
    assert_eq!(ids(&mut pieces), [10, 11, 12]);
    pieces.go_to(3..5);
    assert_eq!(ids(&mut pieces), [3, 4]);
    pieces.go_to(ROWS as u64 - 1..u64::MAX);
    assert_eq!(ids(&mut pieces), [ROWS as u64 - 1]);
    pieces.go_to(ROWS as u64..ROWS as u64 + 9);
    assert!(ids(&mut pieces).is_empty());
}
