//! Parameters in the conditions of a scan.
//!
//! The planner of operators knows no parameters, so each is a function without arguments there,
//! which nobody calls: in a copy of the scan for an execution, values stand in their places.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use crate::catalog::table::Table;
use crate::error::Error;

/// A parameter.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Parameter {
    /// The place of its value among all.
    place: usize,
    of: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Parameter {
    fn name(&self) -> &str {
        "parameter"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(self.of.clone())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        Err(Error::internal("a parameter has no value").into())
    }
}

/// The parameter with this place among all, as an expression that operators can have.
pub(crate) fn parameter(place: usize, of: DataType) -> Expr {
    let signature = Signature::nullary(Volatility::Stable);
    let function = ScalarUDF::from(Parameter { place, of, signature });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), Vec::new()))
}

/// The place of the value that a function stands for, if it is a parameter.
pub(crate) fn place_of(function: &ScalarUDF) -> Option<usize> {
    function.inner().downcast_ref::<Parameter>().map(|parameter| parameter.place)
}

/// Whether a condition has a parameter in it.
pub(in crate::scan) fn has_parameter(expr: &Expr) -> bool {
    let is_parameter = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) => Ok(place_of(&call.func).is_some()),
        _ => Ok(false),
    };
    expr.exists(is_parameter).unwrap_or(true)
}

/// The condition with values in the places of its parameters, as it would be if they had stood in
/// the query.
///
/// # Errors
/// What simplifying meets.
pub(in crate::scan) fn with_values(
    filter: &Expr,
    values: &[ScalarValue],
    table: &Table,
    state: &SessionState,
) -> PlanResult<Expr> {
    let filter = filter.clone().transform_up(|expr| {
        let Expr::ScalarFunction(call) = &expr else { return Ok(Transformed::no(expr)) };
        let value = place_of(&call.func).and_then(|place| values.get(place));
        Ok(match value {
            Some(value) => Transformed::yes(Expr::Literal(value.clone(), None)),
            None => Transformed::no(expr),
        })
    })?;
    if is_simple(&filter.data) { Ok(filter.data) } else { simplified(filter.data, table, state) }
}

fn simplified(filter: Expr, table: &Table, state: &SessionState) -> PlanResult<Expr> {
    let relation = filter.column_refs().iter().find_map(|column| column.relation.clone());
    let schema = match relation {
        Some(relation) => DFSchema::try_from_qualified_schema(relation, &table.arrow)?,
        None => DFSchema::try_from(Schema::clone(&table.arrow))?,
    };
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema))
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    ExprSimplifier::new(context).simplify(filter)
}

/// Whether a condition compares a column with a constant, and does no more.
fn is_simple(filter: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return false };
    op.supports_propagation()
        && matches!((left.as_ref(), right.as_ref()), (Expr::Column(_), Expr::Literal(..)))
}
