//! Components and shortest ways of small graphs.

use super::{components, shortest, way};
use crate::graph::{Edge, EdgeKind, Graph};

fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph {
    let kind = EdgeKind::WriteWrite;
    let edge = |&(from, to)| Edge { from, to, kind, item: 0, mark: 0, step: None };
    let edges: Vec<Edge> = edges.iter().map(edge).collect();
    let mut from = vec![Vec::new(); nodes];
    for (place, edge) in edges.iter().enumerate() {
        from[edge.from].push(place);
    }
    Graph { edges, from }
}

#[test]
fn a_graph_without_cycles_has_no_component() {
    let graph = graph(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4)]);
    assert!(components(&graph, |_| true).is_empty());
    assert_eq!(shortest(&graph, |_| true), None);
    assert_eq!(way(&graph, 0, 4, |_| true), Some(vec![5]));
}

#[test]
fn components_are_the_cycles_that_touch() {
    let graph = graph(7, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5), (5, 6)]);
    let mut found = components(&graph, |_| true);
    found.iter_mut().for_each(|component| component.sort_unstable());
    found.sort_unstable();
    assert_eq!(found, [vec![0, 1, 2], vec![3, 4]]);
}

#[test]
fn the_shortest_cycle_is_found() {
    let graph = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 1)]);
    assert_eq!(shortest(&graph, |_| true).map(|cycle| cycle.len()), Some(2));
    let without = |edge: &Edge| edge.to != 4;
    assert_eq!(shortest(&graph, without), Some(vec![0, 1, 2, 3]));
    assert_eq!(shortest(&graph, |edge: &Edge| edge.from != 1), None);
}
