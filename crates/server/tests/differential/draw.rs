//! Statements at random, from a seed: the same seed gives the same statements.
//!
//! What is drawn is meant to be answered by both in one way only: no order that nobody asked for,
//! no choice among equal rows, and hardly ever a value that cannot be computed, for which of two
//! faults is met first is nobody's promise.

mod change;
mod expression;
mod query;
mod schema;

pub(crate) use schema::World;

use crate::answer::Way;

/// A statement, and how it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) way: Way,
    /// The table that it changes, to be inspected afterwards.
    pub(crate) changes: Option<String>,
}

impl Statement {
    pub(crate) fn query(text: String, ordered: bool) -> Self {
        Self { text, way: Way::Prepared { ordered }, changes: None }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), way: Way::Text, changes: None }
    }

    pub(crate) fn change(text: String, table: &str) -> Self {
        let way = Way::Prepared { ordered: false };
        Self { text, way, changes: Some(table.to_owned()) }
    }
}

/// Random numbers: SplitMix64 (Steele, Lea, Flood, 2014).
#[derive(Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }

    /// A number below another.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Whether something that happens so often in a hundred happens.
    pub(crate) fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}
