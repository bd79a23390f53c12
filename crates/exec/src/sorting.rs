//! Rows in the order of keys.
//!
//! The keys of a row become one number of 64 or 128 bits, in the order of the keys, with the row's
//! own number behind: numbers are moved to begin at 0, texts are ranks of a few different ones or
//! their first bytes ([`key`]). These numbers are sorted byte by byte ([`radix`]), and rows whose
//! numbers do not tell them apart are compared ([`ties`]). Where few of many rows are wanted, those
//! behind a [`bound`] are left out before that. (Key normalisation: Graefe, Implementing
//! Sorting in Database Systems, ACM Computing Surveys 2006.)

pub(crate) mod key;

pub(crate) mod radix;
pub(crate) mod ties;

pub(crate) mod order;

pub(crate) mod bound;
