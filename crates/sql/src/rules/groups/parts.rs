//! Aggregates of parts, which are put together: sums are summed, counts too, and of extremes the
//! extremes are taken; an average is a sum and a count.
//!
//! What cannot be put together like this is left as it is. (Gray and others, Data Cube, Data Mining
//! and Knowledge Discovery 1997, which calls such functions distributive and algebraic.)

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{Aggregate, AggregateUDF, Expr, ExprSchemable, cast, when};

use crate::functions::aggregates::merged_average::MergedAverage;
use crate::functions::aggregates::sum;

/// What is computed of the rows of each part.
pub(crate) struct Parts<'a> {
    aggregate: &'a Aggregate,
    functions: Vec<Expr>,
}

/// What a function is of the parts: by the places of what is computed of them.
pub(crate) enum Put {
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

impl<'a> Parts<'a> {
    /// Nothing yet of this aggregate.
    pub(crate) fn of(aggregate: &'a Aggregate) -> Self {
        Self { aggregate, functions: Vec::new() }
    }

    /// What is computed of each part, under names of its own: two may have one name, as those of a
    /// column and of the same column as another type.
    pub(crate) fn into_functions(self) -> Vec<Expr> {
        named("part", self.functions)
    }

    /// What a function becomes; `None` if it cannot be put together.
    pub(crate) fn result(&mut self, function: &Expr) -> PlanResult<Option<Put>> {
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
    /// The function that puts together what was computed of the parts.
    pub(crate) fn merging(&self, part: &impl Fn(usize) -> Expr) -> PlanResult<Expr> {
        Ok(match self {
            Self::Again { of, by } | Self::Count { of, by } => call(by, vec![part(*of)]),
            Self::Average { sum, count, by } => call(by, vec![part(*sum), part(*count)]),
        })
    }

    /// What it gives, as the type that it has to have.
    pub(crate) fn item(&self, merged: Expr, data_type: &DataType) -> PlanResult<Expr> {
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

/// Functions with the names of what they are and their places.
pub(crate) fn named(what: &str, functions: Vec<Expr>) -> Vec<Expr> {
    let functions = functions.into_iter().enumerate();
    functions.map(|(at, function)| function.alias(format!("{what} {at}"))).collect()
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
