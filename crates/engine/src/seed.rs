//! Seeds of hash functions, drawn so that nobody who chooses keys knows them.
//!
//! They are the standard library's, which asks the system once for each thread. On schedules of the
//! model checker every seed is the same: a schedule has to mean the same each time.

use std::hash::{BuildHasher, RandomState};

/// A seed that was not drawn before, as good as surely.
pub(crate) fn draw_seed() -> u64 {
    if cfg!(shuttle) { 0 } else { RandomState::new().hash_one(0u8) }
}
