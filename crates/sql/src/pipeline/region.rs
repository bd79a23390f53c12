//! Inner joins that stand on one another as a graph, and the row of joins that it becomes.
//!
//! Whatever tree the joins were in, their inputs are nodes, and columns that have to be equal are
//! one class. From a node from which all others are reached by their unique keys, such as the
//! table of facts of a star, tuples go from one look-up to the next and never become more; no
//! join's result is collected. What a tree would have kept away by joining two inputs first, the
//! keys keep away that are told to scans. Where there is no such node, the tree stays as it is.

use std::sync::Arc;

use datafusion::common::{JoinType, NullEquality};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::plan::{Expr, can_be_joined, filter_over, is_small, over};
use crate::scan::exec::ScanExec;

/// Inner joins that stand on one another.
#[derive(Default)]
pub(crate) struct Region {
    /// What is joined, in the order in which it was met: that whose rows stream comes last.
    pub(crate) nodes: Vec<Arc<dyn ExecutionPlan>>,
    /// The node of each column, and its place there.
    pub(crate) columns: Vec<(usize, usize)>,
    /// Columns that are equal.
    classes: Vec<Vec<usize>>,
    /// What tuples have to meet beside that, over these columns.
    pub(crate) filters: Vec<Expr>,
    /// What goes out, over these columns.
    pub(crate) outputs: Vec<Expr>,
}

/// A node that is joined, by columns that are equal to those of nodes before it.
pub(crate) struct Step {
    pub(crate) node: usize,
    /// A column of a node before, and one of this node.
    pub(crate) keys: Vec<(usize, usize)>,
}

impl Region {
    /// The joins that a plan stands on; `None` if it is none, or a key is no column, or the order
    /// of the rows matters.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Self>> {
        if inner_join(plan).is_none() || plan.output_ordering().is_some() {
            return Ok(None);
        }
        let mut region = Self::default();
        let outputs = region.collect(plan)?;
        Ok(outputs.filter(|_| region.nodes.len() > 2).map(|outputs| Self { outputs, ..region }))
    }

    /// The nodes in an order in which each is found by a unique key, the first of which is the one
    /// whose rows stream; `None` if there is no such order.
    pub(crate) fn steps(&self) -> Option<(usize, Vec<Step>)> {
        let unique: Vec<_> = self.nodes.iter().map(unique_keys).collect();
        (0..self.nodes.len()).rev().find_map(|first| {
            // Two columns of its own that are equal would need a condition.
            let mut of_first = self.classes.iter().map(|class| {
                class.iter().filter(|column| self.columns[**column].0 == first).count()
            });
            if of_first.any(|columns| columns > 1) {
                return None;
            }
            Some((first, self.steps_from(first, &unique)?))
        })
    }

    fn steps_from(&self, first: usize, unique: &[Vec<Vec<usize>>]) -> Option<Vec<Step>> {
        let mut is_there = vec![false; self.nodes.len()];
        is_there[first] = true;
        let mut steps: Vec<Step> = Vec::new();
        let mut order = vec![first];
        while order.len() < self.nodes.len() {
            let next = (0..self.nodes.len()).rev().filter(|node| !is_there[*node]);
            let step = next.map(|node| self.step(node, &order)).find(|step| {
                let has = |place: &usize| {
                    step.keys.iter().any(|(_, column)| self.columns[*column].1 == *place)
                };
                unique[step.node].iter().any(|key| key.iter().all(has))
            })?;
            is_there[step.node] = true;
            order.push(step.node);
            steps.push(step);
        }
        Some(steps)
    }

    /// A node with all of its columns that are equal to some of nodes that are there, the first of
    /// which is preferred.
    fn step(&self, node: usize, order: &[usize]) -> Step {
        let keys = self.classes.iter().flat_map(|class| {
            let of = |column: &usize| self.columns[*column].0;
            let there = order.iter().find_map(|before| class.iter().find(|it| of(it) == *before));
            let own = class.iter().filter(move |column| of(column) == node);
            own.filter_map(move |own| Some((*there?, *own)))
        });
        Step { node, keys: keys.collect() }
    }

    /// Adds what a plan joins, and says what it gives out.
    fn collect(&mut self, plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Vec<Expr>>> {
        if let Some(join) = plan.downcast_ref::<HashJoinExec>().filter(|join| is_inner(join)) {
            return self.collect_join(join);
        }
        if inner_join(plan).is_some() {
            if let Some(filter) = plan.downcast_ref::<FilterExec>() {
                let Some(outputs) = self.collect(filter.input())? else { return Ok(None) };
                self.filters.push(over(filter.predicate(), &outputs)?);
                return Ok(Some(projected(outputs, filter.projection().as_deref())));
            }
            if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
                let Some(outputs) = self.collect(projection.input())? else { return Ok(None) };
                if !is_small(projection, &outputs) {
                    return Ok(None);
                }
                let items = projection.expr().iter().map(|item| over(&item.expr, &outputs));
                return Ok(Some(items.collect::<PlanResult<_>>()?));
            }
            if let Some(cooperative) = plan.downcast_ref::<CooperativeExec>() {
                return self.collect(cooperative.input());
            }
        }
        let (node, first) = (self.nodes.len(), self.columns.len());
        let schema = plan.schema();
        self.nodes.push(Arc::clone(plan));
        self.columns.extend((0..schema.fields().len()).map(|place| (node, place)));
        let column =
            |place: usize| Arc::new(Column::new(schema.field(place).name(), first + place)) as Expr;
        Ok(Some((0..schema.fields().len()).map(column).collect()))
    }

    fn collect_join(&mut self, join: &HashJoinExec) -> PlanResult<Option<Vec<Expr>>> {
        let Some(left) = self.collect(join.left())? else { return Ok(None) };
        let Some(right) = self.collect(join.right())? else { return Ok(None) };
        for (build, probe) in join.on() {
            let sides = [over(build, &left)?, over(probe, &right)?];
            let columns = sides.map(|side| side.downcast_ref::<Column>().map(Column::index));
            let [Some(one), Some(other)] = columns else { return Ok(None) };
            self.note_equal(one, other);
        }
        if let Some(filter) = join.filter() {
            self.filters.push(filter_over(filter, &left, &right)?);
        }
        let outputs = left.into_iter().chain(right).collect();
        Ok(Some(projected(outputs, join.projection.as_deref())))
    }

    /// Notes that two columns are equal, and so all that are equal to one of them.
    fn note_equal(&mut self, one: usize, other: usize) {
        let (mut class, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.classes)
            .into_iter()
            .partition(|class| class.contains(&one) || class.contains(&other));
        let mut columns: Vec<usize> = class.drain(..).flatten().chain([one, other]).collect();
        columns.sort_unstable();
        columns.dedup();
        self.classes = others;
        self.classes.push(columns);
    }
}

fn projected(outputs: Vec<Expr>, projection: Option<&[usize]>) -> Vec<Expr> {
    match projection {
        Some(places) => places.iter().map(|place| Arc::clone(&outputs[*place])).collect(),
        None => outputs,
    }
}

fn is_inner(join: &HashJoinExec) -> bool {
    *join.join_type() == JoinType::Inner
        && join.null_equality() == NullEquality::NullEqualsNothing
        && can_be_joined(join).unwrap_or_default()
}

/// The inner join that a plan is, or that stands below its filters and projections.
fn inner_join(plan: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return is_inner(join).then_some(join);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let is_volatile = datafusion::physical_expr_common::physical_expr::is_volatile;
        let is_plain = filter.fetch().is_none() && !is_volatile(filter.predicate());
        return is_plain.then(|| inner_join(filter.input())).flatten();
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let is_volatile = datafusion::physical_expr_common::physical_expr::is_volatile;
        let is_plain = !projection.expr().iter().any(|item| is_volatile(&item.expr));
        return is_plain.then(|| inner_join(projection.input())).flatten();
    }
    let cooperative = plan.downcast_ref::<CooperativeExec>()?;
    inner_join(cooperative.input())
}

/// Sets of columns of a plan of which no two rows have the same values.
fn unique_keys(plan: &Arc<dyn ExecutionPlan>) -> Vec<Vec<usize>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return scan.unique_keys();
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        let is_plain = !groups.has_grouping_set() && !groups.expr().is_empty();
        return if is_plain { vec![(0..groups.expr().len()).collect()] } else { Vec::new() };
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let side = match join.join_type() {
            JoinType::LeftSemi | JoinType::LeftAnti => join.left(),
            JoinType::RightSemi | JoinType::RightAnti => join.right(),
            _ => return Vec::new(),
        };
        let keys = unique_keys(side);
        return match &join.projection {
            None => keys,
            Some(projection) => {
                places_in(&keys, |column| projection.iter().position(|kept| *kept == column))
            }
        };
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let keys = unique_keys(filter.input());
        return match filter.projection() {
            None => keys,
            Some(projection) => {
                places_in(&keys, |column| projection.iter().position(|kept| *kept == column))
            }
        };
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let is_column = |expr: &Expr, column: usize| {
            expr.downcast_ref::<Column>().is_some_and(|it| it.index() == column)
        };
        return places_in(&unique_keys(projection.input()), |column| {
            projection.expr().iter().position(|item| is_column(&item.expr, column))
        });
    }
    match plan.downcast_ref::<CooperativeExec>() {
        Some(cooperative) => unique_keys(cooperative.input()),
        None => Vec::new(),
    }
}

/// Keys whose columns have other places, without those of which a column is gone.
fn places_in(keys: &[Vec<usize>], place: impl Fn(usize) -> Option<usize>) -> Vec<Vec<usize>> {
    let moved = |key: &Vec<usize>| key.iter().map(|column| place(*column)).collect();
    keys.iter().filter_map(moved).collect()
}
