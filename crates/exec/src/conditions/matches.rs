//! Which of some values meet a predicate.
//!
//! All and none are said without a bit for each value: dictionaries and look-ups of keys often have
//! one of these answers.

/// Which of some values meet a predicate: NULL does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Matches {
    /// All.
    All,
    /// None.
    None,
    /// Those whose bit is set: bit `i % 64` of word `i / 64`. Bits beyond the last value are 0.
    Some(Vec<u64>),
}

impl Matches {
    /// For each of so many values whether it meets the predicate.
    pub(crate) fn to_truths(&self, count: usize) -> Vec<bool> {
        match self {
            Self::All => vec![true; count],
            Self::None => vec![false; count],
            Self::Some(words) => {
                (0..count).map(|at| words[at / 64] >> (at % 64) & 1 == 1).collect()
            }
        }
    }
}
