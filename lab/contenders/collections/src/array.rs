//! A flat array: the limit of reading in order.
//!
//! It takes part where pairs are read in order, and promises nothing.

use lab_harness::{Contender, Driver};

use crate::pairs::Flat;

/// The `array` contender.
pub static ARRAY: Contender = Contender {
    pairs: Some(Driver { settings: crate::FLAT_PAIRS, open: |_, _| Ok(Box::new(Flat::default())) }),
    ..Contender::named("array", crate::standard_library_version)
};
