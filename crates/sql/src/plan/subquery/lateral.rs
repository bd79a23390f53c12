//! LATERAL queries that the planner cannot make joins of.
//!
//! It joins those that say of the rows before them what a join can say. Any other is asked once for
//! all rows that ask the same, and answers with all its rows as one list; unnesting makes rows of
//! it, each beside the row that asked.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, UnnestOptions};
use datafusion::error::Result as PlanResult;
use datafusion::functions::core::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::logical_plan::{Projection, Subquery, SubqueryAlias};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder, lit};

use super::shape::{is_join, is_joined_value, outer_columns};
use super::subplan::{Around, Asked, call};

/// The column with the rows of the answer.
const ROWS: &str = "\u{1}rows";

/// The type of all rows with these columns, as one value; the columns have numbers for names.
pub(crate) fn list_of(columns: &Fields) -> DataType {
    let fields = columns
        .iter()
        .enumerate()
        .map(|(place, column)| Field::new(place.to_string(), column.data_type().clone(), true));
    let row = DataType::Struct(fields.collect::<Vec<_>>().into());
    DataType::List(Arc::new(Field::new_list_field(row, true)))
}

/// The join, without a LATERAL query that the planner would not take.
pub(crate) fn unnested(join: Join) -> PlanResult<Transformed<LogicalPlan>> {
    let Some(subquery) = lateral_of(&join.right) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let around = Arc::clone(join.left.schema());
    let is_kept = !matches!(join.join_type, JoinType::Inner | JoinType::Left)
        || outer_columns(subquery)?.is_empty()
        || is_join(subquery, &around)?
        || is_joined_value(subquery, &around)?;
    if is_kept {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let (columns, right) = (Arc::clone(join.right.schema()), plain(&join.right)?);
    let asked = asked_of(right, &join)?;
    let rows =
        call(Asked::Rows, None, Arc::new(asked), &Around { columns: &around, anchor: None })?;
    let mut items: Vec<Expr> = around.columns().into_iter().map(Expr::Column).collect();
    items.push(rows.alias(ROWS));
    // Where there are no rows, the answer is NULL, of which an outer join makes a row.
    let options = UnnestOptions::new().with_preserve_nulls(join.join_type == JoinType::Left);
    let unnested = LogicalPlanBuilder::from(Arc::unwrap_or_clone(join.left))
        .project(items)?
        .unnest_column_with_options(Column::from_name(ROWS), options)?;
    let mut items: Vec<Expr> = around.columns().into_iter().map(Expr::Column).collect();
    items.extend(columns.iter().enumerate().map(|(place, (table, field))| {
        let args = vec![Expr::Column(Column::from_name(ROWS)), lit(place.to_string())];
        let value = Expr::ScalarFunction(ScalarFunction::new_udf(get_field(), args));
        value.alias_qualified(table.cloned(), field.name().clone())
    }));
    Ok(Transformed::yes(unnested.project(items)?.build()?))
}

/// The query itself, if this is a LATERAL one by whatever name.
fn lateral_of(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => lateral_of(&alias.input),
        LogicalPlan::Projection(projection) => lateral_of(&projection.input),
        LogicalPlan::Subquery(Subquery { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// The same as a query like others.
fn plain(plan: &LogicalPlan) -> PlanResult<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::SubqueryAlias(named) => {
            let input = Arc::new(plain(&named.input)?);
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, named.alias.clone())?)
        }
        LogicalPlan::Projection(projection) => {
            let input = Arc::new(plain(&projection.input)?);
            LogicalPlan::Projection(Projection::try_new(projection.expr.clone(), input)?)
        }
        LogicalPlan::Subquery(Subquery { subquery, .. }) => subquery.as_ref().clone(),
        other => other.clone(),
    })
}

/// What is asked for each row: the query's rows that meet the join's condition.
fn asked_of(right: LogicalPlan, join: &Join) -> PlanResult<LogicalPlan> {
    let keys = join.on.iter().map(|(one, other)| one.clone().eq(other.clone()));
    let Some(condition) = conjunction(keys.chain(join.filter.clone())) else { return Ok(right) };
    let around = join.left.schema();
    let condition = condition.transform_up(|expr| {
        let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
        Ok(match around.qualified_field_from_column(column) {
            Ok((_, field)) => {
                let outer = Expr::OuterReferenceColumn(Arc::clone(field), column.clone());
                Transformed::yes(outer)
            }
            Err(_) => Transformed::no(expr),
        })
    })?;
    LogicalPlanBuilder::from(right).filter(condition.data)?.build()
}
