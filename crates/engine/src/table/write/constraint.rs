//! Uniqueness: whether a key that an index now leads to twice is really held twice.
//!
//! Called after the new entry is in the index, so of two transactions that insert the same key at
//! the same time at least the later one sees the other's entry. The other row may be latched, for
//! an update that has its entry in the index and its version not yet in the row: that counts as
//! holding the key. Else what counts is the newest state of the other row, and, so that no
//! transaction finds two rows under one key, what this transaction's snapshot sees of it.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::index::cursor::{Bound, Direction, IndexCursor};
use crate::index::hash::for_each_match;
use crate::index::ordered::Placement;
use crate::snapshot::{Begin, Snapshot, resolve};
use crate::table::describe::{duplicate_key, key_conflict};
use crate::table::rows::segment::{is_frozen, newest_of};
use crate::table::rows::version::{Version, bytes_at, chain};
use crate::table::table::{IndexCore, RowKeys, TableAt};

/// A key that a row is to have in a unique index.
#[derive(Clone, Copy)]
struct WantedKey<'k> {
    table: TableAt<'k>,
    index: &'k IndexCore,
    key: &'k [u8],
}

/// Fails if a row other than the changed one, of which id and bytes are given, holds `key` in a
/// unique index. `placement` is what the index said of the new entry.
///
/// # Errors
/// `DuplicateKey` if a row that this transaction sees holds it; `Conflict` if a transaction that it
/// does not see does or may, or took it away from a row that this one sees.
pub(crate) fn check_unique(
    table: TableAt<'_>,
    index: &IndexCore,
    key: &[u8],
    changed: (u32, &[u8]),
    placement: Placement,
    snapshot: Snapshot,
) -> Result<()> {
    let wanted = WantedKey { table, index, key };
    if let Placement::SharedWith(other) = placement {
        return check_row(wanted, changed.1, other, snapshot);
    }
    if index.is_ordered() {
        let tree = table.ordered(index);
        let keys = RowKeys { table, index };
        let mut cursor = IndexCursor::new(tree);
        let bound = Bound { bytes: key, inclusive: true };
        let mut found = cursor.seek(&keys, Direction::Forward, Some(bound));
        while let Some(leaf) = found {
            if cursor.path_begins_with(key) == Some(false) {
                break;
            }
            let other = tree.row_of(leaf);
            if other != changed.0 {
                check_row(wanted, changed.1, other, snapshot)?;
            }
            found = cursor.step(&keys, Direction::Forward);
        }
        return Ok(());
    }
    let hashed = table.hash(index);
    let refused = for_each_match(hashed, hashed.hash_of(key), |other, _| {
        if other == changed.0 {
            return ControlFlow::Continue(());
        }
        match check_row(wanted, changed.1, other, snapshot) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    refused.map_or(Ok(()), Err)
}

/// As [`check_unique`], of one row that the index names.
fn check_row(wanted: WantedKey<'_>, changed: &[u8], row: u32, snapshot: Snapshot) -> Result<()> {
    let WantedKey { table, index, key } = wanted;
    let bytes_of = |at| bytes_at(table.memory, at);
    let Some(word) = table.directory().word_at_rest(table.memory, row) else {
        return Err(key_conflict(table, index, changed, None));
    };
    if is_frozen(word) {
        return check_frozen(wanted, row, snapshot);
    }
    let newest = newest_of(word);
    // An end in place is as a deletion in front of the version.
    let end = (newest != 0).then(|| Version::at(table.memory, newest).end(table.memory)).flatten();
    match end {
        Some(Begin::Committed(timestamp)) if timestamp <= snapshot.timestamp => return Ok(()),
        Some(Begin::InFlight(stamp)) if stamp == snapshot.own => return Ok(()),
        _ => {}
    }
    let mut decided = matches!(end, Some(Begin::Committed(_)));
    let holds = |at: u64, version: &Version| {
        !version.is_tombstone() && index.plan.matches_row(bytes_at(table.memory, at), key)
    };
    for (at, version) in chain(table.memory, newest) {
        match resolve(table.memory, &version.begin) {
            Begin::Committed(timestamp) => {
                let seen = timestamp <= snapshot.timestamp;
                if (seen || !decided) && holds(at, version) {
                    return Err(if seen && at == newest && end.is_none() {
                        duplicate_key(table, index, row, bytes_of(at))
                    } else {
                        key_conflict(table, index, bytes_of(at), None)
                    });
                }
                if seen {
                    return Ok(());
                }
                decided = true;
            }
            Begin::InFlight(stamp) if stamp == snapshot.own => {
                return match holds(at, version) {
                    true => Err(duplicate_key(table, index, row, bytes_of(at))),
                    false => Ok(()),
                };
            }
            Begin::InFlight(stamp) if holds(at, version) => {
                return Err(key_conflict(table, index, bytes_of(at), Some(stamp)));
            }
            // It may roll back: what it replaced counts as well.
            Begin::InFlight(_) => {}
        }
    }
    Ok(())
}

/// As [`check_row`], for a row that is as it was frozen.
#[cold]
fn check_frozen(wanted: WantedKey<'_>, row: u32, snapshot: Snapshot) -> Result<()> {
    let WantedKey { table, index, key } = wanted;
    let Some(frozen) = table.frozen_row(row) else { return Ok(()) };
    let followed = snapshot.may_follow(resolve(table.memory, &frozen.segment.begin));
    let followed = match frozen.end(table.memory) {
        None => followed,
        Some(Begin::Committed(timestamp)) if timestamp <= snapshot.timestamp => return Ok(()),
        Some(Begin::InFlight(stamp)) if stamp == snapshot.own => return Ok(()),
        // It came and went since.
        Some(Begin::Committed(_)) if followed.is_err() => return Ok(()),
        Some(_) => Err(None),
    };
    let check = |bytes: &[u8]| match followed {
        _ if !index.plan.matches_row(bytes, key) => Ok(()),
        Ok(()) => Err(duplicate_key(table, index, row, bytes)),
        Err(holder) => Err(key_conflict(table, index, bytes, holder)),
    };
    table.with_frozen_key(row, &index.plan, check).unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests;
