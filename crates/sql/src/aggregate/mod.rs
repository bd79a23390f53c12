//! Groups of a table's rows, aggregated by `remanent-exec` on encoded columns.
//!
//! An aggregate of DataFusion's that stands on a scan becomes one operator with it ([`exec`]), if
//! its functions are among those that can be computed so ([`query`]); arguments that are sums,
//! differences and products of numbers are computed of encoded values ([`numbers`]), all others of
//! arrays ([`computed`]). Rows come segment by segment ([`feed`]), groups become arrays again
//! ([`result`]).

pub(crate) mod computed;
pub(crate) mod numbers;

pub(crate) mod query;

pub(crate) mod feed;
pub(crate) mod result;

pub(crate) mod exec;
