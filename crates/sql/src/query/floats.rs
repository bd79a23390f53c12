//! Floats beside numerics: both are floats of eight bytes, as in PostgreSQL.
//!
//! DataFusion would make numerics of both, which large floats do not fit and small ones are zero
//! of. So before it looks for common types the numerics become floats, wherever values are compared
//! or one of several is chosen.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Functions that give one of their arguments.
const CHOICES: [&str; 4] = ["coalesce", "greatest", "least", "nullif"];

/// The rule.
#[derive(Debug)]
pub(crate) struct FloatsBesideNumerics;

impl AnalyzerRule for FloatsBesideNumerics {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&DFSchema::try_from_qualified_schema(
                    scan.table_name.clone(),
                    &scan.source.schema(),
                )?);
            }
            let names = NamePreserver::new(&plan);
            let rewritten = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| Ok(with_floats(expr, &schema)))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })?;
            match rewritten.transformed {
                true => rewritten.map_data(LogicalPlan::recompute_schema),
                false => Ok(rewritten),
            }
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "floats_beside_numerics"
    }
}

fn with_floats(mut expr: Expr, schema: &dyn ExprSchema) -> Transformed<Expr> {
    let mut changed = false;
    for operands in beside_each_other(&mut expr) {
        let types: Vec<Option<DataType>> =
            operands.iter().map(|operand| operand.get_type(schema).ok()).collect();
        let is_float = |of: &Option<DataType>| of.as_ref().is_some_and(DataType::is_floating);
        let is_numeric = |of: &Option<DataType>| matches!(of, Some(DataType::Decimal128(..)));
        if !types.iter().any(is_float) || !types.iter().any(is_numeric) {
            continue;
        }
        for (operand, of) in operands.into_iter().zip(types) {
            if is_numeric(&of) || of == Some(DataType::Float32) {
                let inner = std::mem::take(operand);
                *operand = Expr::Cast(Cast::new(Box::new(inner), DataType::Float64));
                changed = true;
            }
        }
    }
    if changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

fn compares(op: Operator) -> bool {
    use Operator as O;
    matches!(
        op,
        O::Eq
            | O::NotEq
            | O::Lt
            | O::LtEq
            | O::Gt
            | O::GtEq
            | O::IsDistinctFrom
            | O::IsNotDistinctFrom
    )
}

/// The operands that have to be of one type, in groups.
fn beside_each_other(expr: &mut Expr) -> Vec<Vec<&mut Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
            vec![vec![left.as_mut(), right.as_mut()]]
        }
        Expr::Between(between) => {
            vec![vec![between.expr.as_mut(), between.low.as_mut(), between.high.as_mut()]]
        }
        Expr::InList(list) => {
            vec![std::iter::once(list.expr.as_mut()).chain(&mut list.list).collect()]
        }
        Expr::Case(case) => {
            let (mut compared, mut chosen) = (Vec::new(), Vec::new());
            let has_value = case.expr.is_some();
            compared.extend(case.expr.as_deref_mut());
            for (when, then) in &mut case.when_then_expr {
                if has_value {
                    compared.push(when.as_mut());
                }
                chosen.push(then.as_mut());
            }
            chosen.extend(case.else_expr.as_deref_mut());
            vec![compared, chosen]
        }
        Expr::ScalarFunction(call) if CHOICES.contains(&call.func.name()) => {
            vec![call.args.iter_mut().collect()]
        }
        _ => Vec::new(),
    }
}
