//! The snapshots that are held: whose they are, since when, what they keep, and when they expire.
//!
//! A transaction with a name or a limit describes itself in its slot. Any other says nothing,
//! since that would cost as much as the rest of its beginning; whoever reclaims or makes the list
//! notes when it first met it. Old versions are counted for each snapshot that needs them as they
//! are kept (`reclaim.rs`); whoever counts also sees whether a snapshot has gone over its budget.
//! Then it is marked *expired*: its reads fail from now on. It is *released*, that is no longer
//! honoured but for the rows it was given, when it is seen between two calls after that.

use std::time::Duration;

use crate::instance::Instance;
use crate::memory::atomic::{Acquire, Relaxed, Release, SeqCst};
use crate::memory::{Memory, barrier};
use crate::slot::{NAME_WORDS, SLOT_WRITES, Slot, is_held, slot, snapshot_of_state};
use crate::transaction::begin::options::{Name, TransactionOptions};

/// A limit that there is none of.
const UNLIMITED: u64 = u64::MAX;

/// A snapshot that a transaction holds.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, Options, TransactionOptions, schema::*};
/// let db = Database::open(Options::new().budget(4 << 20))?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// let row = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
/// let report = db.begin_read_with(&TransactionOptions::new().name("report"))?;
/// for i in 0..10_000 {
///     db.write(|tx| tx.update_values(&table, row, &[(a, i.into())]))?;
/// }
/// let held = db.snapshots();
/// assert_eq!((held.len(), held[0].name.as_str()), (1, "report"));
/// // One version of one row, of the 10,000.
/// assert!(held[0].pinned_bytes > 0 && held[0].pinned_bytes < 100);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// The name that the transaction was begun with; empty for none.
    pub name: String,
    /// The newest commit that it sees.
    pub timestamp: u64,
    /// Since when it is held: exactly, if it was begun with a name or a limit; else since it was
    /// first noticed, by a writer that had to keep something for it or by this list.
    pub age: Duration,
    /// Bytes of old row versions that are kept for it, perhaps for others too; counted when writers
    /// find that much waits: 16,384 rows or 4 MiB, less in a small budget.
    pub pinned_bytes: u64,
    /// Whether its transaction writes.
    pub writes: bool,
    /// Whether it has gone over its budget: its reads fail, and it keeps only what it was given.
    pub expired: bool,
}

/// Writes into a slot who holds it.
pub(crate) fn describe(db: &Instance, slot: &Slot, options: &TransactionOptions) {
    let limit = |time: Option<Duration>| time.map_or(UNLIMITED, |time| time.as_nanos() as u64);
    slot.since_ns.store(db.now_ns(), Relaxed);
    slot.age_max_ns.store(limit(options.age_max), Relaxed);
    slot.pinned_max.store(options.pinned_max.unwrap_or(UNLIMITED), Relaxed);
    for (word, name) in slot.name.iter().zip(options.name.to_words()) {
        word.store(name, Relaxed);
    }
    slot.described.store(slot.serial() * 2, Release);
}

/// All snapshots that are held, oldest first.
pub(crate) fn list(db: &Instance) -> Vec<SnapshotInfo> {
    let memory = db.memory();
    let mut found: Vec<_> = (0..memory.header().slots_used.load(SeqCst) as usize)
        .filter_map(|number| look_at(db, slot(memory, number)))
        .collect();
    found.sort_by_key(|info| info.timestamp);
    found
}

/// As text, for whom memory fails: the oldest snapshot of another than the holder of slot `own`
/// that keeps others from being freed what has changed since.
#[cold]
pub(crate) fn in_the_way(db: &Instance, own: usize) -> Option<String> {
    let memory = db.memory();
    let clock = memory.header().clock.0.load(SeqCst);
    let others = (0..memory.header().slots_used.load(SeqCst) as usize).filter(|it| *it != own);
    let held = others.filter_map(|number| look_at(db, slot(memory, number)));
    let oldest = held.filter(|info| info.timestamp < clock).min_by_key(|info| info.timestamp)?;
    let whose = if oldest.name.is_empty() { String::new() } else { format!(" `{}`", oldest.name) };
    Some(format!(
        "what was changed or deleted since waits for the snapshot of a transaction{whose} that {} \
         and is held since {:.1} s, {} commits ago",
        if oldest.writes { "may write" } else { "only reads" },
        oldest.age.as_secs_f64(),
        clock - oldest.timestamp,
    ))
}

/// Notes that a transaction which did not describe itself is there.
fn notice(db: &Instance, slot: &Slot) {
    let serial = slot.serial();
    let described = slot.described.load(Acquire);
    if described != serial * 2 && described != serial * 2 + 1 {
        slot.since_ns.store(db.now_ns(), Relaxed);
        // A transaction that describes itself meanwhile has the last word: it ends with this store.
        let noticed = serial * 2 + 1;
        let _ = slot.described.compare_exchange(described, noticed, SeqCst, Relaxed);
    }
}

/// Marks the snapshots that are over their budget.
pub(crate) fn expire(db: &Instance) {
    let memory = db.memory();
    for number in 0..memory.header().slots_used.load(SeqCst) as usize {
        let slot = slot(memory, number);
        let state = slot.state.load(SeqCst);
        if !is_held(state) || state & SLOT_WRITES != 0 {
            continue;
        }
        notice(db, slot);
        let serial = slot.serial();
        if slot.described.load(Acquire) != serial * 2 || slot.expired.load(Acquire) == serial {
            continue;
        }
        let age = db.now_ns().saturating_sub(slot.since_ns.load(Relaxed));
        let over = age > slot.age_max_ns.load(Relaxed)
            || slot.pinned(serial) > slot.pinned_max.load(Relaxed);
        // The words may be those of the next transaction: then nothing is said of this one.
        if over && slot.state.load(SeqCst) == state && slot.serial() == serial {
            slot.expired.store(serial, SeqCst);
        }
    }
}

/// The timestamp up to which blocks may be freed because readers are quiescent, that is between two
/// calls: what was taken out before the clock reached it, nobody can come to any more. Advances the
/// epoch of all slots but `idle`, whose holders are quiescent: the caller has them. Releases
/// expired snapshots of quiescent readers.
pub(crate) fn quiescent_horizon(memory: &Memory, idle: [usize; 2]) -> u64 {
    let clock = memory.header().clock.0.load(SeqCst);
    let used = memory.header().slots_used.load(SeqCst) as usize;
    let others = (0..used).filter(|number| !idle.contains(number));
    let slots = || others.clone().map(|number| slot(memory, number));
    slots().for_each(|slot| {
        slot.epoch.fetch_add(1, SeqCst);
    });
    barrier::heavy(memory);
    let mut oldest = clock;
    for slot in slots() {
        let (state, serial) = (slot.state.load(SeqCst), slot.serial());
        if !is_held(state) {
            continue;
        }
        if slot.operations.load(SeqCst) != 0 {
            oldest = oldest.min(snapshot_of_state(state));
            continue;
        }
        let expired = slot.expired.load(SeqCst) == serial && slot.serial() == serial;
        if expired && slot.released.load(SeqCst) != serial {
            slot.released.store(serial, SeqCst);
            memory.header().releases.fetch_add(1, SeqCst);
        }
    }
    oldest
}

fn look_at(db: &Instance, slot: &Slot) -> Option<SnapshotInfo> {
    let state = slot.state.load(SeqCst);
    if !is_held(state) {
        return None;
    }
    notice(db, slot);
    let serial = slot.serial();
    let described = slot.described.load(Acquire) == serial * 2;
    let since = slot.since_ns.load(Relaxed);
    let words = slot.name.each_ref().map(|word| word.load(Relaxed));
    let name = if described { Name::from_words(words) } else { Name::default() };
    let info = SnapshotInfo {
        name: name.to_string(),
        timestamp: snapshot_of_state(state),
        age: Duration::from_nanos(db.now_ns().saturating_sub(since)),
        pinned_bytes: slot.pinned(serial),
        writes: state & SLOT_WRITES != 0,
        expired: slot.expired.load(Acquire) == serial,
    };
    // What was read may be of two transactions, if the slot changed hands meanwhile.
    (slot.serial() == serial && is_held(slot.state.load(SeqCst))).then_some(info)
}

const _: () = assert!(NAME_WORDS * 8 == crate::transaction::begin::options::NAME_LEN);
