//! The strongest check: the committed transactions, replayed on the model in the order of their
//! commit timestamps, must be told exactly what they were told.
//!
//! Every transaction is replayed on the state of its snapshot, whatever its level and end. One that
//! is serializable and has committed a change is replayed a second time, on the state just before
//! its commit. Of two that changed one row, the second must have begun after the first's commit.
//! What is wrong here has no anomaly's name yet: `phenomena` looks for that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Finding, Phenomenon};
use crate::history::{Answer, Content, End, History, Level, Transaction};
use crate::state::{State, View};

/// The outcome of a replay.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) findings: Vec<Finding>,
    /// Commits that were refused.
    pub(crate) refused: u64,
    /// Refused ones that would have been right all the same.
    pub(crate) needless: u64,
}

/// The table after each commit.
struct Timeline {
    states: Vec<(u64, State)>,
    /// Items changed by each commit: timestamp, item, transaction.
    changed: Vec<(u64, u64, usize)>,
}

/// Replays a history.
pub(crate) fn check(history: &History) -> Replay {
    let mut replay = Replay::default();
    let mut timeline = Timeline { states: vec![(0, State::default())], changed: Vec::new() };
    let mut writers: Vec<(u64, usize)> = Vec::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        writers.extend(transaction.commit_timestamp().map(|timestamp| (timestamp, number)));
    }
    writers.sort_unstable();
    for &(timestamp, number) in &writers {
        replay.commit(history, &mut timeline, timestamp, number);
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        if transaction.commit_timestamp().is_none() {
            replay.look(history, &timeline, number);
        }
        if let End::Refused(_) = transaction.end {
            replay.refused += 1;
            replay.needless += u64::from(is_needless(history, &timeline, transaction));
        }
    }
    replay.check_real_time(history);
    replay
}

impl Replay {
    /// Replays a transaction that committed changes, and adds the state after it.
    fn commit(
        &mut self,
        history: &History,
        timeline: &mut Timeline,
        timestamp: u64,
        number: usize,
    ) {
        let transaction = &history.transactions[number];
        let (newest, before) = timeline.newest();
        if timestamp <= newest || timestamp <= transaction.snapshot {
            let text = format!(
                "T{number} has the timestamp {timestamp}, after {newest} and with snapshot {}",
                transaction.snapshot
            );
            self.add(Phenomenon::Rule, number, text);
        }
        let own = timeline.at(transaction.snapshot).clone();
        let changes = self.run(number, transaction, own.clone(), Phenomenon::Snapshot);
        if transaction.level == Level::Serializable && newest > transaction.snapshot {
            let first = self.findings.len();
            let before = with_other_ids(before.clone(), transaction, &changes);
            let serial = self.run(number, transaction, before, Phenomenon::Serial);
            for finding in &mut self.findings[first..] {
                finding.transactions.extend(timeline.writers_since(transaction.snapshot));
            }
            if serial != changes {
                let text = format!("T{number} changes other rows just before its commit");
                self.add(Phenomenon::Serial, number, text);
            }
        }
        let items = items_of(&own, &changes);
        for (at, item, other) in &timeline.changed {
            if *at > transaction.snapshot && items.contains(item) {
                let text =
                    format!("item {item} was changed by T{other}, then by T{number}, unseen");
                let finding = Finding::new(Phenomenon::LostUpdate, [*other, number], text);
                self.findings.push(finding);
            }
        }
        timeline.push(timestamp, number, changes);
        if let Some(key) = timeline.newest().1.key_held_twice() {
            self.add(Phenomenon::Rule, number, format!("after T{number} two rows have key {key}"));
        }
    }

    /// Replays a transaction that left no changes.
    fn look(&mut self, history: &History, timeline: &Timeline, number: usize) {
        let transaction = &history.transactions[number];
        let own = timeline.at(transaction.snapshot).clone();
        let changes = self.run(number, transaction, own.clone(), Phenomenon::Snapshot);
        let differs =
            |(row, content): (&u64, &Option<Arc<Content>>)| own.rows.get(row) != content.as_ref();
        if transaction.is_committed() && changes.iter().any(differs) {
            let text = format!("T{number} committed a change without a timestamp of its own");
            self.add(Phenomenon::Rule, number, text);
        }
    }

    /// Replays a transaction on a state and gives its changes.
    fn run(
        &mut self,
        number: usize,
        transaction: &Transaction,
        state: State,
        phenomenon: Phenomenon,
    ) -> BTreeMap<u64, Option<Arc<Content>>> {
        let mut view = View::new(state);
        for step in &transaction.steps {
            if let Err(difference) = view.step(&step.statement, &step.answer) {
                let where_ = match phenomenon {
                    Phenomenon::Serial => "just before its commit",
                    _ => "in its snapshot",
                };
                let text = format!("T{number}: {}; {where_} {difference}", step.shown());
                self.add(phenomenon, number, text);
            }
        }
        view.changes()
    }

    /// Whoever begins after a commit was reported sees it.
    fn check_real_time(&mut self, history: &History) {
        for (number, later) in history.transactions.iter().enumerate() {
            for (other, earlier) in history.transactions.iter().enumerate() {
                let Some(timestamp) = earlier.commit_timestamp() else { continue };
                if history.comes_before(earlier, later) && timestamp > later.snapshot {
                    let text = format!(
                        "T{number} began after the commit of T{other} at {timestamp} was \
                         reported, and has snapshot {}",
                        later.snapshot
                    );
                    let finding = Finding::new(Phenomenon::Stale, [other, number], text);
                    self.findings.push(finding);
                }
            }
        }
    }

    fn add(&mut self, phenomenon: Phenomenon, number: usize, text: String) {
        self.findings.push(Finding::new(phenomenon, [number], text));
    }
}

/// The state without the ids of rows that the transaction inserted and took back: others may have
/// been given them since, and row ids are no part of what isolation promises.
fn with_other_ids(
    state: State,
    transaction: &Transaction,
    changes: &BTreeMap<u64, Option<Arc<Content>>>,
) -> State {
    let mut state = state;
    for step in &transaction.steps {
        if let Answer::Inserted(row) = step.answer
            && !changes.contains_key(&row)
            && let Some(content) = state.set(row, None)
        {
            state.set(row | 1 << 40, Some(content));
        }
    }
    state
}

impl Timeline {
    fn newest(&self) -> (u64, &State) {
        self.states.last().map(|(at, state)| (*at, state)).expect("the empty table is the first")
    }

    /// The state that a snapshot shows.
    fn at(&self, snapshot: u64) -> &State {
        let after = self.states.partition_point(|(at, _)| *at <= snapshot);
        &self.states[after.saturating_sub(1)].1
    }

    /// Transactions that have committed changes since a snapshot.
    fn writers_since(&self, snapshot: u64) -> impl Iterator<Item = usize> {
        self.changed.iter().filter(move |(at, ..)| *at > snapshot).map(|(.., writer)| *writer)
    }

    fn push(
        &mut self,
        timestamp: u64,
        number: usize,
        changes: BTreeMap<u64, Option<Arc<Content>>>,
    ) {
        let mut state = self.newest().1.clone();
        let items = items_of(&state, &changes).into_iter();
        self.changed.extend(items.map(|item| (timestamp, item, number)));
        for (row, content) in changes {
            state.set(row, content);
        }
        self.states.push((timestamp, state));
    }
}

/// The items that changes are about. Ids of rows are used again, also under the eyes of a snapshot
/// that has never seen the row.
fn items_of(before: &State, changes: &BTreeMap<u64, Option<Arc<Content>>>) -> BTreeSet<u64> {
    let both = |(row, new): (&u64, &Option<Arc<Content>>)| {
        let old = before.rows.get(row).cloned();
        if old == *new { [None, None] } else { [old, new.clone()] }
    };
    changes.iter().flat_map(both).flatten().map(|content| content.item).collect()
}

/// Whether a refused transaction would have been told the same at the moment of its commit.
fn is_needless(history: &History, timeline: &Timeline, refused: &Transaction) -> bool {
    let earlier = history.transactions.iter().filter(|other| other.ended < refused.ended);
    let newest = earlier.filter_map(Transaction::commit_timestamp).max().unwrap_or(0);
    let mut view = View::new(timeline.at(newest).clone());
    refused.steps.iter().all(|step| view.step(&step.statement, &step.answer).is_ok())
}

#[cfg(test)]
mod tests;
