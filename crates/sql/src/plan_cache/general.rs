//! Plans for any values of a query's parameters.
//!
//! Such a plan is made with the parameters in the places of constants, so that no rule can know
//! what they are: it is right for all of them. Whether it is as good as a plan that was made for
//! values is tried: until it was the same as those of [`TRIALS`] executions, each is planned for
//! its own, and if one of them is another plan, so are all that follow.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;

use super::{Planned, operators};
use crate::values::sql_type::SqlType;

/// How often a general plan has to be the same as one for values.
pub(crate) const TRIALS: u8 = 2;

/// A plan for any values.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// All but what access paths decide.
    Physical(Arc<dyn ExecutionPlan>),
    /// After the rules for logical plans.
    Logical(LogicalPlan),
}

/// A plan with parameters in it.
#[derive(Debug)]
pub(crate) struct GeneralPlan {
    pub(crate) form: Form,
    pub(crate) levels: usize,
    pub(crate) tables: Vec<Planned>,
    pub(crate) slots: Slots,
}

/// What the parameters of a plan are.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// What the binder found of each.
    pub(crate) types: Vec<SqlType>,
    /// What the values were for which the plan was made.
    pub(crate) of_values: Vec<DataType>,
}

impl Slots {
    /// Whether a plan with these parameters is one for these values. NULL is not: it has rules of
    /// its own.
    pub(crate) fn fit(&self, values: &[ScalarValue]) -> bool {
        let is_one =
            |(value, of): (&ScalarValue, &DataType)| !value.is_null() && value.data_type() == *of;
        values.len() == self.of_values.len() && values.iter().zip(&self.of_values).all(is_one)
    }
}

/// What is known of plans for any values of a query.
#[derive(Clone, Debug)]
pub(crate) enum Tried {
    /// It was planned for values, once.
    Once,
    /// So many times, the general plan was the same.
    Same(Arc<GeneralPlan>, u8),
    /// It was another one, or there is none, with what was known of these tables.
    Other(Vec<Planned>),
}

impl Tried {
    /// How many operators it keeps.
    pub(super) fn operators(&self) -> usize {
        match self {
            Self::Same(plan, _) => {
                let mut count = 0;
                match &plan.form {
                    Form::Physical(plan) => count = operators(plan),
                    // What counts cannot fail.
                    Form::Logical(plan) => drop(plan.apply_with_subqueries(|_| {
                        count += 1;
                        Ok(TreeNodeRecursion::Continue)
                    })),
                }
                count
            }
            Self::Once | Self::Other(_) => 0,
        }
    }
}
