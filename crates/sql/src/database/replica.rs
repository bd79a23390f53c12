//! The database as a replica of a group: whether it can be changed, and what followers are to know.
//!
//! A follower is read like any other database, and changed by nobody but its group. Definitions
//! that the group applies become the catalog of statements by the same steps as those of sessions:
//! whoever has read nothing yet waits for the catalog that fits.

use std::fmt::Debug;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use remanent_engine::{DefinitionWatch, Replica};

use super::SqlDatabase;
use crate::catalog::store::Store;
use crate::error::{Error, Result, SqlState};
use crate::group::Group;
use crate::limits::cancel::Cancel;

/// How long a position is waited for.
const POSITION_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long until somebody looks whether to stop.
const LOOK_AFTER: Duration = Duration::from_millis(20);
/// How long until somebody looks whether another one has asked the leader.
const TURN_AFTER: Duration = Duration::from_micros(200);
/// How often the catalog is read again that could not be read, before statements do it.
const READ_AGAIN_MAX: u32 = 100;
const READ_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// What the leader said is committed, and when it was asked; and the last time that it could not be
/// asked, and why.
#[derive(Default)]
pub(crate) struct Asked {
    position: Option<(Instant, u64)>,
    failure: Option<(Instant, String)>,
}

impl SqlDatabase {
    /// Says of which group it is a replica: who may not change anything here learns who leads.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use remanent_sql::{Group, GroupView, SqlDatabase};
    /// #[derive(Debug)]
    /// struct Alone;
    /// impl Group for Alone {
    ///     fn view(&self) -> GroupView {
    ///         GroupView { id: 1, leader: Some(1), ..GroupView::default() }
    ///     }
    /// }
    /// let db = SqlDatabase::in_memory()?;
    /// db.set_group(Arc::new(Alone));
    /// // It is no replica, so nobody keeps it from being changed.
    /// assert!(db.takes_changes());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn set_group(&self, group: Arc<dyn Group>) {
        // A database belongs to one group as long as it is open.
        let _ = self.group.set(group);
    }

    /// Whether it is a replica of a group.
    pub(crate) fn is_of_group(&self) -> bool {
        self.group.get().is_some()
    }

    /// Whether it can be changed here: it is no replica, or the one that leads.
    pub fn takes_changes(&self) -> bool {
        let leads = Replica::of(&self.engine).map_or(true, |replica| replica.leads());
        if leads && !self.has_led.load(Ordering::Relaxed) {
            self.has_led.store(true, Ordering::Relaxed);
        }
        leads
    }

    /// Checks that it can be changed here.
    ///
    /// # Errors
    /// `READ_ONLY`; `SHUTDOWN` where it led before, whose sessions are about to end.
    pub(crate) fn check_takes_changes(&self) -> Result<()> {
        if self.takes_changes() {
            return Ok(());
        }
        if self.has_led.load(Ordering::Relaxed) {
            return Err(Error::deposed());
        }
        let text = "cannot change anything here: this replica does not lead its group";
        let mut error = Error::new(SqlState::READ_ONLY, text);
        if let Some(group) = self.group.get() {
            error = error.detail(group.view().leader_in_words());
        }
        Err(error.hint("Connect to the leader; target_session_attrs=read-write finds it."))
    }

    /// Up to where whoever begins to read sees what was committed: in a group the timestamp of a
    /// commit, which means the same in all replicas.
    pub(crate) fn position(&self) -> u64 {
        let newest = |_| self.engine.newest_timestamp();
        Replica::of(&self.engine).map_or_else(newest, |replica| replica.newest_commit())
    }

    /// Waits until whoever begins to read sees the commit with this timestamp.
    ///
    /// # Errors
    /// `CANCELLED`; `LOCK_NOT_AVAILABLE` if it does not come.
    pub(crate) fn wait_for_position(&self, position: u64, cancel: &Cancel) -> Result<()> {
        let began = Instant::now();
        // Who was deposed shows commits of its own, and other ones have their timestamps.
        let is_ahead = || Replica::of(&self.engine).is_ok_and(|replica| replica.is_ahead());
        while !self.engine.wait_for_timestamp(position, LOOK_AFTER) || is_ahead() {
            cancel.check()?;
            if is_ahead() {
                std::thread::sleep(LOOK_AFTER);
            }
            if began.elapsed() >= POSITION_WAIT_MAX || self.takes_changes() {
                let text = format!("the commit at position {position} has not come here");
                let hint = "Read where it was committed, or try again.";
                return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, text).hint(hint));
            }
        }
        Ok(())
    }

    /// Sees to it that whoever begins to read sees nothing older than this time ago: unless that is
    /// known, the leader is asked what is committed, and that is waited for. Others that ask
    /// meanwhile have the answer, too.
    ///
    /// # Errors
    /// `NOT_NOW` if the leader cannot be asked; as [`SqlDatabase::wait_for_position`].
    pub(crate) fn wait_until_fresh(&self, staleness: Duration, cancel: &Cancel) -> Result<()> {
        let Some(group) = self.group.get().filter(|_| Replica::of(&self.engine).is_ok()) else {
            return Ok(());
        };
        let wanted = Instant::now();
        let mut asked = self.turn_to_ask(cancel)?;
        let is_fresh = |at: Instant| wanted.saturating_duration_since(at) <= staleness;
        // What somebody else was refused since this was wanted, this one is, too.
        let failure = asked.failure.as_ref().filter(|(at, _)| *at >= wanted);
        let answer = match (asked.position, failure) {
            (Some((at, position)), _) if is_fresh(at) => Ok(position),
            (_, Some((_, why))) => Err(why.clone()),
            _ => {
                let at = Instant::now();
                let answer = group.newest();
                match &answer {
                    Ok(position) => asked.position = Some((at, *position)),
                    Err(why) => asked.failure = Some((at, why.clone())),
                }
                answer
            }
        };
        drop(asked);
        let position = answer.map_err(|why| {
            Error::new(SqlState::NOT_NOW, "nobody knows what is committed by now").detail(why)
        })?;
        self.wait_for_position(position, cancel)
    }

    /// One session at a time asks the leader; whoever waits for that can be stopped.
    fn turn_to_ask(&self, cancel: &Cancel) -> Result<MutexGuard<'_, Asked>> {
        loop {
            match self.asked.try_lock() {
                Ok(asked) => return Ok(asked),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => cancel.check()?,
            }
            std::thread::sleep(TURN_AFTER);
        }
    }

    /// Reads the catalog again that could not be read when the group changed it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn refresh_stale_catalog(&self) -> Result<()> {
        match self.is_stale.load(Ordering::Acquire) {
            true => self.refresh_catalog(),
            false => Ok(()),
        }
    }
}

impl DefinitionWatch for SqlDatabase {
    fn concerns(&self, table: &str) -> bool {
        Store::has_definitions(table)
    }

    fn change(&self) {
        self.expect_another();
    }

    fn changed(&self) {
        for _ in 0..READ_AGAIN_MAX {
            if self.refresh_catalog().is_ok() {
                return;
            }
            // Others hold all transactions, or all memory.
            std::thread::sleep(READ_AGAIN_AFTER);
        }
        // Whoever reads next does it, or is refused.
        self.is_stale.store(true, Ordering::Release);
    }
}

impl Debug for SqlDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlDatabase").finish_non_exhaustive()
    }
}
