//! Histories as text: rows, statements, answers, transactions, the edges of a cycle.
//!
//! One line for each statement, so that whoever is shown a broken history can follow it with a
//! pencil. A transaction is named by T and its number in the history.

use std::fmt::Write;

use crate::graph::{Edge, EdgeKind};
use crate::history::{
    Answer, Bound, Column, Content, Edit, End, History, Query, Range, Statement, Step, Transaction,
};

impl Content {
    pub(crate) fn shown(&self, row: u64) -> String {
        format!("row {row} {}", self.columns())
    }

    fn columns(&self) -> String {
        let Self { key, place, mark, list, .. } = self;
        format!("(key {key}, place {place}, mark {mark}, list {list:?})")
    }
}

impl Step {
    /// The statement and its answer, on a line.
    pub(crate) fn shown(&self) -> String {
        let answer = match &self.answer {
            Answer::Rows(rows) => {
                let rows = rows.iter().map(|seen| match seen.row {
                    Some(row) => seen.content.shown(row),
                    None => seen.content.columns(),
                });
                format!("[{}]", rows.collect::<Vec<_>>().join(", "))
            }
            Answer::Inserted(row) => format!("row {row}"),
            Answer::Done => "done".to_owned(),
            Answer::Refused(kind) => format!("{kind:?}"),
        };
        format!("{} -> {answer}", self.statement.shown())
    }
}

impl Statement {
    fn shown(&self) -> String {
        match self {
            Self::Read(query) => query.shown(),
            Self::Insert(content) => format!("insert {}", content.columns()),
            Self::Change { row, edit } => format!("change row {row} to {}", edit.shown()),
            Self::Delete { row } => format!("delete row {row}"),
            Self::Savepoint => "savepoint".to_owned(),
            Self::RollBackTo(number) => format!("roll back to savepoint {number}"),
        }
    }
}

impl Edit {
    fn shown(&self) -> String {
        let mut text = format!("mark {}", self.mark);
        let mut add = |what: std::fmt::Arguments<'_>| {
            text.push_str(", ");
            // Writing to a string does not fail.
            let _ = text.write_fmt(what);
        };
        if let Some(key) = self.key {
            add(format_args!("key {key}"));
        }
        if let Some(place) = self.place {
            add(format_args!("place {place}"));
        }
        if let Some(list) = &self.list {
            add(format_args!("list {list:?}"));
        }
        text
    }
}

impl Query {
    fn shown(&self) -> String {
        let kind = |typed: &bool| if *typed { " as records" } else { "" };
        let index = |hash: &bool| if *hash { " by hash" } else { "" };
        match self {
            Self::Row { row, typed } => format!("read row {row}{}", kind(typed)),
            Self::Key { key, hash, typed } => {
                format!("read key {key}{}{}", index(hash), kind(typed))
            }
            Self::Batch { keys, hash } => format!("read keys {keys:?}{}", index(hash)),
            Self::Place { place, hash } => format!("read place {place}{}", index(hash)),
            Self::Range(range) => range.shown(),
            Self::Scan { limit: usize::MAX, typed } => format!("scan{}", kind(typed)),
            Self::Scan { limit, typed } => format!("scan {limit} rows{}", kind(typed)),
        }
    }
}

impl Range {
    fn shown(&self) -> String {
        let column = if self.by == Column::Key { "key" } else { "place" };
        let bound = |bound: Option<Bound>, inclusive, exclusive, none: &str| match bound {
            Some(bound) if bound.inclusive => format!("{inclusive}{}", bound.value),
            Some(bound) => format!("{exclusive}{}", bound.value),
            None => none.to_owned(),
        };
        let low = bound(self.low, "from ", "above ", "from the first");
        let high = bound(self.high, "to ", "to below ", "to the last");
        let backward = if self.backward { ", backwards" } else { "" };
        let limit = match self.limit {
            usize::MAX => String::new(),
            limit => format!(", {limit} rows"),
        };
        let typed = if self.typed { ", as records" } else { "" };
        format!("range of {column} {low} {high}{backward}{limit}{typed}")
    }
}

impl History {
    /// A transaction with all its statements, a line each.
    pub(crate) fn shown(&self, number: usize) -> String {
        let transaction = &self.transactions[number];
        let Transaction { session, level, snapshot, begun, ended, .. } = transaction;
        let end = match transaction.end {
            End::Committed { timestamp } if timestamp == *snapshot => {
                "committed without change".to_owned()
            }
            End::Committed { timestamp } => format!("committed at {timestamp}"),
            End::RolledBack => "rolled back".to_owned(),
            End::Refused(kind) => format!("commit refused: {kind:?}"),
        };
        let mut text = format!(
            "T{number}: session {session}, {level:?}, snapshot {snapshot}, {end} \
             (events {begun} to {ended})\n"
        );
        for step in &transaction.steps {
            text.push_str(&format!("    {}\n", step.shown()));
        }
        text
    }
}

impl Edge {
    /// The edge and its reason, on a line.
    pub(crate) fn shown(&self, history: &History) -> String {
        let Self { from, to, item, mark, .. } = self;
        let reader = if self.kind.is_anti_dependency() { *from } else { *to };
        let step = self.step.and_then(|step| history.transactions[reader].steps.get(step));
        let read = step.map_or_else(String::new, |step| step.statement.shown());
        let reason = match self.kind {
            EdgeKind::WriteWrite => format!("T{to} replaced mark {mark}, which T{from} wrote"),
            EdgeKind::WriteRead => format!("T{to} read mark {mark}, which T{from} wrote: {read}"),
            EdgeKind::PredicateWriteRead => {
                format!("T{to} did not meet item {item}, for T{from} had changed it: {read}")
            }
            EdgeKind::ReadWrite => format!("T{from} read mark {mark}, T{to} replaced it: {read}"),
            EdgeKind::PredicateReadWrite => {
                format!("T{from} did not meet mark {mark}, which T{to} wrote: {read}")
            }
            EdgeKind::Time => format!("T{to} began after T{from} had committed"),
        };
        format!("T{from} before T{to}: {reason}")
    }
}
