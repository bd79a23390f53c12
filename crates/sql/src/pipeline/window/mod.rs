//! Aggregates that run: of each row's partition, from its first row on to this one, or to the last
//! of those that no order tells from it; and ranks, and what a row before has.
//!
//! Rows come sorted by partition and order. Where partitions and peers begin is found batch by
//! batch ([`peers`]), and what functions have so far goes on from one to the next ([`function`]);
//! the [`exec`] is the operator. (Leis, Kundhikanjana, Kemper and Neumann, Efficient Processing of
//! Window Functions in Analytical SQL Queries, VLDB 2015.)

mod peers;

mod shifted;

mod function;

pub(crate) mod exec;
