//! Who yields where two transactions want the same row: priorities, deadlines, waiting, deadlocks,
//! and a transaction that would starve.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{
    ColumnHandle, Database, ErrorKind, IndexHandle, Options, Priority, Result, RowId, Table,
    TransactionOptions, WriteTransaction,
};

const LONG: Duration = Duration::from_secs(60);

/// A table of numbered counters.
struct Counters {
    db: Database,
    table: Table,
    value: ColumnHandle,
    primary: IndexHandle,
}

impl Counters {
    fn new(count: u32) -> Result<Self> {
        let db = Database::open(Options::new().budget(64 << 20))?;
        let schema = TableSchema::new("Counter")
            .column("id", ColumnType::U32)
            .column("value", ColumnType::U64)
            .primary_key(["id"]);
        let table = db.create_table(schema)?;
        let (value, primary) = (table.column("value")?, table.index("primary")?);
        db.write(|tx| {
            (0..count).try_for_each(|id| {
                tx.insert_values(&table, &[Some(id.into()), Some(0_u64.into())]).map(|_| ())
            })
        })?;
        Ok(Self { db, table, value, primary })
    }

    fn row(&self, tx: &WriteTransaction<'_>, id: u32) -> Result<(RowId, u64)> {
        let row = tx.find(&self.table, self.primary, &[id.into()])?.expect("it is there");
        Ok((row.id(), row.get::<u64>(self.value).expect("it is not null")))
    }

    fn add(&self, tx: &WriteTransaction<'_>, id: u32, n: u64) -> Result<()> {
        let (row, value) = self.row(tx, id)?;
        self.set(tx, row, value + n)
    }

    fn set(&self, tx: &WriteTransaction<'_>, row: RowId, value: u64) -> Result<()> {
        tx.update_values(&self.table, row, &[(self.value, value.into())])
    }

    fn value(&self, id: u32) -> Result<u64> {
        self.db.write(|tx| Ok(self.row(tx, id)?.1))
    }

    /// The row ids of the first two counters.
    fn rows(&self) -> Result<(RowId, RowId)> {
        self.db.write(|tx| Ok((self.row(tx, 0)?.0, self.row(tx, 1)?.0)))
    }
}

/// What happens to a holder of `holder` when somebody with `other` wants its row: whether it has
/// to yield, and whether the other gets the row.
fn meet(holder: &TransactionOptions, other: &TransactionOptions) -> Result<(bool, bool)> {
    let counters = Counters::new(2)?;
    let (row, own) = counters.rows()?;
    let (begun, has_begun) = mpsc::channel();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| {
            let tx = counters.db.begin_write_with(holder)?;
            counters.set(&tx, row, 1)?;
            begun.send(()).expect("it is waited for");
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                if let Err(error) = counters.set(&tx, own, 1) {
                    assert_eq!(error.kind(), ErrorKind::Conflict);
                    return Ok(true);
                }
            }
            tx.commit().map(|_| false)
        });
        has_begun.recv().expect("it begins");
        let tx = counters.db.begin_write_with(other)?;
        let got = counters.set(&tx, row, 2);
        let got = got.and_then(|()| tx.commit()).is_ok();
        over.store(true, Ordering::Relaxed);
        Ok((holding.join().expect("it does not panic")?, got))
    })
}

#[test]
fn the_lower_priority_yields() -> Result<()> {
    for (i, low) in Priority::ALL.into_iter().enumerate() {
        for high in Priority::ALL.into_iter().skip(i + 1) {
            let (low, high) =
                (TransactionOptions::new().priority(low), TransactionOptions::new().priority(high));
            assert_eq!(meet(&low, &high)?, (true, true), "{high:?} meets {low:?}");
        }
    }
    let (low, high) = (Priority::Low, Priority::High);
    let (low, high) =
        (TransactionOptions::new().priority(low), TransactionOptions::new().priority(high));
    assert_eq!(meet(&high, &low)?, (false, false));
    assert_eq!(meet(&high, &high)?, (false, false));
    Ok(())
}

#[test]
fn the_later_deadline_yields() -> Result<()> {
    let at = |seconds| TransactionOptions::new().deadline(Instant::now() + seconds * LONG);
    let none = TransactionOptions::new();
    assert_eq!(meet(&at(2), &at(1))?, (true, true));
    assert_eq!(meet(&none, &at(1))?, (true, true));
    assert_eq!(meet(&at(1), &at(2))?, (false, false));
    assert_eq!(meet(&at(1), &none)?, (false, false));
    // Priority counts before deadlines.
    assert_eq!(meet(&at(1), &none.priority(Priority::High))?, (true, true));
    Ok(())
}

#[test]
fn who_waits_goes_on_when_the_other_has_ended() -> Result<()> {
    let counters = Counters::new(2)?;
    let (row, _) = counters.rows()?;
    for commits in [false, true] {
        let first = counters.db.begin_write()?;
        counters.set(&first, row, 1)?;
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let tx = counters.db.begin_write_with(&TransactionOptions::new().wait(LONG))?;
                // Nothing was read before, so it need not begin anew.
                counters.set(&tx, row, 2)?;
                tx.commit()
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            match commits {
                true => first.commit().map(|_| ())?,
                false => drop(first),
            }
            waiting.join().expect("it does not panic").map(|_| ())
        })?;
        assert_eq!(counters.value(0)?, 2, "commits {commits}");
    }
    Ok(())
}

#[test]
fn who_waits_gives_up_in_time() -> Result<()> {
    let counters = Counters::new(1)?;
    let first = counters.db.begin_write()?;
    counters.add(&first, 0, 1)?;
    let options = TransactionOptions::new().wait(Duration::from_millis(20));
    let second = counters.db.begin_write_with(&options)?;
    let started = Instant::now();
    let refused = counters.add(&second, 0, 1).unwrap_err();
    assert_eq!((refused.kind(), refused.key()), (ErrorKind::Conflict, Some("id 0")));
    assert!(started.elapsed() >= Duration::from_millis(20));
    Ok(())
}

/// Threads that change the same few rows in all orders, and wait: nobody hangs, nothing is lost.
#[test]
fn deadlocks_are_broken() -> Result<()> {
    const ROUNDS: u64 = 100;
    let counters = Counters::new(4)?;
    let options = TransactionOptions::new().wait(LONG);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u32)
            .map(|first| {
                let counters = &counters;
                scope.spawn(move || {
                    (0..ROUNDS).try_for_each(|_| {
                        counters.db.write_with(&options, |tx| {
                            (0..4).try_for_each(|i| counters.add(tx, (first + i) % 4, 1))
                        })
                    })
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    for id in 0..4 {
        assert_eq!(counters.value(id)?, 4 * ROUNDS);
    }
    assert!(started.elapsed() < LONG, "a deadlock ended only because somebody lost patience");
    Ok(())
}

/// A transaction reads all rows, takes its time, and changes one, beside others that change rows
/// all the time: it would fail for ever, and commits.
#[test]
fn a_starving_transaction_wins() -> Result<()> {
    let counters = Counters::new(100)?;
    let over = AtomicBool::new(false);
    let attempts = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3_u32 {
            let (counters, over) = (&counters, &over);
            scope.spawn(move || {
                let mut id = thread;
                while !over.load(Ordering::Relaxed) {
                    id = (id + 7) % 100;
                    counters.db.write(|tx| counters.add(tx, id, 1)).expect("tried again");
                }
            });
        }
        let done = counters.db.write(|tx| {
            attempts.fetch_add(1, Ordering::Relaxed);
            let total: u64 =
                (0..100).map(|id| counters.row(tx, id).map(|row| row.1)).sum::<Result<u64>>()?;
            std::thread::sleep(Duration::from_millis(30));
            counters.add(tx, 0, total)
        });
        over.store(true, Ordering::Relaxed);
        done
    })?;
    assert!(attempts.load(Ordering::Relaxed) > 1, "the others did write");
    Ok(())
}

/// A transaction within the closure of another one, on the same rows, and a new table: none of it
/// hangs, whatever the attempts.
#[test]
fn transactions_within_transactions_do_not_hang() -> Result<()> {
    let counters = Counters::new(2)?;
    let failed = AtomicU32::new(0);
    let options = TransactionOptions::new().deadline(Instant::now() + Duration::from_millis(500));
    let done = counters.db.write(|tx| {
        counters.add(tx, 0, 1)?;
        // It can never win: the outer one has the row, and is waited for in vain.
        let inner = counters.db.write_with(&options, |tx| counters.add(tx, 0, 1));
        failed.fetch_add(1, Ordering::Relaxed);
        Ok(inner.unwrap_err().kind())
    })?;
    assert!(matches!(done, ErrorKind::DeadlineReached));
    assert_eq!(counters.value(0)?, 1);
    Ok(())
}

/// A writer is left open on one row and another one wants it, in vain: those that write other rows
/// hardly notice.
#[test]
fn a_writer_left_open_does_not_stop_the_others() -> Result<()> {
    const TIME: Duration = Duration::from_millis(1500);
    let counters = Counters::new(2)?;
    // An open writer keeps what was cut from being freed: there has to be room for it.
    counters.db.set_budget(2 << 30)?;
    let open = counters.db.begin_write()?;
    counters.add(&open, 0, 1)?;
    let (blocked, wanted) = std::thread::scope(|scope| {
        let wanting = scope.spawn(|| {
            let options = TransactionOptions::new().deadline(Instant::now() + TIME);
            counters.db.write_with(&options, |tx| counters.add(tx, 0, 1))
        });
        // Whoever has a deadline tells the open one to yield; that one does not come to notice.
        let started = Instant::now();
        let mut blocked = Duration::ZERO;
        while started.elapsed() < TIME {
            let before = Instant::now();
            counters.db.write(|tx| counters.add(tx, 1, 1)).expect("nobody else wants it");
            blocked += Some(before.elapsed()).filter(|t| t.as_millis() > 5).unwrap_or_default();
        }
        (blocked, wanting.join().expect("it does not panic"))
    });
    assert_eq!(wanted.unwrap_err().kind(), ErrorKind::DeadlineReached);
    assert!(blocked < TIME / 2, "they were kept out for {blocked:?} of {TIME:?}");
    Ok(())
}
