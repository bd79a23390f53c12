//! Rules by which plans are rewritten, before DataFusion's and between them. One rule, one file.
//!
//! Those first that give a plan the types and rows that PostgreSQL has; then those that make it
//! quicker; then what rules and operators share.

pub(crate) mod coercion;
pub(crate) mod windows;

pub(crate) mod joins;
pub(crate) mod lists;
pub(crate) mod ordered;

pub(crate) mod divided;
pub(crate) mod groups;
pub(crate) mod same_names;
pub(crate) mod set_comparisons;
pub(crate) mod shared_parts;
pub(crate) mod strip_dependencies;
pub(crate) mod wide_filters;

pub(crate) mod by_index;
pub(crate) mod native_operators;
pub(crate) mod pipelines;
pub(crate) mod sequential_union;

pub(crate) mod through;
pub(crate) mod watched;
