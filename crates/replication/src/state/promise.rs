//! What a replica has promised, which outlives everything.
//!
//! Its vote; and since which start of its machine nothing that it acknowledged can be lost: what it
//! hands to the operating system outlives the process, but not the machine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remanent_engine::{Database, Replica, Result};
use serde::{Deserialize, Serialize};

use crate::entry::{NodeId, Vote};

/// The promise of one replica.
#[derive(Debug)]
pub(crate) struct Promise {
    db: Arc<Database>,
    kept: Mutex<Kept>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Kept {
    vote: Option<Vote>,
    /// Names the start of the machine since which nothing was lost of what is in its memory.
    boot: String,
}

impl Promise {
    /// Reads it; and whether the replica may have lost what it had acknowledged, where the machine
    /// was started as `boot`, or began with a copy of which no majority had all.
    ///
    /// # Errors
    /// `StorageFailed`.
    pub(crate) fn read(db: Arc<Database>, id: NodeId, boot: &str) -> Result<(Self, bool)> {
        let replica = Replica::of(&db)?;
        let mut kept: Kept = postcard::from_bytes(&replica.promise()).unwrap_or_default();
        // Who led does not go on as if nothing had been: it may lack what it was the first to have.
        kept.vote = kept.vote.map(|vote| match vote.leader_id.voted_for() {
            Some(voted) if voted == id => Vote::new(vote.leader_id.term, id),
            _ => vote,
        });
        let lost_memory = replica.is_unsure() && kept.boot != boot;
        let is_unsure = lost_memory || replica.lacks_majority();
        if !is_unsure {
            kept.boot = boot.to_owned();
        }
        let promise = Self { db: Arc::clone(&db), kept: Mutex::new(kept) };
        promise.change(|_| ())?;
        replica.set_unsure(true)?;
        Ok((promise, is_unsure))
    }

    pub(crate) fn vote(&self) -> Option<Vote> {
        self.lock().vote
    }

    /// Promises a vote, on the disk.
    ///
    /// # Errors
    /// `StorageFailed`; then it was not promised.
    pub(crate) fn set_vote(&self, vote: Vote) -> Result<()> {
        self.change(|kept| kept.vote = Some(vote))
    }

    /// Nothing is lost since the machine was started as `boot`, and a majority has what there was.
    ///
    /// # Errors
    /// `StorageFailed`.
    pub(crate) fn set_boot(&self, boot: &str) -> Result<()> {
        self.change(|kept| boot.clone_into(&mut kept.boot))?;
        Replica::of(&self.db)?.note_majority()
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) -> Result<()> {
        let mut kept = self.lock();
        let mut changed = kept.clone();
        change(&mut changed);
        let bytes = postcard::to_stdvec(&changed).unwrap_or_default();
        Replica::of(&self.db)?.set_promise(&bytes)?;
        *kept = changed;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
