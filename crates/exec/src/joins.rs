//! Joins: rows of one side, the *build side*, are found by the keys of the rows of the other.
//!
//! From bottom to top: what number of an entry a key has ([`lookup`]), the rows of a build side by
//! their keys ([`build`], [`merge`], [`table`]), the keys of the other side ([`probe`]), rows of
//! several relations side by side ([`tuples`]), and a [`stage`] that makes tuples of one relation
//! more out of tuples. Values are not copied: a tuple is the number of a row in each relation.

pub(crate) mod lookup;

pub(crate) mod table;

pub(crate) mod build;

pub(crate) mod merge;

pub(crate) mod probe;

pub(crate) mod tuples;

pub(crate) mod stage;
