//! Parts that stand several times in a plan, and are run once.
//!
//! A WITH query that is named twice stands twice in the plan, and so may a subquery. Where rules
//! have made the same of both, and groups or windows are computed in it, its rows are kept for the
//! second reader. Parts that differ in what is asked of them, as a condition or the columns, stay
//! apart: each reads less than both together would. (Common subexpressions of plans: Sellis,
//! Multiple-Query Optimization, ACM TODS 1988.) They are run where all operators are
//! ([`crate::plan::shared_parts`]).

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::DFSchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

use crate::error::Error;

/// The plan, after all other rules, with the parts that are shared under the same number.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_shared_parts(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let mut times: HashMap<LogicalPlan, usize> = HashMap::new();
    let mut may_share = true;
    plan.apply_with_subqueries(|node| {
        // What is run again and again reads other rows each time.
        may_share &= !matches!(node, LogicalPlan::RecursiveQuery(_));
        if is_costly(node) {
            *times.entry(node.clone()).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    times.retain(|_, times| *times > 1);
    if times.is_empty() || !may_share {
        return Ok(plan);
    }
    let mut numbers: HashMap<LogicalPlan, usize> = HashMap::new();
    let shared = plan.transform_down_with_subqueries(|node| {
        if !times.contains_key(&node) || !is_the_same_each_time(&node)? {
            return Ok(Transformed::no(node));
        }
        let next = numbers.len() + 1;
        let number = *numbers.entry(node.clone()).or_insert(next);
        let node = Arc::new(Shared { number, input: node });
        let shared = LogicalPlan::Extension(Extension { node });
        // What is within it is shared with it.
        Ok(Transformed::new(shared, true, TreeNodeRecursion::Jump))
    })?;
    Ok(shared.data)
}

/// Whether there are groups or windows in it, whose rows nothing but filters and expressions is
/// between.
fn is_costly(plan: &LogicalPlan) -> bool {
    use LogicalPlan::{Aggregate, Distinct, Filter, Projection, SubqueryAlias, Union, Window};
    match plan {
        Aggregate(_) | Distinct(_) | Window(_) => true,
        Projection(of) => is_costly(&of.input),
        Filter(of) => is_costly(&of.input),
        SubqueryAlias(of) => is_costly(&of.input),
        Union(of) => of.inputs.iter().all(|input| is_costly(input)),
        _ => false,
    }
}

/// Whether it has the same rows each time that it is run: it reads nothing of a query around it,
/// and calls nothing that answers otherwise each time.
fn is_the_same_each_time(plan: &LogicalPlan) -> PlanResult<bool> {
    let differs = plan.exists(|node| {
        let is_volatile = node.expressions().iter().any(Expr::is_volatile);
        Ok(is_volatile || !node.all_out_ref_exprs().is_empty())
    })?;
    Ok(!differs)
}

/// A part with its number.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shared {
    pub(crate) number: usize,
    input: LogicalPlan,
}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.number.partial_cmp(&other.number)
    }
}

impl UserDefinedLogicalNodeCore for Shared {
    fn name(&self) -> &str {
        "Shared"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared: part {}", self.number)
    }

    fn with_exprs_and_inputs(
        &self,
        _: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> PlanResult<Self> {
        let input = inputs.pop().ok_or_else(|| Error::internal("nothing to share"))?;
        Ok(Self { number: self.number, input })
    }
}

/// Whether an operator stands for a part that is shared.
pub(crate) fn is_shared(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Extension(of) if of.node.as_any().is::<Shared>())
}
