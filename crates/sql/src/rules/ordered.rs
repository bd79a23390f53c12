//! Aggregates over rows in orders of their own: `array_agg(a ORDER BY b), array_agg(a ORDER BY c)`.
//!
//! DataFusion sorts the rows of a group once, for all aggregates, and refuses two orders. Where
//! there are two, each such aggregate becomes one that is told by what to sort, keeps its rows, and
//! hands them on in order when the group is whole.

pub(crate) mod of_subqueries;
pub(crate) mod skipped;

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use datafusion::arrow::compute::{SortColumn, SortOptions, concat, lexsort_to_indices, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{ScalarValue, tree_node::Transformed, tree_node::TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::{AggregateFunction, Sort};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, LogicalPlan, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::expressions::rewrite_own;

/// The rule.
#[derive(Debug)]
pub(crate) struct OrdersOfTheirOwn;

impl AnalyzerRule for OrdersOfTheirOwn {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let LogicalPlan::Aggregate(aggregate) = &plan else {
                return Ok(Transformed::no(plan));
            };
            let mut orders: Vec<&[Sort]> = Vec::new();
            for expr in &aggregate.aggr_expr {
                expr.apply(|expr| {
                    let order = order_of(expr).filter(|order| !orders.contains(order));
                    orders.extend(order);
                    Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
                })?;
            }
            if orders.len() < 2 {
                return Ok(Transformed::no(plan));
            }
            let rewritten = rewrite_own(plan, |expr, _| Ok(sorted(expr)))?;
            rewritten.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "orders_of_their_own"
    }
}

/// In which order an aggregate wants its rows, if it matters to it.
fn order_of(expr: &Expr) -> Option<&[Sort]> {
    let Expr::AggregateFunction(call) = expr else { return None };
    let matters = call.func.order_sensitivity() != AggregateOrderSensitivity::Insensitive;
    (matters && !call.params.order_by.is_empty()).then_some(&call.params.order_by)
}

fn sorted(expr: Expr) -> Transformed<Expr> {
    if order_of(&expr).is_none() {
        return Transformed::no(expr);
    }
    let Expr::AggregateFunction(AggregateFunction { func, mut params }) = expr else {
        return Transformed::no(expr);
    };
    let mut options = Vec::new();
    let count = params.args.len();
    for Sort { expr, asc, nulls_first } in std::mem::take(&mut params.order_by) {
        params.args.push(expr);
        options.push(SortOptions { descending: !asc, nulls_first });
    }
    let is_distinct = std::mem::take(&mut params.distinct);
    let signature = Signature::user_defined(Volatility::Immutable);
    let own = Sorted { inner: func, count, options, is_distinct, signature };
    let func = Arc::new(AggregateUDF::from(own));
    Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params }))
}

/// An aggregate of the first arguments, in the order of the others.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sorted {
    inner: Arc<AggregateUDF>,
    count: usize,
    options: Vec<SortOptions>,
    /// Whether values that are the same count once.
    is_distinct: bool,
    signature: Signature,
}

impl AggregateUDFImpl for Sorted {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        self.inner.return_type(&types[..self.count])
    }

    fn return_field(&self, fields: &[FieldRef]) -> PlanResult<FieldRef> {
        self.inner.return_field(&fields[..self.count])
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> PlanResult<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        let fields = args.input_fields.iter().enumerate().map(|(place, field)| {
            let name = format!("{}[{place}]", args.name);
            let of = field.data_type().clone();
            Arc::new(Field::new_list(name, Field::new_list_field(of, true), true))
        });
        Ok(fields.collect())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        let types = args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        let inner = self.inner.accumulator(AccumulatorArgs {
            exprs: &args.exprs[..self.count],
            expr_fields: &args.expr_fields[..self.count],
            order_bys: &[],
            is_distinct: false,
            ..args
        })?;
        let (options, is_distinct) = (self.options.clone(), self.is_distinct);
        let count = self.count;
        Ok(Box::new(Rows { inner, count, options, is_distinct, types, batches: Vec::new() }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The rows of a group, until it is whole.
#[derive(Debug)]
struct Rows {
    inner: Box<dyn Accumulator>,
    count: usize,
    options: Vec<SortOptions>,
    is_distinct: bool,
    types: Vec<DataType>,
    batches: Vec<Vec<ArrayRef>>,
}

impl Rows {
    /// All rows, each column as one.
    fn columns(&self) -> PlanResult<Vec<ArrayRef>> {
        let column = |(place, of): (usize, &DataType)| {
            let parts: Vec<&dyn Array> = self.batches.iter().map(|it| it[place].as_ref()).collect();
            match parts.is_empty() {
                true => Ok(datafusion::arrow::array::new_empty_array(of)),
                false => Ok(concat(&parts)?),
            }
        };
        self.types.iter().enumerate().map(column).collect()
    }

    /// Those of the rows, which are in order, that are the first with their values.
    fn without_repeats(
        &self,
        columns: &[ArrayRef],
        order: &UInt32Array,
    ) -> PlanResult<UInt32Array> {
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        for &row in order.values() {
            let values = columns[..self.count].iter();
            let values = values.map(|column| ScalarValue::try_from_array(column, row as usize));
            if seen.insert(values.collect::<PlanResult<Vec<_>>>()?) {
                kept.push(row);
            }
        }
        Ok(UInt32Array::from(kept))
    }
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.batches.push(values.to_vec());
        Ok(())
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        let columns = self.columns()?;
        let keys = columns[self.count..].iter().zip(&self.options).map(|(column, options)| {
            SortColumn { values: Arc::clone(column), options: Some(*options) }
        });
        let mut order = lexsort_to_indices(&keys.collect::<Vec<_>>(), None)?;
        if self.is_distinct {
            order = self.without_repeats(&columns, &order)?;
        }
        let values = columns[..self.count].iter().map(|column| take(column, &order, None));
        let values = values.collect::<Result<Vec<ArrayRef>, _>>()?;
        self.inner.update_batch(&values)?;
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        let arrays = self.batches.iter().flatten();
        let bytes: usize = arrays.map(|array| array.get_array_memory_size()).sum();
        size_of_val(self) + self.inner.size() + bytes
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        let columns = self.columns()?.into_iter();
        Ok(columns
            .map(|column| SingleRowListArrayBuilder::new(column).build_list_scalar())
            .collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        let lists: Vec<_> = states.iter().map(|state| state.as_list::<i32>()).collect();
        for row in 0..lists.first().map_or(0, |list| list.len()) {
            self.batches.push(lists.iter().map(|list| list.value(row)).collect());
        }
        Ok(())
    }
}
