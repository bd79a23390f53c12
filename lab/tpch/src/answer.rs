//! An answer, and whether two of them are the same.
//!
//! Numbers are the same within a millionth, or within 0.011, which is what the specification allows
//! for sums and averages of amounts. Rows have to come in the order that ORDER BY decides; where
//! it leaves rows equal they may come in any.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// Rows of values as text; `None` is NULL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer(pub(crate) Vec<Vec<Option<String>>>);

const RELATIVE: f64 = 1e-6;
const ABSOLUTE: f64 = 0.011;

/// What is different between an answer and what was expected, if anything is.
pub(crate) fn difference(found: &Answer, expected: &Answer, order: &[usize]) -> Option<String> {
    let (found, expected) = (&found.0, &expected.0);
    if found.len() != expected.len() {
        return Some(format!("{} rows, expected {}", found.len(), expected.len()));
    }
    let mut used = vec![false; expected.len()];
    for (at, row) in found.iter().enumerate() {
        let same_key = |other: &Vec<Option<String>>| {
            order.iter().all(|&column| same(row.get(column), other.get(column)))
        };
        if !order.is_empty() && !same_key(&expected[at]) {
            return Some(format!("row {}: {row:?}, expected {:?}", at + 1, expected[at]));
        }
        // Equal keys lie side by side, so the partner of a row is near; look there first.
        let near = (at..expected.len()).chain((0..at).rev());
        let mut candidates = near.filter(|&other| !used[other]);
        let partner = candidates.find(|&other| same_row(row, &expected[other]));
        match partner {
            Some(other) => used[other] = true,
            None => return Some(format!("row {}: {row:?} is not expected", at + 1)),
        }
    }
    None
}

fn same_row(one: &[Option<String>], other: &[Option<String>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(Some(a), Some(b)))
}

fn same(one: Option<&Option<String>>, other: Option<&Option<String>>) -> bool {
    match (one, other) {
        (Some(Some(one)), Some(Some(other))) => {
            one.trim_end() == other.trim_end() || same_number(one, other)
        }
        (one, other) => one == other,
    }
}

fn same_number(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (one.parse::<f64>(), other.parse::<f64>()) else { return false };
    let apart = (one - other).abs();
    apart <= ABSOLUTE || apart <= RELATIVE * one.abs().max(other.abs())
}
