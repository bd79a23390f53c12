//! Aggregates that are joined compute only the groups that the join can use.
//!
//! `avg(l_quantity)` for each part, joined with the 200 parts of one brand, is computed for these
//! parts alone: the aggregate's input is joined, by a semi join, with a second reading of the small
//! relation. This is what magic sets do (Seshadri, Hellerstein et al., Cost-based optimization for
//! magic, SIGMOD 1996), for one relation and one key. What always holds: a group is kept whole or
//! left out whole, and one that is left out would have found no partner in the region.

use std::sync::Arc;

use datafusion::common::alias::AliasGenerator;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::{
    Expr, Join, JoinConstraint, LogicalPlan, Projection, SubqueryAlias,
};

use super::estimate::{Estimate, estimate, of_expr, values_among};
use super::groups::{group_key, with_input};
use super::region::Region;

/// Begins the name of every second reading, by which it is known that one was added before.
const ALIAS: &str = "__needed_groups";
/// Putting a row into its group, reading a row of a table again and looking for it in the semi
/// join's table, in the units of join costs.
const GROUP: f64 = 60.0;
const READ: f64 = 3.0;
const LOOK: f64 = 15.0;
/// A semi join that keeps more than this is not worth a guess.
const KEEPS_MOST: f64 = 0.25;

/// Cuts down the aggregates among the relations of a region.
pub(super) fn restrict(region: &mut Region, aliases: &AliasGenerator) -> Result<()> {
    let equal = equal_columns(region);
    for at in 0..region.relations.len() {
        let Some(chosen) = best(region, &equal, at) else { continue };
        let small = region.relations[chosen.small].plan.clone();
        let plan = std::mem::take(&mut region.relations[at].plan);
        let needed = with_input(plan, &mut |input| chosen.semi_join(input, &small, aliases))?;
        region.relations[at].plan = needed;
    }
    Ok(())
}

/// Pairs of relation and column, in classes of those that are equal in the result.
type Equal = Vec<Vec<(usize, Column)>>;

fn equal_columns(region: &Region) -> Equal {
    let origin = |expr: &Expr| {
        let Expr::Column(column) = expr else { return None };
        let has = |at: &usize| region.relations[*at].plan.schema().has_column(column);
        (0..region.relations.len()).find(has).map(|at| (at, column.clone()))
    };
    let filters = || region.relations.iter().filter_map(|relation| relation.filtering.as_ref());
    let mut classes: Equal = Vec::new();
    let kept = filters().filter(|filtering| !filtering.anti).flat_map(|filtering| &filtering.on);
    for (one, other) in region.equalities.iter().chain(kept) {
        if let (Some(one), Some(other)) = (origin(one), origin(other)) {
            unite(&mut classes, one, other);
        }
    }
    // What an anti join compares with is equal to nothing, but may itself be cut down: a class of
    // its own for each comparison.
    let negated = filters().filter(|filtering| filtering.anti && !filtering.null_aware);
    let mut compared = Vec::new();
    for (one, other) in negated.flat_map(|filtering| &filtering.on) {
        if let (Some(one), Some(other)) = (origin(one), origin(other)) {
            let class = classes.iter().find(|class| class.contains(&one));
            let mut class = class.cloned().unwrap_or_else(|| vec![one]);
            class.push(other);
            compared.push(class);
        }
    }
    classes.extend(compared);
    classes
}

fn unite(classes: &mut Equal, one: (usize, Column), other: (usize, Column)) {
    let mut class = vec![one, other];
    let mut at = 0;
    while at < classes.len() {
        if classes[at].iter().any(|member| class.contains(member)) {
            class.extend(classes.swap_remove(at));
        } else {
            at += 1;
        }
    }
    class.dedup();
    classes.push(class);
}

/// Which keys of an aggregate are needed, and who knows it.
struct Choice {
    small: usize,
    column: Column,
    key: Expr,
}

fn best(region: &Region, equal: &Equal, at: usize) -> Option<Choice> {
    let plan = &region.relations[at].plan;
    if is_restricted(plan) {
        return None;
    }
    let mut best: Option<(f64, Choice)> = None;
    for class in equal {
        let ours = class.iter().filter(|(relation, _)| *relation == at);
        for (aggregate, key) in ours.filter_map(|(_, column)| group_key(plan, column)) {
            let input = estimate(&aggregate.input);
            let groups = of_expr(key, aggregate.input.schema(), &input).distinct;
            for (small, column) in class.iter().filter(|(relation, _)| *relation != at) {
                let gain = gain(region, *small, column, &input, groups);
                if gain > best.as_ref().map_or(0.0, |(most, _)| *most) {
                    let (column, key) = (column.clone(), key.clone());
                    best = Some((gain, Choice { small: *small, column, key }));
                }
            }
        }
    }
    best.map(|(_, choice)| choice)
}

/// What is saved if only the groups are computed whose key the small relation has.
fn gain(region: &Region, small: usize, column: &Column, input: &Estimate, groups: f64) -> f64 {
    let relation = &region.relations[small];
    let anti = relation.filtering.as_ref().is_some_and(|filtering| filtering.anti);
    let Some(reading) = reading_cost(&relation.plan).filter(|_| !anti) else { return 0.0 };
    let rows = estimate(&relation.plan);
    let key = of_expr(&Expr::Column(column.clone()), relation.plan.schema(), &rows);
    let keeps = values_among(key.distinct, rows.rows) / values_among(groups, input.rows);
    if keeps > KEEPS_MOST {
        return 0.0;
    }
    input.rows * ((1.0 - keeps) * GROUP - LOOK) - reading - rows.rows * GROUP
}

/// What it costs to read a relation once more; `None` if it could give other rows then.
fn reading_cost(plan: &LogicalPlan) -> Option<f64> {
    match plan {
        LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
            Some(estimate(plan).rows_before * READ)
        }
        LogicalPlan::Filter(filter) if !filter.predicate.is_volatile() => {
            reading_cost(&filter.input)
        }
        LogicalPlan::Projection(projection)
            if !projection.expr.iter().any(|expr| expr.is_volatile()) =>
        {
            reading_cost(&projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => reading_cost(&alias.input),
        _ => None,
    }
}

fn is_restricted(plan: &LogicalPlan) -> bool {
    plan.exists(|node| {
        Ok(match node {
            LogicalPlan::SubqueryAlias(alias) => alias.alias.table().starts_with(ALIAS),
            _ => false,
        })
    })
    .unwrap_or(true)
}

impl Choice {
    fn semi_join(
        &self,
        input: LogicalPlan,
        small: &LogicalPlan,
        aliases: &AliasGenerator,
    ) -> Result<LogicalPlan> {
        let picked = Expr::Column(self.column.clone()).alias("key");
        let keys =
            LogicalPlan::Projection(Projection::try_new(vec![picked], Arc::new(small.clone()))?);
        let alias = aliases.next(ALIAS);
        let keys =
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(keys), alias.as_str())?);
        let needed = Expr::Column(Column::new(Some(alias), "key"));
        Ok(LogicalPlan::Join(Join::try_new(
            Arc::new(input),
            Arc::new(keys),
            vec![(self.key.clone(), needed)],
            None,
            JoinType::LeftSemi,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        )?))
    }
}
