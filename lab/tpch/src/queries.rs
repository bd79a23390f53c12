//! The 22 queries of the specification with its validation parameters, and which of their columns
//! decide the order of the answer.
//!
//! All contenders get the same text.

#[cfg(test)]
mod tests;

/// How many there are.
pub(crate) const COUNT: usize = 22;

const TEXTS: [&str; COUNT] = [
    include_str!("../queries/q01.sql"),
    include_str!("../queries/q02.sql"),
    include_str!("../queries/q03.sql"),
    include_str!("../queries/q04.sql"),
    include_str!("../queries/q05.sql"),
    include_str!("../queries/q06.sql"),
    include_str!("../queries/q07.sql"),
    include_str!("../queries/q08.sql"),
    include_str!("../queries/q09.sql"),
    include_str!("../queries/q10.sql"),
    include_str!("../queries/q11.sql"),
    include_str!("../queries/q12.sql"),
    include_str!("../queries/q13.sql"),
    include_str!("../queries/q14.sql"),
    include_str!("../queries/q15.sql"),
    include_str!("../queries/q16.sql"),
    include_str!("../queries/q17.sql"),
    include_str!("../queries/q18.sql"),
    include_str!("../queries/q19.sql"),
    include_str!("../queries/q20.sql"),
    include_str!("../queries/q21.sql"),
    include_str!("../queries/q22.sql"),
];

const ORDERS: [&[usize]; COUNT] = [
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

/// The text of a query, counted from 1. Query 11 asks for a share that depends on the scale.
pub(crate) fn text(number: usize, scale: f64) -> String {
    TEXTS[number - 1].replace("{fraction}", &format!("{:.10}", 0.0001 / scale))
}

/// The columns of the answer that ORDER BY names, first to last.
pub(crate) fn order(number: usize) -> &'static [usize] {
    ORDERS[number - 1]
}
