//! Cycles in a graph of transactions: whether there are any, and the shortest.
//!
//! Strongly connected components by Tarjan's algorithm (SIAM Journal on Computing, 1972) say in one
//! pass that there is none, which is the answer nearly always; only inside a component is a
//! shortest way searched for. Which edges count is the caller's choice.

use std::collections::VecDeque;

use crate::graph::{Edge, Graph};

/// The components of more than one node, over the edges that are wanted.
pub(crate) fn components(graph: &Graph, wanted: impl Fn(&Edge) -> bool) -> Vec<Vec<usize>> {
    let count = graph.from.len();
    let mut search = Search {
        graph,
        wanted,
        number: 0,
        numbers: vec![None; count],
        low: vec![0; count],
        stack: Vec::new(),
        is_on_stack: vec![false; count],
        components: Vec::new(),
    };
    for node in 0..count {
        if search.numbers[node].is_none() {
            search.visit(node);
        }
    }
    search.components
}

/// The shortest cycle over the wanted edges, as places in the graph's list of edges.
pub(crate) fn shortest(graph: &Graph, wanted: impl Fn(&Edge) -> bool) -> Option<Vec<usize>> {
    let inside = components(graph, &wanted).into_iter().flatten();
    let cycles = inside.filter_map(|node| way(graph, node, node, &wanted));
    cycles.min_by_key(Vec::len)
}

/// The shortest way from one node to another, of at least one edge, over the wanted edges.
pub(crate) fn way(
    graph: &Graph,
    start: usize,
    goal: usize,
    wanted: impl Fn(&Edge) -> bool,
) -> Option<Vec<usize>> {
    let mut reached_by: Vec<Option<usize>> = vec![None; graph.from.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &place in &graph.from[node] {
            let edge = &graph.edges[place];
            if !wanted(edge) || reached_by[edge.to].is_some() {
                continue;
            }
            reached_by[edge.to] = Some(place);
            if edge.to == goal {
                return Some(trace(graph, &reached_by, start, goal));
            }
            queue.push_back(edge.to);
        }
    }
    None
}

/// The edges that led from `start` to `goal`.
fn trace(graph: &Graph, reached_by: &[Option<usize>], start: usize, goal: usize) -> Vec<usize> {
    let mut way = Vec::new();
    let mut node = goal;
    while let Some(place) = reached_by[node] {
        way.push(place);
        node = graph.edges[place].from;
        if node == start {
            break;
        }
    }
    way.reverse();
    way
}

struct Search<'g, W> {
    graph: &'g Graph,
    wanted: W,
    number: usize,
    /// The order in which nodes were met.
    numbers: Vec<Option<usize>>,
    /// The earliest node on the stack that can be reached from each.
    low: Vec<usize>,
    stack: Vec<usize>,
    is_on_stack: Vec<bool>,
    components: Vec<Vec<usize>>,
}

impl<W: Fn(&Edge) -> bool> Search<'_, W> {
    fn visit(&mut self, node: usize) {
        let own = self.number;
        self.number += 1;
        self.numbers[node] = Some(own);
        self.low[node] = own;
        self.stack.push(node);
        self.is_on_stack[node] = true;
        let graph = self.graph;
        for edge in graph.from[node].iter().map(|&place| &graph.edges[place]) {
            if !(self.wanted)(edge) {
                continue;
            }
            match self.numbers[edge.to] {
                None => {
                    self.visit(edge.to);
                    self.low[node] = self.low[node].min(self.low[edge.to]);
                }
                Some(number) if self.is_on_stack[edge.to] => {
                    self.low[node] = self.low[node].min(number);
                }
                Some(_) => {}
            }
        }
        if self.low[node] == own {
            let first = self.stack.iter().rposition(|&other| other == node);
            let component = self.stack.split_off(first.unwrap_or(0));
            component.iter().for_each(|&member| self.is_on_stack[member] = false);
            if component.len() > 1 {
                self.components.push(component);
            }
        }
    }
}

#[cfg(test)]
mod tests;
