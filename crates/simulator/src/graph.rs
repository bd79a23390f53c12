//! The direct serialization graph of a history: which transaction must come before which, and why.
//!
//! Nodes are the committed transactions, edges are Adya's dependencies with those of predicates,
//! and the order of time. Versions of a row stand in the order in which their marks stand in the
//! row's list, where they are in it, and else in that of their commit timestamps. Whether a cycle
//! of edges is allowed is up to `phenomena`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::{Answer, Content, History, Level, Query, Range, Seen, Statement, Transaction};
use crate::state::{State, View};

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum EdgeKind {
    /// It wrote the version that the other replaced.
    WriteWrite,
    /// The other read what it wrote.
    WriteRead,
    /// It changed a row so that the other's predicate did not meet it any more.
    PredicateWriteRead,
    /// It read the version that the other replaced.
    ReadWrite,
    /// The other changed a row so that its predicate would have met it.
    PredicateReadWrite,
    /// The other began after its commit had been reported.
    Time,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: EdgeKind,
    /// The row, by its item; 0 for an edge of time.
    pub(crate) item: u64,
    /// The version that was replaced or read.
    pub(crate) mark: u64,
    /// The statement of the reader, if there is one.
    pub(crate) step: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<Edge>,
    /// Edges from each transaction, by their places in the list.
    pub(crate) from: Vec<Vec<usize>>,
}

/// A committed state of a row; no content for a deletion.
#[derive(Clone, Debug)]
struct Version {
    writer: usize,
    timestamp: u64,
    content: Option<Arc<Content>>,
}

/// All versions of an item, oldest first. Before the first it was not there.
#[derive(Clone, Debug, Default)]
struct Chain {
    row: u64,
    versions: Vec<Version>,
}

impl EdgeKind {
    pub(crate) fn is_anti_dependency(self) -> bool {
        matches!(self, Self::ReadWrite | Self::PredicateReadWrite)
    }
}

impl Graph {
    /// The graph of a history.
    pub(crate) fn of(history: &History) -> Self {
        let (chains, rows) = (chains(history), rows(history));
        let mut edges = Vec::new();
        for (item, chain) in &chains {
            chain.write_edges(*item, &mut edges);
        }
        for (number, transaction) in history.transactions.iter().enumerate() {
            if transaction.is_committed() {
                read_edges(number, transaction, &chains, &rows, &mut edges);
            }
        }
        time_edges(history, &mut edges);
        edges.retain(|edge| edge.from != edge.to);
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.from, edge.to, edge.kind, edge.item));
        let mut from = vec![Vec::new(); history.transactions.len()];
        for (place, edge) in edges.iter().enumerate() {
            from[edge.from].push(place);
        }
        Self { edges, from }
    }
}

/// The versions of every item that ever was.
fn chains(history: &History) -> BTreeMap<u64, Chain> {
    let writers = history.transactions.iter().enumerate();
    let timed = writers.filter_map(|(number, transaction)| {
        transaction.commit_timestamp().map(|timestamp| (timestamp, number, transaction))
    });
    let mut timed: Vec<_> = timed.collect();
    timed.sort_by_key(|&(timestamp, number, _)| (timestamp, number));
    let mut state = State::default();
    let mut chains: BTreeMap<u64, Chain> = BTreeMap::new();
    for (timestamp, writer, transaction) in timed {
        let mut view = View::new(state.clone());
        for step in &transaction.steps {
            // Whether the answers are right is the replay's to say.
            drop(view.step(&step.statement, &step.answer));
        }
        for (row, content) in view.changes() {
            let old = state.set(row, content.clone());
            let Some(item) = content.as_ref().or(old.as_ref()).map(|content| content.item) else {
                continue;
            };
            let gone = old.filter(|old| old.item != item);
            for (item, content) in
                gone.map(|old| (old.item, None)).into_iter().chain([(item, content)])
            {
                let chain = chains.entry(item).or_default();
                chain.row = row;
                chain.versions.push(Version { writer, timestamp, content });
            }
        }
    }
    chains.values_mut().for_each(Chain::order_by_list);
    chains
}

/// The row of every item that was inserted, whether that lasted or not.
fn rows(history: &History) -> BTreeMap<u64, u64> {
    let steps = history.transactions.iter().flat_map(|transaction| &transaction.steps);
    let inserted = steps.filter_map(|step| match (&step.statement, &step.answer) {
        (Statement::Insert(content), Answer::Inserted(row)) => Some((content.item, *row)),
        _ => None,
    });
    inserted.collect()
}

impl Chain {
    /// Puts versions whose marks are in the longest list into the order of that list.
    fn order_by_list(&mut self) {
        let lists = self.versions.iter().filter_map(|version| version.content.as_ref());
        let Some(longest) = lists.map(|content| &content.list).max_by_key(|list| list.len()) else {
            return;
        };
        let longest = longest.clone();
        let place = |version: &Version| {
            let mark = version.content.as_ref()?.mark;
            longest.iter().position(|listed| *listed == mark)
        };
        let slots: Vec<usize> =
            (0..self.versions.len()).filter(|&at| place(&self.versions[at]).is_some()).collect();
        let mut listed: Vec<_> = slots.iter().map(|&slot| self.versions[slot].clone()).collect();
        listed.sort_by_key(place);
        for (slot, version) in slots.into_iter().zip(listed) {
            self.versions[slot] = version;
        }
    }

    fn write_edges(&self, item: u64, edges: &mut Vec<Edge>) {
        for pair in self.versions.windows(2) {
            let mark = pair[0].mark();
            let (from, to) = (pair[0].writer, pair[1].writer);
            edges.push(Edge { from, to, kind: EdgeKind::WriteWrite, item, mark, step: None });
        }
    }
}

impl Version {
    fn mark(&self) -> u64 {
        self.content.as_ref().map_or(0, |content| content.mark)
    }
}

/// Edges from and to a transaction for what it read.
fn read_edges(
    number: usize,
    transaction: &Transaction,
    chains: &BTreeMap<u64, Chain>,
    rows_of: &BTreeMap<u64, u64>,
    edges: &mut Vec<Edge>,
) {
    // A serializable transaction may as well have looked just before its commit: a row that came
    // and went between its snapshot and then was not there either time.
    let moment = match (transaction.level, transaction.commit_timestamp()) {
        (Level::Serializable, Some(timestamp)) => timestamp - 1,
        _ => transaction.snapshot,
    };
    // Rows that it has changed itself are its own business from then on.
    let mut own: Vec<u64> = Vec::new();
    for (step, taken) in transaction.steps.iter().enumerate() {
        let query = match (&taken.statement, &taken.answer) {
            (Statement::Read(query), Answer::Rows(rows)) => Some((query, rows)),
            (Statement::Insert(_), Answer::Inserted(row)) => {
                own.push(*row);
                None
            }
            (Statement::Change { row, .. } | Statement::Delete { row }, Answer::Done) => {
                own.push(*row);
                None
            }
            _ => None,
        };
        let Some((query, rows)) = query else { continue };
        for (&item, chain) in chains.iter().filter(|(_, chain)| !own.contains(&chain.row)) {
            let seen = rows.iter().find(|seen| seen.content.item == item);
            let met = match seen {
                Some(seen) => chain.edges_of_seen(number, &seen.content),
                None => {
                    let meets = meets(query, rows, rows_of, chain.row);
                    chain.edges_of_unseen(number, moment, meets)
                }
            };
            edges.extend(met.into_iter().map(|edge| Edge { item, step: Some(step), ..edge }));
        }
    }
}

impl Chain {
    /// Edges for a version that was read.
    fn edges_of_seen(&self, reader: usize, content: &Content) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mark = content.mark;
        let Some(at) = self.versions.iter().position(|version| version.mark() == mark) else {
            return edges;
        };
        let edge = |from, to, kind| Edge { from, to, kind, item: 0, mark, step: None };
        edges.push(edge(self.versions[at].writer, reader, EdgeKind::WriteRead));
        if let Some(next) = self.versions.get(at + 1) {
            edges.push(edge(reader, next.writer, EdgeKind::ReadWrite));
        }
        edges
    }

    /// Edges for an item that a predicate did not meet: what was seen is the newest version that
    /// it does not meet, among those that were there at a moment.
    fn edges_of_unseen(
        &self,
        reader: usize,
        moment: u64,
        meets: impl Fn(&Content) -> bool,
    ) -> Vec<Edge> {
        let meets = |version: &Version| version.content.as_deref().is_some_and(&meets);
        let known = self.versions.iter().take_while(|version| version.timestamp <= moment);
        let known = known.count();
        let seen = self.versions[..known].iter().rposition(|version| !meets(version));
        let mut edges = Vec::new();
        let edge = |from, to, kind, mark| Edge { from, to, kind, item: 0, mark, step: None };
        if let Some(seen) = seen {
            // The version that took it out of the predicate's reach.
            let left = (1..=seen)
                .rev()
                .find(|&at| !meets(&self.versions[at]) && meets(&self.versions[at - 1]));
            if let Some(left) = left {
                let (writer, mark) = (self.versions[left].writer, self.versions[left].mark());
                edges.push(edge(writer, reader, EdgeKind::PredicateWriteRead, mark));
            }
        }
        let later = &self.versions[seen.map_or(0, |seen| seen + 1)..];
        if let Some(met) = later.iter().find(|version| meets(version)) {
            let (writer, mark) = (met.writer, met.mark());
            edges.push(edge(reader, writer, EdgeKind::PredicateReadWrite, mark));
        }
        edges
    }
}

/// Whether a query that found `rows` would have met a row with this id and some content.
fn meets<'a>(
    query: &'a Query,
    rows: &'a [Seen],
    rows_of: &'a BTreeMap<u64, u64>,
    row: u64,
) -> impl Fn(&Content) -> bool + 'a {
    let last = match rows.last() {
        Some(last) if query.limit() == Some(rows.len()) => {
            let id = last.row.or_else(|| rows_of.get(&last.content.item).copied());
            Some((&last.content, id.unwrap_or(u64::MAX)))
        }
        _ => None,
    };
    move |content| match query {
        Query::Row { row: asked, .. } => *asked == row,
        Query::Key { key, .. } => content.key == *key,
        Query::Batch { keys, .. } => keys.contains(&content.key),
        Query::Place { place, .. } => content.place == *place,
        Query::Range(range) => {
            range.contains(content) && last.is_none_or(|last| is_inside(range, content, row, last))
        }
        Query::Scan { .. } => last.is_none_or(|(_, id)| row <= id),
    }
}

/// Whether a row of a range that was cut off stands before the last row that was read.
fn is_inside(range: &Range, content: &Content, row: u64, last: (&Arc<Content>, u64)) -> bool {
    let (own, end) = ((range.by.of(content), row), (range.by.of(last.0), last.1));
    if range.backward { own >= end } else { own <= end }
}

/// Edges of time, as few as say it all: between two transactions with no third in between.
fn time_edges(history: &History, edges: &mut Vec<Edge>) {
    let committed: Vec<usize> = (0..history.transactions.len())
        .filter(|&n| history.transactions[n].is_committed())
        .collect();
    for &to in &committed {
        let later = &history.transactions[to];
        let before = committed
            .iter()
            .copied()
            .filter(|&from| history.comes_before(&history.transactions[from], later));
        let before: Vec<usize> = before.collect();
        let newest = before.iter().map(|&from| history.transactions[from].begun).max();
        for from in before {
            let transaction = &history.transactions[from];
            if !history.is_timed || newest.is_none_or(|newest| transaction.ended >= newest) {
                let kind = EdgeKind::Time;
                edges.push(Edge { from, to, kind, item: 0, mark: 0, step: None });
            }
        }
    }
}
