//! The queries of each benchmark with the parameters of its validation, and which columns decide
//! the order of the answer.
//!
//! All contenders get the same text.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use lab_harness::Outcome;

use super::{SSB_NUMBERS, TPCH_COUNT};

const TPCH: [&str; TPCH_COUNT] = [
    include_str!("../../tpch/queries/q01.sql"),
    include_str!("../../tpch/queries/q02.sql"),
    include_str!("../../tpch/queries/q03.sql"),
    include_str!("../../tpch/queries/q04.sql"),
    include_str!("../../tpch/queries/q05.sql"),
    include_str!("../../tpch/queries/q06.sql"),
    include_str!("../../tpch/queries/q07.sql"),
    include_str!("../../tpch/queries/q08.sql"),
    include_str!("../../tpch/queries/q09.sql"),
    include_str!("../../tpch/queries/q10.sql"),
    include_str!("../../tpch/queries/q11.sql"),
    include_str!("../../tpch/queries/q12.sql"),
    include_str!("../../tpch/queries/q13.sql"),
    include_str!("../../tpch/queries/q14.sql"),
    include_str!("../../tpch/queries/q15.sql"),
    include_str!("../../tpch/queries/q16.sql"),
    include_str!("../../tpch/queries/q17.sql"),
    include_str!("../../tpch/queries/q18.sql"),
    include_str!("../../tpch/queries/q19.sql"),
    include_str!("../../tpch/queries/q20.sql"),
    include_str!("../../tpch/queries/q21.sql"),
    include_str!("../../tpch/queries/q22.sql"),
];

const ORDERS: [&[usize]; TPCH_COUNT] = [
    &[0, 1],
    &[0, 2, 1, 3],
    &[1, 2],
    &[0],
    &[1],
    &[],
    &[0, 1, 2],
    &[0],
    &[0, 1],
    &[2],
    &[1],
    &[0],
    &[1, 0],
    &[],
    &[0],
    &[3, 0, 1, 2],
    &[],
    &[4, 3],
    &[],
    &[0],
    &[1, 0],
    &[0],
];

/// Those of the Star Schema Benchmark, and the columns that decide the order of their answers.
const SSB: [(&str, &[usize]); SSB_NUMBERS.len()] = [
    (include_str!("../../ssb/queries/q11.sql"), &[]),
    (include_str!("../../ssb/queries/q12.sql"), &[]),
    (include_str!("../../ssb/queries/q13.sql"), &[]),
    (include_str!("../../ssb/queries/q21.sql"), &[1, 2]),
    (include_str!("../../ssb/queries/q22.sql"), &[1, 2]),
    (include_str!("../../ssb/queries/q23.sql"), &[1, 2]),
    (include_str!("../../ssb/queries/q31.sql"), &[2, 3]),
    (include_str!("../../ssb/queries/q32.sql"), &[2, 3]),
    (include_str!("../../ssb/queries/q33.sql"), &[2, 3]),
    (include_str!("../../ssb/queries/q34.sql"), &[2, 3]),
    (include_str!("../../ssb/queries/q41.sql"), &[0, 1]),
    (include_str!("../../ssb/queries/q42.sql"), &[0, 1, 2]),
    (include_str!("../../ssb/queries/q43.sql"), &[0, 1, 2]),
];

/// Shapes that TPC-H leaves out.
const SHAPES: &str = include_str!("../../shapes/queries.sql");

/// A query of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) number: usize,
    pub(crate) text: String,
    /// The columns of the answer that ORDER BY names, first to last. Of TPC-DS it is not known:
    /// rows may come in any order.
    pub(crate) order: Vec<usize>,
}

/// Those of the Star Schema Benchmark.
pub(super) fn ssb() -> Vec<Query> {
    let query = |(number, (text, order)): (usize, (&str, &[usize]))| Query {
        number,
        text: text.to_owned(),
        order: order.to_vec(),
    };
    SSB_NUMBERS.into_iter().zip(SSB).map(query).collect()
}

/// Shapes that TPC-H leaves out. Before each stands its number, what it is, and which columns
/// decide the order of its answer: `-- 4: a page far behind the first; order 0, 1`.
pub(super) fn shapes() -> Vec<Query> {
    let texts = SHAPES.split("-- ").skip(1);
    let query = |text: &str| {
        let (head, text) = text.split_once('\n')?;
        let (number, head) = head.split_once(':')?;
        let (_, order) = head.split_once("; order ")?;
        let order = order.split(", ").filter_map(|column| column.parse().ok()).collect();
        let text = text.trim().trim_end_matches(';').to_owned();
        Some(Query { number: number.parse().ok()?, text, order })
    };
    texts.filter_map(query).collect()
}

/// Those of a file: pairs of a number and a text.
///
/// # Errors
///
/// When it cannot be read.
pub(super) fn of_file(path: &Path) -> Outcome<Vec<Query>> {
    let texts: Vec<(usize, String)> = serde_json::from_str(&fs::read_to_string(path)?)?;
    Ok(texts.into_iter().map(|(number, text)| Query { number, text, order: Vec::new() }).collect())
}

/// A query of TPC-H, counted from 1. Query 11 asks for a share that depends on the scale.
pub(super) fn tpch(number: usize, scale: f64) -> Query {
    let text = TPCH[number - 1].replace("{fraction}", &format!("{:.10}", 0.0001 / scale));
    Query { number, text, order: ORDERS[number - 1].to_vec() }
}
