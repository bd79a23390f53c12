//! What a pipeline does, over the columns of all of its relations.
//!
//! The first relation is the source; each join adds one for the rows of its build side, and one
//! more where rows are marked. All columns of all relations stand side by side, and every
//! expression is one over these. Projections are gone: what they compute is computed where it is
//! asked for.

use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use remanent_exec::JoinKind;

use super::region::{Region, Step};
use super::values::is_whole;

/// Columns of the longest key: INTERSECT has one of all columns, and a bit says of each whether it
/// is null.
const KEYS_MAX: usize = 32;

/// An expression over the columns of all relations.
pub(crate) type Expr = Arc<dyn PhysicalExpr>;

/// What a pipeline does.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    /// What gives the rows of the first relation.
    pub(crate) source: Arc<dyn ExecutionPlan>,
    pub(crate) stages: Vec<Stage>,
    /// The columns of all relations.
    pub(crate) columns: SchemaRef,
    /// The relation of each column, and its place there.
    pub(crate) places: Vec<(usize, usize)>,
    /// How many relations there are.
    pub(crate) relations: usize,
    /// What goes out.
    pub(crate) outputs: Vec<Expr>,
}

/// A step on the way of a row.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Join(Join),
    Filter(Expr),
}

/// A join with the rows of a build side.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) build: Arc<dyn ExecutionPlan>,
    /// The keys of the build side, over its own columns.
    pub(crate) build_keys: Vec<Expr>,
    pub(crate) probe_keys: Vec<Expr>,
    pub(crate) kind: JoinKind,
    pub(crate) nulls_are_equal: bool,
    /// What pairs with the same key have to meet.
    pub(crate) filter: Option<Expr>,
    /// The relation of the build side's rows.
    pub(crate) relation: usize,
    /// The relation of marks, if there are any.
    pub(crate) marks: Option<usize>,
}

impl Join {
    /// Whether a tuple that has no row of the build side leaves no trace.
    pub(crate) fn drops_tuples_without(&self) -> bool {
        match self.kind {
            JoinKind::Pairs { tuples_without, .. } => !tuples_without,
            JoinKind::Tuples { with } => with,
            JoinKind::Rows { .. } | JoinKind::MarkedRows => true,
            JoinKind::MarkedTuples | JoinKind::RowsNotIn => false,
        }
    }

    /// Whether it matters to what comes out in the end which tuples came.
    pub(crate) fn gives_rows(&self) -> bool {
        self.kind.gives_rows()
    }
}

impl Pipeline {
    /// The pipeline that a plan is, with all joins that stand on one another; `None` if it is no
    /// join, nor something that stands on one.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Self>> {
        let pipeline = Self::taken(plan)?;
        let has_joins = pipeline.stages.iter().any(|stage| matches!(stage, Stage::Join(_)));
        Ok(has_joins.then_some(pipeline))
    }

    /// What gives rows to it: the source, then each build side.
    pub(crate) fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        let builds = self.joins().map(|join| &join.build);
        std::iter::once(&self.source).chain(builds).collect()
    }

    /// The same over other inputs.
    pub(crate) fn with_inputs(&self, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Self {
        let mut inputs = inputs.into_iter();
        let mut pipeline = self.clone();
        if let Some(source) = inputs.next() {
            pipeline.source = source;
        }
        for stage in &mut pipeline.stages {
            if let Stage::Join(join) = stage
                && let Some(build) = inputs.next()
            {
                join.build = build;
            }
        }
        pipeline
    }

    pub(crate) fn joins(&self) -> impl Iterator<Item = &Join> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Join(join) => Some(join),
            Stage::Filter(_) => None,
        })
    }

    /// For each stage the relations whose rows are asked for behind it, and at last those that are
    /// asked for by what goes out.
    pub(crate) fn needed(&self, outputs: &[Expr]) -> Vec<Vec<bool>> {
        let mut needed = vec![false; self.relations];
        let note = |needed: &mut Vec<bool>, expr: &Expr| {
            for column in collect_columns(expr) {
                needed[self.places[column.index()].0] = true;
            }
        };
        outputs.iter().for_each(|expr| note(&mut needed, expr));
        let mut behind = vec![needed.clone()];
        for stage in self.stages.iter().rev() {
            match stage {
                Stage::Filter(expr) => note(&mut needed, expr),
                Stage::Join(join) => {
                    join.probe_keys.iter().for_each(|key| note(&mut needed, key));
                    join.filter.iter().for_each(|filter| note(&mut needed, filter));
                }
            }
            behind.push(needed.clone());
        }
        behind.reverse();
        behind
    }

    /// The columns of all relations that somebody asks for, if these go out.
    pub(crate) fn columns_used(&self, outputs: &[Expr]) -> Vec<bool> {
        let mut used = vec![false; self.places.len()];
        let keys = self.joins().flat_map(|join| join.probe_keys.iter().chain(&join.filter));
        let filters = self.stages.iter().filter_map(|stage| match stage {
            Stage::Filter(expr) => Some(expr),
            Stage::Join(_) => None,
        });
        for expr in outputs.iter().chain(keys).chain(filters) {
            collect_columns(expr).iter().for_each(|column| used[column.index()] = true);
        }
        used
    }

    /// A plan as a pipeline, whose source it is if nothing else.
    fn taken(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Self> {
        if let Some(region) = Region::of(plan)?
            && let Some((first, steps)) = region.steps()
        {
            return Self::of_region(&region, first, &steps);
        }
        if let Some(join) = plan.downcast_ref::<HashJoinExec>()
            && let Some(pipeline) = Self::joined(join)?
        {
            return Ok(pipeline);
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>()
            && filter.fetch().is_none()
            && !is_volatile(filter.predicate())
        {
            let mut pipeline = Self::taken(filter.input())?;
            let predicate = over(filter.predicate(), &pipeline.outputs)?;
            pipeline.stages.push(Stage::Filter(predicate));
            return Ok(pipeline.projected(filter.projection().as_deref()));
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>()
            && !projection.expr().iter().any(|item| is_volatile(&item.expr))
            && !is_nested(&plan.schema())
        {
            let mut pipeline = Self::taken(projection.input())?;
            if !is_small(projection, &pipeline.outputs) {
                return Ok(Self::of_source(plan));
            }
            let items = projection.expr().iter();
            let outputs = items.map(|item| over(&item.expr, &pipeline.outputs));
            pipeline.outputs = outputs.collect::<PlanResult<_>>()?;
            return Ok(pipeline);
        }
        if let Some(cooperative) = plan.downcast_ref::<CooperativeExec>() {
            return Self::taken(cooperative.input());
        }
        Ok(Self::of_source(plan))
    }

    /// The rows of a plan as they are.
    pub(crate) fn of_source(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let schema = plan.schema();
        let column = |place: usize| Arc::new(Column::new(schema.field(place).name(), place));
        Self {
            source: Arc::clone(plan),
            stages: Vec::new(),
            columns: Arc::clone(&schema),
            places: (0..schema.fields().len()).map(|place| (0, place)).collect(),
            relations: 1,
            outputs: (0..schema.fields().len()).map(|place| column(place) as Expr).collect(),
        }
    }

    /// The joins of a region in this order.
    fn of_region(region: &Region, first: usize, steps: &[Step]) -> PlanResult<Self> {
        let mut pipeline = Self::taken(&region.nodes[first])?;
        // What each column of the region is here, once its node has been joined.
        let mut exprs: Vec<Option<Expr>> = vec![None; region.columns.len()];
        let of_node = |node: usize| {
            let columns = region.columns.iter().enumerate();
            columns
                .filter(move |(_, (of, _))| *of == node)
                .map(|(column, (_, place))| (column, *place))
        };
        for (column, place) in of_node(first) {
            exprs[column] = Some(Arc::clone(&pipeline.outputs[place]));
        }
        let mut filters = region.filters.clone();
        for step in steps {
            let build = &region.nodes[step.node];
            let schema = build.schema();
            let (relation, before) = (pipeline.relations, pipeline.places.len());
            pipeline.add_columns(relation, &schema);
            pipeline.relations += 1;
            let of_build = |place: usize, at: usize| {
                Arc::new(Column::new(schema.field(place).name(), at)) as Expr
            };
            let keys = step.keys.iter().map(|(there, own)| {
                let (_, place) = region.columns[*own];
                Some((of_build(place, place), Arc::clone(exprs[*there].as_ref()?)))
            });
            let keys = keys.collect::<Option<Vec<_>>>().unwrap_or_default();
            let (build_keys, probe_keys) = keys.into_iter().unzip();
            pipeline.stages.push(Stage::Join(Join {
                build: Arc::clone(build),
                build_keys,
                probe_keys,
                kind: JoinKind::Pairs { tuples_without: false, rows_without: false },
                nulls_are_equal: false,
                filter: None,
                relation,
                marks: None,
            }));
            for (column, place) in of_node(step.node) {
                exprs[column] = Some(of_build(place, before + place));
            }
            // Conditions whose columns are all there now.
            let is_there = |filter: &Expr| {
                collect_columns(filter).iter().all(|column| exprs[column.index()].is_some())
            };
            let (now, later): (Vec<_>, Vec<_>) = filters.into_iter().partition(is_there);
            filters = later;
            for filter in now {
                let filter = over_some(&filter, &exprs)?;
                pipeline.stages.push(Stage::Filter(filter));
            }
        }
        let outputs = region.outputs.iter().map(|output| over_some(output, &exprs));
        pipeline.outputs = outputs.collect::<PlanResult<_>>()?;
        Ok(pipeline)
    }

    /// A join with what it stands on; `None` if it is one that is left to DataFusion.
    fn joined(join: &HashJoinExec) -> PlanResult<Option<Self>> {
        let Some(kind) = kind_of(join).filter(|_| can_be_joined(join).unwrap_or_default()) else {
            return Ok(None);
        };
        let left = join.left().schema();
        let mut pipeline = Self::taken(join.right())?;
        let gives_nulls = matches!(kind, JoinKind::Pairs { rows_without: true, .. });
        if gives_nulls && !pipeline.gives_nulls_of_nulls(join) {
            pipeline = Self::of_source(join.right());
        }
        let before = pipeline.places.len();
        let (relation, marks) = (pipeline.relations, pipeline.relations + 1);
        let probe_keys = join.on().iter().map(|(_, probe)| over(probe, &pipeline.outputs));
        let probe_keys = probe_keys.collect::<PlanResult<_>>()?;
        pipeline.add_columns(relation, &left);
        let of_build =
            |place: usize| Arc::new(Column::new(left.field(place).name(), before + place)) as Expr;
        let build: Vec<Expr> = (0..left.fields().len()).map(of_build).collect();
        let filter = join.filter().map(|it| filter_over(it, &build, &pipeline.outputs));
        let filter = filter.transpose()?;
        let probe = std::mem::take(&mut pipeline.outputs);
        pipeline.relations += 1;
        let mark = |pipeline: &mut Self| -> Expr {
            let place = pipeline.places.len();
            let field = Field::new("mark", DataType::Boolean, false);
            pipeline.add_columns(marks, &Schema::new(vec![field]));
            pipeline.relations += 1;
            Arc::new(Column::new("mark", place))
        };
        pipeline.outputs = match kind {
            JoinKind::Pairs { .. } => build.into_iter().chain(probe).collect(),
            JoinKind::Tuples { .. } => probe,
            JoinKind::Rows { .. } | JoinKind::RowsNotIn => build,
            JoinKind::MarkedTuples => {
                let mark = mark(&mut pipeline);
                probe.into_iter().chain([mark]).collect()
            }
            JoinKind::MarkedRows => {
                let mark = mark(&mut pipeline);
                build.into_iter().chain([mark]).collect()
            }
        };
        pipeline.note_nulls(kind, relation);
        pipeline.stages.push(Stage::Join(Join {
            build: Arc::clone(join.left()),
            build_keys: join.on().iter().map(|(build, _)| Arc::clone(build)).collect(),
            probe_keys,
            kind,
            nulls_are_equal: join.null_equality() == NullEquality::NullEqualsNull,
            filter,
            relation,
            marks: matches!(kind, JoinKind::MarkedTuples | JoinKind::MarkedRows).then_some(marks),
        }));
        Ok(Some(pipeline.projected(join.projection.as_deref())))
    }

    /// Whether all that goes out of a join's probe side is NULL in a row that has no tuple of it:
    /// what is computed is computed behind the join, where all its columns are NULL.
    fn gives_nulls_of_nulls(&self, join: &HashJoinExec) -> bool {
        let before = join.left().schema().fields().len();
        let goes_out = |place: &usize| match &join.projection {
            Some(kept) => kept.contains(&(before + place)),
            None => true,
        };
        let mut computed = self
            .outputs
            .iter()
            .enumerate()
            .filter(|(place, output)| !output.is::<Column>() && goes_out(place));
        computed.all(|(_, output)| is_null_of_nulls(output, &self.columns).unwrap_or_default())
    }

    fn add_columns(&mut self, relation: usize, schema: &Schema) {
        let fields = self.columns.fields().iter().chain(schema.fields()).cloned();
        self.columns = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        self.places.extend((0..schema.fields().len()).map(|place| (relation, place)));
    }

    /// Says which columns may be NULL behind a join, whatever they are before it.
    fn note_nulls(&mut self, kind: JoinKind, relation: usize) {
        let (without_row, without_tuple) = match kind {
            JoinKind::Pairs { tuples_without, rows_without } => (tuples_without, rows_without),
            _ => (false, kind.gives_rows()),
        };
        let fields = self.columns.fields().iter().zip(&self.places).map(|(field, (of, _))| {
            let may_be_null = match of.cmp(&relation) {
                std::cmp::Ordering::Less => without_tuple,
                std::cmp::Ordering::Equal => without_row,
                std::cmp::Ordering::Greater => false,
            };
            match may_be_null && !field.is_nullable() {
                true => Arc::new(field.as_ref().clone().with_nullable(true)),
                false => Arc::clone(field),
            }
        });
        self.columns = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    }

    fn projected(mut self, projection: Option<&[usize]>) -> Self {
        if let Some(places) = projection {
            let kept = places.iter().map(|place| Arc::clone(&self.outputs[*place]));
            self.outputs = kept.collect();
        }
        self
    }
}

/// Whether an expression is NULL where all columns are.
fn is_null_of_nulls(expr: &Expr, columns: &Schema) -> PlanResult<bool> {
    let nulls = columns.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(nulls.collect::<Vec<_>>()));
    let arrays = columns.fields().iter().map(|field| new_null_array(field.data_type(), 1));
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(schema, arrays.collect(), &options)?;
    let value = expr.evaluate(&row)?.into_array(1)?;
    Ok(value.logical_null_count() == 1)
}

/// An expression over some outputs as one over what these are made of.
///
/// # Errors
/// None that is expected.
pub(crate) fn over(expr: &Expr, outputs: &[Expr]) -> PlanResult<Expr> {
    let moved = Arc::clone(expr).transform_down(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else {
            return Ok(Transformed::no(expr));
        };
        // What stands in its place is over other columns already.
        let output = Arc::clone(&outputs[column.index()]);
        Ok(Transformed::new(output, true, TreeNodeRecursion::Jump))
    })?;
    Ok(moved.data)
}

/// The same over columns all of which are there.
fn over_some(expr: &Expr, exprs: &[Option<Expr>]) -> PlanResult<Expr> {
    let missing = || Arc::new(Column::new("missing", 0)) as Expr;
    let exprs = exprs.iter().map(|expr| expr.clone().unwrap_or_else(missing));
    over(expr, &exprs.collect::<Vec<_>>())
}

/// Whether what is computed is computed once behind a projection, too: else a chain of them would
/// become an expression of any size.
pub(crate) fn is_small(projection: &ProjectionExec, outputs: &[Expr]) -> bool {
    let mut uses = vec![0; outputs.len()];
    for item in projection.expr() {
        let counted = item.expr.apply(|expr| {
            if let Some(column) = expr.downcast_ref::<Column>() {
                uses[column.index()] += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        });
        if counted.is_err() {
            return false;
        }
    }
    let mut outputs = outputs.iter().zip(uses);
    outputs.all(|(output, uses)| uses <= 1 || output.is::<Column>())
}

/// The condition of a join over what its sides are made of.
///
/// # Errors
/// None that is expected.
pub(crate) fn filter_over(filter: &JoinFilter, left: &[Expr], right: &[Expr]) -> PlanResult<Expr> {
    let sides = filter.column_indices().iter().map(|column| match column.side {
        JoinSide::Right => Arc::clone(&right[column.index]),
        _ => Arc::clone(&left[column.index]),
    });
    over(filter.expression(), &sides.collect::<Vec<_>>())
}

/// Whether a join of DataFusion's can be one of a pipeline.
///
/// # Errors
/// A fault in an expression.
pub(crate) fn can_be_joined(join: &HashJoinExec) -> PlanResult<bool> {
    let is_one = match join.partition_mode() {
        PartitionMode::CollectLeft => {
            join.left().output_partitioning().partition_count() == 1
                && join.right().output_partitioning().partition_count() == 1
        }
        _ => false,
    };
    let (left, right) = (join.left().schema(), join.right().schema());
    if !is_one
        || kind_of(join).is_none()
        || join.fetch().is_some()
        || join.on().len() > KEYS_MAX
        || is_nested(&left)
        || is_nested(&right)
        || join.filter().is_some_and(|filter| is_volatile(filter.expression()))
    {
        return Ok(false);
    }
    for (build, probe) in join.on() {
        let of = (build.data_type(&left)?, probe.data_type(&right)?);
        let is_decimal = matches!(of.0, DataType::Decimal128(..));
        // Of a decimal that is computed, nobody has checked how many digits it has.
        let are_columns = build.is::<Column>() && probe.is::<Column>();
        if of.0 != of.1
            || !can_be_key(&of.0)
            || (is_decimal && !are_columns)
            || is_volatile(build)
            || is_volatile(probe)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What goes out of a join of DataFusion's, if it can be one of a pipeline.
fn kind_of(join: &HashJoinExec) -> Option<JoinKind> {
    let pairs = |tuples_without, rows_without| JoinKind::Pairs { tuples_without, rows_without };
    if join.null_aware {
        let is_plain = *join.join_type() == JoinType::LeftAnti && join.filter().is_none();
        return is_plain.then_some(JoinKind::RowsNotIn);
    }
    Some(match join.join_type() {
        JoinType::Inner => pairs(false, false),
        JoinType::Right => pairs(true, false),
        JoinType::Left => pairs(false, true),
        JoinType::Full => pairs(true, true),
        JoinType::RightSemi => JoinKind::Tuples { with: true },
        JoinType::RightAnti => JoinKind::Tuples { with: false },
        JoinType::RightMark => JoinKind::MarkedTuples,
        JoinType::LeftSemi => JoinKind::Rows { with: true },
        JoinType::LeftAnti => JoinKind::Rows { with: false },
        JoinType::LeftMark => JoinKind::MarkedRows,
    })
}

/// Whether a join finds values of a type by their number, or by their text.
fn can_be_key(data_type: &DataType) -> bool {
    is_whole(data_type) || matches!(data_type, DataType::Boolean | DataType::Utf8View)
}

/// Whether values of some column lie in the rows of an array, and are copied with them.
fn is_nested(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| match field.data_type() {
        DataType::Utf8View | DataType::BinaryView | DataType::Boolean | DataType::Null => false,
        other => other.primitive_width().is_none(),
    })
}
