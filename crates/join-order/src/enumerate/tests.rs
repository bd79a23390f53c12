//! The enumerator against all trees there are, and against graphs with known best trees.

use std::collections::HashMap;

use super::super::graph::{Class, Filtering, Member, Predicate, Relation};
use super::super::tests::random::Random;
use super::*;

fn relation(rows: f64) -> Relation {
    Relation { rows, rows_before: rows, filtering: None }
}

fn class(members: &[(usize, f64)]) -> Class {
    let member = |&(relation, distinct)| Member { relation, distinct };
    Class { members: members.iter().map(member).collect() }
}

/// What a tree costs, and whether each of its joins can be done.
fn cost(graph: &Graph, tree: &Tree) -> (Set, f64) {
    let rows = |set: Set| match set.count_ones() {
        1 => graph.relations[set.trailing_zeros() as usize].rows.max(1.0),
        _ => graph.rows(set),
    };
    match tree {
        Tree::Relation(at) => (1 << at, 0.0),
        Tree::Join { build, probe } => {
            let ((build, before), (probe, beside)) = (cost(graph, build), cost(graph, probe));
            assert_eq!(build & probe, 0);
            assert!(graph.may_build(build));
            let method = graph.method(build, probe).unwrap_or(Method::Loop);
            let work = join_cost(method, rows(build), rows(probe), rows(build | probe));
            (build | probe, before + beside + work)
        }
    }
}

/// The least cost of any tree for a set, by trying all of them.
fn least(graph: &Graph, set: Set, known: &mut HashMap<Set, f64>) -> f64 {
    if set.count_ones() == 1 {
        return 0.0;
    }
    if let Some(&cost) = known.get(&set) {
        return cost;
    }
    let rows = |set: Set| match set.count_ones() {
        1 => graph.relations[set.trailing_zeros() as usize].rows.max(1.0),
        _ => graph.rows(set),
    };
    let mut best = f64::INFINITY;
    let mut build = (set - 1) & set;
    while build != 0 {
        let probe = set & !build;
        if graph.may_build(build)
            && let Some(method) = graph.method(build, probe)
        {
            let inputs = least(graph, build, known) + least(graph, probe, known);
            let work = join_cost(method, rows(build), rows(probe), rows(set));
            best = best.min(inputs + work);
        }
        build = (build - 1) & set;
    }
    known.insert(set, best);
    best
}

fn random_graph(random: &mut Random) -> Graph {
    let joined = 1 + random.below(6) as usize;
    let filters = random.below(3) as usize;
    let mut relations: Vec<Relation> =
        (0..joined).map(|_| relation(10f64.powi(random.below(6) as i32))).collect();
    let mut classes = Vec::new();
    for _ in 0..random.below(6) {
        let count = 2 + random.below(3);
        let members: Vec<(usize, f64)> = (0..count)
            .map(|_| (random.below(joined as u64) as usize, 1.0 + random.below(5_000) as f64))
            .collect();
        classes.push(class(&members));
    }
    let mut predicates = Vec::new();
    for _ in 0..random.below(3) {
        let set: Set = (1 << random.below(joined as u64)) | (1 << random.below(joined as u64));
        if set & (set - 1) != 0 {
            let lowest = set & set.wrapping_neg();
            let sides = (random.below(2) == 0).then_some((lowest, set & !lowest));
            predicates.push(Predicate { relations: set, sides, selectivity: 0.1 });
        }
    }
    for _ in 0..filters {
        let any = |random: &mut Random| 1 + random.below((1 << joined) - 1);
        let filtering = Filtering {
            needs: (0..random.below(3)).map(|_| any(random)).collect(),
            keeps: 1.0 / (1 + random.below(20)) as f64,
            keyed: random.below(4) != 0,
            builds_kept: random.below(3) == 0,
        };
        let rows = 10f64.powi(random.below(6) as i32);
        relations.push(Relation { filtering: Some(filtering), ..relation(rows) });
    }
    Graph { relations, classes, predicates }
}

#[test]
fn no_tree_is_cheaper_than_the_one_found() {
    let mut random = Random::new(1);
    let mut compared = 0;
    for _ in 0..3_000 {
        let graph = random_graph(&mut random);
        let best = least(&graph, graph.all(), &mut HashMap::new());
        match exact(&graph) {
            Some(tree) => {
                let (set, found) = cost(&graph, &tree);
                assert_eq!(set, graph.all());
                assert!((found - best).abs() <= 1e-9 * best.max(1.0), "{found} {best} {graph:?}");
                compared += 1;
            }
            None => assert_eq!(best, f64::INFINITY, "a tree was overlooked: {graph:?}"),
        }
    }
    assert!(compared > 1_000, "{compared}");
}

#[test]
fn the_greedy_tree_has_everything_and_applies_filters_where_it_can() {
    let mut random = Random::new(2);
    for _ in 0..1_000 {
        let graph = random_graph(&mut random);
        let (set, greedy) = cost(&graph, &greedy(&graph));
        assert_eq!(set, graph.all());
        if let Some(exact) = exact(&graph) {
            assert!(cost(&graph, &exact).1 <= greedy * (1.0 + 1e-9));
        }
    }
}

#[test]
fn many_relations_are_ordered_without_looking_at_all_trees() {
    let rows = |at: usize| 10.0 + at as f64;
    let graph = Graph {
        relations: (0..40).map(|at| relation(rows(at))).collect(),
        classes: vec![class(&(0..40).map(|at| (at, 10.0)).collect::<Vec<_>>())],
        predicates: Vec::new(),
    };
    assert!(exact(&graph).is_none());
    assert_eq!(cost(&graph, &cheapest(&graph)).0, graph.all());
}

#[test]
fn a_composite_key_is_no_smaller_than_its_table() {
    // Order lines refer to a part and a supplier, whose pairs are the rows of the third table.
    let graph = Graph {
        relations: vec![relation(6e6), relation(8e5)],
        classes: vec![class(&[(0, 2e5), (1, 2e5)]), class(&[(0, 1e4), (1, 1e4)])],
        predicates: Vec::new(),
    };
    assert!((graph.rows(0b11) - 6e6).abs() < 1.0);
}
