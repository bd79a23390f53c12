//! Numbers that sessions took from sequences, for currval and lastval.
//!
//! A session is told the numbers that it took itself, by its own number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::catalog::store::ObjectId;

/// What sessions took from sequences, by the number of the session.
#[derive(Default)]
pub(crate) struct Taken {
    sessions: Mutex<HashMap<u64, OfSession>>,
}

#[derive(Default)]
struct OfSession {
    by_sequence: HashMap<ObjectId, i64>,
    last: Option<i64>,
}

impl Taken {
    /// Notes a number that a session took.
    pub(crate) fn note(&self, session: u64, sequence: ObjectId, number: i64) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = sessions.entry(session).or_default();
        taken.by_sequence.insert(sequence, number);
        taken.last = Some(number);
    }

    /// The number that it took last, from this sequence or from any.
    pub(crate) fn last(&self, session: u64, sequence: Option<ObjectId>) -> Option<i64> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = sessions.get(&session)?;
        match sequence {
            Some(sequence) => taken.by_sequence.get(&sequence).copied(),
            None => taken.last,
        }
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: u64) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }
}
