//! The cheapest tree of joins of a graph.
//!
//! Exact where that is quick: all connected sets of relations and all ways to split them in two,
//! each once, smaller sets first (DPccp; Moerkotte and Neumann, Analysis of two existing and one
//! new dynamic programming algorithm for the generation of optimal bushy join trees without cross
//! products, VLDB 2006). Beyond that, and where sets have to be multiplied because nothing connects
//! them, the two that give the fewest rows are joined first (GOO; Fegaras, A new heuristic for
//! optimizing large queries, DEXA 1998).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::graph::{Graph, Method, Set, join_cost, ones};

/// Ways of splitting that are checked before the greedy algorithm takes over: enough for a star
/// of twelve relations or ten that are all equal to each other, a few milliseconds at the most.
const SPLITS_MAX: usize = 30_000;

/// Which relations are joined with which. The hash table is made of `build`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Relation(usize),
    Join { build: Box<Tree>, probe: Box<Tree> },
}

/// The cheapest tree with all relations of the graph, of which there is at least one.
pub(super) fn cheapest(graph: &Graph) -> Tree {
    exact(graph).unwrap_or_else(|| greedy(graph))
}

/// The best way found to join a set.
#[derive(Debug, Clone, Copy)]
struct Entry {
    cost: f64,
    rows: f64,
    /// Build and probe side; nothing for a single relation.
    split: Option<(Set, Set)>,
}

/// The best way to join two sets, from what is known of them.
fn joined(graph: &Graph, method: Method, sides: [(Set, Entry); 2], rows: f64) -> Entry {
    let entry = |(build, probe): (&(Set, Entry), &(Set, Entry))| {
        let work = join_cost(method, build.1.rows, probe.1.rows, rows);
        Entry { cost: build.1.cost + probe.1.cost + work, rows, split: Some((build.0, probe.0)) }
    };
    let [left, right] = &sides;
    let (one, other) = (entry((left, right)), entry((right, left)));
    match (graph.may_build(left.0), graph.may_build(right.0)) {
        (true, false) => one,
        (false, true) => other,
        _ if other.cost < one.cost => other,
        _ => one,
    }
}

fn single(graph: &Graph, at: usize) -> Entry {
    Entry { cost: 0.0, rows: graph.relations[at].rows.max(1.0), split: None }
}

fn exact(graph: &Graph) -> Option<Tree> {
    let mut table: HashMap<Set, Entry> =
        (0..graph.relations.len()).map(|at| (1 << at, single(graph, at))).collect();
    let mut splits = 0;
    let finished = Pairs { neighbours: graph.neighbours() }.each(&mut |left, right| {
        splits += 1;
        if splits > SPLITS_MAX {
            return ControlFlow::Break(());
        }
        let (Some(&one), Some(&other)) = (table.get(&left), table.get(&right)) else {
            return ControlFlow::Continue(());
        };
        if let Some(method) = graph.method(left, right) {
            let known = table.get(&(left | right)).copied();
            let rows = known.map_or_else(|| graph.rows(left | right), |entry| entry.rows);
            let entry = joined(graph, method, [(left, one), (right, other)], rows);
            if known.is_none_or(|known| entry.cost < known.cost) {
                table.insert(left | right, entry);
            }
        }
        ControlFlow::Continue(())
    });
    if finished.is_break() {
        return None;
    }
    table.contains_key(&graph.all()).then(|| tree(&table, graph.all()))
}

fn tree(table: &HashMap<Set, Entry>, set: Set) -> Tree {
    match table[&set].split {
        None => Tree::Relation(set.trailing_zeros() as usize),
        Some((build, probe)) => {
            Tree::Join { build: Box::new(tree(table, build)), probe: Box::new(tree(table, probe)) }
        }
    }
}

/// All pairs of connected sets with a connection between them; the pairs within a set come before
/// those that it is part of.
struct Pairs {
    neighbours: Vec<Set>,
}

type Visit<'a> = dyn FnMut(Set, Set) -> ControlFlow<()> + 'a;

impl Pairs {
    fn each(&self, visit: &mut Visit<'_>) -> ControlFlow<()> {
        for at in (0..self.neighbours.len()).rev() {
            let set = 1 << at;
            self.partners(set, visit)?;
            self.grow(set, up_to(at), &mut |grown| self.partners(grown, visit))?;
        }
        ControlFlow::Continue(())
    }

    /// Calls `found` with each connected set that contains `set` and nothing excluded.
    fn grow(
        &self,
        set: Set,
        excluded: Set,
        found: &mut dyn FnMut(Set) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let near = self.near(set) & !excluded;
        for subset in subsets(near) {
            found(set | subset)?;
        }
        for subset in subsets(near) {
            self.grow(set | subset, excluded | near, found)?;
        }
        ControlFlow::Continue(())
    }

    /// Visits each pair of `set` with a connected set of higher relations.
    fn partners(&self, set: Set, visit: &mut Visit<'_>) -> ControlFlow<()> {
        let excluded = up_to(set.trailing_zeros() as usize) | set;
        let near = self.near(set) & !excluded;
        let mut starts: Vec<usize> = ones(near).collect();
        starts.reverse();
        for at in starts {
            visit(set, 1 << at)?;
            let seen = excluded | (up_to(at) & near);
            self.grow(1 << at, seen, &mut |partner| visit(set, partner))?;
        }
        ControlFlow::Continue(())
    }

    fn near(&self, set: Set) -> Set {
        ones(set).fold(0, |near, at| near | self.neighbours[at]) & !set
    }
}

/// The relations up to and including this one.
fn up_to(at: usize) -> Set {
    (1 << at) | ((1 << at) - 1)
}

/// All subsets but the empty one, smaller ones before those that contain them.
fn subsets(set: Set) -> impl Iterator<Item = Set> {
    let mut subset: Set = 0;
    std::iter::from_fn(move || {
        subset = subset.wrapping_sub(set) & set;
        (subset != 0).then_some(subset)
    })
}

/// Joins the two that give the fewest rows, until one is left.
fn greedy(graph: &Graph) -> Tree {
    let mut table: HashMap<Set, Entry> = HashMap::new();
    let mut open: Vec<Set> = Vec::new();
    for at in 0..graph.relations.len() {
        table.insert(1 << at, single(graph, at));
        open.push(1 << at);
    }
    let mut rows: HashMap<Set, f64> = HashMap::new();
    while open.len() > 1 {
        let mut rows_of = |set| *rows.entry(set).or_insert_with(|| graph.rows(set));
        let Some((left, right, method)) =
            connected(graph, &open, &mut rows_of).or_else(|| unconnected(graph, &open, &table))
        else {
            break;
        };
        let sides = [(left, table[&left]), (right, table[&right])];
        let entry = joined(graph, method, sides, rows_of(left | right));
        table.insert(left | right, entry);
        open.retain(|&set| set != left && set != right);
        open.push(left | right);
    }
    tree(&table, open[0])
}

type Choice = (Set, Set, Method);

/// Of the pairs that something connects, the one with the fewest rows.
fn connected(graph: &Graph, open: &[Set], rows_of: &mut dyn FnMut(Set) -> f64) -> Option<Choice> {
    let mut best: Option<(f64, Choice)> = None;
    for (at, &left) in open.iter().enumerate() {
        for &right in &open[at + 1..] {
            let Some(method) = graph.method(left, right) else { continue };
            let rows = rows_of(left | right);
            if best.is_none_or(|(fewest, _)| rows < fewest) {
                best = Some((rows, (left, right, method)));
            }
        }
    }
    best.map(|(_, choice)| choice)
}

/// The two smallest sets that are not filters.
fn unconnected(graph: &Graph, open: &[Set], table: &HashMap<Set, Entry>) -> Option<Choice> {
    let mut sets: Vec<Set> =
        open.iter().copied().filter(|&set| graph.filter_alone(set).is_none()).collect();
    sets.sort_by(|a, b| table[a].rows.total_cmp(&table[b].rows));
    let [left, right, ..] = sets[..] else { return None };
    Some((left, right, Method::Loop))
}
