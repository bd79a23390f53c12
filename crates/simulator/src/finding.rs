//! What a check found wrong in a history, and which names such things have.
//!
//! The names are those of Adya's thesis (Weak Consistency, MIT 1999), with P4 for the lost update
//! of Berenson and others (SIGMOD 1995). What a replay finds has no name beyond what differs.

use std::fmt;

/// Something that must not be in a history.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) phenomenon: Phenomenon,
    pub(crate) text: String,
    /// Transactions that take part, by their numbers.
    pub(crate) transactions: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phenomenon {
    /// Writes of two transactions in different orders.
    G0,
    /// A read of what a transaction wrote that did not commit.
    G1a,
    /// A read of what is not its writer's last word on the row.
    G1b,
    /// Information flowed in a cycle.
    G1c,
    /// An update was made on a state that somebody else had changed meanwhile.
    LostUpdate,
    /// Read skew: a cycle with one anti-dependency.
    GSingle,
    /// Write skew on rows that were read: a cycle of anti-dependencies.
    G2Item,
    /// As before, with rows that a predicate should have met or not.
    G2,
    /// A read of what nobody wrote.
    Garbage,
    /// A transaction was not told what its snapshot holds.
    Snapshot,
    /// A transaction was told what does not hold at the moment of its commit.
    Serial,
    /// A transaction that began after a commit had been reported does not see it.
    Stale,
    /// A rule that holds without any other transaction.
    Rule,
}

impl Finding {
    pub(crate) fn new(
        phenomenon: Phenomenon,
        transactions: impl IntoIterator<Item = usize>,
        text: impl Into<String>,
    ) -> Self {
        let transactions = transactions.into_iter().collect();
        Self { phenomenon, text: text.into(), transactions }
    }
}

impl fmt::Display for Phenomenon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::G0 => "G0 (write cycle)",
            Self::G1a => "G1a (aborted read)",
            Self::G1b => "G1b (intermediate read)",
            Self::G1c => "G1c (circular information flow)",
            Self::LostUpdate => "P4 (lost update)",
            Self::GSingle => "G-single (read skew)",
            Self::G2Item => "G2-item (write skew)",
            Self::G2 => "G2 (anti-dependency cycle with a predicate)",
            Self::Garbage => "garbage read",
            Self::Snapshot => "not the snapshot's state",
            Self::Serial => "not the serial order",
            Self::Stale => "stale read",
            Self::Rule => "broken rule",
        })
    }
}
