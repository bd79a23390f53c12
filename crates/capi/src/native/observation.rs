//! What a database says of itself: counts since it was opened, and what each table takes.
//!
//! Memory by purpose and the list of snapshots are beside opening and closing. What each number
//! means is the engine's to say; here they are given on as they are, a missing log as zeros.

use super::database::rem_database;
use super::session::database;
use super::status::*;
use crate::ffi::OutPtr;

/// What has happened in a database since it was opened, and how it stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_statistics {
    /// Microseconds since it was opened.
    pub uptime_us: u64,
    /// Transactions whose changes were committed.
    pub commits: u64,
    /// Changes of rows in them.
    pub changes: u64,
    /// Transactions that write which ended without a commit.
    pub rollbacks: u64,
    /// Statements and commits refused with REM_CONFLICT.
    pub conflicts: u64,
    /// Attempts after the first one, by calls that repeat their work.
    pub retries: u64,
    /// Transactions that are active and only read.
    pub readers: u64,
    /// Transactions that are active and write.
    pub writers: u64,
    /// Microseconds since the oldest snapshot was taken; 0 if there is none.
    pub oldest_snapshot_us: u64,
    /// Blocks and rows that wait to be freed or inspected.
    pub backlog: u64,
    /// Rows of which an old snapshot needs a version that nobody else does.
    pub pinned_rows: u64,
    /// Checkpoints that were made.
    pub checkpoints: u64,
    /// Bytes of log since the database was made; 0 in all that follow if there is no log.
    pub log_bytes: u64,
    /// Of these, bytes that the operating system has.
    pub log_bytes_written: u64,
    /// Of these, bytes that the disk has.
    pub log_bytes_synced: u64,
    /// Commits that the log has taken.
    pub log_commits: u64,
    /// Writes to files of the log.
    pub log_writes: u64,
    /// Syncs of files of the log.
    pub log_syncs: u64,
}

/// The memory of a table, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_table_memory {
    /// The table's name with a final NUL, cut where it is too long.
    pub name: [std::ffi::c_char; 64],
    /// Rows that are there.
    pub rows: u64,
    /// Versions of rows: the current ones, old ones and deletions.
    pub versions: u64,
    /// Bytes of these versions.
    pub row_bytes: u64,
    /// Bytes of the directory of rows.
    pub segment_bytes: u64,
    /// Bytes of all indexes.
    pub index_bytes: u64,
}

/// What has happened since the database was opened, and how it stands.
#[unsafe(no_mangle)]
pub extern "C" fn rem_database_statistics(
    db: *const rem_database,
    out: *mut rem_statistics,
) -> rem_status {
    call(|| {
        let statistics = database(db as u64)?.database.statistics();
        let log = statistics.log.unwrap_or_default();
        let oldest = statistics.oldest_snapshot.unwrap_or_default();
        let rem = rem_statistics {
            uptime_us: statistics.uptime.as_micros() as u64,
            commits: statistics.commits,
            changes: statistics.changes,
            rollbacks: statistics.rollbacks,
            conflicts: statistics.conflicts,
            retries: statistics.retries,
            readers: statistics.readers,
            writers: statistics.writers,
            oldest_snapshot_us: oldest.as_micros() as u64,
            backlog: statistics.backlog,
            pinned_rows: statistics.pinned_rows,
            checkpoints: statistics.checkpoints,
            log_bytes: log.bytes,
            log_bytes_written: log.bytes_written,
            log_bytes_synced: log.bytes_synced,
            log_commits: log.commits,
            log_writes: log.writes,
            log_syncs: log.syncs,
        };
        OutPtr::from(out).set(rem).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Lists what each table takes of the memory, by name, as many as `capacity`; `count` receives how
/// many there are. Takes as long as reading all rows and all indexes.
#[unsafe(no_mangle)]
pub extern "C" fn rem_memory_by_table(
    db: *const rem_database,
    tables: *mut rem_table_memory,
    capacity: usize,
    count: *mut usize,
) -> rem_status {
    call(|| {
        let places = OutPtr::from(tables).uninit_slice(capacity).ok_or(REM_NULL_ARGUMENT)?;
        let found = database(db as u64)?.database.memory_by_table().map_err(status_of)?;
        for (place, table) in places.iter_mut().zip(&found) {
            let mut name = [0; 64];
            for (to, from) in name.iter_mut().take(63).zip(table.name.bytes()) {
                *to = from as std::ffi::c_char;
            }
            place.write(rem_table_memory {
                name,
                rows: table.rows,
                versions: table.versions,
                row_bytes: table.row_bytes,
                segment_bytes: table.segment_bytes,
                index_bytes: table.index_bytes(),
            });
        }
        OutPtr::from(count).set(found.len()).ok_or(REM_NULL_ARGUMENT)
    })
}
