//! Columns that rows are grouped by though nobody asked for them.
//!
//! Where rows are grouped by the key of a table, DataFusion's binder groups them by all of its
//! columns, so that each may be selected; those that are not, texts among them, would be read and
//! compared for each row. They are left out here, as long as the key that determines them stays,
//! and where nothing but joins, filters and what is computed of one row is between the table and
//! the groups: of the rows of an array, for one, the key beside it is none any more.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

/// The rule, before the one that strips keys.
#[derive(Debug)]
pub(crate) struct WithoutImplicitKeys;

impl AnalyzerRule for WithoutImplicitKeys {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|node| {
            let LogicalPlan::Projection(projection) = &node else {
                return Ok(Transformed::no(node));
            };
            Ok(match without(projection)? {
                Some(projection) => Transformed::yes(LogicalPlan::Projection(projection)),
                None => Transformed::no(node),
            })
        })?;
        Ok(changed.data)
    }

    fn name(&self) -> &str {
        "without_implicit_keys"
    }
}

/// A projection of groups, perhaps with a condition on them, whose keys are those that it needs;
/// `None` if it is none, or needs all.
fn without(projection: &Projection) -> PlanResult<Option<Projection>> {
    let (filter, groups) = match &*projection.input {
        LogicalPlan::Filter(filter) => (Some(filter), &filter.input),
        _ => (None, &projection.input),
    };
    let LogicalPlan::Aggregate(aggregate) = &**groups else { return Ok(None) };
    let asked = projection.expr.iter().chain(filter.map(|filter| &filter.predicate));
    let asked: Vec<&Column> = asked.flat_map(Expr::column_refs).collect();
    let is_asked = |group: &Expr| match group {
        Expr::Column(column) => asked.contains(&column),
        _ => true,
    };
    let (kept, others): (Vec<&Expr>, Vec<&Expr>) =
        aggregate.group_expr.iter().partition(|group| is_asked(group) || is_key(group, aggregate));
    let schema = aggregate.input.schema();
    let mut tables = Vec::new();
    tables_of(&aggregate.input, &mut tables);
    let stays =
        |group: &&Expr| !others.contains(group) || !is_determined(group, &kept, schema, &tables);
    let groups: Vec<Expr> = aggregate.group_expr.iter().filter(stays).cloned().collect();
    if groups.len() == aggregate.group_expr.len() {
        return Ok(None);
    }
    let input = Arc::clone(&aggregate.input);
    let aggregate = Aggregate::try_new(input, groups, aggregate.aggr_expr.clone())?;
    let mut input = Arc::new(LogicalPlan::Aggregate(aggregate));
    if let Some(filter) = filter {
        let filter = Filter::try_new(filter.predicate.clone(), input)?;
        input = Arc::new(LogicalPlan::Filter(filter));
    }
    Ok(Some(Projection::try_new(projection.expr.clone(), input)?))
}

/// Whether a column is part of a key that rows are grouped by.
fn is_key(group: &Expr, aggregate: &Aggregate) -> bool {
    let schema = aggregate.input.schema();
    let place = place_of(group, schema);
    schema.functional_dependencies().iter().any(|key| {
        let is_grouped_by = |source: &usize| {
            aggregate.group_expr.iter().any(|group| place_of(group, schema) == Some(*source))
        };
        place.is_some_and(|place| key.source_indices.contains(&place))
            && key.source_indices.iter().all(is_grouped_by)
    })
}

/// The names of the tables whose rows are joined and filtered in a plan, and no more.
fn tables_of(plan: &LogicalPlan, tables: &mut Vec<TableReference>) {
    match plan {
        LogicalPlan::TableScan(scan) => tables.push(scan.table_name.clone()),
        LogicalPlan::SubqueryAlias(alias) if has_rows_of_a_table(&alias.input) => {
            tables.push(alias.alias.clone());
        }
        LogicalPlan::Filter(filter) => tables_of(&filter.input, tables),
        LogicalPlan::Join(join) => {
            tables_of(&join.left, tables);
            tables_of(&join.right, tables);
        }
        _ => {}
    }
}

/// Whether its rows are those of a table, some of them, each once.
fn has_rows_of_a_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::Filter(filter) => has_rows_of_a_table(&filter.input),
        LogicalPlan::Projection(projection) => has_rows_of_a_table(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_rows_of_a_table(&alias.input),
        _ => false,
    }
}

/// Whether a column is one of a table whose key is among others.
fn is_determined(
    group: &Expr,
    others: &[&Expr],
    schema: &DFSchema,
    tables: &[TableReference],
) -> bool {
    let Some(place) = place_of(group, schema) else { return false };
    let table = |place: usize| schema.qualified_field(place).0;
    schema.functional_dependencies().iter().any(|key| {
        let is_there = |source: &usize| {
            // What is known of the keys of another table is too much where rows were joined.
            table(*source) == table(place)
                && others.iter().any(|other| place_of(other, schema) == Some(*source))
        };
        !key.nullable
            && table(place).is_some_and(|table| tables.contains(table))
            && key.target_indices.contains(&place)
            && key.source_indices.iter().all(is_there)
    })
}

fn place_of(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    match expr {
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    }
}
