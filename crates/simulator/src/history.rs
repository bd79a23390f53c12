//! A history: what transactions asked, what they were told, and how they ended.
//!
//! Every row version carries a mark that no other version has, so that a read names the very write
//! it saw; a row's item, the mark of its first version, tells it from others that have its id
//! later. Nothing here knows the engine or what is right: sessions write histories, the checks read
//! them, and tests of the checks write them by hand.

use std::sync::Arc;

use remanent_engine::ErrorKind;

/// Transactions by the order in which they were recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) transactions: Vec<Transaction>,
    /// Whether a transaction that began after another's commit was reported, in whatever session,
    /// comes after it; if not, that is so within a session alone.
    pub(crate) is_timed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    /// The session that ran it; one session's transactions do not overlap.
    pub(crate) session: usize,
    pub(crate) level: Level,
    /// The commit timestamp that its snapshot shows.
    pub(crate) snapshot: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
    /// Numbers of the events before its begin was called and after its end had returned.
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    ReadOnly,
    Serializable,
    Snapshot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Committed {
        timestamp: u64,
    },
    /// It rolled itself back.
    RolledBack,
    /// Its commit was refused.
    Refused(ErrorKind),
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) statement: Statement,
    pub(crate) answer: Answer,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Statement {
    Read(Query),
    Insert(Arc<Content>),
    Change {
        row: u64,
        edit: Edit,
    },
    Delete {
        row: u64,
    },
    Savepoint,
    /// Back to the savepoint of this number among those that still stand.
    RollBackTo(usize),
}

/// Rows as a read finds them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Query {
    /// The row with this id.
    Row {
        row: u64,
        typed: bool,
    },
    /// The row with this key.
    Key {
        key: u32,
        hash: bool,
        typed: bool,
    },
    /// The rows with these keys.
    Batch {
        keys: Vec<u32>,
        hash: bool,
    },
    /// All rows at a place.
    Place {
        place: u32,
        hash: bool,
    },
    Range(Range),
    /// Rows in the order of their ids, at most so many.
    Scan {
        limit: usize,
        typed: bool,
    },
}

/// Rows in the order of a column, from one end, at most so many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) by: Column,
    pub(crate) low: Option<Bound>,
    pub(crate) high: Option<Bound>,
    pub(crate) backward: bool,
    pub(crate) limit: usize,
    pub(crate) typed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    pub(crate) value: u32,
    pub(crate) inclusive: bool,
}

/// Columns with an ordered index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Column {
    /// Unique.
    Key,
    /// Not unique.
    Place,
}

/// The columns that an update sets; the mark always.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edit {
    pub(crate) key: Option<u32>,
    pub(crate) place: Option<u32>,
    pub(crate) list: Option<Vec<u64>>,
    pub(crate) mark: u64,
}

/// The answer of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Rows(Vec<Seen>),
    /// The id of the row that was inserted.
    Inserted(u64),
    Done,
    Refused(ErrorKind),
}

/// A row that a read returned. Typed reads do not tell its id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) row: Option<u64>,
    pub(crate) content: Arc<Content>,
}

/// A row's columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Content {
    pub(crate) item: u64,
    pub(crate) key: u32,
    pub(crate) place: u32,
    pub(crate) mark: u64,
    /// Marks of the versions that appended to it.
    pub(crate) list: Vec<u64>,
}

impl History {
    /// Whether the end of one was reported before the other began.
    pub(crate) fn comes_before(&self, earlier: &Transaction, later: &Transaction) -> bool {
        earlier.ended < later.begun && (self.is_timed || earlier.session == later.session)
    }
}

impl Transaction {
    pub(crate) fn is_committed(&self) -> bool {
        matches!(self.end, End::Committed { .. })
    }

    /// Its commit timestamp, if it has one of its own: it changed something.
    pub(crate) fn commit_timestamp(&self) -> Option<u64> {
        match self.end {
            End::Committed { timestamp } if timestamp != self.snapshot => Some(timestamp),
            _ => None,
        }
    }
}

impl Query {
    /// How many rows the answer has at most, if it may have been cut off.
    pub(crate) fn limit(&self) -> Option<usize> {
        match self {
            Self::Range(range) => Some(range.limit),
            Self::Scan { limit, .. } => Some(*limit),
            _ => None,
        }
    }
}

impl Range {
    /// Whether a row lies between the bounds.
    pub(crate) fn contains(&self, content: &Content) -> bool {
        let value = self.by.of(content);
        let above = self.low.is_none_or(|low| low.admits(low.value < value, value));
        above && self.high.is_none_or(|high| high.admits(value < high.value, value))
    }
}

impl Bound {
    fn admits(self, is_inside: bool, value: u32) -> bool {
        is_inside || self.inclusive && value == self.value
    }
}

impl Column {
    pub(crate) fn of(self, content: &Content) -> u32 {
        match self {
            Self::Key => content.key,
            Self::Place => content.place,
        }
    }
}

impl Edit {
    /// A row's columns after this edit.
    pub(crate) fn applied_to(&self, old: &Content) -> Content {
        Content {
            item: old.item,
            key: self.key.unwrap_or(old.key),
            place: self.place.unwrap_or(old.place),
            mark: self.mark,
            list: self.list.clone().unwrap_or_else(|| old.list.clone()),
        }
    }
}
