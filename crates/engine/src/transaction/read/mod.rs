//! Reading under a transaction's snapshot, which a transaction that writes does in the same way.
//!
//! In the order in which a program meets them: [`reading`] is a transaction that reads, with its
//! look-ups; [`blob_keys`] are look-ups by a key that is one blob, [`scanning`] goes through all
//! rows, [`members`] follows network sets; [`parked`] are transactions between two calls, and
//! [`retained`] ones see a state of before.

pub(crate) mod blob_keys;
pub(crate) mod members;
pub(crate) mod parked;
pub(crate) mod reading;
pub(crate) mod retained;
pub(crate) mod scanning;
