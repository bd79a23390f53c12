//! A region of a plan: joins that may be done in any order, taken apart into what they join.
//!
//! Inner, semi and anti joins take part, with filters, projections that only pick and rename, and
//! aliases between them. Everything else is a relation of the region, an operator like any other.
//! What always holds: the columns of all relations have different names, so that an expression
//! means the same wherever it is put; where a query names two alike (in subqueries, say), the
//! columns of the second are renamed. Two NULLs never meet in a region: joins that let them, as
//! INTERSECT does, are relations.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef, JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, Join, LogicalPlan, Projection};

use super::graph::RELATIONS_MAX;

/// What a region consists of. Expressions are over the columns of the relations.
#[derive(Debug, Default)]
pub(super) struct Region {
    pub(super) relations: Vec<Relation>,
    pub(super) equalities: Vec<(Expr, Expr)>,
    pub(super) predicates: Vec<Expr>,
    taken: HashSet<Column>,
}

/// What is joined in a region.
#[derive(Debug)]
pub(super) struct Relation {
    pub(super) plan: LogicalPlan,
    /// None if its columns take part in the result.
    pub(super) filtering: Option<Filtering>,
}

/// What a semi or anti join compares.
#[derive(Debug, Clone)]
pub(super) struct Filtering {
    pub(super) anti: bool,
    /// NOT IN: a NULL among the values lets nothing pass.
    pub(super) null_aware: bool,
    /// Equalities, with the side that stays first.
    pub(super) on: Vec<(Expr, Expr)>,
    pub(super) filter: Option<Expr>,
}

/// What the fields of the region's result are.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) columns: Vec<Column>,
    pub(super) schema: DFSchemaRef,
}

/// Whether a plan is the top of a region.
pub(super) fn is_region(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => takes_part(join),
        LogicalPlan::Filter(filter) => is_free(&filter.predicate) && reaches_join(&filter.input),
        _ => false,
    }
}

/// Takes a region apart.
pub(super) fn take_apart(plan: LogicalPlan) -> Result<(Region, Output)> {
    let mut region = Region::default();
    let schema = Arc::clone(plan.schema());
    let columns = region.absorb(plan)?;
    Ok((region, Output { columns, schema }))
}

fn takes_part(join: &Join) -> bool {
    use JoinType::{Inner, LeftAnti, LeftSemi, RightAnti, RightSemi};
    let of_type = match join.join_type {
        Inner | LeftSemi | RightSemi | RightAnti => !join.null_aware,
        LeftAnti => true,
        _ => false,
    };
    of_type
        && join.null_equality == NullEquality::NullEqualsNothing
        && join.on.iter().all(|(left, right)| is_free(left) && is_free(right))
        && join.filter.iter().all(is_free)
}

/// Whether an expression may be computed anywhere and any number of times.
fn is_free(expr: &Expr) -> bool {
    let outer = |expr: &Expr| match expr {
        Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
        Expr::OuterReferenceColumn(..) => true,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
        _ => false,
    };
    !expr.is_volatile() && !expr.exists(|expr| Ok(outer(expr))).unwrap_or(true)
}

/// Whether a join that takes part lies below, with nothing in between but what is looked through.
fn reaches_join(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => takes_part(join),
        LogicalPlan::Filter(filter) => is_free(&filter.predicate) && reaches_join(&filter.input),
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().all(|expr| picked(expr).is_some())
                && reaches_join(&projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => reaches_join(&alias.input),
        _ => false,
    }
}

/// The column that an expression picks, under its own name or another.
pub(super) fn picked(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => picked(&alias.expr),
        _ => None,
    }
}

/// The names of a plan's fields, and the columns that they stand for.
struct Names(HashMap<Column, Column>);

impl Names {
    fn new(schema: &DFSchema, columns: &[Column]) -> Self {
        Names(schema.columns().into_iter().zip(columns.iter().cloned()).collect())
    }

    fn and(mut self, other: Names) -> Self {
        self.0.extend(other.0);
        self
    }

    fn column(&self, column: &Column) -> Column {
        self.0.get(column).unwrap_or(column).clone()
    }

    fn expr(&self, expr: Expr) -> Result<Expr> {
        replace_columns(expr, &|column| self.0.get(column).cloned().map(Expr::Column))
    }
}

/// Puts other expressions in the place of columns.
pub(super) fn replace_columns(
    expr: Expr,
    replacement: &dyn Fn(&Column) -> Option<Expr>,
) -> Result<Expr> {
    let replaced = expr.transform_down(|expr| match &expr {
        Expr::Column(column) => Ok(match replacement(column) {
            Some(other) => Transformed::new(other, true, TreeNodeRecursion::Jump),
            None => Transformed::no(expr),
        }),
        _ => Ok(Transformed::no(expr)),
    });
    Ok(replaced?.data)
}

impl Region {
    /// Takes a plan in; the columns that its fields stand for.
    fn absorb(&mut self, plan: LogicalPlan) -> Result<Vec<Column>> {
        if !reaches_join(&plan) || self.relations.len() + 2 > RELATIONS_MAX {
            return self.add(plan, None);
        }
        match plan {
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => self.absorb_inner(join),
            LogicalPlan::Join(join) => self.absorb_filtering(join),
            LogicalPlan::Filter(filter) => {
                let schema = Arc::clone(filter.input.schema());
                let columns = self.absorb(Arc::unwrap_or_clone(filter.input))?;
                let predicate = Names::new(&schema, &columns).expr(filter.predicate)?;
                self.predicates.extend(split_conjunction_owned(predicate));
                Ok(columns)
            }
            LogicalPlan::Projection(projection) => {
                let schema = Arc::clone(projection.input.schema());
                let columns = self.absorb(Arc::unwrap_or_clone(projection.input))?;
                let names = Names::new(&schema, &columns);
                let picks = projection.expr.iter().filter_map(picked);
                Ok(picks.map(|column| names.column(column)).collect())
            }
            LogicalPlan::SubqueryAlias(alias) => self.absorb(Arc::unwrap_or_clone(alias.input)),
            other => self.add(other, None),
        }
    }

    fn absorb_inner(&mut self, join: Join) -> Result<Vec<Column>> {
        let (left_schema, right_schema) =
            (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
        let mut columns = self.absorb(Arc::unwrap_or_clone(join.left))?;
        let left = Names::new(&left_schema, &columns);
        let others = self.absorb(Arc::unwrap_or_clone(join.right))?;
        let right = Names::new(&right_schema, &others);
        columns.extend(others);
        for (one, other) in join.on {
            self.equalities.push((left.expr(one)?, right.expr(other)?));
        }
        if let Some(filter) = join.filter {
            let filter = left.and(right).expr(filter)?;
            self.predicates.extend(split_conjunction_owned(filter));
        }
        Ok(columns)
    }

    fn absorb_filtering(&mut self, join: Join) -> Result<Vec<Column>> {
        let from_left = matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti);
        let (kept, other) =
            if from_left { (join.left, join.right) } else { (join.right, join.left) };
        let (kept_schema, other_schema) = (Arc::clone(kept.schema()), Arc::clone(other.schema()));
        let columns = self.absorb(Arc::unwrap_or_clone(kept))?;
        let kept = Names::new(&kept_schema, &columns);
        let place = self.relations.len();
        let others = self.add(Arc::unwrap_or_clone(other), None)?;
        let other = Names::new(&other_schema, &others);
        let mut on = Vec::new();
        for (left, right) in join.on {
            let (keeps, compares) = if from_left { (left, right) } else { (right, left) };
            on.push((kept.expr(keeps)?, other.expr(compares)?));
        }
        let filter = join.filter.map(|filter| kept.and(other).expr(filter)).transpose()?;
        self.relations[place].filtering = Some(Filtering {
            anti: matches!(join.join_type, JoinType::LeftAnti | JoinType::RightAnti),
            null_aware: join.null_aware,
            on,
            filter,
        });
        Ok(columns)
    }

    fn add(&mut self, plan: LogicalPlan, filtering: Option<Filtering>) -> Result<Vec<Column>> {
        let columns = plan.schema().columns();
        let plan = if columns.iter().any(|column| self.clashes(column)) {
            self.renamed(plan, &columns)?
        } else {
            plan
        };
        let columns = plan.schema().columns();
        self.taken.extend(columns.iter().cloned());
        self.relations.push(Relation { plan, filtering });
        Ok(columns)
    }

    /// Whether a column's name could be taken for that of another one.
    fn clashes(&self, column: &Column) -> bool {
        self.taken.iter().any(|taken| {
            taken.name == column.name
                && (taken.relation == column.relation
                    || taken.relation.is_none()
                    || column.relation.is_none())
        })
    }

    fn renamed(&self, plan: LogicalPlan, columns: &[Column]) -> Result<LogicalPlan> {
        let mut number = self.relations.len();
        let qualified = |number| format!("relation_{number}");
        let used = |name: &str| {
            self.taken
                .iter()
                .any(|column| column.relation.as_ref().is_some_and(|r| r.table() == name))
        };
        while used(&qualified(number)) {
            number += 1;
        }
        let rename = |(at, column): (usize, &Column)| {
            let name = format!("{}_{at}", column.name);
            Expr::Column(column.clone()).alias_qualified(Some(qualified(number)), name)
        };
        let exprs = columns.iter().enumerate().map(rename).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
    }
}

/// A filter over a plan, if there is anything to filter.
pub(super) fn filtered(plan: LogicalPlan, predicates: Vec<Expr>) -> Result<LogicalPlan> {
    match conjunction(predicates) {
        Some(predicate) => Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?)),
        None => Ok(plan),
    }
}
