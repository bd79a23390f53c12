//! The model: what a table holds, and what each statement must answer on it.
//!
//! A `State` is the rows by id; a `View` is a transaction at work on one. The rules are those that
//! the engine promises and nothing of how it keeps them. Whose state a view begins with, and when,
//! is up to the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use remanent_engine::ErrorKind;

use crate::history::{Answer, Content, Query, Range, Seen, Statement};

/// The rows of the table by id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct State {
    pub(crate) rows: BTreeMap<u64, Arc<Content>>,
}

/// A transaction's own view: a state with its changes on top.
#[derive(Clone, Debug)]
pub(crate) struct View {
    state: State,
    /// Each change's row, with what it was before, oldest first.
    log: Vec<(u64, Option<Arc<Content>>)>,
    savepoints: Vec<usize>,
}

impl State {
    /// The rows that a query finds, in its order; by id where it has none.
    pub(crate) fn answer(&self, query: &Query) -> Vec<(u64, Arc<Content>)> {
        let all = || self.rows.iter().map(|(&row, content)| (row, Arc::clone(content)));
        match query {
            Query::Row { row, .. } => all().filter(|(id, _)| id == row).collect(),
            Query::Key { key, .. } => all().filter(|(_, content)| content.key == *key).collect(),
            Query::Batch { keys, .. } => {
                let found = |key| all().find(|(_, content)| content.key == key);
                keys.iter().filter_map(|&key| found(key)).collect()
            }
            Query::Place { place, .. } => {
                all().filter(|(_, content)| content.place == *place).collect()
            }
            Query::Range(range) => self.answer_range(range),
            Query::Scan { limit, .. } => all().take(*limit).collect(),
        }
    }

    fn answer_range(&self, range: &Range) -> Vec<(u64, Arc<Content>)> {
        let all = self.rows.iter().map(|(&row, content)| (row, Arc::clone(content)));
        let mut found: Vec<_> = all.filter(|(_, content)| range.contains(content)).collect();
        found.sort_by_key(|(row, content)| (range.by.of(content), *row));
        if range.backward {
            found.reverse();
        }
        found.truncate(range.limit);
        found
    }

    /// The row that holds a key.
    fn holder(&self, key: u32) -> Option<u64> {
        self.rows.iter().find(|(_, content)| content.key == key).map(|(&row, _)| row)
    }

    /// A key that two rows have.
    pub(crate) fn key_held_twice(&self) -> Option<u32> {
        let mut keys = BTreeSet::new();
        self.rows.values().map(|content| content.key).find(|&key| !keys.insert(key))
    }

    /// Sets a row to a content, or removes it.
    pub(crate) fn set(&mut self, row: u64, content: Option<Arc<Content>>) -> Option<Arc<Content>> {
        match content {
            Some(content) => self.rows.insert(row, content),
            None => self.rows.remove(&row),
        }
    }
}

impl View {
    pub(crate) fn new(state: State) -> Self {
        Self { state, log: Vec::new(), savepoints: Vec::new() }
    }

    /// The last state of each row that the transaction changed.
    pub(crate) fn changes(&self) -> BTreeMap<u64, Option<Arc<Content>>> {
        let rows = self.log.iter().map(|(row, _)| *row);
        rows.map(|row| (row, self.state.rows.get(&row).cloned())).collect()
    }

    /// Takes a statement's step, as far as it succeeded.
    ///
    /// # Errors
    ///
    /// Says how the answer differs from what it must be.
    pub(crate) fn step(&mut self, statement: &Statement, answer: &Answer) -> Result<(), String> {
        match statement {
            Statement::Read(query) => self.read(query, answer),
            Statement::Insert(content) => self.insert(content, answer),
            Statement::Change { row, edit } => {
                let old = self.state.rows.get(row).cloned();
                let new = old.as_ref().map(|old| Arc::new(edit.applied_to(old)));
                let verdict = self.judge_change(*row, new.as_ref().map(|new| new.key), answer);
                if *answer == Answer::Done && new.is_some() {
                    self.set(*row, new);
                }
                verdict
            }
            Statement::Delete { row } => {
                let verdict = self.judge_change(*row, None, answer);
                if *answer == Answer::Done {
                    self.set(*row, None);
                }
                verdict
            }
            Statement::Savepoint => {
                self.savepoints.push(self.log.len());
                Ok(())
            }
            Statement::RollBackTo(number) => {
                self.savepoints.truncate(number + 1);
                let len = self.savepoints.last().copied().unwrap_or(0);
                while self.log.len() > len
                    && let Some((row, old)) = self.log.pop()
                {
                    self.state.set(row, old);
                }
                Ok(())
            }
        }
    }

    fn set(&mut self, row: u64, content: Option<Arc<Content>>) {
        let old = self.state.set(row, content);
        self.log.push((row, old));
    }

    fn read(&self, query: &Query, answer: &Answer) -> Result<(), String> {
        let mut expected = self.state.answer(query);
        let Answer::Rows(rows) = answer else {
            return Err(format!("a read was refused: {answer:?}"));
        };
        let mut rows: Vec<&Seen> = rows.iter().collect();
        if matches!(query, Query::Place { hash: true, .. }) {
            // A hash index knows no order.
            expected.sort_by_key(|(_, content)| content.item);
            rows.sort_by_key(|seen| seen.content.item);
        }
        let same = |(seen, (row, content)): (&&Seen, &(u64, Arc<Content>))| {
            seen.row.is_none_or(|seen| seen == *row) && seen.content == *content
        };
        if rows.len() == expected.len() && rows.iter().zip(&expected).all(same) {
            return Ok(());
        }
        let list: Vec<_> = expected.iter().map(|(row, content)| content.shown(*row)).collect();
        Err(format!("it must find [{}]", list.join(", ")))
    }

    fn insert(&mut self, content: &Arc<Content>, answer: &Answer) -> Result<(), String> {
        let holder = self.state.holder(content.key);
        match answer {
            Answer::Inserted(row) => {
                let taken = self.state.rows.contains_key(row);
                self.set(*row, Some(Arc::clone(content)));
                match (holder, taken) {
                    (Some(holder), _) => Err(format!("row {holder} has the key already")),
                    (None, true) => Err(format!("the id {row} is that of another row")),
                    (None, false) => Ok(()),
                }
            }
            Answer::Refused(ErrorKind::DuplicateKey) if holder.is_none() => {
                Err("no row has the key".to_owned())
            }
            Answer::Refused(ErrorKind::DuplicateKey | ErrorKind::Conflict) => Ok(()),
            other => Err(format!("an insert must not end so: {other:?}")),
        }
    }

    /// Whether a change of a row may have ended as it did; `key` is the one it then has.
    fn judge_change(&self, row: u64, key: Option<u32>, answer: &Answer) -> Result<(), String> {
        let is_there = self.state.rows.contains_key(&row);
        let holder = key.and_then(|key| self.state.holder(key)).filter(|holder| *holder != row);
        match (answer, is_there, holder) {
            (Answer::Done, true, None) => Ok(()),
            (Answer::Done, true, Some(holder)) => Err(format!("row {holder} has the key already")),
            (Answer::Done, false, _) => Err("the row is not there to be changed".to_owned()),
            (Answer::Refused(ErrorKind::Conflict), _, _)
            | (Answer::Refused(ErrorKind::RowNotFound), false, _)
            | (Answer::Refused(ErrorKind::DuplicateKey), true, Some(_)) => Ok(()),
            (Answer::Refused(ErrorKind::RowNotFound), true, _) => {
                Err("the row is there".to_owned())
            }
            (Answer::Refused(ErrorKind::DuplicateKey), _, None) => {
                Err("no other row has the key".to_owned())
            }
            (other, _, _) => Err(format!("a change must not end so: {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests;
