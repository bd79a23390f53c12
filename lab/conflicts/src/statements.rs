//! The statements: kinds of reads and of changes, as `tests/conflicts` has them.
//!
//! The same texts are a test of the SQL layer. A transaction reads and changes rows of one key;
//! each change says in its line what becomes of the sum of all numbers, by which the answer is
//! checked: after any number of transactions in any order the sum is known.

#[cfg(test)]
mod tests;

use lab_harness::Outcome;

const TABLES: &str = include_str!("../../../tests/conflicts/tables.sql");
const READS: &str = include_str!("../../../tests/conflicts/reads.sql");
const CHANGES: &str = include_str!("../../../tests/conflicts/changes.sql");

/// What is read where a change is measured.
const ONE_READ: &str = "select v from t where id = $k";
/// What is changed where a read is measured.
const ONE_CHANGE: &str = "update t set v = v + 1 where id = $k";

/// The sum of all numbers that changes touch.
pub(crate) const SUM: &str =
    "select (select sum(v) + sum(u) from t) + (select sum(w) + count(*) from d)";

/// What becomes of the sum with each transaction that commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Each(i64),
    FirstOfKey(i64),
}

/// A transaction of which one statement is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// `read` or `change`.
    pub(crate) phase: &'static str,
    /// The statement, with `$k` in place of the key.
    pub(crate) text: &'static str,
    pub(crate) effect: Effect,
}

impl Statement {
    /// The statements of the transaction on this key.
    pub(crate) fn of_key(&self, key: usize) -> [String; 2] {
        let texts = match self.phase {
            "read" => [self.text, ONE_CHANGE],
            _ => [ONE_READ, self.text],
        };
        texts
            .map(|text| text.replace("$k", &key.to_string()).replace("$z", &(key + 10).to_string()))
    }
}

/// All statements that can be done again and again.
///
/// # Errors
///
/// When a line of the list is not understood.
pub(crate) fn all() -> Outcome<Vec<Statement>> {
    let reads = lines(READS).map(|line| {
        let text = line.strip_suffix(';').ok_or_else(|| format!("no end: {line}"))?;
        Ok(Statement { phase: "read", text, effect: Effect::Each(1) })
    });
    let changes = lines(CHANGES).filter(|line| !line.ends_with("-- once")).map(|line| {
        let (text, effect) = line.split_once(";  -- ").ok_or_else(|| format!("no end: {line}"))?;
        Ok(Statement { phase: "change", text, effect: effect_of(effect)? })
    });
    reads.chain(changes).collect()
}

fn effect_of(text: &str) -> Outcome<Effect> {
    let effect = text.split_once(' ').and_then(|(how, number)| match how {
        "+" => Some(Effect::Each(number.parse().ok()?)),
        "=" => Some(Effect::FirstOfKey(number.parse().ok()?)),
        _ => None,
    });
    effect.ok_or_else(|| format!("no effect: {text}").into())
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with("--"))
}

/// What makes the tables, after those of before are gone.
pub(crate) fn tables(rows: usize) -> String {
    let tables = TABLES.replace("$n", &rows.to_string());
    format!("drop table if exists d; drop table if exists t;\n{tables}")
}
