//! A tree of joins becomes a plan again, with the fields that the region had.
//!
//! What always holds: a predicate is computed in the first join that has all its columns, and
//! nowhere else; of a class of equal columns each join compares one from either side. The left side
//! of each join is the one that the hash table is made of.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::{Column, JoinType, NullEquality, Result, TableReference};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Join, JoinConstraint, LogicalPlan, Projection};

use super::enumerate::Tree;
use super::graph::Set;
use super::model::{Joined, Model, Predicate, has_subquery};
use super::region::{Filtering, Output, filtered};

/// The plan that joins as the tree says.
pub(super) fn rebuild(model: &Model, tree: &Tree, output: &Output) -> Result<LogicalPlan> {
    let joined = join(model, tree)?;
    let plan = filtered(joined.plan, model.constants.clone())?;
    restore(plan, output)
}

/// A plan, and the relations of the graph that it joins.
struct Side {
    plan: LogicalPlan,
    set: Set,
}

fn join(model: &Model, tree: &Tree) -> Result<Side> {
    match tree {
        Tree::Relation(at) => Ok(Side { plan: model.relations[*at].plan.clone(), set: 1 << at }),
        Tree::Join { build, probe } => {
            let (left, right) = (join(model, build)?, join(model, probe)?);
            let set = left.set | right.set;
            let plan = match (filter_of(model, left.set), filter_of(model, right.set)) {
                (Some(filtering), _) => filter_join(model, filtering, right, left.plan, false)?,
                (_, Some(filtering)) => filter_join(model, filtering, left, right.plan, true)?,
                _ => inner_join(model, left, right)?,
            };
            Ok(Side { plan, set })
        }
    }
}

fn filter_of(model: &Model, set: Set) -> Option<&Filtering> {
    let alone = set.count_ones() == 1;
    let relation: Option<&Joined> = alone.then(|| &model.relations[set.trailing_zeros() as usize]);
    relation?.filtering.as_ref()
}

fn inner_join(model: &Model, left: Side, right: Side) -> Result<LogicalPlan> {
    let mut on = Vec::new();
    for class in &model.classes {
        let member = |set: Set| class.iter().find(|(at, _)| set & 1 << at != 0);
        if let (Some((_, one)), Some((_, other))) = (member(left.set), member(right.set)) {
            on.push((Expr::Column(one.clone()), Expr::Column(other.clone())));
        }
    }
    let mut filters = Vec::new();
    for (predicate, facts) in model.predicates.iter().zip(&model.graph.predicates) {
        if facts.becomes_whole(left.set, right.set) {
            match key(predicate, left.set, right.set) {
                Some(key) => on.push(key),
                None => filters.push(predicate.expr.clone()),
            }
        }
    }
    let (above, within): (Vec<Expr>, Vec<Expr>) = filters.into_iter().partition(has_subquery);
    let filter = conjunction(within);
    filtered(new_join(left.plan, right.plan, on, filter, JoinType::Inner, false)?, above)
}

/// The predicate as a key of the join, if each side of it is on one side of the join.
fn key(predicate: &Predicate, left: Set, right: Set) -> Option<(Expr, Expr)> {
    let [(one, one_set), (other, other_set)] = predicate.sides.as_ref()?;
    if one_set & !left == 0 && other_set & !right == 0 {
        Some((one.clone(), other.clone()))
    } else if one_set & !right == 0 && other_set & !left == 0 {
        Some((other.clone(), one.clone()))
    } else {
        None
    }
}

fn filter_join(
    model: &Model,
    filtering: &Filtering,
    kept: Side,
    other: LogicalPlan,
    builds_kept: bool,
) -> Result<LogicalPlan> {
    let mut on = Vec::new();
    for (keeps, compares) in &filtering.on {
        let keeps = model.over(keeps, kept.set, kept.plan.schema())?;
        on.push(if builds_kept { (keeps, compares.clone()) } else { (compares.clone(), keeps) });
    }
    let filter = match &filtering.filter {
        Some(filter) => {
            Some(model.over(filter, kept.set, &kept.plan.schema().join(other.schema())?)?)
        }
        None => None,
    };
    let join_type = match (filtering.anti, builds_kept) {
        (false, true) => JoinType::LeftSemi,
        (false, false) => JoinType::RightSemi,
        (true, true) => JoinType::LeftAnti,
        (true, false) => JoinType::RightAnti,
    };
    let (left, right) = if builds_kept { (kept.plan, other) } else { (other, kept.plan) };
    new_join(left, right, on, filter, join_type, filtering.null_aware)
}

fn new_join(
    left: LogicalPlan,
    right: LogicalPlan,
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
    join_type: JoinType,
    null_aware: bool,
) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Join(Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        filter,
        join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        null_aware,
    )?))
}

/// The fields that the plan had before, in their order and under their names.
pub(super) fn restore(plan: LogicalPlan, output: &Output) -> Result<LogicalPlan> {
    if plan.schema().columns() == output.schema.columns() {
        return Ok(plan);
    }
    let field = |(column, (qualifier, field)): (&Column, (Option<&TableReference>, &FieldRef))| {
        let same = column.relation.as_ref() == qualifier && column.name == *field.name();
        let expr = Expr::Column(column.clone());
        if same { expr } else { expr.alias_qualified(qualifier.cloned(), field.name()) }
    };
    let exprs = output.columns.iter().zip(output.schema.iter()).map(field).collect();
    let schema = Arc::clone(&output.schema);
    Ok(LogicalPlan::Projection(Projection::try_new_with_schema(exprs, Arc::new(plan), schema)?))
}
