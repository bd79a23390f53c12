//! Groups of rows, aggregated by `remanent-exec`, those of a table on encoded columns.
//!
//! An aggregate of DataFusion's becomes an operator of ours ([`exec`]), together with the scan that
//! it stands on, if its functions are among those that can be computed so ([`query`]); arguments
//! that are sums, differences and products of numbers are computed of encoded values ([`numbers`]),
//! all others of arrays. Rows come segment by segment ([`feed`]), or batch by batch
//! ([`given_batches`]), into the parts of several threads, which have room in memory and in a file
//! ([`room`]) and are put together ([`parts`]); groups become arrays again ([`result`]), and those
//! that meet a condition ([`having`]) go out ([`giving`]; [`merging`] where there are very many).

pub(crate) mod numbers;

pub(crate) mod query;
pub(crate) mod row_keys;

pub(crate) mod room;

pub(crate) mod feed;
pub(crate) mod given_batches;
pub(crate) mod merging;
pub(crate) mod parts;

pub(crate) mod giving;
pub(crate) mod having;
pub(crate) mod result;

pub(crate) mod exec;
