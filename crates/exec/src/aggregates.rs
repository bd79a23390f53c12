//! Groups of rows, and what is counted, added up and compared within them.
//!
//! From bottom to top: where values are ([`source`]), what is computed of them ([`expression`],
//! [`arguments`]), which group a row is of ([`keys`], [`groups`], [`grouping`], with tables by
//! [`hash`]), and what each group has so far ([`words`], [`sums`], [`extremes`], [`states`]); too
//! many groups are [`partitions`] of [`block`]s, in memory or in a file, which are put together one
//! by one ([`partitioned`]). An [`aggregation`] does all of it for rows that come tile by tile: so
//! many at once that what is computed of them stays in the processor's first cache. (Boncz,
//! Zukowski, Nes, MonetDB/X100: Hyper-Pipelining Query Execution, CIDR 2005.)

pub(crate) mod expression;

pub(crate) mod arguments;

pub(crate) mod groups;

pub(crate) mod grouping;

mod bytes;
pub(crate) mod extremes;
pub(crate) mod few_groups;
pub(crate) mod words;

pub(crate) mod sums;

pub(crate) mod states;

pub(crate) mod block;
pub(crate) mod partitions;

pub(crate) mod aggregation;

pub(crate) mod partitioned;
