//! Sets of whole numbers as ranges.
//!
//! They are what comparisons with constants, and AND, OR and NOT of them, ask of a column.

#[cfg(test)]
mod tests;

/// Numbers from the least to the greatest, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NumberRange {
    /// The least.
    pub low: i128,
    /// The greatest.
    pub high: i128,
}

impl NumberRange {
    /// Whether a number is among them.
    pub fn has(&self, number: i128) -> bool {
        self.low <= number && number <= self.high
    }
}

/// A set of whole numbers.
///
/// # Examples
/// ```
/// use remanent_exec::NumberRanges;
/// let small = NumberRanges::between(i128::MIN, 9);
/// let odd = NumberRanges::of_list(vec![1, 3, 5, 11]);
/// let even = small.and(&odd.not());
/// assert!(even.has(4) && !even.has(3) && !even.has(10));
/// assert!(even.or(&odd).has(11));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberRanges(
    /// In ascending order, with numbers between any two.
    Vec<NumberRange>,
);

impl NumberRanges {
    /// The numbers from the first to the second; none if the first is greater.
    pub fn between(low: i128, high: i128) -> Self {
        Self(if low <= high { vec![NumberRange { low, high }] } else { Vec::new() })
    }

    /// The numbers of a list.
    pub fn of_list(list: Vec<i128>) -> Self {
        Self::united(list.into_iter().map(|number| NumberRange { low: number, high: number }))
    }

    /// The ranges, in ascending order.
    pub fn as_slice(&self) -> &[NumberRange] {
        &self.0
    }

    /// Whether a number is in the set.
    pub fn has(&self, number: i128) -> bool {
        self.0.iter().any(|range| range.has(number))
    }

    /// What is in both.
    pub fn and(&self, other: &Self) -> Self {
        let (mut mine, mut theirs) = (self.0.as_slice(), other.0.as_slice());
        let mut both = Vec::new();
        while let ([a, ..], [b, ..]) = (mine, theirs) {
            let (low, high) = (a.low.max(b.low), a.high.min(b.high));
            if low <= high {
                both.push(NumberRange { low, high });
            }
            // What ends first meets nothing that follows.
            match a.high <= b.high {
                true => mine = &mine[1..],
                false => theirs = &theirs[1..],
            }
        }
        Self(both)
    }

    /// What is in either.
    pub fn or(&self, other: &Self) -> Self {
        Self::united(self.0.iter().chain(&other.0).copied())
    }

    /// What is in it not.
    pub fn not(&self) -> Self {
        let (mut others, mut from) = (Vec::new(), Some(i128::MIN));
        for range in &self.0 {
            if let Some(low) = from.filter(|low| *low < range.low) {
                others.push(NumberRange { low, high: range.low - 1 });
            }
            from = range.high.checked_add(1);
        }
        others.extend(from.map(|low| NumberRange { low, high: i128::MAX }));
        Self(others)
    }

    /// What is in any of some ranges.
    fn united(ranges: impl Iterator<Item = NumberRange>) -> Self {
        let mut sorted: Vec<_> = ranges.collect();
        sorted.sort_unstable();
        let mut united: Vec<NumberRange> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match united.last_mut() {
                Some(last) if range.low <= last.high.saturating_add(1) => {
                    last.high = last.high.max(range.high);
                }
                _ => united.push(range),
            }
        }
        Self(united)
    }
}
