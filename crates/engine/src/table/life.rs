//! Since when tables and indexes are there, and for whom.
//!
//! A table that a transaction makes is its own until it commits: its life is that transaction's
//! stamp. A table that was dropped at a timestamp is there for the snapshots before it, until the
//! last of them has ended. Indexes are for all or for none, but for the transaction that changes
//! them: it is the only one that writes then. Who sets all this holds the lock of definitions.

use super::table::{IndexCore, TableCore};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::SeqCst;
use crate::slot::IN_FLIGHT;
use crate::snapshot::Snapshot;

/// Of a table's life: it is there for all.
const THERE: u64 = 0;
/// Of a table's life: it was taken back, and never was there for anybody else.
const NEVER_WAS: u64 = 1;

/// Of an index: the transaction that made it has not committed, nobody else knows it.
const HIDDEN: u8 = 1;
/// Of an index: the transaction that is open dropped it. It is as before for all others.
const DOOMED: u8 = 2;
/// Of an index: the transaction that dropped it commits; who does not use it finds it no more.
const LEAVING: u8 = 4;
/// Of an index: it is dropped.
const GONE: u8 = 8;

/// What the life of an index begins as: whoever knows a table that is coming has made it.
pub(super) fn first_life(core: &TableCore) -> u8 {
    if core.is_coming() { 0 } else { HIDDEN }
}

impl TableCore {
    /// Whether the table exists for all.
    #[inline]
    pub(crate) fn check_live(&self) -> Result<()> {
        match self.life.load(SeqCst) {
            THERE => Ok(()),
            life => Err(self.unseen(life)),
        }
    }

    /// Whether a transaction with this snapshot may use the table: one that began before it was
    /// dropped goes on with it. Whoever draws a snapshot from the clock reads this afterwards, and
    /// whoever drops the table writes it before it sets the clock.
    #[inline]
    pub(crate) fn check_seen(&self, snapshot: Snapshot) -> Result<()> {
        match self.life.load(SeqCst) {
            THERE => Ok(()),
            life => self.check_seen_by(snapshot, life),
        }
    }

    #[cold]
    fn check_seen_by(&self, snapshot: Snapshot, life: u64) -> Result<()> {
        let is_maker = life == snapshot.own;
        if is_maker || life & IN_FLIGHT == 0 && snapshot.timestamp < life {
            return Ok(());
        }
        Err(self.unseen(life))
    }

    #[cold]
    fn unseen(&self, life: u64) -> Error {
        let name = &self.schema.name;
        Error::new(ErrorKind::UnknownTable).because(match life & IN_FLIGHT {
            0 => format!("`{name}` was dropped"),
            _ => format!("`{name}` is not committed yet"),
        })
    }

    /// Whether it is being created by a transaction that has not committed.
    pub(crate) fn is_coming(&self) -> bool {
        self.life.load(SeqCst) & IN_FLIGHT != 0
    }

    /// Whether it was there when a snapshot was taken.
    pub(crate) fn was_there(&self, snapshot: Snapshot) -> bool {
        self.created.load(SeqCst) <= snapshot.timestamp && self.check_seen(snapshot).is_ok()
    }

    /// It is there for all, from this commit on.
    pub(crate) fn begin_life(&self, timestamp: u64) {
        self.created.store(timestamp, SeqCst);
        self.life.store(THERE, SeqCst);
    }

    /// It is gone for all whose snapshot is no older than this commit.
    pub(crate) fn end_life(&self, timestamp: u64) {
        self.life.store(timestamp, SeqCst);
    }

    /// It was made by a transaction that takes it back.
    pub(crate) fn take_back(&self) {
        self.life.store(NEVER_WAS, SeqCst);
    }
}

impl IndexCore {
    #[inline]
    fn life(&self) -> u8 {
        self.life.load(SeqCst)
    }

    /// Whether it is dropped and not kept up.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        self.life() & GONE != 0
    }

    /// Whether it may be used by who begins to, `own` if it is in a transaction that writes: then
    /// there is no other that changes indexes.
    #[inline]
    pub(crate) fn is_found(&self, own: bool) -> bool {
        let hidden = if own { DOOMED | LEAVING | GONE } else { HIDDEN | LEAVING | GONE };
        self.life() & hidden == 0
    }

    /// Whether rows must not have the same key in it.
    #[inline]
    pub(crate) fn is_enforced(&self) -> bool {
        self.schema.unique && self.life() & (DOOMED | LEAVING) == 0
    }

    /// Whether only the transaction that made it knows it.
    pub(crate) fn is_hidden(&self) -> bool {
        self.life() & HIDDEN != 0
    }

    /// The transaction that is open drops it, or takes that back.
    pub(crate) fn set_doomed(&self, doomed: bool) {
        let hidden = self.life() & HIDDEN;
        self.life.store(if doomed { hidden | DOOMED } else { hidden }, SeqCst);
    }

    /// Nobody begins to use it any more. Who then looks at the slots finds every transaction that
    /// may use it: a transaction takes its slot first and reads this afterwards.
    pub(crate) fn set_leaving(&self) {
        self.life.store(self.life() | LEAVING, SeqCst);
    }

    /// It is there for all.
    pub(crate) fn begin_life(&self) {
        self.life.store(0, SeqCst);
    }

    /// It is not kept up any more.
    pub(crate) fn end_life(&self) {
        self.life.store(GONE, SeqCst);
    }
}
