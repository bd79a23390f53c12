//! Telling scans which keys a join wants.
//!
//! A build side has been read, and a row whose key is not among its keys leaves no trace. So
//! whatever gives these rows may leave it out: the keys go down through operators that give on the
//! column as it is, to the scans that read it. (Sideways information passing: Bancilhon, Maier,
//! Sagiv, Ullman, PODS 1986; semi-join reduction by bitmaps: Graefe, ACM Computing Surveys 1993.)

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::expressions::{Column, in_list, lit};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use remanent_exec::{JoinKind, JoinTable, KeyList};

use super::aggregate::exec::GroupsExec;
use super::exec::PipelineExec;
use super::plan::{Expr, Join, Pipeline, Stage};
use crate::scan::exec::ScanExec;
use crate::scan::told::Told;

/// Different keys that are told as a list, at most.
const LIST_MAX: usize = 4096;

/// What an operator knows of its inputs stays as it is.
pub(super) const UNCHANGED: ReplaceChildrenOptions =
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// The keys of a join's build side, for a column with this place in a schema.
///
/// # Errors
/// None that is expected.
pub(crate) fn keys_of(
    table: &JoinTable,
    key: usize,
    column: usize,
    schema: &Schema,
) -> PlanResult<Told> {
    let field = schema.field(column);
    let mut known = None;
    let scalars: Option<Vec<ScalarValue>> = match table.list(key, LIST_MAX) {
        Some(KeyList::Numbers(numbers)) => {
            // The key may be the column as a wider number: what has no room in it is none.
            let scalar = |number: &i64| scalar_of(*number, field.data_type());
            let scalars: Vec<_> = numbers.iter().filter_map(scalar).collect();
            known = Some(Arc::new(numbers));
            (!scalars.is_empty()).then_some(scalars)
        }
        Some(KeyList::Texts(texts)) => {
            let text = |text: &[u8]| {
                let text = std::str::from_utf8(text).ok()?;
                Some(ScalarValue::Utf8View(Some(text.to_owned())))
            };
            texts.into_iter().map(text).collect()
        }
        None => None,
    };
    let list = scalars.map(|scalars| {
        let expr = Arc::new(Column::new(field.name(), column)) as Expr;
        in_list(expr, scalars.into_iter().map(lit).collect(), &false, schema)
    });
    Ok(Told { column, wanted: table.wanted(key), numbers: known, list: list.transpose()? })
}

/// The name of the operator that reads the inputs of a UNION one after another.
pub(crate) const SEQUENTIAL_UNION: &str = "SequentialUnionExec";

/// A plan that was told keys; `None` if it does not read the column.
///
/// # Errors
/// A fault in an expression.
pub(crate) fn tell(
    plan: &Arc<dyn ExecutionPlan>,
    told: &Told,
) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Ok(scan.told(told).map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    if let Some(pipeline) = plan.downcast_ref::<PipelineExec>() {
        return pipeline.told(told);
    }
    if let Some(groups) = plan.downcast_ref::<GroupsExec>() {
        return groups.told(told);
    }
    if plan.is::<UnionExec>() {
        return tell_union(plan, told);
    }
    let (input, column) = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let item = &projection.expr()[told.column].expr;
        let Some(column) = item.downcast_ref::<Column>() else { return Ok(None) };
        (projection.input(), column.index())
    } else if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        // Of a few rows that it gives out, others would come.
        if filter.fetch().is_some() || is_volatile(filter.predicate()) {
            return Ok(None);
        }
        let projection = filter.projection().as_ref();
        let column = projection.map_or(told.column, |projection| projection[told.column]);
        (filter.input(), column)
    } else if let Some(cooperative) = plan.downcast_ref::<CooperativeExec>() {
        (cooperative.input(), told.column)
    } else if plan.name() == SEQUENTIAL_UNION {
        let [input] = plan.children()[..] else { return Ok(None) };
        (input, told.column)
    } else {
        return Ok(None);
    };
    let Some(input) = tell(input, &moved(told, column, &input.schema())?)? else { return Ok(None) };
    Ok(Some(Arc::clone(plan).replace_children(vec![input], UNCHANGED)?))
}

/// A UNION of whose inputs some were told keys; `None` if none was.
fn tell_union(
    plan: &Arc<dyn ExecutionPlan>,
    told: &Told,
) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
    let mut has_told = false;
    let inputs = plan.children().into_iter().map(|input| {
        let input_told = tell(input, &moved(told, told.column, &input.schema())?)?;
        has_told |= input_told.is_some();
        Ok(input_told.unwrap_or_else(|| Arc::clone(input)))
    });
    let inputs = inputs.collect::<PlanResult<Vec<_>>>()?;
    if !has_told {
        return Ok(None);
    }
    Ok(Some(Arc::clone(plan).replace_children(inputs, UNCHANGED)?))
}

/// The same of a column with another place in another schema.
///
/// # Errors
/// None that is expected.
pub(crate) fn moved(told: &Told, column: usize, schema: &Schema) -> PlanResult<Told> {
    let list = told.list.as_ref().map(|list| {
        let moved = Arc::clone(list).transform_up(|expr| {
            if !expr.is::<Column>() {
                return Ok(Transformed::no(expr));
            }
            let name = schema.field(column).name();
            Ok(Transformed::yes(Arc::new(Column::new(name, column)) as Expr))
        })?;
        Ok::<_, datafusion::error::DataFusionError>(moved.data)
    });
    let (wanted, numbers) = (told.wanted.clone(), told.numbers.clone());
    Ok(Told { column, wanted, numbers, list: list.transpose()? })
}

/// A pipeline whose source, or one of whose build sides, was told keys of a column of all relations
/// that are wanted behind so many stages; `None` if it cannot be.
///
/// # Errors
/// A fault in an expression.
pub(crate) fn tell_pipeline(
    pipeline: &Pipeline,
    stages: usize,
    column: usize,
    told: &Told,
) -> PlanResult<Option<Pipeline>> {
    let (relation, place) = pipeline.places[column];
    let before = &pipeline.stages[..stages];
    let from = before.iter().position(|stage| match stage {
        Stage::Join(join) => join.relation == relation && relation > 0,
        Stage::Filter(_) => false,
    });
    // Where rows of another side come out in the end, it matters which tuples came.
    let behind = &before[from.map_or(0, |from| from + 1)..];
    let gives_rows = |stage: &Stage| matches!(stage, Stage::Join(join) if join.gives_rows());
    if behind.iter().any(gives_rows) || (from.is_none() && relation > 0) {
        return Ok(None);
    }
    let mut changed = pipeline.clone();
    let input: &mut Arc<dyn ExecutionPlan> = match from {
        None => &mut changed.source,
        Some(at) => match &mut changed.stages[at] {
            Stage::Join(join) if is_plain(join) => &mut join.build,
            _ => return Ok(None),
        },
    };
    let Some(input_told) = tell(input, &moved(told, place, &input.schema())?)? else {
        return Ok(None);
    };
    *input = input_told;
    Ok(Some(changed))
}

/// A pipeline whose other build sides were told keys, too: those that tuples find by the same
/// column, before so many stages.
///
/// # Errors
/// A fault in an expression.
pub(crate) fn tell_others(
    pipeline: &Pipeline,
    stages: usize,
    column: usize,
    told: &Told,
) -> PlanResult<Option<Pipeline>> {
    let mut changed = pipeline.clone();
    let mut has_told = false;
    for at in (0..stages).rev() {
        let Stage::Join(join) = &mut changed.stages[at] else { continue };
        // A row that no tuple is left of behind the join that wants the keys may as well be gone.
        let only_keeps = is_plain(join) || join.kind == JoinKind::Tuples { with: true };
        let is_same =
            |key: &Expr| key.downcast_ref::<Column>().is_some_and(|key| key.index() == column);
        let same = join.probe_keys.iter().position(is_same).filter(|_| only_keeps);
        if let Some(key) = same
            && let Some(own) = join.build_keys[key].downcast_ref::<Column>()
        {
            let moved = moved(told, own.index(), &join.build.schema())?;
            if let Some(build) = tell(&join.build, &moved)? {
                join.build = build;
                has_told = true;
            }
        }
        if join.gives_rows() {
            break;
        }
    }
    Ok(has_told.then_some(changed))
}

/// Whether a row of the build side that nobody wants behind the join can be left out.
fn is_plain(join: &Join) -> bool {
    join.kind == JoinKind::Pairs { tuples_without: false, rows_without: false }
}

/// A number as a value of a type.
fn scalar_of(number: i64, data_type: &DataType) -> Option<ScalarValue> {
    use ScalarValue as S;
    Some(match data_type {
        DataType::Boolean => S::Boolean(Some(number != 0)),
        DataType::Int8 => S::Int8(Some(number.try_into().ok()?)),
        DataType::Int16 => S::Int16(Some(number.try_into().ok()?)),
        DataType::Int32 => S::Int32(Some(number.try_into().ok()?)),
        DataType::Int64 => S::Int64(Some(number)),
        DataType::UInt8 => S::UInt8(Some(number.try_into().ok()?)),
        DataType::UInt16 => S::UInt16(Some(number.try_into().ok()?)),
        DataType::UInt32 => S::UInt32(Some(number.try_into().ok()?)),
        DataType::Date32 => S::Date32(Some(number.try_into().ok()?)),
        DataType::Time64(TimeUnit::Microsecond) => S::Time64Microsecond(Some(number)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            S::TimestampMicrosecond(Some(number), zone.clone())
        }
        DataType::Decimal128(digits, scale) => S::Decimal128(Some(number.into()), *digits, *scale),
        _ => return None,
    })
}
