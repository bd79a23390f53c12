//! Random numbers from a seed.
//!
//! The same seed gives the same numbers on every machine and in every version of the compiler: a
//! history is replayed from its seed alone, so nothing here may depend on anything else.

/// A stream of random numbers (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        // Neighbouring seeds are to begin differently.
        random.0 = random.word();
        random
    }

    /// Any number.
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number from 0 to below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(limit)) >> 64) as u64
    }

    /// A number of a range, both ends included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of a few things.
    pub(crate) fn pick<T: Copy>(&mut self, things: &[T]) -> Option<T> {
        if things.is_empty() {
            return None;
        }
        things.get(self.below(things.len() as u64) as usize).copied()
    }

    /// One of a few things, each as often as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, things: &[(u64, T)]) -> Option<T> {
        let total = things.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(total);
        for &(weight, thing) in things {
            if left < weight {
                return Some(thing);
            }
            left -= weight;
        }
        None
    }
}

#[cfg(test)]
mod tests;
