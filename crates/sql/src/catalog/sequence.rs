//! Sequences: numbers that no two callers get, whatever becomes of their transactions.
//!
//! Numbers are reserved in the database some at a time and given out from memory, so a crash may
//! skip some of them and never repeats one.

use std::sync::{Mutex, PoisonError};

use datafusion::sql::sqlparser::ast::{Expr, SequenceOptions, UnaryOperator, Value};

use super::names::Name;
use super::store::Store;
use crate::error::{Error, Result, SqlState};

/// Numbers that are reserved at a time.
const RESERVED: i64 = 32;

/// A sequence.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) name: Name,
    pub(crate) options: Options,
    /// The column that it belongs to and goes with.
    pub(crate) owner: Option<(Name, String)>,
    state: Mutex<State>,
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

    /// The same as options of a statement.
    pub(crate) fn to_sql(self) -> String {
        let Self { start, increment, min, max, cycle } = self;
        let cycle = if cycle { " CYCLE" } else { "" };
        format!("INCREMENT BY {increment} MINVALUE {min} MAXVALUE {max} START WITH {start}{cycle}")
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

impl Sequence {
    pub(crate) fn new(name: Name, options: Options, owner: Option<(Name, String)>) -> Self {
        Self { name, options, owner, state: Mutex::new(State::default()) }
    }

    /// The next number.
    ///
    /// # Errors
    /// `NUMBER_OUT_OF_RANGE` after the last; as the engine.
    pub(crate) fn next(&self, store: &Store) -> Result<i64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_known {
            state.reserved = store.reserved(&self.name)?;
            state.last = state.reserved;
            state.is_known = true;
        }
        let exhausted = || {
            let text = format!("sequence {} has no more values", self.name);
            Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
        };
        let next = self.options.after(state.last).ok_or_else(exhausted)?;
        if state.last == state.reserved {
            let ahead = self.options.increment.saturating_mul(RESERVED - 1);
            let reserved = next.saturating_add(ahead).clamp(self.options.min, self.options.max);
            let reserved = if self.options.cycle { next } else { reserved };
            store.reserve(&self.name, Some(reserved))?;
            state.reserved = Some(reserved);
        }
        state.last = Some(next);
        Ok(next)
    }

    /// Goes on after this number, or with it.
    ///
    /// # Errors
    /// As the engine; `NUMBER_OUT_OF_RANGE`.
    pub(crate) fn set(&self, store: &Store, number: i64, is_called: bool) -> Result<()> {
        if !(self.options.min..=self.options.max).contains(&number) {
            let text = format!("{number} is not among the values of sequence {}", self.name);
            return Err(Error::new(SqlState::NUMBER_OUT_OF_RANGE, text));
        }
        let last = match is_called {
            true => Some(number),
            false => Some(number.wrapping_sub(self.options.increment)),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        store.reserve(&self.name, last)?;
        *state = State { is_known: true, last, reserved: last };
        Ok(())
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
