//! Columns of followers: of what came as columns, of what is frozen there beside what is applied,
//! and where a leader that was deposed had taken columns back.

use std::sync::atomic::{AtomicBool, Ordering};

use remanent_engine::schema::*;
use remanent_engine::{Database, RowId, Table, WriteTransaction};

use crate::node::{Home, Node, insert, pair, schema};

const SEGMENT: u32 = 65_536;

/// Inserts a whole segment of rows as columns.
fn insert_columns(tx: &WriteTransaction<'_>, table: &Table, first: u32) {
    let number = |row: usize| Some(Value::U32(first + row as u32));
    let columns = [ColumnValues::Any(&number), ColumnValues::Text(&|_| "in columns")];
    tx.insert_frozen(table, &columns, SEGMENT as usize).expect("to be inserted");
}

fn frozen_rows(node: &Node) -> u64 {
    let tables = node.db.memory_by_table().expect("tables");
    tables.iter().map(|table| table.frozen_rows).sum()
}

#[test]
fn rows_that_came_as_columns_are_columns_of_followers_beside_their_readers() {
    let home = Home::new("replica-columns");
    let (leader, mut follower, table) = pair(&home);
    insert(&leader.db, &table, 1);
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    // Somebody reads what was there before, all the time.
    let before = follower.db.clone();
    let reader = before.begin_read().expect("to begin");
    // What is taken back is nowhere in the log, and has had row ids before those that come.
    let lost = leader.db.begin_write().expect("to begin");
    insert_columns(&lost, &table, 3_000_000);
    leader
        .db
        .write(|tx| {
            insert_columns(tx, &table, 1_000_000);
            insert_columns(tx, &table, 2_000_000);
            tx.insert_values(&table, &[Some(Value::U32(2)), Some("a row".into())])
        })
        .expect("to be committed");
    drop(lost);
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    assert_eq!(frozen_rows(&follower), 2 * u64::from(SEGMENT));
    assert_eq!(reader.scan(&follower.db.table("T").expect("a table")).expect("to scan").count(), 1);
    assert!(leader.rows("T") == follower.rows("T"));
    // Rows of the columns are deleted and changed, and found by their keys.
    let text = table.column("text").expect("a column");
    leader
        .db
        .write(|tx| {
            let rows: Vec<RowId> = tx.scan(&table)?.map(|row| row.id()).collect();
            rows.iter().skip(10).step_by(1000).try_for_each(|row| tx.delete(&table, *row))?;
            let mut changed = rows.iter().skip(11).step_by(1000);
            changed.try_for_each(|row| tx.update_values(&table, *row, &[(text, "new".into())]))
        })
        .expect("to be changed");
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    assert!(leader.rows("T") == follower.rows("T"));
    let of_follower = follower.db.table("T").expect("a table");
    let tx = follower.db.begin_read().expect("to begin");
    let primary = of_follower.index("primary").expect("an index");
    for (id, _) in leader.rows("T").iter().step_by(777) {
        let row = tx.row(&of_follower, *id).expect("to be read").expect("a row");
        let number = row.value(of_follower.column("number").expect("a column"));
        let found = tx.find(&of_follower, primary, &[number]).expect("to be looked up");
        assert_eq!(found.map(|row| row.id()), Some(*id));
    }
    drop((tx, reader));
    // And the same after it was opened again.
    let rows = follower.rows("T");
    drop((before, follower));
    let mut follower = home.open("b");
    follower.apply(follower.last());
    assert!(follower.rows("T") == rows);
}

#[test]
fn rows_come_where_a_deposed_leader_took_columns_back() {
    let home = Home::new("replica-void");
    let (mut old, mut new, table) = pair(&home);
    insert(&old.db, &table, 1);
    old.replica().write().expect("to be written");
    new.follow(&old);
    let tx = old.db.begin_write().expect("to begin");
    insert_columns(&tx, &table, 1_000_000);
    drop(tx);
    old.replica().follow().expect("to follow");
    new.replica().lead(2).expect("to lead");
    let of_new = new.db.table("T").expect("a table");
    // As columns, row by row where there were some, and as columns where there were none.
    let as_columns = |tx: &WriteTransaction<'_>| {
        insert_columns(tx, &of_new, 2_000_000);
        Ok(())
    };
    new.db.write(as_columns).expect("to be committed");
    new.db
        .write(|tx| {
            (10..2 * SEGMENT).try_for_each(|number| {
                tx.insert_values(&of_new, &[Some(number.into()), Some("row by row".into())])
                    .map(drop)
            })
        })
        .expect("to be committed");
    new.replica().write().expect("to be written");
    old.follow(&new);
    assert_eq!(old.rows("T").len(), new.rows("T").len());
    assert!(old.rows("T") == new.rows("T"));
}

#[test]
fn rows_come_one_by_one_where_a_deposed_leader_took_columns_back() {
    let home = Home::new("replica-void-rows");
    let (mut old, new, table) = pair(&home);
    let tx = old.db.begin_write().expect("to begin");
    insert_columns(&tx, &table, 1_000_000);
    drop(tx);
    old.replica().follow().expect("to follow");
    new.replica().lead(2).expect("to lead");
    let of_new = new.db.table("T").expect("a table");
    for first in (0..3 * SEGMENT).step_by(1000) {
        let insert = |number: u32| [Some(Value::U32(number)), Some(Value::from("row by row"))];
        new.db
            .write(|tx| tx.insert_all_values(&of_new, (first..first + 1000).map(insert)))
            .expect("to be committed");
    }
    new.replica().write().expect("to be written");
    old.follow(&new);
    assert_eq!(old.rows("T").len(), new.rows("T").len());
    assert!(old.rows("T") == new.rows("T"));
    let tx = old.db.begin_read().expect("to begin");
    let of_old = old.db.table("T").expect("a table");
    let primary = of_old.index("primary").expect("an index");
    for number in (0..3 * SEGMENT).step_by(1001) {
        let found = tx.find(&of_old, primary, &[Value::U32(number)]).expect("to be looked up");
        assert!(found.is_some(), "{number}");
    }
}

/// What a transaction does to the rows of `T`; how many there are then is in the only row of `N`.
fn counted(db: &Database, work: impl Fn(&WriteTransaction<'_>, &Table, &[RowId])) {
    let (table, counts) = (db.table("T").expect("a table"), db.table("N").expect("a table"));
    let rows_of = |tx: &WriteTransaction<'_>, table: &Table| -> Vec<RowId> {
        tx.scan(table).expect("to scan").map(|row| row.id()).collect()
    };
    db.write(|tx| {
        work(tx, &table, &rows_of(tx, &table));
        rows_of(tx, &counts).iter().try_for_each(|row| tx.delete(&counts, *row))?;
        let count = rows_of(tx, &table).len() as u32;
        tx.insert_values(&counts, &[Some(count.into()), Some("rows".into())])
    })
    .expect("to be committed");
}

/// Deletes one row of so many and changes another; then as many come, which get the ids.
fn exchange(db: &Database, next: u32, step: usize) {
    let text = db.table("T").expect("a table").column("text").expect("a column");
    counted(db, |tx, table, rows| {
        for row in rows.iter().step_by(step) {
            tx.delete(table, *row).expect("to be deleted");
        }
        for row in rows.iter().skip(1).step_by(step) {
            tx.update_values(table, *row, &[(text, "changed".into())]).expect("to be changed");
        }
    });
    counted(db, |tx, table, rows| {
        for number in 0..ROWS - rows.len() as u32 {
            let values = [Some(Value::U32(next + number)), Some("in its place".into())];
            tx.insert_values(table, &values).expect("to be inserted");
        }
    });
}

/// Freezes, and checks that there are as many rows as is said, as long as it is asked to.
fn freeze_and_count(db: &Database, asked: &AtomicBool) {
    let (table, counts) = (db.table("T").expect("a table"), db.table("N").expect("a table"));
    let number = counts.column("number").expect("a column");
    while asked.load(Ordering::Relaxed) {
        db.freeze_segments(&table, &[0], || true).expect("to be frozen");
        let tx = db.begin_read().expect("to begin");
        let counted = tx.scan(&table).expect("to scan").count() as u32;
        let said: Vec<Value<'_>> =
            tx.scan(&counts).expect("to scan").map(|row| row.value(number)).collect();
        assert_eq!(said, [Value::U32(counted)]);
    }
}

const ROWS: u32 = SEGMENT + 1000;

#[test]
fn followers_freeze_beside_what_is_applied() {
    let home = Home::new("replica-freezing");
    let (mut leader, mut follower, _) = pair(&home);
    leader.db.create_table(schema("N")).expect("a table");
    // Not all of a segment in one transaction, so that they come as rows.
    for first in (0..ROWS).step_by(30_000) {
        counted(&leader.db, |tx, table, _| {
            for number in first..ROWS.min(first + 30_000) {
                let values = [Some(Value::U32(number)), Some("row by row".into())];
                tx.insert_values(table, &values).expect("to be inserted");
            }
        });
    }
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    // What comes first meets rows that are frozen, however late the thread begins that freezes.
    let table = follower.db.table("T").expect("a table");
    let report = follower.db.freeze_segments(&table, &[0], || true).expect("to be frozen");
    assert_eq!(report.segments, 1);
    let (asked, db) = (AtomicBool::new(true), follower.db.clone());
    std::thread::scope(|scope| {
        let freezing = scope.spawn(|| freeze_and_count(&db, &asked));
        for (round, step) in [40_000, 3001, 7, 999, 5, 2001].into_iter().enumerate() {
            exchange(&leader.db, (round as u32 + 1) << 24, step);
            leader.replica().write().expect("to be written");
            follower.get(&leader, leader.last());
            // Whoever reads, or freezes, is waited for where a row comes in the place of another.
            while follower.try_apply(leader.last()).is_err() {
                std::thread::yield_now();
            }
            assert!(leader.rows("T") == follower.rows("T"), "after {step}");
        }
        asked.store(false, Ordering::Relaxed);
        freezing.join().expect("to end");
    });
    // It leads, and gives no id away that is in use.
    leader.replica().follow().expect("to follow");
    follower.replica().lead(2).expect("to lead");
    exchange(&follower.db, 100 << 24, 11);
    follower.replica().write().expect("to be written");
    leader.follow(&follower);
    assert!(leader.rows("T") == follower.rows("T"));
    assert_eq!(follower.rows("T").len() as u32, ROWS);
}
