//! Sequences: numbers that no two callers get, whatever becomes of their transactions.
//!
//! Numbers are reserved in the database some at a time and given out from memory, so a crash may
//! skip some of them and never repeats one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use datafusion::sql::sqlparser::ast::{Expr, SequenceOptions, UnaryOperator, Value};
use remanent_engine::WriteTransaction;

use super::store::{ObjectId, Store};
use super::stored::StoredSequence;
use crate::error::{Error, Result, SqlState};
use crate::names::Name;

/// Numbers that are reserved at a time, at least: a crash skips those that are left.
const RESERVED: i64 = 32;

/// And at most: twice as many as the time before, where those were used up this soon.
const RESERVED_MAX: i64 = 1024;
const SOON: Duration = Duration::from_millis(100);

/// How long is waited at a time for a transaction that has reserved numbers to end.
const DOUBT_STEP: Duration = Duration::from_millis(1);
/// And how long in all.
const DOUBT_MAX: Duration = Duration::from_secs(5);

/// A sequence.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) id: ObjectId,
    pub(crate) name: Name,
    pub(crate) options: Options,
    /// The role that may do everything with it.
    pub(crate) owner: Option<ObjectId>,
    /// The column that it belongs to and goes with.
    pub(crate) belongs_to: Option<(Name, String)>,
    /// Shared by all catalogs that have the sequence.
    state: Arc<Mutex<State>>,
    turn: Arc<Turn>,
}

/// Whose turn it is to reserve numbers in a transaction of its own, for all who wait for some: each
/// reservation waits for the disk. Whoever keeps writers out never waits for it.
#[derive(Debug, Default)]
struct Turn {
    is_taken: Mutex<bool>,
    free: Condvar,
    pace: Mutex<Pace>,
}

/// The turn, until it is dropped.
struct Reserving<'t>(&'t Turn);

impl Turn {
    /// Waits for the turn; `None` if it does not come.
    fn take(&self) -> Option<Reserving<'_>> {
        let taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.free.wait_timeout_while(taken, DOUBT_MAX, |is_taken| *is_taken);
        let (mut taken, result) = waited.unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() {
            return None;
        }
        *taken = true;
        Some(Reserving(self))
    }
}

impl Drop for Reserving<'_> {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

/// How fast numbers are used up.
#[derive(Debug, Default)]
struct Pace {
    reserved: i64,
    at: Option<Instant>,
}

impl Pace {
    /// How many numbers are reserved now.
    fn next(&mut self) -> i64 {
        let soon = self.at.is_some_and(|at| at.elapsed() < SOON);
        let more = if soon { self.reserved.saturating_mul(2) } else { RESERVED };
        self.reserved = more.clamp(RESERVED, RESERVED_MAX);
        self.at = Some(Instant::now());
        self.reserved
    }
}

/// How it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Options {
    pub(crate) start: i64,
    pub(crate) increment: i64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) cycle: bool,
}

#[derive(Debug, Default)]
struct State {
    is_known: bool,
    /// Whether numbers were reserved in a transaction that has not ended: they are its own until
    /// then.
    in_doubt: bool,
    /// The number given out last.
    last: Option<i64>,
    /// Up to here numbers are reserved.
    reserved: Option<i64>,
}

impl Options {
    /// What a statement says.
    ///
    /// # Errors
    /// `BAD_PARAMETER`.
    pub(crate) fn from_ast(options: &[SequenceOptions]) -> Result<Self> {
        let (mut start, mut min, mut max, mut increment, mut cycle) = (None, None, None, 1, false);
        for option in options {
            match option {
                SequenceOptions::IncrementBy(number, _) => increment = integer(number)?,
                SequenceOptions::MinValue(Some(number)) => min = Some(integer(number)?),
                SequenceOptions::MaxValue(Some(number)) => max = Some(integer(number)?),
                SequenceOptions::MinValue(None) | SequenceOptions::MaxValue(None) => {}
                SequenceOptions::StartWith(number, _) => start = Some(integer(number)?),
                SequenceOptions::Cache(_) => {}
                SequenceOptions::Cycle(no_cycle) => cycle = !no_cycle,
            }
        }
        let min = min.unwrap_or(if increment < 0 { i64::MIN } else { 1 });
        let max = max.unwrap_or(if increment < 0 { -1 } else { i64::MAX });
        let start = start.unwrap_or(if increment < 0 { max } else { min });
        let made = Self { start, increment, min, max, cycle };
        if increment == 0 || min > max || !(min..=max).contains(&start) {
            let text = "a sequence steps by at least one, from a start within its limits";
            return Err(Error::new(SqlState::BAD_PARAMETER, text));
        }
        Ok(made)
    }

    /// As they are written down.
    pub(crate) fn to_stored(self) -> StoredSequence {
        let Self { start, increment, min, max, cycle } = self;
        StoredSequence { start, increment, min, max, cycle }
    }

    /// What was written down.
    pub(crate) fn from_stored(stored: &StoredSequence) -> Self {
        let StoredSequence { start, increment, min, max, cycle } = *stored;
        Self { start, increment, min, max, cycle }
    }

    /// The last of so many numbers that are reserved from this one on.
    fn ahead(&self, next: i64, count: i64) -> i64 {
        if self.cycle {
            return next;
        }
        let ahead = self.increment.saturating_mul(count - 1);
        next.saturating_add(ahead).clamp(self.min, self.max)
    }

    fn after(&self, last: Option<i64>) -> Option<i64> {
        let Some(last) = last else { return Some(self.start) };
        let next = last.checked_add(self.increment);
        match next.filter(|next| (self.min..=self.max).contains(next)) {
            None if self.cycle && self.increment > 0 => Some(self.min),
            None if self.cycle => Some(self.max),
            next => next,
        }
    }
}

/// Where numbers are reserved.
#[derive(Clone, Copy)]
pub(crate) enum ReserveIn<'t> {
    /// In a transaction of its own.
    OwnTransaction,
    /// In one that keeps all other writers out.
    Writer(&'t WriteTransaction<'t>),
}

/// Where a sequence goes on: after a number if that was given out, or else with it.
#[derive(Clone, Copy)]
pub(crate) struct SequenceValue {
    pub(crate) number: i64,
    pub(crate) is_called: bool,
}

impl Sequence {
    pub(crate) fn new(id: ObjectId, name: Name, options: Options, owner: Option<ObjectId>) -> Self {
        let (state, turn) = (Arc::default(), Arc::default());
        Self { id, name, options, owner, belongs_to: None, state, turn }
    }

    /// Takes its numbers from where the same sequence of another catalog has them.
    pub(crate) fn go_on_from(&mut self, same: &Self) {
        self.state = Arc::clone(&same.state);
        self.turn = Arc::clone(&same.turn);
    }

    /// Whether both count together.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// Reserves again what was given out in a transaction and taken back with a part of it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn keep(&self, store: &Store, tx: &WriteTransaction<'_>) -> Result<()> {
        let state = self.lock();
        match state.in_doubt {
            true => store.reserve(tx, self.id, state.reserved),
            false => Ok(()),
        }
    }

    /// The next number.
    ///
    /// # Errors
    /// `NUMBER_OUT_OF_RANGE` after the last; `LOCK_NOT_AVAILABLE` while a transaction that has
    /// reserved numbers does not end; as the engine.
    pub(crate) fn next(&self, store: &Store, reserve_in: ReserveIn<'_>) -> Result<i64> {
        let exhausted = || {
            let text = format!("sequence {} has no more values", self.name);
            Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
        };
        let mut turn = None;
        loop {
            let mut state = self.known(store, reserve_in)?;
            let next = self.options.after(state.last).ok_or_else(exhausted)?;
            if state.last != state.reserved {
                state.last = Some(next);
                return Ok(next);
            }
            if let ReserveIn::Writer(tx) = reserve_in {
                let last = self.options.ahead(next, RESERVED);
                store.reserve(tx, self.id, Some(last))?;
                *state = State {
                    is_known: true,
                    in_doubt: true,
                    last: Some(next),
                    reserved: Some(last),
                };
                return Ok(next);
            }
            let before = state.reserved;
            // What keeps writers out may want a number itself: the state is not held meanwhile.
            drop(state);
            if turn.is_none() {
                turn = Some(self.turn.take().ok_or_else(|| self.not_reserved())?);
                // Meanwhile, another may have reserved some for all.
                continue;
            }
            let count = self.turn.pace.lock().unwrap_or_else(PoisonError::into_inner).next();
            let last = self.options.ahead(next, count);
            let is_ours = store.reserve_alone(self.id, Some(before), last)?;
            let mut state = self.lock();
            match is_ours && state.reserved == before && !state.in_doubt {
                true => state.reserved = Some(last),
                false => state.is_known = false,
            }
        }
    }

    /// Goes on after a number, or with it.
    ///
    /// # Errors
    /// As the engine; `NUMBER_OUT_OF_RANGE`.
    pub(crate) fn set(
        &self,
        store: &Store,
        reserve_in: ReserveIn<'_>,
        to: SequenceValue,
    ) -> Result<()> {
        let SequenceValue { number, is_called } = to;
        if !(self.options.min..=self.options.max).contains(&number) {
            let text = format!("{number} is not among the values of sequence {}", self.name);
            return Err(Error::new(SqlState::NUMBER_OUT_OF_RANGE, text));
        }
        let last = match is_called {
            true => number,
            false => number.wrapping_sub(self.options.increment),
        };
        let in_doubt = matches!(reserve_in, ReserveIn::Writer(_));
        drop(self.known(store, reserve_in)?);
        match reserve_in {
            ReserveIn::OwnTransaction => drop(store.reserve_alone(self.id, None, last)?),
            ReserveIn::Writer(tx) => store.reserve(tx, self.id, Some(last))?,
        }
        *self.lock() = State { is_known: true, in_doubt, last: Some(last), reserved: Some(last) };
        Ok(())
    }

    /// The transaction in which numbers were reserved has ended. Where it was rolled back, they are
    /// reserved once more: they were given out, and nobody gets them again.
    pub(crate) fn finish(&self, store: &Store, committed: bool) {
        let mut state = self.lock();
        if !state.in_doubt {
            return;
        }
        let reserved = state.reserved.filter(|_| !committed);
        state.in_doubt = false;
        drop(state);
        if let Some(reserved) = reserved
            && store.reserve_alone(self.id, None, reserved).is_err()
        {
            self.lock().is_known = false;
        }
    }

    /// It was made in a transaction that has taken that back: nobody counts with it.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        state.in_doubt = false;
        state.is_known = false;
    }

    fn not_reserved(&self) -> Error {
        let text = format!("a definition that uses sequence {} has not ended", self.name);
        Error::new(SqlState::LOCK_NOT_AVAILABLE, text)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it has come, once nobody else's transaction may take that back.
    fn known(&self, store: &Store, reserve_in: ReserveIn<'_>) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        let started = Instant::now();
        while state.in_doubt && matches!(reserve_in, ReserveIn::OwnTransaction) {
            drop(state);
            if started.elapsed() > DOUBT_MAX {
                return Err(self.not_reserved());
            }
            std::thread::sleep(DOUBT_STEP);
            state = self.lock();
        }
        if !state.is_known {
            state.reserved = match reserve_in {
                ReserveIn::OwnTransaction => {
                    store.reserved(&store.database.begin_read()?, self.id)?
                }
                ReserveIn::Writer(tx) => store.reserved(tx, self.id)?,
            };
            state.last = state.reserved;
            state.is_known = true;
        }
        Ok(state)
    }
}

/// A whole number of a statement, with its sign.
fn integer(expr: &Expr) -> Result<i64> {
    let number = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) => format!("-{}", value.value).parse().ok(),
            _ => None,
        },
        _ => None,
    };
    let bad = || Error::new(SqlState::BAD_PARAMETER, format!("{expr} is not a whole number"));
    number.ok_or_else(bad)
}
