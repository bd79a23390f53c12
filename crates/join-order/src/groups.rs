//! The aggregate that a relation of a join is, below renaming, filters and aliases.
//!
//! What always holds: between the relation and its aggregate nothing looks at more than one group
//! at a time. So groups whose key nobody asks for can be left out, by leaving out their rows.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, SubqueryAlias};

use super::region::picked;

/// The aggregate below a plan, and the expression that it groups by under the name of this column.
pub(super) fn group_key<'a>(
    plan: &'a LogicalPlan,
    column: &Column,
) -> Option<(&'a Aggregate, &'a Expr)> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => {
            let at = aggregate.schema.maybe_index_of_column(column)?;
            let key = aggregate.group_expr.get(at)?;
            let plain = aggregate.group_expr.iter().all(|key| !matches!(key, Expr::GroupingSet(_)));
            (plain && !key.is_volatile()).then_some((aggregate, key))
        }
        LogicalPlan::Projection(projection) => {
            let at = projection.schema.maybe_index_of_column(column)?;
            group_key(&projection.input, picked(&projection.expr[at])?)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let at = alias.schema.maybe_index_of_column(column)?;
            group_key(&alias.input, &alias.input.schema().columns()[at])
        }
        LogicalPlan::Filter(filter) => group_key(&filter.input, column),
        _ => None,
    }
}

/// The same plan with another input of its aggregate. The input has to have the same fields.
pub(super) fn with_input(
    plan: LogicalPlan,
    change: &mut dyn FnMut(LogicalPlan) -> Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let mut below = |input: Arc<LogicalPlan>| -> Result<Arc<LogicalPlan>> {
        Ok(Arc::new(with_input(Arc::unwrap_or_clone(input), change)?))
    };
    Ok(match plan {
        LogicalPlan::Projection(mut projection) => {
            projection.input = below(projection.input)?;
            LogicalPlan::Projection(projection)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = below(alias.input)?;
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, alias.alias)?)
        }
        LogicalPlan::Filter(mut filter) => {
            filter.input = below(filter.input)?;
            LogicalPlan::Filter(filter)
        }
        LogicalPlan::Aggregate(mut aggregate) => {
            aggregate.input = Arc::new(change(Arc::unwrap_or_clone(aggregate.input))?);
            LogicalPlan::Aggregate(aggregate)
        }
        other => other,
    })
}
