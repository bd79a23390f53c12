//! What a region says about the order of its joins: the graph of its relations with estimates, and
//! beside it the expressions that the graph's classes, predicates and filters stand for.
//!
//! What always holds: columns that the query makes equal, directly or over others, are one class.
//! In a set that is joined, all its columns of one class are equal, so that one comparison per
//! class and join is enough, and a filter may compare any of them in the place of another.

use std::collections::HashMap;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use super::column_estimate::ColumnEstimate;
use super::constant::constant;
use super::estimate::{Estimate, estimate, found_share, keep, missed_share, of_expr};
use super::graph::{self, Graph, Set, ones};
use super::region::{Filtering, Output, Region, filtered, replace_columns};

/// A region ready to be ordered. Classes, predicates and relations are numbered as in the graph.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) graph: Graph,
    pub(super) relations: Vec<Joined>,
    pub(super) classes: Vec<Vec<(usize, Column)>>,
    pub(super) predicates: Vec<Predicate>,
    /// Predicates without a column.
    pub(super) constants: Vec<Expr>,
}

/// A relation with the predicates on it alone applied.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) plan: LogicalPlan,
    pub(super) filtering: Option<Filtering>,
}

/// A predicate over several relations.
#[derive(Debug)]
pub(super) struct Predicate {
    pub(super) expr: Expr,
    /// The two sides of an equality, with their relations.
    pub(super) sides: Option<[(Expr, Set); 2]>,
}

/// Where columns come from.
#[derive(Debug, Default)]
struct Origins {
    of: HashMap<Column, (usize, DataType)>,
}

impl Origins {
    fn new(region: &Region) -> Self {
        let mut origins = Origins::default();
        for (at, relation) in region.relations.iter().enumerate() {
            for (qualifier, field) in relation.plan.schema().iter() {
                let column = Column::new(qualifier.cloned(), field.name());
                origins.of.insert(column, (at, field.data_type().clone()));
            }
        }
        origins
    }

    fn relation(&self, column: &Column) -> Option<usize> {
        self.of.get(column).map(|(relation, _)| *relation)
    }

    fn relations(&self, expr: &Expr) -> Set {
        let columns = expr.column_refs();
        columns
            .into_iter()
            .filter_map(|column| self.relation(column))
            .fold(0, |set, at| set | 1 << at)
    }

    /// Whether two expressions are columns whose equality is that of their values. Of floating
    /// point it is not: there are equal numbers that are not the same.
    fn interchangeable(&self, one: &Expr, other: &Expr) -> Option<(Column, Column)> {
        let (Expr::Column(one), Expr::Column(other)) = (one, other) else { return None };
        let (left, right) = (&self.of.get(one)?.1, &self.of.get(other)?.1);
        (left == right && !left.is_floating()).then(|| (one.clone(), other.clone()))
    }
}

/// Finds classes and places predicates; applies those on single relations.
pub(super) fn model(region: Region, output: &Output) -> Result<Model> {
    let origins = Origins::new(&region);
    let mut sorted = Sorted::default();
    for (one, other) in region.equalities {
        sorted.equality(&origins, one, other);
    }
    for predicate in region.predicates {
        match predicate {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right })
                if origins.interchangeable(&left, &right).is_some() =>
            {
                sorted.equality(&origins, *left, *right);
            }
            other => sorted.predicate(&origins, other),
        }
    }
    sorted.classes.sort_members(output);
    let mut relations = Vec::new();
    for (at, relation) in region.relations.into_iter().enumerate() {
        let mut alone = sorted.single.remove(&at).unwrap_or_default();
        alone.extend(sorted.classes.within(at));
        let plan = filtered(relation.plan, alone)?;
        relations.push(Joined { plan, filtering: relation.filtering });
    }
    share_constants(&mut relations, &sorted.classes.members)?;
    let Sorted { classes, predicates, constants, .. } = sorted;
    let graph = graph_of(&relations, &classes.members, &predicates, &origins);
    Ok(Model { graph, relations, classes: classes.members, predicates, constants })
}

/// Predicates by what they are about.
#[derive(Debug, Default)]
struct Sorted {
    classes: Classes,
    predicates: Vec<Predicate>,
    single: HashMap<usize, Vec<Expr>>,
    constants: Vec<Expr>,
}

impl Sorted {
    fn equality(&mut self, origins: &Origins, one: Expr, other: Expr) {
        match origins.interchangeable(&one, &other) {
            Some((left, right)) => self.classes.unite(origins, left, right),
            None => self.predicate(origins, one.eq(other)),
        }
    }

    fn predicate(&mut self, origins: &Origins, expr: Expr) {
        let relations = origins.relations(&expr);
        match relations.count_ones() {
            0 => self.constants.push(expr),
            1 => {
                let at = relations.trailing_zeros() as usize;
                self.single.entry(at).or_default().push(expr);
            }
            _ => {
                let sides = match &expr {
                    Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                        let sides = [left, right].map(|side| (&**side, origins.relations(side)));
                        let apart =
                            sides[0].1 != 0 && sides[1].1 != 0 && sides[0].1 & sides[1].1 == 0;
                        (apart && !has_subquery(&expr))
                            .then(|| sides.map(|(expr, set)| (expr.clone(), set)))
                    }
                    _ => None,
                };
                self.predicates.push(Predicate { expr, sides });
            }
        }
    }
}

/// Whether an expression holds a query of its own, which DataFusion runs in filters, not in joins.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::ScalarSubquery(_)))).unwrap_or(true)
}

/// Classes of equal columns, with the relation of each.
#[derive(Debug, Default)]
struct Classes {
    members: Vec<Vec<(usize, Column)>>,
}

impl Classes {
    fn unite(&mut self, origins: &Origins, one: Column, other: Column) {
        let place = |columns: &[(usize, Column)], column: &Column| {
            columns.iter().any(|(_, member)| member == column)
        };
        let first = self.members.iter().position(|class| place(class, &one));
        let second = self.members.iter().position(|class| place(class, &other));
        let with_origin = |column: Column| (origins.relation(&column).unwrap_or(0), column);
        match (first, second) {
            (Some(a), Some(b)) if a != b => {
                let moved = self.members.swap_remove(a.max(b));
                self.members[a.min(b)].extend(moved);
            }
            (Some(_), Some(_)) => {}
            (Some(class), None) => self.members[class].push(with_origin(other)),
            (None, Some(class)) => self.members[class].push(with_origin(one)),
            (None, None) if one == other => {}
            (None, None) => self.members.push(vec![with_origin(one), with_origin(other)]),
        }
    }

    /// Columns that the result has come first, since they are carried along anyway.
    fn sort_members(&mut self, output: &Output) {
        for class in &mut self.members {
            class.sort_by_key(|(_, column)| !output.columns.contains(column));
        }
    }

    /// What a class says about columns of one relation.
    fn within(&self, relation: usize) -> Vec<Expr> {
        let mut equalities = Vec::new();
        for class in &self.members {
            let mut ours = class.iter().filter(|(at, _)| *at == relation).map(|(_, column)| column);
            let Some(first) = ours.next() else { continue };
            let others =
                ours.map(|other| Expr::Column(first.clone()).eq(Expr::Column(other.clone())));
            equalities.extend(others);
        }
        equalities
    }
}

/// If a column must have one value, so must all that are equal to it.
fn share_constants(relations: &mut [Joined], classes: &[Vec<(usize, Column)>]) -> Result<()> {
    for class in classes {
        let values: Vec<Option<Expr>> =
            class.iter().map(|(at, column)| constant(&relations[*at].plan, column)).collect();
        let Some(value) = values.iter().flatten().next() else { continue };
        for ((at, column), own) in class.iter().zip(&values) {
            if own.is_none() {
                let plan = std::mem::take(&mut relations[*at].plan);
                let equality = Expr::Column(column.clone()).eq(value.clone());
                relations[*at].plan = filtered(plan, vec![equality])?;
            }
        }
    }
    Ok(())
}

fn graph_of(
    relations: &[Joined],
    classes: &[Vec<(usize, Column)>],
    predicates: &[Predicate],
    origins: &Origins,
) -> Graph {
    let estimates: Vec<Estimate> = relations.iter().map(|joined| estimate(&joined.plan)).collect();
    let column_estimate = |at: usize, column: &Column| {
        of_expr(&Expr::Column(column.clone()), relations[at].plan.schema(), &estimates[at])
    };
    let class_of = |class: &Vec<(usize, Column)>| graph::Class {
        members: class
            .iter()
            .map(|(at, column)| graph::Member {
                relation: *at,
                distinct: column_estimate(*at, column).distinct.min(estimates[*at].rows_before),
            })
            .collect(),
    };
    let of_relation = |(at, joined): (usize, &Joined)| graph::Relation {
        rows: estimates[at].rows,
        rows_before: estimates[at].rows_before.max(estimates[at].rows),
        filtering: joined.filtering.as_ref().map(|filtering| {
            let facts = Facts { relations, estimates: &estimates, classes, origins };
            facts.filtering(at, filtering)
        }),
    };
    Graph {
        relations: relations.iter().enumerate().map(of_relation).collect(),
        classes: classes.iter().map(class_of).collect(),
        predicates: predicates
            .iter()
            .map(|predicate| graph::Predicate {
                relations: origins.relations(&predicate.expr),
                sides: predicate.sides.as_ref().map(|[a, b]| (a.1, b.1)),
                selectivity: selectivity(predicate, relations, &estimates, origins),
            })
            .collect(),
    }
}

/// All that is needed to judge a filter.
struct Facts<'a> {
    relations: &'a [Joined],
    estimates: &'a [Estimate],
    classes: &'a [Vec<(usize, Column)>],
    origins: &'a Origins,
}

impl Facts<'_> {
    fn filtering(&self, at: usize, filtering: &Filtering) -> graph::Filtering {
        let mut needs = Vec::new();
        let kept_sides = filtering.on.iter().map(|(kept, _)| kept).chain(&filtering.filter);
        for column in kept_sides.flat_map(Expr::column_refs) {
            let need = match self.origins.relation(column) {
                Some(relation) if relation == at => continue,
                Some(relation) => {
                    self.equal_to(column).fold(1 << relation, |set, at| set | 1 << at)
                }
                None => continue,
            };
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let keys: Vec<_> = filtering
            .on
            .iter()
            .map(|(kept, other)| (self.of_expr(kept), self.of_expr(other)))
            .collect();
        let home = filtering.on.first().map_or(0, |(kept, _)| self.origins.relations(kept));
        let home = ones(home).next().unwrap_or(0);
        let other = &self.estimates[at];
        let found = found_share(&keys, &self.estimates[home], other, filtering.filter.is_some());
        graph::Filtering {
            needs,
            keeps: if filtering.anti { missed_share(found) } else { found },
            keyed: !filtering.on.is_empty(),
            builds_kept: filtering.null_aware,
        }
    }

    fn equal_to(&self, column: &Column) -> impl Iterator<Item = usize> {
        let class =
            self.classes.iter().find(|class| class.iter().any(|(_, member)| member == column));
        class.into_iter().flatten().map(|(at, _)| *at)
    }

    fn of_expr(&self, expr: &Expr) -> ColumnEstimate {
        let at = ones(self.origins.relations(expr)).next().unwrap_or(0);
        of_expr(expr, self.relations[at].plan.schema(), &self.estimates[at])
    }
}

/// The share of pairs that a predicate over several relations leaves.
fn selectivity(
    predicate: &Predicate,
    relations: &[Joined],
    estimates: &[Estimate],
    origins: &Origins,
) -> f64 {
    let over: Vec<usize> = ones(origins.relations(&predicate.expr)).collect();
    let value_count = |(expr, set): &(Expr, Set)| {
        let distinct =
            |at: usize| of_expr(expr, relations[at].plan.schema(), &estimates[at]).distinct;
        ones(*set).map(distinct).fold(1.0, f64::max)
    };
    if let Some([one, other]) = &predicate.sides {
        return 1.0 / value_count(one).max(value_count(other)).max(1.0);
    }
    let mut all = Estimate { rows: 1.0, rows_before: 1.0, columns: Vec::new() };
    let mut schema = DFSchema::empty();
    for at in over {
        all.columns.extend(estimates[at].columns.iter().cloned());
        let Ok(joined) = schema.join(relations[at].plan.schema()) else { return 0.25 };
        schema = joined;
    }
    keep(&mut all, &schema, &predicate.expr)
}

impl Model {
    /// A filter's expression over a set of relations: columns from elsewhere are exchanged for
    /// equal ones of the set.
    pub(super) fn over(&self, expr: &Expr, set: Set, schema: &DFSchema) -> Result<Expr> {
        let equal = |column: &Column| {
            if schema.has_column(column) {
                return None;
            }
            let class = self.classes.iter().find(|class| class.iter().any(|(_, c)| c == column))?;
            let (_, member) = class.iter().find(|(at, _)| set & 1 << at != 0)?;
            Some(Expr::Column(member.clone()))
        };
        let replaced = replace_columns(expr.clone(), &equal)?;
        // Fails where a column is missing, before a plan is built that cannot run.
        replaced.get_type(schema)?;
        Ok(replaced)
    }
}
