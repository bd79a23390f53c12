//! Removing what no snapshot sees: old versions, their index entries, and dead rows.
//!
//! Works on a row, not on a record of what happened to it, so it may come late, twice, or in any
//! order. [`prune`] goes by the horizon, a timestamp that every active snapshot has reached: of
//! each row the newest version committed at or before it stays, all behind that one go. While an
//! old snapshot holds the horizon back, [`prune_between`] goes by all snapshots that there are,
//! and cuts the versions out that lie between them; readers may be on their way through those, so
//! they are retired, not freed.

use remanent_schema::KeyBuffer;

use super::pins::Pins;
use crate::index::node::Leaf;
use crate::memory::retire::Retired;
use crate::memory::{AllocationClass, Allocator, Purpose};
use crate::snapshot::{Begin, resolve};
use crate::table::rows::segment::LatchedRow;
use crate::table::rows::version::{Kept, Version, bytes_at, chain};
use crate::table::table::TableAt;

/// How often [`prune_between`] calls back at most. A row with more versions to tell of is led here
/// again by the entries that each of them has left.
pub(crate) const NOTES_MAX: u64 = 8;

/// The result of pruning a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Pruned {
    /// All that can be done is done.
    Done,
    /// There was no room in the retire queue; some of it may be done.
    NoRoom,
}

/// Prunes a row.
pub(crate) fn prune<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    row: u32,
    horizon: u64,
) -> Pruned {
    if u64::from(row) >= table.directory().limit() {
        return Pruned::Done;
    }
    let Some(latched) = table.directory().latch(table.memory, row) else { return Pruned::Done };
    let Some((at, version)) = seen_by_all(table, latched.newest(), horizon) else {
        return Pruned::Done;
    };
    let garbage = version.older();
    let dead = at == latched.newest() && version.is_tombstone();
    let queue = &alloc.cache.retired;
    if !reserve_key_blocks(table, alloc, version, u64::from(dead)) {
        return Pruned::NoRoom;
    }
    if garbage != 0 {
        drop_garbage_entries(table, alloc, &latched, at, garbage);
        // Who sees a version looks no further. Only of a dead row does somebody look at the last
        // content, to tell its leaf from another key's (`RowKeys::load_key`): that is kept a while.
        let kept = if dead { Version::at(table.memory, garbage) } else { version };
        let rest = kept.older();
        if rest != 0 {
            kept.set_older(0);
            free_chain(table, alloc, rest);
        }
    }
    queue.end_keyed();
    if dead {
        version.finalize_begin(begin_of(table, version));
        latched.set_newest(0);
        queue.release();
        alloc.retire_item(Retired::Deletion { offset: at });
        table.directory().give_back(table.memory, row);
    }
    Pruned::Done
}

/// As [`prune`], one old version after the other, oldest first, each time with room for as much as
/// `make_room` finds: where there is none for all at once.
pub(crate) fn prune_step_by_step<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    row: u32,
    horizon: u64,
    mut make_room: impl FnMut(),
) -> Pruned {
    loop {
        make_room();
        match cut_oldest(table, alloc, row, horizon) {
            Ok(true) => {}
            Ok(false) => return prune(table, alloc, row, horizon),
            Err(NoRoom) => return Pruned::NoRoom,
        }
    }
}

/// There is no room in the retire queue.
struct NoRoom;

/// Takes the oldest version of a row away, unless it is the only old one or somebody needs it.
fn cut_oldest<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    row: u32,
    horizon: u64,
) -> Result<bool, NoRoom> {
    if u64::from(row) >= table.directory().limit() {
        return Ok(false);
    }
    let Some(latched) = table.directory().latch(table.memory, row) else { return Ok(false) };
    let Some((_, version)) = seen_by_all(table, latched.newest(), horizon) else {
        return Ok(false);
    };
    let mut newer = version;
    let mut behind = chain(table.memory, version.older()).peekable();
    let (mut last, mut count) = (0, 0);
    while let Some((at, version)) = behind.next() {
        (last, count) = (at, count + 1);
        if behind.peek().is_some() {
            newer = version;
        }
    }
    if count < 2 {
        return Ok(false);
    }
    cut(table, alloc, &latched, newer, last).map(|_| true).ok_or(NoRoom)
}

/// The newest version that every snapshot sees, or a newer one.
fn seen_by_all(table: TableAt<'_>, newest: u64, horizon: u64) -> Option<(u64, &Version)> {
    chain(table.memory, newest).find(|(_, version)| {
        matches!(resolve(table.memory, &version.begin), Begin::Committed(at) if at <= horizon)
    })
}

/// Reserves room for the key blocks of all entries that only versions behind `last` need, and for
/// `more`; `false` if there is none.
fn reserve_key_blocks(table: TableAt<'_>, alloc: Allocator<'_>, last: &Version, more: u64) -> bool {
    let mut keys = 0;
    let mut moved = last.key_changed() || last.is_tombstone();
    for (_, version) in chain(table.memory, last.older()) {
        moved |= version.key_changed();
        keys += u64::from(!version.is_tombstone());
    }
    let keyed = if moved && keys > 0 { keys * ordered_indexes(table) } else { 0 };
    if keyed + more == 0 {
        return true;
    }
    let queue = &alloc.cache.retired;
    let reserved = queue.reserve_many(alloc, keyed + more, AllocationClass::Emergency).is_ok();
    if reserved {
        queue.allow_keyed(keyed);
    }
    reserved
}

/// The number of ordered indexes: entries of a version whose key blocks may be freed.
pub(in crate::table) fn ordered_indexes(table: TableAt<'_>) -> u64 {
    table.core.indexes().filter(|index| index.is_ordered()).count() as u64
}

/// Prunes a row of the versions that none of these snapshots needs. `note` is called for each old
/// version that stays and of which it was not called before, with the timestamp at which the next
/// newer one begins: when the horizon has reached that, [`prune`] can do the rest.
pub(crate) fn prune_between<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    row: u32,
    pins: &Pins<'m>,
    mut note: impl FnMut(u64) -> bool,
) -> Pruned {
    let mut left = NOTES_MAX;
    let mut note = |stamp| {
        let may = left > 0 && note(stamp);
        left -= u64::from(may);
        may
    };
    if u64::from(row) >= table.directory().limit() {
        return Pruned::Done;
    }
    let Some(latched) = table.directory().latch(table.memory, row) else { return Pruned::Done };
    let anchor = chain(table.memory, latched.newest()).find_map(|(at, version)| {
        match resolve(table.memory, &version.begin) {
            Begin::Committed(begin) if begin <= pins.clock() => Some((at, version, begin)),
            _ => None,
        }
    });
    let Some((anchor, version, begin)) = anchor else { return Pruned::Done };
    let mut pruned = Pruned::Done;
    let id = table.core.id;
    let needed = |begins: (u64, u64)| pins.need(id, row, begins.0, begins.1);
    let mut newer = (version, begin);
    if version.is_tombstone() {
        let dead = anchor == latched.newest() && !any_needed(table, newer, needed);
        if dead && reserve_mark_dead(table, alloc, version) {
            mark_dead(table, alloc, latched, anchor);
            return Pruned::Done;
        }
        if dead {
            pruned = Pruned::NoRoom;
        }
        // As long as a row has an entry, somebody may look for the key in its last content.
        newer = match keep(table, newer, pins, &mut note) {
            Some(content) => content,
            None => return pruned,
        };
    }
    let mut moved = false;
    loop {
        let at = newer.0.older();
        if at == 0 {
            break;
        }
        let begin = begin_of(table, Version::at(table.memory, at));
        if needed((begin, newer.1)) {
            match keep(table, newer, pins, &mut note) {
                Some(kept) => newer = kept,
                None => break,
            }
        } else {
            match cut(table, alloc, &latched, newer.0, at) {
                Some(with_key) => moved |= with_key,
                None => {
                    pruned = Pruned::NoRoom;
                    break;
                }
            }
        }
    }
    if moved && latched.newest() == anchor && version.older() == 0 {
        make_leaves_plain(table, alloc, row, anchor);
    }
    pruned
}

/// Whether any version behind `newer` is needed.
fn any_needed(
    table: TableAt<'_>,
    newer: (&Version, u64),
    needed: impl Fn((u64, u64)) -> bool,
) -> bool {
    let (first, mut end) = (newer.0.older(), newer.1);
    chain(table.memory, first).any(|(_, version)| {
        let begin = begin_of(table, version);
        let is_needed = needed((begin, end));
        end = begin;
        is_needed
    })
}

/// Lets the version behind `newer` stay: it and its beginning.
fn keep<'m>(
    table: TableAt<'m>,
    newer: (&Version, u64),
    pins: &Pins<'m>,
    note: &mut impl FnMut(u64) -> bool,
) -> Option<(&'m Version, u64)> {
    let at = newer.0.older();
    if at == 0 {
        return None;
    }
    let version = Version::at(table.memory, at);
    let begin = begin_of(table, version);
    if !version.is_noted() && note(newer.1) {
        version.set_noted();
        pins.count(size_of::<Version>() + version.length(), begin, newer.1);
    }
    Some((version, begin))
}

/// Takes the version at `at` out from behind `newer`, and says whether that was about keys; `None`
/// if there is no room in the queue.
fn cut<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    latched: &LatchedRow<'_>,
    newer: &Version,
    at: u64,
) -> Option<bool> {
    let queue = &alloc.cache.retired;
    let version = Version::at(table.memory, at);
    let moved = newer.key_changed() || version.key_changed();
    let keyed = if moved { ordered_indexes(table) } else { 0 };
    queue.reserve_many(alloc, 1 + keyed, AllocationClass::Emergency).ok()?;
    queue.allow_keyed(keyed);
    newer.set_older(version.older());
    if version.key_changed() {
        newer.set_key_changed();
    }
    if moved && !version.is_tombstone() {
        table.drop_entries(alloc, version.row(), at, Kept::from(latched.newest()));
    }
    queue.end_keyed();
    queue.release();
    alloc.retire(at, Purpose::Rows);
    Some(moved)
}

/// Reserves room for [`mark_dead`]; `false` if there is none.
fn reserve_mark_dead(table: TableAt<'_>, alloc: Allocator<'_>, tombstone: &Version) -> bool {
    let versions = 1 + chain(table.memory, tombstone.older()).count() as u64;
    reserve_key_blocks(table, alloc, tombstone, versions)
}

/// Removes a row that is dead for everybody: its entries go, then its versions, when the last
/// reader on its way through them is gone.
fn mark_dead<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    latched: LatchedRow<'_>,
    tombstone: u64,
) {
    let versions = chain(table.memory, tombstone).count() as u64;
    let row = Version::at(table.memory, tombstone).row();
    let content = Version::at(table.memory, tombstone).older();
    drop_garbage_entries(table, alloc, &latched, tombstone, content);
    alloc.cache.retired.end_keyed();
    let mut old = 0;
    if content != 0 {
        let content = Version::at(table.memory, content);
        old = content.older();
        content.set_older(0);
    }
    let version = Version::at(table.memory, tombstone);
    version.finalize_begin(begin_of(table, version));
    latched.set_newest(0);
    alloc.cache.retired.release_many(versions);
    while old != 0 {
        let older = Version::at(table.memory, old).older();
        alloc.retire(old, Purpose::Rows);
        old = older;
    }
    alloc.retire_item(Retired::Deletion { offset: tombstone });
    table.directory().give_back(table.memory, row);
}

/// The timestamp of a version behind a committed one.
fn begin_of(table: TableAt<'_>, version: &Version) -> u64 {
    match resolve(table.memory, &version.begin) {
        Begin::Committed(begin) => begin,
        Begin::InFlight(_) => unreachable!("what is behind a committed version is committed"),
    }
}

/// Removes the index entries that only versions from `garbage` on need.
fn drop_garbage_entries<'m>(
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    latched: &LatchedRow<'_>,
    last: u64,
    garbage: u64,
) {
    let last_version = Version::at(table.memory, last);
    let moved = last_version.key_changed()
        || chain(table.memory, garbage).any(|(_, version)| version.key_changed());
    if !moved && !last_version.is_tombstone() {
        return;
    }
    let row = last_version.row();
    // The chain stays whole meanwhile: as long as a dead row has an entry, somebody may look for
    // the key in its last content, and would look again and again if there was none.
    for (gone, _) in chain(table.memory, garbage).filter(|(_, version)| !version.is_tombstone()) {
        let kept = Kept { first: latched.newest(), end: garbage };
        table.drop_entries(alloc, row, gone, kept);
    }
    if latched.newest() == last && !last_version.is_tombstone() {
        make_leaves_plain(table, alloc, row, last);
    }
}

/// The row has one version again: its ordered entries need no keys of their own.
fn make_leaves_plain<'m>(table: TableAt<'m>, alloc: Allocator<'m>, row: u32, version: u64) {
    let mut key = KeyBuffer::new();
    for index in table.core.indexes().filter(|index| index.is_ordered()) {
        let room = alloc.cache.retired.make_room(alloc, 2, AllocationClass::Emergency).is_ok();
        if room && index.plan.encode_row(bytes_at(table.memory, version), &mut key).is_ok() {
            let leaf = Leaf::plain(row, version);
            // A plain leaf takes no memory, which alone could be wanting.
            let _ = table.ordered(index).replace(alloc, key.as_slice(), row, leaf);
        }
    }
}

fn free_chain(table: TableAt<'_>, alloc: Allocator<'_>, first: u64) {
    let mut at = first;
    while at != 0 {
        let older = Version::at(table.memory, at).older();
        Version::free(alloc, at);
        at = older;
    }
}
