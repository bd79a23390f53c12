//! Joins in the order that costs least: rules that run behind DataFusion's own, which has none for
//! this. `docs/join-ordering.md` shows them at work.
//!
//! A plan's region of joins is taken apart (`region`), described as a graph with estimates
//! (`model`, `estimate`), ordered (`enumerate`) and put together again (`rebuild`). All of it is
//! pure: what a rule does depends on the plan and on the statistics of its tables alone. So they
//! serve any program with DataFusion in it.

mod graph;

mod enumerate;

mod value;

mod column_estimate;

mod selectivity;

mod estimate;

mod region;

mod constant;

mod model;

mod rebuild;

mod groups;

mod needed_groups;

mod semi_below_groups;

mod parameters;

mod order_joins;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::optimizer::OptimizerRule;
use datafusion::optimizer::optimize_projections::OptimizeProjections;

/// The rules, to be added behind DataFusion's.
///
/// Estimates come from `TableProvider::statistics`: rows, distinct values, smallest and largest
/// value. The side that a hash table is made of is chosen here as well, so
/// `datafusion.optimizer.join_reordering` should be off.
///
/// # Examples
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::{SessionConfig, SessionContext};
///
/// let config =
///     SessionConfig::new().set_bool("datafusion.optimizer.join_reordering", false);
/// let state = remanent_join_order::rules().into_iter().fold(
///     SessionStateBuilder::new().with_config(config).with_default_features(),
///     |state, rule| state.with_optimizer_rule(rule),
/// );
/// let context = SessionContext::new_with_state(state.build());
/// # drop(context);
/// ```
pub fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(parameters::ParametersThroughJoins),
        Arc::new(semi_below_groups::SemiJoinsBelowGroups),
        Arc::new(order_joins::OrderJoins),
        // Other columns are needed in between than before.
        Arc::new(OptimizeProjections::new()),
    ]
}
