//! The first rows in the order of keys, of many: top-k.
//!
//! What comes out of a pipeline is compared with the last row that is wanted so far, before any
//! value but that of a key is made ([`first_rows`]); scans are told of that row ([`told`]), and
//! leave out what comes behind it. The [`exec`] is the operator. (Threshold: Carey and Kossmann,
//! On Saying "Enough Already!" in SQL, SIGMOD 1997.)

mod told;

mod first_rows;

pub(crate) mod exec;
