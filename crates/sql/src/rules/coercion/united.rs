//! The columns of a UNION, which have one type whatever its inputs have.
//!
//! The types of numbers are made to fit when a query is bound, so that whoever selects from it
//! knows how many digits there are: DataFusion would say those of the first input until all is
//! bound. A column of texts of different lengths has texts of any length.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, LogicalPlanBuilder, Union};

use super::floats::{BesideEachOther, float_of};
use crate::catalog::table::plain_text;

/// The plan with the inputs of each UNION made to fit.
///
/// # Errors
/// None that a statement could cause.
pub(crate) fn all_united(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let mut changed = false;
    let united = plan.transform_up_with_subqueries(|plan| {
        let node = match plan {
            LogicalPlan::Union(union) => united(union)?,
            other => Transformed::no(other),
        };
        changed |= node.transformed;
        match changed && !node.transformed {
            true => node.map_data(LogicalPlan::recompute_schema),
            false => Ok(node),
        }
    })?;
    Ok(united.data)
}

/// A UNION whose inputs fit.
///
/// # Errors
/// None that a statement could cause.
pub(crate) fn united(union: Union) -> PlanResult<Transformed<LogicalPlan>> {
    let columns = 0..union.schema.fields().len();
    let made: Vec<Made> = columns.map(|column| Made::of(&union, column)).collect();
    if made.iter().all(|made| *made == Made::default()) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter().map(|input| {
        let schema = Arc::clone(input.schema());
        let items = schema.columns().into_iter().zip(schema.fields()).zip(&made);
        let items = items.map(|((column, field), made)| {
            let (name, item) = (column.name.clone(), Expr::Column(column));
            match &made.number {
                Some(of) if field.data_type() != of => {
                    Expr::Cast(Cast::new(Box::new(item), of.clone())).alias(name)
                }
                _ if made.is_plain && !field.metadata().is_empty() => {
                    let text = Field::new("", field.data_type().clone(), field.is_nullable());
                    let text = Arc::new(text.with_metadata(plain_text()));
                    Expr::Cast(Cast::new_from_field(Box::new(item), text)).alias(name)
                }
                _ => item,
            }
        });
        let items: Vec<Expr> = items.collect();
        LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).project(items)?.build().map(Arc::new)
    });
    let inputs = inputs.collect::<PlanResult<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)))
}

/// What is to be made of a column.
#[derive(Default, PartialEq, Eq)]
struct Made {
    /// Numbers of this type.
    number: Option<DataType>,
    /// Texts of any length.
    is_plain: bool,
}

impl Made {
    fn of(union: &Union, column: usize) -> Self {
        let fields = union.inputs.iter().filter_map(|input| input.schema().fields().get(column));
        let fields: Vec<_> = fields.collect();
        let types: Vec<&DataType> = fields.iter().map(|field| field.data_type()).collect();
        let is_plain = fields.iter().any(|field| field.metadata() != fields[0].metadata());
        Self { number: number_of(&types), is_plain }
    }
}

/// The type in which numbers of these types meet, if they are numbers and not all of one.
pub(crate) fn number_of(types: &[&DataType]) -> Option<DataType> {
    let is_number = |of: &&DataType| of.is_numeric() || **of == DataType::Null;
    let is_none = |of: &&DataType| **of == DataType::Null;
    if types.iter().all(is_none) {
        return None;
    }
    if !types.iter().all(is_number) || types.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let owned: Vec<Option<DataType>> = types.iter().map(|of| Some((*of).clone())).collect();
    if let Some(float) = float_of(BesideEachOther::Chosen, &owned) {
        return Some(float);
    }
    let mut types = types.iter();
    let first = (*types.next()?).clone();
    types.try_fold(first, |one, other| type_union_coercion(&one, other))
}
