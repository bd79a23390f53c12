//! Sets of groups are made of the groups by all keys, not of rows.
//!
//! ROLLUP, CUBE and GROUPING SETS look at each row once for each set. Groups by all keys of all
//! sets are fewer: rows are grouped by these first, which is an aggregate like any other, and their
//! sums are summed, their counts too, and of extremes the extremes are taken. What cannot be put
//! together like this is left as it is. (Gray and others, Data Cube, Data Mining and Knowledge
//! Discovery 1997, which calls such functions distributive and algebraic.)

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable, GroupingSet, LogicalPlan, Projection, cast, when,
};
use datafusion::optimizer::AnalyzerRule;

use crate::error::Error;
use crate::functions::aggregates::merged_average::MergedAverage;
use crate::functions::aggregates::sum;

/// The rule, which stands behind those that give aggregates their types.
#[derive(Debug)]
pub(crate) struct SetsOfGroups;

impl AnalyzerRule for SetsOfGroups {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let is_of_sets = |plan: &LogicalPlan| Ok(sets_of(plan).is_some());
        if !plan.exists(is_of_sets)? {
            return Ok(plan);
        }
        let rewritten = plan.transform_up(|plan| match sets_of(&plan) {
            Some((aggregate, sets)) => Ok(match of_groups(aggregate, sets)? {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(plan),
            }),
            None => Ok(Transformed::no(plan)),
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "sets_of_groups"
    }
}

/// A plan whose keys of sets are columns: those that are computed are made by a projection below.
/// What changes how an expression is computed keeps its name, and of a set gives one to all keys.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_columns_for_keys(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|plan| match sets_of(&plan) {
        Some((aggregate, sets)) => Ok(match with_columns(aggregate, sets)? {
            Some(plan) => Transformed::yes(plan),
            None => Transformed::no(plan),
        }),
        None => Ok(Transformed::no(plan)),
    })?;
    Ok(rewritten.data)
}

/// The aggregate over a projection that computes its keys; `None` if all are columns.
fn with_columns(aggregate: &Aggregate, sets: &GroupingSet) -> PlanResult<Option<LogicalPlan>> {
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let computed = keys.into_iter().filter(|key| !matches!(key, Expr::Column(_)));
    let computed: Vec<(Expr, Column)> = computed
        .map(|key| (key.clone(), Column::new_unqualified(key.schema_name().to_string())))
        .collect();
    if computed.is_empty() {
        return Ok(None);
    }
    let columns = aggregate.input.schema().columns().into_iter().map(Expr::Column);
    let named = computed.iter().map(|(key, column)| key.clone().alias(column.name.clone()));
    let items = columns.chain(named).collect();
    let input = Projection::try_new(items, Arc::clone(&aggregate.input))?;
    let of = |expr: &Expr| {
        let found = computed.iter().find(|(key, _)| key == expr);
        found.map(|(_, column)| Expr::Column(column.clone()))
    };
    let group = vec![Expr::GroupingSet(sets.clone())].into_iter();
    let replaced = |expr: Expr| {
        let replaced = expr.transform_down(|expr| {
            Ok(match of(&expr) {
                Some(column) => Transformed::new(column, true, TreeNodeRecursion::Jump),
                None => Transformed::no(expr),
            })
        });
        replaced.map(|expr| expr.data)
    };
    let group = group.map(replaced).collect::<PlanResult<_>>()?;
    let functions = aggregate.aggr_expr.iter().cloned().map(replaced);
    let functions = functions.collect::<PlanResult<_>>()?;
    let input = Arc::new(LogicalPlan::Projection(input));
    Ok(Some(LogicalPlan::Aggregate(Aggregate::try_new(input, group, functions)?)))
}

/// The sets that a plan groups by, if it does.
fn sets_of(plan: &LogicalPlan) -> Option<(&Aggregate, &GroupingSet)> {
    let LogicalPlan::Aggregate(aggregate) = plan else { return None };
    match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(sets)] => Some((aggregate, sets)),
        _ => None,
    }
}

/// The plan that groups by all keys first; `None` if its functions cannot be put together.
fn of_groups(aggregate: &Aggregate, sets: &GroupingSet) -> PlanResult<Option<LogicalPlan>> {
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let keys: Vec<Expr> = keys.into_iter().cloned().collect();
    let outer = |expr: &Expr| expr.contains_outer() || expr.is_volatile();
    if keys.is_empty() || keys.iter().chain(&aggregate.aggr_expr).any(outer) {
        return Ok(None);
    }
    let mut parts = Parts { aggregate, functions: Vec::new() };
    let mut results = Vec::new();
    for function in &aggregate.aggr_expr {
        let Some(result) = parts.result(function)? else { return Ok(None) };
        results.push(result);
    }
    let Parts { functions, .. } = parts;
    // Two may have one name, as those of a column and of the same column as another type.
    let named = |part: &str, functions: Vec<Expr>| -> Vec<Expr> {
        let functions = functions.into_iter().enumerate();
        functions.map(|(at, function)| function.alias(format!("{part} {at}"))).collect()
    };
    let functions = named("part", functions);
    let groups = Aggregate::try_new(Arc::clone(&aggregate.input), keys.clone(), functions)?;
    let columns: Vec<Column> = groups.schema.columns();
    // Each key and each function is a column of the groups now.
    let key = |expr: &Expr| keys.iter().position(|key| key == expr).map(|at| &columns[at]);
    let sets = of_columns(sets, key)?;
    let part = |at: usize| Expr::Column(columns[keys.len() + at].clone());
    let merging = results.iter().map(|result| result.merging(&part));
    let merging = merging.collect::<PlanResult<Vec<_>>>()?;
    let groups = Arc::new(LogicalPlan::Aggregate(groups));
    let merging = named("merged", merging);
    let merged = Aggregate::try_new(groups, vec![Expr::GroupingSet(sets)], merging)?;
    // Behind the keys stands which set it is.
    let first = aggregate.schema.fields().len() - results.len();
    let names = aggregate.schema.iter().zip(merged.schema.columns()).enumerate();
    let items = names.map(|(at, ((qualifier, field), column))| {
        let column = Expr::Column(column);
        let item = match at.checked_sub(first).map(|at| &results[at]) {
            Some(result) => result.item(column, field.data_type())?,
            None => column,
        };
        Ok(item.alias_qualified(qualifier.cloned(), field.name()))
    });
    let items = items.collect::<PlanResult<Vec<_>>>()?;
    let merged = Arc::new(LogicalPlan::Aggregate(merged));
    Ok(Some(LogicalPlan::Projection(Projection::try_new(items, merged)?)))
}

/// The sets, of columns.
fn of_columns<'c>(
    sets: &GroupingSet,
    key: impl Fn(&Expr) -> Option<&'c Column>,
) -> PlanResult<GroupingSet> {
    let column = |expr: &Expr| {
        let column = key(expr).cloned().map(Expr::Column);
        Ok(column.ok_or_else(|| Error::internal("a set of groups by what is no key"))?)
    };
    let columns = |exprs: &[Expr]| exprs.iter().map(column).collect::<PlanResult<Vec<_>>>();
    Ok(match sets {
        GroupingSet::Rollup(exprs) => GroupingSet::Rollup(columns(exprs)?),
        GroupingSet::Cube(exprs) => GroupingSet::Cube(columns(exprs)?),
        GroupingSet::GroupingSets(sets) => {
            let sets = sets.iter().map(|exprs| columns(exprs));
            GroupingSet::GroupingSets(sets.collect::<PlanResult<_>>()?)
        }
    })
}

/// What is computed of groups by all keys.
struct Parts<'a> {
    aggregate: &'a Aggregate,
    functions: Vec<Expr>,
}

/// What a function is of the groups by all keys: by the places of what is computed of them.
enum Put {
    /// Another one of the same values, which may have another type.
    Again {
        of: usize,
        by: Arc<AggregateUDF>,
    },
    /// A sum of counts, which is 0 of none.
    Count {
        of: usize,
        by: Arc<AggregateUDF>,
    },
    Average {
        sum: usize,
        count: usize,
        by: Arc<AggregateUDF>,
    },
}

impl Parts<'_> {
    /// What a function becomes; `None` if it cannot be put together.
    fn result(&mut self, function: &Expr) -> PlanResult<Option<Put>> {
        let Expr::AggregateFunction(AggregateFunction { func, params }) =
            function.clone().unalias()
        else {
            return Ok(None);
        };
        let is_plain = !params.distinct
            && params.filter.is_none()
            && params.order_by.is_empty()
            && params.null_treatment.is_none();
        let [argument] = params.args.as_slice() else { return Ok(None) };
        if !is_plain {
            return Ok(None);
        }
        let total = || Arc::new(AggregateUDF::from(sum::Sum::new()));
        let input = self.aggregate.input.schema();
        Ok(match func.name() {
            sum::NAME | "min" | "max" => {
                let of = self.add(&func, argument);
                Some(Put::Again { of, by: func })
            }
            "count" => Some(Put::Count { of: self.add(&func, argument), by: total() }),
            "avg" => {
                let by = MergedAverage::new(&func, &argument.get_type(input)?)?;
                let sum = self.add(&total(), argument);
                let count = datafusion::functions_aggregate::count::count_udaf();
                let count = self.add(&count, argument);
                Some(Put::Average { sum, count, by: Arc::new(AggregateUDF::from(by)) })
            }
            _ => None,
        })
    }

    /// The place of a function of an argument.
    fn add(&mut self, function: &Arc<AggregateUDF>, argument: &Expr) -> usize {
        let call = call(function, vec![argument.clone()]);
        let known = self.functions.iter().position(|function| *function == call);
        known.unwrap_or_else(|| {
            self.functions.push(call);
            self.functions.len() - 1
        })
    }
}

impl Put {
    /// The function that puts together what was computed of groups by all keys.
    fn merging(&self, part: &impl Fn(usize) -> Expr) -> PlanResult<Expr> {
        Ok(match self {
            Self::Again { of, by } | Self::Count { of, by } => call(by, vec![part(*of)]),
            Self::Average { sum, count, by } => call(by, vec![part(*sum), part(*count)]),
        })
    }

    /// What it gives, as the type that it has to have.
    fn item(&self, merged: Expr, data_type: &DataType) -> PlanResult<Expr> {
        let item = cast(merged.clone(), data_type.clone());
        match self {
            Self::Again { .. } | Self::Average { .. } => Ok(item),
            Self::Count { .. } => {
                let zero = Expr::Literal(ScalarValue::new_zero(data_type)?, None);
                when(merged.is_null(), zero).otherwise(item)
            }
        }
    }
}

fn call(function: &Arc<AggregateUDF>, args: Vec<Expr>) -> Expr {
    let params = AggregateFunctionParams {
        args,
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        null_treatment: None,
    };
    Expr::AggregateFunction(AggregateFunction { func: Arc::clone(function), params })
}
