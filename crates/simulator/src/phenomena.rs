//! Adya's phenomena in a history: reads of what was never committed, and cycles of dependencies.
//!
//! A second opinion beside the replay, and the one that names what happened. A cycle without
//! anti-dependencies, or with one, is allowed to nobody. A cycle with several is allowed only if
//! one of them leaves a transaction at Snapshot, which promises nothing about what it has read.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycle;
use crate::finding::{Finding, Phenomenon};
use crate::graph::{Edge, EdgeKind, Graph};
use crate::history::{Answer, History, Level, Statement};

/// What was found, and which phenomena were met that are allowed.
#[derive(Debug, Default)]
pub(crate) struct Phenomena {
    pub(crate) findings: Vec<Finding>,
    pub(crate) allowed: Option<Phenomenon>,
}

/// Who wrote a mark, and whether that is what the writer left.
#[derive(Clone, Copy, Debug)]
struct Origin {
    writer: usize,
    is_final: bool,
}

/// Looks for phenomena in a history.
pub(crate) fn check(history: &History) -> Phenomena {
    let mut found = Phenomena { findings: uncommitted_reads(history), allowed: None };
    let graph = Graph::of(history);
    if cycle::components(&graph, |_| true).is_empty() {
        return found;
    }
    let plain = |edge: &Edge| !edge.kind.is_anti_dependency();
    let writes = |edge: &Edge| matches!(edge.kind, EdgeKind::WriteWrite | EdgeKind::Time);
    if let Some(cycle) = cycle::shortest(&graph, writes) {
        found.findings.push(report(history, &graph, Phenomenon::G0, &cycle));
    }
    if let Some(cycle) = cycle::shortest(&graph, plain)
        && cycle.iter().any(|&place| !writes(&graph.edges[place]))
    {
        found.findings.push(report(history, &graph, Phenomenon::G1c, &cycle));
    }
    if let Some((phenomenon, cycle)) = single(&graph) {
        found.findings.push(report(history, &graph, phenomenon, &cycle));
    }
    let binds =
        |edge: &Edge| plain(edge) || history.transactions[edge.from].level != Level::Snapshot;
    if let Some(cycle) = cycle::shortest(&graph, binds) {
        let phenomenon = name(&graph, &cycle);
        if phenomenon >= Phenomenon::G2Item {
            found.findings.push(report(history, &graph, phenomenon, &cycle));
        }
    }
    found.allowed = cycle::shortest(&graph, |_| true).map(|cycle| name(&graph, &cycle));
    found
}

/// Reads of marks that nobody wrote, or whose writers did not leave them.
fn uncommitted_reads(history: &History) -> Vec<Finding> {
    let origins = origins(history);
    let mut findings = Vec::new();
    for (reader, transaction) in history.transactions.iter().enumerate() {
        for step in &transaction.steps {
            let Answer::Rows(rows) = &step.answer else { continue };
            for content in rows.iter().map(|seen| &seen.content) {
                let (phenomenon, writer, why) = match origins.get(&content.mark) {
                    None => (Phenomenon::Garbage, reader, "nobody wrote it".to_owned()),
                    Some(origin) if origin.writer == reader => continue,
                    Some(&Origin { writer, is_final }) => {
                        let is_committed = history.transactions[writer].is_committed();
                        match (is_committed, is_final) {
                            (false, _) => {
                                let why = format!("T{writer} wrote it and did not commit");
                                (Phenomenon::G1a, writer, why)
                            }
                            (true, false) => {
                                let why = format!("T{writer} wrote it and did not leave it");
                                (Phenomenon::G1b, writer, why)
                            }
                            (true, true) => continue,
                        }
                    }
                };
                let text = format!("T{reader}: {}; mark {}: {why}", step.shown(), content.mark);
                findings.push(Finding::new(phenomenon, BTreeSet::from([writer, reader]), text));
            }
        }
    }
    findings
}

/// The origin of every mark.
fn origins(history: &History) -> BTreeMap<u64, Origin> {
    let mut origins = BTreeMap::new();
    for (writer, transaction) in history.transactions.iter().enumerate() {
        // The marks that stand, by row, in the order of the changes, and what savepoints cut off.
        let mut standing: Vec<(u64, u64)> = Vec::new();
        let mut savepoints = Vec::new();
        for step in &transaction.steps {
            let written = match (&step.statement, &step.answer) {
                (Statement::Insert(content), Answer::Inserted(row)) => Some((*row, content.mark)),
                (Statement::Change { row, edit }, Answer::Done) => Some((*row, edit.mark)),
                (Statement::Delete { row }, Answer::Done) => Some((*row, 0)),
                (Statement::Savepoint, _) => {
                    savepoints.push(standing.len());
                    None
                }
                (Statement::RollBackTo(number), _) => {
                    savepoints.truncate(number + 1);
                    standing.truncate(savepoints.last().copied().unwrap_or(0));
                    None
                }
                _ => None,
            };
            standing.extend(written);
            origins.extend(written.map(|(_, mark)| (mark, Origin { writer, is_final: false })));
        }
        let last: BTreeMap<u64, u64> = standing.into_iter().collect();
        origins.extend(last.into_values().map(|mark| (mark, Origin { writer, is_final: true })));
    }
    origins.remove(&0);
    origins
}

/// The shortest cycle with one anti-dependency.
fn single(graph: &Graph) -> Option<(Phenomenon, Vec<usize>)> {
    let plain = |edge: &Edge| !edge.kind.is_anti_dependency();
    let anti = (0..graph.edges.len()).filter(|&place| !plain(&graph.edges[place]));
    let cycles = anti.filter_map(|place| {
        let edge = &graph.edges[place];
        let back = cycle::way(graph, edge.to, edge.from, plain)?;
        Some([vec![place], back].concat())
    });
    let cycle = cycles.min_by_key(Vec::len)?;
    Some((name(graph, &cycle), cycle))
}

/// The name of a cycle.
fn name(graph: &Graph, cycle: &[usize]) -> Phenomenon {
    let edges: Vec<&Edge> = cycle.iter().map(|&place| &graph.edges[place]).collect();
    let count = |kind: EdgeKind| edges.iter().filter(|edge| edge.kind == kind).count();
    let (items, predicates) = (count(EdgeKind::ReadWrite), count(EdgeKind::PredicateReadWrite));
    let same_row = edges.iter().all(|edge| edge.item == edges[0].item);
    match (items, predicates) {
        (0, 0) if count(EdgeKind::WriteRead) + count(EdgeKind::PredicateWriteRead) == 0 => {
            Phenomenon::G0
        }
        (0, 0) => Phenomenon::G1c,
        (1, 0) if same_row && count(EdgeKind::WriteWrite) == 1 => Phenomenon::LostUpdate,
        (1, 0) | (0, 1) => Phenomenon::GSingle,
        (_, 0) => Phenomenon::G2Item,
        _ => Phenomenon::G2,
    }
}

fn report(history: &History, graph: &Graph, phenomenon: Phenomenon, cycle: &[usize]) -> Finding {
    let edges = cycle.iter().map(|&place| graph.edges[place]);
    let lines: Vec<String> = edges.clone().map(|edge| edge.shown(history)).collect();
    let members: BTreeSet<usize> = edges.map(|edge| edge.from).collect();
    Finding::new(phenomenon, members, lines.join("\n"))
}

#[cfg(test)]
mod tests;
