//! Properties that the formats promise, over random schemas, rows and keys.
//!
//! `generate` makes the cases; each other file holds one promise and its model.

mod generate;
mod keys;
mod rows;
mod schemas;

use proptest::prelude::ProptestConfig;

/// So many cases; failures are shown, not filed.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
