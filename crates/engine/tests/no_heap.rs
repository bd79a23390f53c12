//! Transactions by key do not call the heap.
//!
//! An allocator counts what each thread asks of it. What is warm is counted: the tables are filled
//! once and their transactions' memory is there, as in a program that has run for a moment. Memory
//! of the region is not the heap's: it is taken from the system by the page.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;

use remanent_derive::Record;
use remanent_engine::{Database, Durability, Isolation, Options, Result, TransactionOptions};

struct Counting;

thread_local! {
    // It has no destructor: the allocator may use it at any moment of a thread's life.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static HEAP: Counting = Counting;

// SAFETY: all is done by the system's allocator; counting does not allocate, and does not fail.
unsafe impl GlobalAlloc for Counting {
    /// # Safety
    /// As of [`GlobalAlloc::alloc`].
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    /// # Safety
    /// As of [`GlobalAlloc::alloc_zeroed`].
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    /// # Safety
    /// As of [`GlobalAlloc::realloc`].
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }

    /// # Safety
    /// As of [`GlobalAlloc::dealloc`].
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

/// How often `work` asks for memory of the heap, and what it gives.
fn calls<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = CALLS.get();
    let value = work();
    (CALLS.get() - before, value)
}

#[derive(Record)]
#[record(name = "Item", primary_key(id), index(place(place, id)), hash_index(by_name(name)))]
struct Item<'a> {
    id: u32,
    place: u32,
    name: &'a str,
}

const NAME: &str = "a name of some length";

fn item(id: u32, round: u32) -> Item<'static> {
    Item { id, place: id.wrapping_mul(7).wrapping_add(round), name: NAME }
}

/// Calls of the heap, by what was done.
#[derive(Default, Debug, PartialEq, Eq)]
struct Calls {
    begin: u64,
    get: u64,
    find: u64,
    insert: u64,
    update: u64,
    delete: u64,
    commit: u64,
    read: u64,
}

impl Calls {
    /// Transactions of a few statements each, four rows to each, which are not there yet.
    fn count(db: &Database, options: &TransactionOptions, rows: Range<u32>) -> Result<Self> {
        let items = db.table_of::<Item<'static>>()?;
        let (id, by_name) = (items.column("id")?, items.index("by_name")?);
        // A draft's bytes are on the heap, as many as the longest row that it had.
        let mut draft = items.draft();
        draft.set(items.column("name")?, NAME.into())?;
        let mut found = Self::default();
        for n in rows.step_by(4) {
            let mut tally = |place: fn(&mut Self) -> &mut u64, calls: u64| {
                *place(&mut found) += calls;
            };
            let (begin, tx) = calls(|| db.begin_write_with(options));
            let tx = tx?;
            tally(|it| &mut it.begin, begin);
            let values = [Some(n.into()), Some(n.into()), Some(NAME.into())];
            let (insert, inserted) = calls(|| {
                tx.insert_values(&items, &values)?;
                let last = tx.insert(&items, &item(n + 1, 0))?;
                draft.load(&tx.row(&items, last)?.expect("it was just inserted"))?;
                draft.set(id, (n + 2).into())?;
                tx.insert_draft(&draft)
            });
            tally(|it| &mut it.insert, insert);
            let (get, row) = calls(|| tx.get_row(&items, &ItemPrimary { id: n / 2 }));
            tally(|it| &mut it.get, get);
            let (find, is_there) =
                calls(|| tx.find(&items, by_name, &[NAME.into()]).map(|row| row.is_some()));
            assert!(is_there?);
            tally(|it| &mut it.find, find);
            let (update, updated) = calls(|| {
                if let Some(row) = row? {
                    tx.update(&items, row.id(), &item(n / 2, n))?;
                }
                draft.set(id, (n + 3).into())?;
                tx.update_draft(inserted?, &draft)
            });
            updated?;
            tally(|it| &mut it.update, update);
            let (delete, deleted) = calls(|| {
                let row = tx.get_row(&items, &ItemPrimary { id: n + 1 })?;
                tx.delete(&items, row.expect("it was just inserted").id())
            });
            deleted?;
            tally(|it| &mut it.delete, delete);
            let (commit, committed) = calls(|| tx.commit());
            committed?;
            tally(|it| &mut it.commit, commit);
            let (read, place) = calls(|| {
                db.read(|tx| Ok(tx.get(&items, &ItemPrimary { id: n })?.map(|item| item.place)))
            });
            assert_eq!(place?, Some(n));
            tally(|it| &mut it.read, read);
        }
        Ok(found)
    }
}

/// Fills a table with so many rows until everything is warm, then counts with as many.
fn check(db: &Database, isolation: Isolation, rows: u32) -> Result<()> {
    db.create_table_of::<Item<'_>>()?;
    let options = TransactionOptions::new().isolation(isolation);
    Calls::count(db, &options, 0..rows)?;
    let calls = Calls::count(db, &options, rows..2 * rows)?;
    assert_eq!(calls, Calls::default(), "{isolation:?}");
    Ok(())
}

#[test]
fn transactions_in_memory() -> Result<()> {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        check(&Database::open(Options::new())?, isolation, 20_000)?;
    }
    Ok(())
}

/// Commits are encoded in memory that stays with their slot, and written from the log's buffers. A
/// new file of the log does call the heap: there is none here.
#[test]
fn transactions_that_are_logged() -> Result<()> {
    let levels = [(Durability::Buffered, 8_000), (Durability::Os, 8_000), (Durability::Disk, 400)];
    for (durability, rows) in levels {
        let name = format!("remanent-no-heap-{}-{}", std::process::id(), durability.name());
        let path = std::env::temp_dir().join(name);
        let options = Options::new().durability(durability).checkpoint_after(0);
        let db = Database::open_at(&path, options)?;
        check(&db, Isolation::Serializable, rows)?;
        drop(db);
        std::fs::remove_dir_all(&path).expect("it is removed");
    }
    Ok(())
}

/// The exception: values that are given one by one are gathered in a list. So calls are counted.
#[test]
fn single_values_take_a_list() -> Result<()> {
    let db = Database::open(Options::new())?;
    let items = db.create_table_of::<Item<'_>>()?;
    let row = db.write(|tx| tx.insert(&items, &item(1, 0)))?;
    let place = items.column("place")?;
    let tx = db.begin_write()?;
    tx.update_values(&items, row, &[(place, 1.into())])?;
    let (calls, updated) = calls(|| tx.update_values(&items, row, &[(place, 2.into())]));
    updated?;
    assert_eq!(calls, 1);
    tx.commit().map(|_| ())
}
