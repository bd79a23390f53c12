//! What an aggregate of DataFusion's asks of a scan, for `remanent-exec`.
//!
//! Keys are columns, or are computed; of functions there are count, sum, avg, min and max, without
//! DISTINCT, FILTER and ORDER BY. What is asked of one argument twice is computed once.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_plan::aggregates::AggregateExec;
use remanent_exec::{Aggregate, AggregationPlan, Argument, ArgumentKind, Key, KeyKind};

use super::numbers;
use crate::functions::aggregates::sum;
use crate::pipeline::plan::{Expr, over};
use crate::pipeline::values::{Computed, is_whole};

/// What is asked of the rows of a scan.
#[derive(Clone, Default, Debug)]
pub(crate) struct Query {
    pub(crate) plan: AggregationPlan,
    /// How each key is computed where it is given.
    pub(crate) keys: Vec<Computed>,
    /// How each argument is computed where it is given.
    pub(crate) arguments: Vec<Computed>,
    /// What becomes of each function.
    pub(crate) results: Vec<Asked>,
    /// What keys and arguments are computed of.
    pub(crate) exprs: Vec<Expr>,
    /// Where the values of each key of the aggregate are when all rows have come.
    pub(crate) key_values: Vec<KeyValues>,
}

/// Where the values of a key are when all rows have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyValues {
    /// They are the key with this place.
    Key(usize),
    /// They are those of a column of the row that is the key with this place.
    OfRow { key: usize, column: usize },
}

/// What a function says of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// How many rows it has, or how many have a value of an argument.
    Count(Option<usize>),
    /// The sum of an argument's values.
    Sum(usize),
    /// Their mean; digits behind the point of decimals.
    Average { argument: usize, scale: i8 },
    /// The least or the greatest of them.
    Extreme { argument: usize, aggregate: Aggregate },
}

/// Expressions over a scan, on their way into a query.
struct Building<'b> {
    scan: &'b Schema,
    query: Query,
    /// The expression of each argument.
    known: Vec<Arc<dyn PhysicalExpr>>,
}

/// What an aggregate asks of rows with these columns, of which its input is `outputs`, if not they
/// themselves; `None` if `remanent-exec` cannot say it.
///
/// # Errors
/// A fault in an expression.
pub(crate) fn query_of(
    aggregate: &AggregateExec,
    outputs: Option<&[Expr]>,
    scan: &Schema,
) -> PlanResult<Option<Query>> {
    let mut building = Building { scan, query: Query::default(), known: Vec::new() };
    for (key, _) in aggregate.group_expr().expr() {
        if !building.add_key(&over_columns(key, outputs)?)? {
            return Ok(None);
        }
    }
    for function in aggregate.aggr_expr() {
        let Some(asked) = building.add_function(function, outputs)? else { return Ok(None) };
        building.query.results.push(asked);
    }
    let mut query = building.query;
    query.key_values = (0..query.keys.len()).map(KeyValues::Key).collect();
    query.exprs.append(&mut building.known);
    Ok(Some(query))
}

/// An expression over the input of the aggregate as one over columns.
fn over_columns(expr: &Expr, outputs: Option<&[Expr]>) -> PlanResult<Expr> {
    outputs.map_or_else(|| Ok(Arc::clone(expr)), |outputs| over(expr, outputs))
}

/// The column that an expression is, with what is known of it.
fn column_of<'s>(expr: &Arc<dyn PhysicalExpr>, scan: &'s Schema) -> Option<(usize, &'s DataType)> {
    let place = expr.downcast_ref::<Column>()?.index();
    Some((place, scan.field(place).data_type()))
}

impl Building<'_> {
    /// Adds a key; false if rows cannot be grouped by such.
    fn add_key(&mut self, expr: &Arc<dyn PhysicalExpr>) -> PlanResult<bool> {
        use DataType as D;
        let data_type = expr.data_type(self.scan)?;
        let is_text = matches!(data_type, D::Utf8 | D::LargeUtf8 | D::Utf8View);
        if !is_text && !is_whole(&data_type) && data_type != D::Boolean {
            return Ok(false);
        }
        let column = column_of(expr, self.scan).map(|(place, _)| place);
        // Of a decimal that is computed, nobody has checked how many digits it has.
        if column.is_none() && matches!(data_type, D::Decimal128(..)) {
            return Ok(false);
        }
        let nullable = column.is_none_or(|place| self.scan.field(place).is_nullable());
        let kind = if is_text { KeyKind::Text } else { KeyKind::Number };
        self.query.plan.keys.push(Key { column, nullable, kind });
        self.query.keys.push(Computed::new(expr, self.scan)?);
        self.query.exprs.push(Arc::clone(expr));
        Ok(true)
    }

    /// Adds a function; `None` if it is none that can be computed so.
    fn add_function(
        &mut self,
        function: &AggregateFunctionExpr,
        outputs: Option<&[Expr]>,
    ) -> PlanResult<Option<Asked>> {
        let [expr] = function.expressions().try_into().unwrap_or_else(|_| [lit_null()]);
        let is_plain = !function.is_distinct()
            && !function.ignore_nulls()
            && function.order_bys().is_empty()
            && function.expressions().len() == 1;
        if !is_plain {
            return Ok(None);
        }
        let expr = over_columns(&expr, outputs)?;
        let data_type = expr.data_type(self.scan)?;
        Ok(match function.fun().name() {
            "count" => self.count(&expr)?,
            sum::NAME => self.sum(&expr, &data_type)?,
            "avg" => {
                let scale = match data_type {
                    DataType::Decimal128(_, scale) => Some(scale),
                    DataType::Float64 => Some(0),
                    _ => None,
                };
                match (scale, self.sum(&expr, &data_type)?) {
                    (Some(scale), Some(Asked::Sum(argument))) => {
                        Some(Asked::Average { argument, scale })
                    }
                    _ => None,
                }
            }
            name @ ("min" | "max") => {
                let kind = kind_of(&data_type);
                if !matches!(kind, ArgumentKind::Whole | ArgumentKind::Wide) {
                    return Ok(None);
                }
                let argument = self.argument(&expr, kind)?;
                let aggregate = match name {
                    "min" => Aggregate::Least(argument),
                    _ => Aggregate::Greatest(argument),
                };
                self.query.plan.aggregates.push(aggregate);
                Some(Asked::Extreme { argument, aggregate })
            }
            _ => None,
        })
    }

    fn count(&mut self, expr: &Arc<dyn PhysicalExpr>) -> PlanResult<Option<Asked>> {
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return Ok((!literal.value().is_null()).then_some(Asked::Count(None)));
        }
        let column = column_of(expr, self.scan);
        if column.is_some_and(|(place, _)| !self.scan.field(place).is_nullable()) {
            return Ok(Some(Asked::Count(None)));
        }
        let kind = kind_of(&expr.data_type(self.scan)?);
        Ok(Some(Asked::Count(Some(self.argument(expr, kind)?))))
    }

    fn sum(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
        data_type: &DataType,
    ) -> PlanResult<Option<Asked>> {
        let kind = kind_of(data_type);
        let is_number = data_type.is_numeric() && kind != ArgumentKind::Any;
        if !is_number {
            return Ok(None);
        }
        let argument = self.argument(expr, kind)?;
        self.query.plan.aggregates.push(Aggregate::Sum(argument));
        Ok(Some(Asked::Sum(argument)))
    }

    /// The argument that an expression is, which is added if it is not there.
    fn argument(&mut self, expr: &Arc<dyn PhysicalExpr>, kind: ArgumentKind) -> PlanResult<usize> {
        if let Some(known) = self.known.iter().position(|known| known == expr) {
            return Ok(known);
        }
        let program = &mut self.query.plan.program;
        let step = match kind {
            ArgumentKind::Whole | ArgumentKind::Wide => numbers::add(expr, self.scan, program),
            ArgumentKind::Float | ArgumentKind::Any => None,
        };
        let step = step.map(|number| number.step);
        let columns = step.map(|step| self.query.plan.program.columns_of(step));
        let is_nullable = |place: usize| self.scan.field(place).is_nullable();
        let nullable = columns.is_none_or(|columns| columns.into_iter().any(is_nullable));
        self.query.plan.arguments.push(Argument { step, nullable, kind });
        self.query.arguments.push(Computed::new(expr, self.scan)?);
        self.known.push(Arc::clone(expr));
        Ok(self.known.len() - 1)
    }
}

/// What values of a type are to an aggregation. Decimals are wide: of those that are computed,
/// nobody has checked how many digits they have.
fn kind_of(data_type: &DataType) -> ArgumentKind {
    match data_type {
        DataType::Decimal128(..) => ArgumentKind::Wide,
        DataType::Float64 => ArgumentKind::Float,
        whole if is_whole(whole) => ArgumentKind::Whole,
        _ => ArgumentKind::Any,
    }
}

fn lit_null() -> Arc<dyn PhysicalExpr> {
    datafusion::physical_expr::expressions::lit(datafusion::common::ScalarValue::Null)
}
