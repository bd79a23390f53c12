//! Pipelines: rows of a scan that go through joins and filters, tuple by tuple, to whoever wants
//! them.
//!
//! Joins, filters and projections of DataFusion's that stand on one another become one operator
//! ([`exec`]): a [`plan`] says what each is, over the columns of all relations, and inner joins as
//! a [`region`] get the order in which each is a look-up. When it runs, each build side is read
//! first ([`builds`], [`collecting`]) and becomes a [`relation`] with a table of its keys; scans
//! are told ([`told`]) which keys these are. Then the rows of the source come [`piece`] by piece,
//! as they are encoded, and go through the joins as numbers of rows ([`flow`]); [`values`] are made
//! of those that are left, for those columns that somebody asks for. An [`aggregate`] takes them
//! without batches between, and so does what wants the first rows alone ([`top_k`]). Sorted rows
//! go through a [`window`].

mod memo;
pub(crate) mod texts;
pub(crate) mod values;

pub(crate) mod plan;
pub(crate) mod region;

pub(crate) mod relation;
pub(crate) mod told;

pub(crate) mod piece;

pub(crate) mod kept_rows;

pub(crate) mod builds;
pub(crate) mod collecting;
pub(crate) mod flow;
pub(crate) mod running;

pub(crate) mod exec;

pub(crate) mod sorting;

pub(crate) mod top_k;

pub(crate) mod aggregate;

pub(crate) mod window;
