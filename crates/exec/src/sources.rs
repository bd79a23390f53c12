//! Where the values of columns are, and memory for what is made of them.
//!
//! Whoever groups, adds up or joins rows reads columns by [`source`]: encoded ones as they lie in a
//! frozen segment, and others as slices that are given. What grows by rows asks an [`account`].

pub(crate) mod account;

pub(crate) mod source;
