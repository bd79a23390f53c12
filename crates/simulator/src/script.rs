//! Histories written by hand, for tests of the checks.
//!
//! T0 inserts the rows that a script begins with and commits at 1: row n has key n, place n and
//! mark n. Unless a test says so, all others overlap, so that there is no order of time.

use std::sync::Arc;

use remanent_engine::ErrorKind;

use crate::history::{
    Answer, Content, Edit, End, History, Level, Query, Seen, Statement, Step, Transaction,
};

/// When a transaction ends of which a test says nothing.
const LATE: u64 = 1000;

/// A history of T0, which inserts so many rows, and the transactions that follow it.
pub(crate) fn history(rows: u64, transactions: impl IntoIterator<Item = Transaction>) -> History {
    let mut first = Transaction::new(Level::Serializable, 0);
    for row in 1..=rows {
        first = first.inserts(row, row);
    }
    let mut transactions: Vec<_> = [first.commits(1)].into_iter().chain(transactions).collect();
    for (number, transaction) in transactions.iter_mut().enumerate() {
        transaction.session = number;
    }
    History { transactions, is_timed: true }
}

/// A row that has only ever been itself: `mark` is that of its newest version.
pub(crate) fn row(row: u64, mark: u64) -> Seen {
    Seen { row: Some(row), content: Arc::new(content(row, row, mark)) }
}

/// As [`row`], of a row that was inserted with the mark `item`.
pub(crate) fn row_of(row: u64, item: u64, mark: u64) -> Seen {
    Seen { row: Some(row), content: Arc::new(content(row, item, mark)) }
}

fn content(row: u64, item: u64, mark: u64) -> Content {
    Content { item, key: row as u32, place: row as u32, mark, list: vec![item] }
}

impl Transaction {
    pub(crate) fn new(level: Level, snapshot: u64) -> Self {
        let (steps, end) = (Vec::new(), End::RolledBack);
        Self { session: 0, level, snapshot, steps, end, begun: 0, ended: LATE }
    }

    pub(crate) fn step(mut self, statement: Statement, answer: Answer) -> Self {
        self.steps.push(Step { statement, answer });
        self
    }

    /// Reads a row and finds it with this mark.
    pub(crate) fn reads(self, number: u64, mark: u64) -> Self {
        let query = Query::Row { row: number, typed: false };
        self.step(Statement::Read(query), Answer::Rows(vec![row(number, mark)]))
    }

    /// Looks for a key and finds nothing.
    pub(crate) fn misses(self, key: u32) -> Self {
        let query = Query::Key { key, hash: false, typed: false };
        self.step(Statement::Read(query), Answer::Rows(Vec::new()))
    }

    /// Scans the table and finds these rows.
    pub(crate) fn scans(self, rows: &[Seen]) -> Self {
        let query = Query::Scan { limit: usize::MAX, typed: false };
        self.step(Statement::Read(query), Answer::Rows(rows.to_vec()))
    }

    pub(crate) fn writes(self, row: u64, mark: u64) -> Self {
        let edit = Edit { key: None, place: None, list: None, mark };
        self.step(Statement::Change { row, edit }, Answer::Done)
    }

    /// Writes a row's list.
    pub(crate) fn lists(self, row: u64, list: &[u64]) -> Self {
        let mark = list.last().copied().unwrap_or(0);
        let edit = Edit { key: None, place: None, list: Some(list.to_vec()), mark };
        self.step(Statement::Change { row, edit }, Answer::Done)
    }

    pub(crate) fn inserts(self, row: u64, mark: u64) -> Self {
        let statement = Statement::Insert(Arc::new(content(row, mark, mark)));
        self.step(statement, Answer::Inserted(row))
    }

    pub(crate) fn deletes(self, row: u64) -> Self {
        self.step(Statement::Delete { row }, Answer::Done)
    }

    pub(crate) fn commits(mut self, timestamp: u64) -> Self {
        self.end = End::Committed { timestamp };
        self
    }

    pub(crate) fn refused(mut self) -> Self {
        self.end = End::Refused(ErrorKind::Conflict);
        self
    }

    /// Says when it began and ended.
    pub(crate) fn during(mut self, begun: u64, ended: u64) -> Self {
        (self.begun, self.ended) = (begun, ended);
        self
    }
}
