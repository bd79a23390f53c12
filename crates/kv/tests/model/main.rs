//! Random operations on a key/value database against a map of sets.
//!
//! Every sort of database is driven through transactions that are committed or taken back, with
//! cursors, parts of values and a secondary database; what it answers has to be what the model
//! answers, and what it holds in the end what the model holds. `REMANENT_CASES` sets how many
//! programs are run.

mod cursor;
mod operation;
mod run;

use proptest::prelude::*;
use remanent_kv::KvOptions;

use operation::operations;
use run::Run;

fn config() -> ProptestConfig {
    let cases = std::env::var("REMANENT_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(100),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_ordered_database_is_a_map(operations in operations()) {
        Run::new(KvOptions::ordered()).all(&operations);
    }

    #[test]
    fn a_hashed_database_is_a_map(operations in operations()) {
        Run::new(KvOptions::hashed()).all(&operations);
    }

    #[test]
    fn an_ordered_database_with_duplicates_is_a_map_of_sets(operations in operations()) {
        Run::new(KvOptions::ordered().with_duplicates()).all(&operations);
    }

    #[test]
    fn a_hashed_database_with_duplicates_is_a_map_of_sets(operations in operations()) {
        Run::new(KvOptions::hashed().with_duplicates()).all(&operations);
    }
}
