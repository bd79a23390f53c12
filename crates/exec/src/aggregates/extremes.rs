//! The least or the greatest number of each group.
//!
//! A group without a number has the greatest that there is as its least, and the other way round;
//! whether it has one is counted elsewhere.

use std::ops::Range;

use super::words::spread;

/// The least or the greatest numbers of groups.
pub(crate) struct Extremes<N> {
    is_least: bool,
    /// Of a group without a number, what all others replace.
    values: Vec<N>,
}

/// A number of a size of its own.
pub(crate) trait Extreme: Copy + Ord {
    const MIN: Self;
    const MAX: Self;
}

impl Extreme for i64 {
    const MIN: Self = Self::MIN;
    const MAX: Self = Self::MAX;
}

impl Extreme for i128 {
    const MIN: Self = Self::MIN;
    const MAX: Self = Self::MAX;
}

impl<N: Extreme> Extremes<N> {
    pub(crate) fn new(is_least: bool) -> Self {
        Self { is_least, values: Vec::new() }
    }

    /// Makes room for groups.
    pub(crate) fn reserve(&mut self, groups: usize) {
        self.values.reserve_exact(groups.saturating_sub(self.values.len()));
    }

    /// Makes so many groups of them.
    pub(crate) fn resize(&mut self, groups: usize) {
        let none = if self.is_least { N::MAX } else { N::MIN };
        self.values.resize(groups, none);
    }

    /// Makes each group another one of so many.
    pub(crate) fn spread(&mut self, groups: &[u32], count: usize) {
        let none = if self.is_least { N::MAX } else { N::MIN };
        self.values = spread(&self.values, groups, count, none);
    }

    /// Puts those of some groups of others behind these.
    pub(crate) fn append(&mut self, other: &Self, groups: &[u32]) {
        self.values.extend(groups.iter().map(|group| other.values[*group as usize]));
    }

    /// Puts numbers in the place of all groups'.
    pub(crate) fn replace(&mut self, values: Vec<N>) {
        self.values = values;
    }

    /// None yet, of the same kind.
    pub(crate) fn none_yet(&self) -> Self {
        Self::new(self.is_least)
    }

    /// Compares the number of each row, if it has one, with its group's.
    pub(crate) fn add(
        &mut self,
        groups: &[u32],
        numbers: impl Iterator<Item = N>,
        has_number: impl Fn(usize) -> bool,
    ) {
        for ((row, group), number) in groups.iter().enumerate().zip(numbers) {
            let value = &mut self.values[*group as usize];
            let replaces = if self.is_least { number < *value } else { number > *value };
            if replaces && has_number(row) {
                *value = number;
            }
        }
    }

    /// The numbers of some groups; any for one that has none.
    pub(crate) fn get(&self, groups: Range<usize>) -> &[N] {
        &self.values[groups]
    }
}
