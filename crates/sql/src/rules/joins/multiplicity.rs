//! INTERSECT ALL and EXCEPT ALL: how often a row is in both, or more often in the first.
//!
//! The binder makes joins of them that keep each row of the first query for which there is an equal
//! one, or none, in the second. Here equal rows are numbered on both sides, and a row is equal to
//! the one of its own number alone; columns of two types get the one that both fit into.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{ExprSchema, JoinType, NullEquality};
use datafusion::error::Result as PlanResult;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{
    Cast, Distinct, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder,
};

/// The column with a row's number among its equals.
const NUMBER: &str = "\u{1}number";

/// A bound plan with these operations as they are meant.
///
/// # Errors
/// None that a statement could cause.
pub(crate) fn counted(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let counted = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) if is_set_operation(&join) => {
            Ok(Transformed::yes(operation(join)?))
        }
        other => Ok(Transformed::no(other).map_data(LogicalPlan::recompute_schema)?),
    })?;
    Ok(counted.data)
}

/// Nothing else that is bound makes NULL equal NULL.
fn is_set_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
}

fn operation(join: Join) -> PlanResult<LogicalPlan> {
    let Join { left, right, join_type, .. } = join;
    let (left, right) = (Arc::unwrap_or_clone(left), Arc::unwrap_or_clone(right));
    // Without ALL the first query has each row once, as it has behind its own DISTINCT.
    let (left, is_distinct) = match left {
        LogicalPlan::Distinct(Distinct::All(input)) => (Arc::unwrap_or_clone(input), true),
        other => (other, false),
    };
    let types = left.schema().fields().iter().zip(right.schema().fields());
    let types = types.map(|(one, other)| {
        let (one, other) = (one.data_type(), other.data_type());
        type_union_coercion(one, other).unwrap_or_else(|| one.clone())
    });
    let types: Vec<DataType> = types.collect();
    let outputs: Vec<(Option<_>, String)> = left
        .schema()
        .iter()
        .map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()))
        .collect();
    let left = numbered(left, &types, "\u{1}first", !is_distinct)?;
    let left = if is_distinct { LogicalPlanBuilder::from(left).distinct()?.build()? } else { left };
    let right = numbered(right, &types, "\u{1}second", !is_distinct)?;
    let keys = (left.schema().columns(), right.schema().columns());
    let columns = left.schema().columns();
    let kept = columns
        .into_iter()
        .zip(outputs)
        .map(|(column, (relation, name))| Expr::Column(column).alias_qualified(relation, name));
    let kept: Vec<Expr> = kept.collect();
    LogicalPlanBuilder::from(left)
        .join_detailed(right, join_type, keys, None, NullEquality::NullEqualsNull)?
        .project(kept)?
        .build()
}

/// The rows with columns of these types, and of ALL with their numbers among their equals.
fn numbered(
    plan: LogicalPlan,
    types: &[DataType],
    name: &str,
    is_all: bool,
) -> PlanResult<LogicalPlan> {
    let items = plan.schema().columns().into_iter().zip(types).enumerate();
    let items = items.map(|(place, (column, wanted))| {
        let is_same = plan.schema().data_type(&column).is_ok_and(|of| of == wanted);
        let item = Expr::Column(column);
        let item = match is_same {
            true => item,
            false => Expr::Cast(Cast::new(Box::new(item), wanted.clone())),
        };
        item.alias(format!("{place}"))
    });
    let items: Vec<Expr> = items.collect();
    let plan = LogicalPlanBuilder::from(plan).project(items)?.alias(name)?;
    if !is_all {
        return plan.build();
    }
    let equals: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let function = WindowFunctionDefinition::WindowUDF(row_number_udwf());
    let number = Expr::from(WindowFunction::new(function, Vec::new()));
    let number = number.partition_by(equals).build()?.alias(NUMBER);
    plan.window([number])?.build()
}
