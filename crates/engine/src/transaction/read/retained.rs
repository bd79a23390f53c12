//! States of the database that a transaction retains, read by their timestamps.
//!
//! A snapshot keeps what it sees. A transaction that was begun to retain keeps whatever any
//! snapshot since its own would see ([`crate::table::cleanup::pins`]), so a snapshot of then can be
//! made now. In a group of replicas a commit has one timestamp everywhere: several of them can read
//! one state.

use super::reading::ReadTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::snapshot::Snapshot;
use crate::transaction::begin::clock;
use crate::transaction::commit::finalize;

/// A transaction that sees the state at a timestamp, which another one retains and has to outlive.
///
/// # Errors
/// As [`ReadTransaction::begin_read_at`].
pub(crate) fn begin_at<'db>(
    retaining: &ReadTransaction<'db>,
    timestamp: u64,
) -> Result<ReadTransaction<'db>> {
    let since = retaining.snapshot.get().timestamp;
    if !retaining.held.slot().retains() || timestamp < since {
        let text = format!("nobody retains the state at timestamp {timestamp}");
        return Err(Error::new(ErrorKind::SnapshotExpired).because(text));
    }
    // As beside another transaction. The slot's own snapshot is the newest state.
    let (held, newest) = finalize::with_free_slot(retaining.db, clock::begin_read)?;
    if timestamp > newest.timestamp {
        let text = format!("there is no commit at timestamp {timestamp} yet");
        return Err(Error::new(ErrorKind::InvalidOptions).because(text));
    }
    let snapshot = Snapshot { timestamp, own: 0 };
    Ok(ReadTransaction::with_slot(retaining.db, held, snapshot, None))
}
