//! The machine's memory: prefaulted, refused, locked, given back, kept.
//!
//! The system is made to refuse memory the first time it is asked, then the second, and so on: each
//! refusal fails one statement cleanly, what was there stays, and with memory again the same
//! statement succeeds. Then what a program may ask of the memory: ahead of a burst by a thread of
//! its own, all of it at open, huge pages that the machine does not have, and a reset that keeps
//! it.

use std::sync::atomic::{AtomicBool, Ordering};

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{CallerMemory, Database, ErrorKind, Options, Result, Table};

const ROW_BYTES: usize = 1000;

fn schema() -> TableSchema {
    TableSchema::new("T")
        .column("number", ColumnType::U32)
        .column("data", ColumnType::BLOB)
        .primary_key(["number"])
}

fn open(options: Options) -> Result<(Database, Table)> {
    let db = Database::open(options)?;
    let table = db.create_table(schema())?;
    Ok((db, table))
}

fn insert(db: &Database, table: &Table, numbers: std::ops::Range<u32>) -> Result<()> {
    let data = vec![7; ROW_BYTES];
    db.write(|tx| {
        numbers.clone().try_for_each(|number| {
            tx.insert_values(table, &[Some(number.into()), Some((&data).into())]).map(|_| ())
        })
    })
}

fn count(db: &Database, table: &Table) -> Result<usize> {
    db.read(|tx| Ok(tx.scan(table)?.count()))
}

#[test]
fn the_system_refuses_memory_at_every_place() -> Result<()> {
    let mut refusals = 0;
    for n in 1.. {
        let (db, table) = open(Options::new().budget(256 << 20))?;
        insert(&db, &table, 0..100)?;
        db.fail_commits_from(n);
        let error = insert(&db, &table, 100..60_000);
        db.fail_commits_from(0);
        let Err(error) = error else { break };
        refusals += 1;
        assert_eq!(error.kind(), ErrorKind::OutOfMachineMemory);
        assert!(error.is_out_of_memory());
        assert_eq!(count(&db, &table)?, 100, "refusal {n}");
        db.reclaim();
        let rows = db.memory().rows;
        assert!(rows < 200 * ROW_BYTES as u64, "all else was freed: {rows}");
        insert(&db, &table, 100..2000)?;
        assert_eq!(count(&db, &table)?, 2000);
        // Deleting needs memory of the system no more than of the budget.
        db.fail_commits_from(1);
        db.write(|tx| {
            let rows: Vec<_> = tx.scan(&table)?.map(|row| row.id()).collect();
            rows.iter().try_for_each(|row| tx.delete(&table, *row))
        })?;
        assert_eq!(count(&db, &table)?, 0);
    }
    assert!(refusals > 20, "the system refused {refusals} times");
    Ok(())
}

#[test]
fn a_transaction_goes_on_after_the_system_refused() -> Result<()> {
    let (db, table) = open(Options::new().budget(64 << 20))?;
    let data = vec![7; ROW_BYTES];
    let tx = db.begin_write()?;
    let (mut number, mut refused) = (0_u32, 0);
    while number < 20_000 {
        db.fail_commits_from(1);
        match tx.insert_values(&table, &[Some(number.into()), Some((&data).into())]) {
            Ok(_) => number += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfMachineMemory);
                refused += 1;
                db.fail_commits_from(0);
                tx.insert_values(&table, &[Some(number.into()), Some((&data).into())])?;
                number += 1;
            }
        }
    }
    db.fail_commits_from(0);
    tx.commit()?;
    assert!(refused > 10);
    assert_eq!(count(&db, &table)?, 20_000);
    Ok(())
}

/// A thread of the program's keeps memory ahead of a burst; what it commits is used and nothing is
/// lost or counted twice.
#[test]
fn memory_is_prefaulted_beside_a_burst() -> Result<()> {
    let (db, table) = open(Options::new().budget(128 << 20))?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ahead = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::Relaxed) {
                most = most.max(db.commit_ahead(8 << 20).expect("there is memory"));
                std::thread::yield_now();
            }
            most
        });
        let inserted = (0..60).try_for_each(|i| insert(&db, &table, i * 1000..(i + 1) * 1000));
        done.store(true, Ordering::Relaxed);
        inserted.expect("there is memory");
        let most = ahead.join().expect("it ends");
        assert!((8 << 20..40 << 20).contains(&most), "{most} bytes were ahead");
    });
    let memory = db.memory();
    assert!(memory.held <= memory.committed && memory.committed <= memory.budget + (2 << 20));
    assert_eq!(count(&db, &table)?, 60_000);
    // Never beyond the budget.
    let most = db.commit_ahead(u64::MAX)?;
    assert!(most <= 128 << 20);
    assert!(db.memory().committed <= (128 << 20) + (2 << 20));
    Ok(())
}

#[test]
fn all_memory_is_had_at_open() -> Result<()> {
    let (db, table) = open(Options::new().budget(16 << 20).prefault(true))?;
    let committed = db.memory().committed;
    assert!(committed >= 16 << 20);
    insert(&db, &table, 0..10_000)?;
    assert_eq!(db.memory().committed, committed);
    // The caller's memory, which begins in the midst of a page.
    let mut bytes: Vec<u8> = vec![0; 8 << 20];
    let start = bytes.as_mut_ptr();
    let memory = CallerMemory::from_vec(bytes);
    let options = Options::new().caller_memory(memory);
    let (db, table) = open(options.prefault(true))?;
    assert!(resident_pages(start, 8 << 20) >= (8 << 20) / 4096 * 95 / 100);
    insert(&db, &table, 0..5000)?;
    assert_eq!(count(&db, &table)?, 5000);
    Ok(())
}

/// How many pages of 4 KiB of this memory are there.
fn resident_pages(start: *mut u8, len: usize) -> usize {
    let first = start.wrapping_add(start.align_offset(4096));
    let mut pages = vec![0_u8; len / 4096 - 1];
    // SAFETY: asks about mapped pages; there is a byte for each of them to answer in.
    let done = unsafe { libc::mincore(first.cast(), pages.len() * 4096, pages.as_mut_ptr()) };
    assert_eq!(done, 0);
    pages.iter().filter(|page| **page & 1 == 1).count()
}

/// Where the machine has no huge pages for the process, small ones serve.
#[test]
fn without_huge_pages_small_ones_serve() -> Result<()> {
    // SAFETY: asks that this process get no huge pages, which changes nothing but time.
    let asked = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    let (db, table) = open(Options::new().budget(256 << 20).commit_ahead(64 << 20))?;
    insert(&db, &table, 0..100_000)?;
    assert_eq!(count(&db, &table)?, 100_000);
    // SAFETY: as above.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) };
    assert_eq!(asked, 0);
    Ok(())
}

/// Memory that may not be locked is an error at open; memory that may be is locked as it grows.
#[test]
fn memory_is_locked_or_refused() -> Result<()> {
    let options = || Options::new().budget(8 << 20).budget_max(8 << 20).lock_memory(true);
    match open(options()) {
        Ok((db, table)) => {
            let locked_before = locked_bytes();
            insert(&db, &table, 0..5000)?;
            assert!(locked_bytes() >= locked_before + (4 << 20), "what is committed is locked");
            db.write(|tx| {
                let rows: Vec<_> = tx.scan(&table)?.map(|row| row.id()).collect();
                rows.iter().try_for_each(|row| tx.delete(&table, *row))
            })?;
            assert!(db.release_memory() > 1 << 20, "locked memory is given back too");
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::OutOfMachineMemory),
    }
    Ok(())
}

/// Bytes of this process that are locked.
fn locked_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmLck:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[test]
fn a_reset_database_is_as_new_and_keeps_its_memory() -> Result<()> {
    let (mut db, mut table) = open(Options::new().budget(64 << 20))?;
    let empty = db.memory();
    let mut committed = 0;
    for round in 0..5 {
        insert(&db, &table, 0..30_000)?;
        if round % 2 == 1 {
            // Memory that was given back is there again.
            db.write(|tx| {
                tx.scan(&table)?.take(20_000).try_for_each(|row| tx.delete(&table, row.id()))
            })?;
            db.release_memory();
        }
        // Deletions take a little more.
        assert!(round == 0 || db.memory().committed <= committed + (8 << 20));
        committed = committed.max(db.memory().committed);
        let before = db.memory().committed;
        db.reset()?;
        assert!(db.memory().committed >= before, "round {round}: memory is kept");
        assert_eq!(insert(&db, &table, 0..1).unwrap_err().kind(), ErrorKind::UnknownTable);
        table = db.create_table(schema())?;
        assert_eq!(count(&db, &table)?, 0);
        assert!(db.memory().held <= empty.held + (64 << 10));
    }
    let folder = std::env::temp_dir().join(format!("remanent-reset-{}", std::process::id()));
    let mut logged = Database::open_at(&folder, Options::new().budget(64 << 20))?;
    assert_eq!(logged.reset().unwrap_err().kind(), ErrorKind::LogFailed);
    drop(logged);
    std::fs::remove_dir_all(&folder).ok();
    Ok(())
}
