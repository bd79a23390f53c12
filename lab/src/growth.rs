//! Whether a time grows as the total does.
//!
//! A power of the total is fitted to the times by least squares on logarithms; its exponent is one
//! where twice the total takes twice the time, two where it takes four times as long. Nothing is
//! fitted below three totals, nor where the longest time is too short to tell.

use std::fmt;

/// Between these exponents a time is called linear: over 1 to 16 GiB they are a factor of 1.5 away
/// from it at most.
pub(crate) const LINEAR: [f64; 2] = [0.9, 1.15];

/// The fewest points that say something about a curve.
const POINTS_MIN: usize = 3;

/// Below this the longest time is noise.
const NS_MIN: f64 = 1e6;

/// A fitted power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    pub(crate) exponent: f64,
}

impl Growth {
    /// The growth of times in nanoseconds over totals; none where they say nothing.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.iter().all(|&(_, ns)| ns < NS_MIN) {
            return None;
        }
        if points.len() < POINTS_MIN || points.iter().any(|&(x, y)| x <= 0.0 || y <= 0.0) {
            return None;
        }
        let count = points.len() as f64;
        let logarithms = || points.iter().map(|&(x, y)| (x.ln(), y.ln()));
        let (x, y) = logarithms().fold((0.0, 0.0), |(x, y), at| (x + at.0, y + at.1));
        let (x, y) = (x / count, y / count);
        let (up, across) = logarithms().fold((0.0, 0.0), |(up, across), at| {
            (up + (at.0 - x) * (at.1 - y), across + (at.0 - x).powi(2))
        });
        (across > 0.0).then(|| Self { exponent: up / across })
    }

    /// Whether it is linear or less.
    pub(crate) fn is_at_most_linear(self) -> bool {
        self.exponent <= LINEAR[1]
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.is_at_most_linear() {
            true if self.exponent < LINEAR[0] => "less than linear",
            true => "linear",
            false => "more than linear",
        };
        write!(f, "{:.2} {word}", self.exponent)
    }
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
