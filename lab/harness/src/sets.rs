//! The interface of the workload of sets: one owner, its members, one order.
//!
//! Members have numbers from 0. A call that changes the set is one transaction, whatever the number
//! of members it is given; so is a call that reads, which copies the number of each member that it
//! comes to into the application's memory, in the order in which it came. Numbers are compared with
//! what is expected outside the clock.

use crate::setting::{Location, Outcome, Setting};

/// What stands in place of a number where there is no member.
pub const NOBODY: u32 = u32::MAX;

/// Where a new member goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOrder {
    /// Behind all others.
    Last,
    /// Before all others.
    First,
    /// Behind the member that was connected before it.
    Next,
    /// By its number.
    Ascending,
}

/// An end of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the first member is.
    First,
    /// Where the last member is.
    Last,
}

/// Opens an empty database with one set of this order; fails with whatever the engine reports.
pub type OpenSet = fn(&Setting, &Location<'_>, SetOrder) -> Outcome<Box<dyn SetStore>>;

/// An open database with one owner.
pub trait SetStore {
    /// Makes the owner and this many members, none of them connected; called once.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn fill(&mut self, members: u32) -> Outcome<()>;

    /// Connects members, one after the other.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn connect(&mut self, members: &[u32]) -> Outcome<()>;

    /// Disconnects members, one after the other.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn disconnect(&mut self, members: &[u32]) -> Outcome<()>;

    /// Goes to the first member and from there on to the next, until there is none or `out` is
    /// full; says how many there were.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn walk(&mut self, out: &mut [u32]) -> Outcome<usize>;

    /// Goes to an end as many times as `out` has places.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn go_to(&mut self, end: End, out: &mut [u32]) -> Outcome<()>;

    /// Finds each of these members among its siblings and goes on to the next; `out` is as long.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn next_of(&mut self, members: &[u32], out: &mut [u32]) -> Outcome<()>;

    /// Closes the database.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn close(self: Box<Self>) -> Outcome<()>;
}

impl SetOrder {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::Last, Self::First, Self::Next, Self::Ascending];

    /// The word for it in schemas and records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::First => "first",
            Self::Next => "next",
            Self::Ascending => "ascending",
        }
    }

    /// The order of that word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.word() == word)
    }
}

#[cfg(test)]
#[path = "sets_tests.rs"]
mod tests;
