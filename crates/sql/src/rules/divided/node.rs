//! A stage in a logical plan: what several tasks compute, each of a part of a table.
//!
//! It is planned where all operators are ([`crate::plan::stages`]).

use std::cmp::Ordering;
use std::fmt;

use datafusion::common::DFSchemaRef;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use crate::error::Error;

/// The rows of all tasks, in any order.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Staged {
    pub(super) input: LogicalPlan,
}

impl PartialOrd for Staged {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for Staged {
    fn name(&self) -> &str {
        "Staged"
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
        f.write_str("Staged: rows of several tasks")
    }

    fn with_exprs_and_inputs(
        &self,
        _: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> PlanResult<Self> {
        let input = inputs.pop().ok_or_else(|| Error::internal("a stage of nothing"))?;
        Ok(Self { input })
    }
}
