//! Floats beside numerics: both are floats of eight bytes, as in PostgreSQL.
//!
//! DataFusion would make numerics of both, which large floats do not fit and small ones are zero
//! of. So before it looks for common types the numerics become floats, wherever values are compared
//! or one of several is chosen, and in the columns of a UNION. Days beside moments become moments,
//! but not in a UNION ([`moments`]).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ExprSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use super::{moments, united};
use crate::functions::expressions::rewrite_all;

/// Functions that give one of their arguments.
const CHOICES: [&str; 4] = ["coalesce", "greatest", "least", "nullif"];

/// The rule.
#[derive(Debug)]
pub(crate) struct FloatsBesideNumerics;

impl AnalyzerRule for FloatsBesideNumerics {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let plan = rewrite_all(plan, |expr, schema| Ok(with_floats(expr, schema)))?;
        united::all_united(plan)
    }

    fn name(&self) -> &str {
        "floats_beside_numerics"
    }
}

/// The expression with floats beside floats.
pub(crate) fn with_floats(mut expr: Expr, schema: &dyn ExprSchema) -> Transformed<Expr> {
    let mut changed = with_one_number(&mut expr, schema);
    for (beside, operands) in beside_each_other(&mut expr) {
        changed |= make_one_type(beside, operands.into_iter(), schema);
    }
    if changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// Makes the numbers of a CASE be of one type, which would be taken for that of the first one until
/// types are made to fit; says whether there was anything to make.
fn with_one_number(expr: &mut Expr, schema: &dyn ExprSchema) -> bool {
    let Expr::Case(case) = expr else { return false };
    let thens = case.when_then_expr.iter_mut().map(|(_, then)| then.as_mut());
    let chosen: Vec<&mut Expr> = thens.chain(case.else_expr.as_deref_mut()).collect();
    let types = chosen.iter().map(|expr| expr.get_type(schema)).collect::<PlanResult<Vec<_>>>();
    let Ok(types) = types else { return false };
    let Some(number) = united::number_of(&types.iter().collect::<Vec<_>>()) else { return false };
    for (expr, of) in chosen.into_iter().zip(types).filter(|(_, of)| *of != number) {
        debug_assert!(of.is_numeric() || of == DataType::Null);
        let inner = std::mem::take(expr);
        *expr = Expr::Cast(Cast::new(Box::new(inner), number.clone()));
    }
    true
}

/// Why expressions have to be of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BesideEachOther {
    /// They are compared: as floats of eight bytes.
    Compared,
    /// One of them is chosen: as floats of eight bytes if one is.
    Chosen,
}

/// The type of floats that these become, if numerics stand beside floats.
pub(crate) fn float_of(beside: BesideEachOther, types: &[Option<DataType>]) -> Option<DataType> {
    let is_float = |of: &Option<DataType>| of.as_ref().is_some_and(DataType::is_floating);
    let is_numeric = |of: &Option<DataType>| matches!(of, Some(DataType::Decimal128(..)));
    if !types.iter().any(is_float) || !types.iter().any(is_numeric) {
        return None;
    }
    let is_short = beside == BesideEachOther::Chosen && !types.contains(&Some(DataType::Float64));
    Some(if is_short { DataType::Float32 } else { DataType::Float64 })
}

/// Makes floats of the numerics among expressions that have to be of one type, if there is a float
/// among them, and moments of the days beside moments; says whether there were any.
pub(crate) fn make_one_type<'e>(
    beside: BesideEachOther,
    operands: impl Iterator<Item = &'e mut Expr>,
    schema: &dyn ExprSchema,
) -> bool {
    let operands: Vec<&mut Expr> = operands.collect();
    let types: Vec<Option<DataType>> =
        operands.iter().map(|operand| operand.get_type(schema).ok()).collect();
    let (is_own, wanted): (fn(&DataType) -> bool, _) = match float_of(beside, &types) {
        Some(float) => (is_number, float),
        None => match moments::moment_of(&types) {
            Some(moment) => (moments::is_day, moment),
            None => return false,
        },
    };
    for (operand, of) in operands.into_iter().zip(types) {
        if of.as_ref().is_some_and(|of| is_own(of) && *of != wanted) {
            let inner = std::mem::take(operand);
            *operand = Expr::Cast(Cast::new(Box::new(inner), wanted.clone()));
        }
    }
    true
}

/// Whether values of a type become floats beside floats by themselves; whole numbers do where types
/// are made to fit each other.
fn is_number(of: &DataType) -> bool {
    of.is_floating() || matches!(of, DataType::Decimal128(..))
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
pub(super) fn beside_each_other(expr: &mut Expr) -> Vec<(BesideEachOther, Vec<&mut Expr>)> {
    use BesideEachOther::{Chosen, Compared};
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
            vec![(Compared, vec![left.as_mut(), right.as_mut()])]
        }
        Expr::Between(between) => {
            let all = vec![between.expr.as_mut(), between.low.as_mut(), between.high.as_mut()];
            vec![(Compared, all)]
        }
        Expr::InList(list) => {
            vec![(Compared, std::iter::once(list.expr.as_mut()).chain(&mut list.list).collect())]
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
            vec![(Compared, compared), (Chosen, chosen)]
        }
        Expr::ScalarFunction(call) if CHOICES.contains(&call.func.name()) => {
            vec![(Chosen, call.args.iter_mut().collect())]
        }
        _ => Vec::new(),
    }
}
