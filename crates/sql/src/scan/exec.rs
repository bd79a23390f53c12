//! Reading a table as a physical operator: rows of the engine become batches of Arrow.
//!
//! The operator knows the table and the way to read it. The transaction comes with the context in
//! which it is executed, so that a plan can be kept.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Poll, ready};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterTracking};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};

use super::access_path::{Access, SortColumn};
use super::condition::of_task::filters_of;
use super::condition::{Condition, RuntimeFilter, parameters};
use super::join_keys;
use super::pushed::WantedKeys;
use super::read_predicate::predicate_of;
use super::rows_of::RowsOf;
use super::scan_rows::{Batches, ScanRequest};
use super::shares::{Shares, Sharing};
use super::told::Told;
use crate::catalog::table::Table;
use crate::error::Result;
use crate::threads::team::Team;
use crate::transaction::Transaction;
use crate::transaction::scope::Current;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;
use crate::workers::{Division, Task};
use remanent_exec::WantedNumbers;

/// Rows that are read at once though fewer may be requested.
const FEW: usize = 64;

/// The operator.
pub(crate) struct ScanExec {
    table: Arc<Table>,
    /// Places of the columns; one beyond the last is the number of the row.
    columns: Vec<usize>,
    access: Access,
    /// What each row given out meets.
    conditions: Vec<Condition>,
    /// The same as the query says it.
    filters: Arc<[Expr]>,
    /// Whether there are parameters in it.
    has_parameters: bool,
    /// What each of several tasks reads, if the table is divided.
    division: Option<Division>,
    /// What operators above will ask of the rows, known when they run.
    runtime_filters: Vec<Condition>,
    /// Keys that joins above want, which have read their build sides.
    told: Vec<Told>,
    /// The most rows to give out.
    fetch: Option<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// Reads these columns of the table this way; the conditions are those of the filters, and the
    /// schema is that of all columns.
    ///
    /// # Errors
    /// A column that is not in the schema.
    pub(crate) fn new(
        table: Arc<Table>,
        columns: Vec<usize>,
        access: Access,
        conditions: Vec<Condition>,
        filters: &[Expr],
        schema: &SchemaRef,
    ) -> PlanResult<Self> {
        let schema = Arc::new(schema.project(&columns)?);
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let metrics = ExecutionPlanMetricsSet::new();
        let (runtime_filters, told, fetch) = (Vec::new(), Vec::new(), None);
        Ok(Self {
            table,
            columns,
            access,
            conditions,
            filters: filters.into(),
            has_parameters: filters.iter().any(parameters::has_parameter),
            division: None,
            runtime_filters,
            told,
            fetch,
            schema,
            properties,
            metrics,
        })
    }

    /// The scan of which each of several tasks reads a part, if it is divided.
    pub(crate) fn divided(self, division: Option<Division>) -> Self {
        Self { division, ..self }
    }

    /// The scan that a task runs which has not run; `None` if it is this one.
    ///
    /// # Errors
    /// What cannot be planned.
    pub(crate) fn for_task(&self, task: Task, state: &SessionState) -> PlanResult<Option<Self>> {
        let Some(division @ Division::Keys { .. }) = self.division else { return Ok(None) };
        let mut scan = self.again(Arc::clone(&self.properties));
        scan.metrics = ExecutionPlanMetricsSet::new();
        scan.division = None;
        // Before the others, which may cost more.
        let own = filters_of(division, &self.table, task);
        let conditions = own.iter().map(|own| Condition::of_filter(&self.table, own, state));
        scan.conditions = conditions.collect::<PlanResult<_>>()?;
        scan.conditions.extend(self.conditions.iter().cloned());
        scan.filters = own.into_iter().chain(self.filters.iter().cloned()).collect();
        Ok(Some(scan))
    }

    /// Whether its parameters are all in the conditions of the query.
    pub(crate) fn parameters_are_conditions(&self) -> bool {
        !self.has_parameters || self.runtime_filters.is_empty()
    }

    /// A scan that has not run, for these values of parameters.
    ///
    /// # Errors
    /// A fault in a condition.
    pub(crate) fn with_values(
        &self,
        state: &SessionState,
        values: &[ScalarValue],
    ) -> PlanResult<Self> {
        let mut scan = self.again(Arc::clone(&self.properties));
        scan.metrics = ExecutionPlanMetricsSet::new();
        if !std::mem::take(&mut scan.has_parameters) {
            return Ok(scan);
        }
        let filters = self.filters.iter();
        let filters =
            filters.map(|filter| parameters::with_values(filter, values, &self.table, state));
        let filters = filters.collect::<PlanResult<Vec<_>>>()?;
        scan.access = Access::choose(&self.table, &filters);
        let conditions =
            filters.iter().map(|filter| Condition::of_filter(&self.table, filter, state));
        scan.conditions = conditions.collect::<PlanResult<_>>()?;
        scan.filters = filters.into();
        Ok(scan)
    }

    /// The scan for a join that wants these keys; `None` if it reads no table, or only a part of it
    /// by an index.
    pub(crate) fn told(&self, told: &Told) -> Option<Self> {
        let is_column = self.columns[told.column] < self.table.columns.len();
        let is_read_in_any_order = match &self.access {
            Access::All => true,
            Access::Range { low: None, high: None, .. } => {
                self.properties.output_ordering().is_none()
            }
            _ => false,
        };
        if !is_read_in_any_order || self.fetch.is_some() || !is_column {
            return None;
        }
        let mut scan = self.again(Arc::clone(&self.properties));
        scan.told.push(told.clone());
        Some(scan)
    }

    /// The scan that gives rows in this order, and only the first of them, if an index has it.
    pub(crate) fn in_order(&self, order: &LexOrdering, fetch: Option<usize>) -> Option<Self> {
        let columns = order.iter().map(|sort| {
            let place = sort.expr.downcast_ref::<Column>()?.index();
            let column = *self.columns.get(place)?;
            let descending = sort.options.descending;
            (column < self.table.columns.len()).then_some(SortColumn { column, descending })
        });
        let columns: Vec<SortColumn> = columns.collect::<Option<_>>()?;
        let of_all = fetch.filter(|_| self.conditions.is_empty());
        let access = self.access.in_order(&self.table, &columns, of_all)?;
        let schema = Arc::clone(&self.schema);
        let ordered = EquivalenceProperties::new_with_orderings(schema, [order.clone()]);
        let properties = PlanProperties::clone(&self.properties).with_eq_properties(ordered);
        Some(Self {
            access,
            fetch,
            runtime_filters: Vec::new(),
            ..self.again(Arc::new(properties))
        })
    }

    /// The rows of the transaction that the context is of.
    ///
    /// # Errors
    /// A context without a transaction.
    pub(crate) fn reading(&self, partition: usize, context: &TaskContext) -> Result<Reading> {
        let config = context.session_config();
        let size = config.batch_size().min(self.fetch.unwrap_or(usize::MAX).max(FEW));
        let current = Current::of(context)?;
        let transaction = Arc::clone(&current.transaction);
        let part = current.part.filter(|_| self.division == Some(Division::Segments));
        let access = self.access.clone();
        let mut request = ScanRequest {
            table: Arc::clone(&self.table),
            columns: self.columns.clone(),
            conditions: self.conditions.clone(),
            keys: Vec::new(),
            schema: Arc::clone(&self.schema),
        };
        let (runtime_filters, told) = (self.runtime_filters.clone(), self.told.clone());
        let by_keys = MetricBuilder::new(&self.metrics).counter("keys", partition);
        let by_sets = MetricBuilder::new(&self.metrics).counter("key_sets", partition);
        let start = move |sharing: Sharing| {
            let count = transaction.reading()?.rows_max(&request.table.handle)? as usize;
            let wants = Wants::of(runtime_filters, told, &request, count)?;
            let by_keys_of_joins = match part {
                // Rows that keys lead to are not those of a part.
                Some(_) => None,
                None => {
                    join_keys::access_by(&access, &wants.filters, &transaction, &request.table)?
                }
            };
            let access = by_keys_of_joins.unwrap_or(access);
            if let (Access::Keys { keys, .. }, false) = (&access, wants.filters.is_empty()) {
                by_keys.add(keys.len());
            }
            let asked = predicate_of(&request, &wants.filters, &wants.keys)?;
            let mut others = Vec::new();
            if access == Access::All {
                let useful = wants.keys.into_iter().filter(|it| !it.keys.is_useless(count));
                request.keys.extend(useful);
                let filters = wants.filters.into_iter().zip(wants.is_left);
                let left = filters.filter(|(_, is_left)| *is_left);
                others.extend(left.map(|(filter, _)| filter));
            }
            by_sets.add(request.keys.len());
            let request = Arc::new(request);
            let all = (access == Access::All).then(|| 0..Shares::segments(count));
            let segments = part.map(Task::numbers).or(all).unwrap_or_default();
            let readers = match part {
                Some(_) => readers_of_part(&transaction, &request.table, segments, sharing)?,
                None => readers_of(&transaction, &request.table, segments, sharing)?,
            };
            let readers = match readers.is_empty() {
                true => vec![RowsOf::start(&transaction, &request.table, &access, asked)?],
                false => readers,
            };
            let filters = || others.iter().cloned().map(RuntimeFilter::new).collect();
            let batches = readers.into_iter();
            Ok(batches.map(|rows| Batches::new(rows, &request, filters(), size)).collect())
        };
        Ok(Reading(Box::new(start)))
    }

    /// Whether all rows that meet its conditions are given out, in no order, as whole scans do.
    pub(crate) fn is_whole(&self) -> bool {
        self.access == Access::All && self.fetch.is_none()
    }

    /// What a scan elsewhere is made of that gives the same; `None` once joins, sorts or subqueries
    /// ask anything of it.
    pub(crate) fn parts(&self) -> Option<ScanParts> {
        let is_as_planned = self.runtime_filters.is_empty()
            && self.told.is_empty()
            && self.fetch.is_none()
            && !self.has_parameters
            && self.properties.output_ordering().is_none();
        let is_of_table = self.columns.iter().all(|&column| column < self.table.columns.len());
        (is_as_planned && is_of_table).then(|| ScanParts {
            table: Arc::clone(&self.table),
            columns: self.columns.clone(),
            filters: Arc::clone(&self.filters),
            division: self.division,
        })
    }

    /// How the table that it reads is divided, if it is.
    pub(crate) fn division(&self) -> Option<(Division, &Arc<Table>)> {
        Some((self.division?, &self.table))
    }

    /// Sets of columns that it gives out, each by its place, of which no two rows have the same
    /// values but nulls.
    pub(crate) fn unique_keys(&self) -> Vec<Vec<usize>> {
        let place = |column: &usize| self.columns.iter().position(|of| of == column);
        let unique = self.table.indexes.iter().filter(|index| index.unique);
        unique.filter_map(|index| index.columns.iter().map(place).collect()).collect()
    }

    /// What counts its rows.
    pub(crate) fn counting(&self, partition: usize) -> BaselineMetrics {
        BaselineMetrics::new(&self.metrics, partition)
    }

    /// The same with a filter that changes while it is read; `None` if it reads by keys.
    ///
    /// # Errors
    /// A fault in the filter.
    pub(crate) fn told_while_read(
        &self,
        filter: &Arc<dyn PhysicalExpr>,
    ) -> PlanResult<Option<Self>> {
        if self.access != Access::All {
            return Ok(None);
        }
        let mut runtime_filters = self.runtime_filters.clone();
        runtime_filters.extend(Condition::of_output(&self.table, &self.columns, filter)?);
        Ok(Some(Self { runtime_filters, ..self.again(Arc::clone(&self.properties)) }))
    }

    fn again(&self, properties: Arc<PlanProperties>) -> Self {
        Self {
            table: Arc::clone(&self.table),
            columns: self.columns.clone(),
            access: self.access.clone(),
            conditions: self.conditions.clone(),
            filters: Arc::clone(&self.filters),
            has_parameters: self.has_parameters,
            division: self.division,
            runtime_filters: self.runtime_filters.clone(),
            told: self.told.clone(),
            fetch: self.fetch,
            schema: Arc::clone(&self.schema),
            properties,
            metrics: self.metrics.clone(),
        }
    }
}

/// What a scan is made of.
pub(crate) struct ScanParts {
    pub(crate) table: Arc<Table>,
    pub(crate) columns: Vec<usize>,
    pub(crate) filters: Arc<[Expr]>,
    pub(crate) division: Option<Division>,
}

/// What operators above want of the rows, now that it is known.
#[derive(Default)]
struct Wants {
    filters: Vec<Condition>,
    /// For each filter whether it is checked, since nothing else says the same.
    is_left: Vec<bool>,
    keys: Vec<WantedKeys>,
}

impl Wants {
    fn of(
        filters: Vec<Condition>,
        told: Vec<Told>,
        request: &ScanRequest,
        rows: usize,
    ) -> PlanResult<Self> {
        let is_left = vec![true; filters.len()];
        let mut wants = Self { filters, is_left, keys: Vec::new() };
        for told in told {
            let column = request.columns[told.column];
            let sql_type = &request.table.columns[column].sql_type;
            let is_number = sql_type.is_integer() || *sql_type == SqlType::Date;
            let keys = told.keys(&request.columns, rows).filter(|_| is_number);
            if let Some(condition) = told.condition(&request.table, &request.columns)? {
                wants.filters.push(condition);
                let says_the_same = |it: &WantedKeys| matches!(it.keys, WantedNumbers::Set(_));
                wants.is_left.push(!keys.as_ref().is_some_and(says_the_same));
            }
            wants.keys.extend(keys);
        }
        Ok(wants)
    }
}

/// Whether a condition compares a column with the value of a subquery.
fn compares_with_subquery(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(compared) = condition.downcast_ref::<BinaryExpr>() else { return false };
    let (left, right) = (compared.left(), compared.right());
    let is = |column: &Arc<dyn PhysicalExpr>, value: &Arc<dyn PhysicalExpr>| {
        column.is::<Column>() && value.is::<ScalarSubqueryExpr>()
    };
    compared.op().supports_propagation() && (is(left, right) || is(right, left))
}

/// A scan that begins once rows are asked for: what joins say of keys is known by then.
pub(crate) struct Reading(Box<dyn FnOnce(Sharing) -> Result<Vec<Batches>> + Send>);

impl Reading {
    /// What reads the rows: one for each thread that may do so, each a part of them.
    ///
    /// # Errors
    /// Whatever is met before the first row.
    pub(crate) fn begin(self, sharing: Sharing) -> Result<Vec<Batches>> {
        (self.0)(sharing)
    }
}

/// Readers of these segments of a table alone: at least one.
fn readers_of_part(
    transaction: &Arc<Transaction>,
    table: &Arc<Table>,
    segments: Range<usize>,
    sharing: Sharing,
) -> Result<Vec<RowsOf>> {
    let readers = readers_of(transaction, table, segments.clone(), sharing)?;
    if !readers.is_empty() {
        return Ok(readers);
    }
    let shares = Arc::new(Shares::new(segments, 1, Sharing::Alone));
    Ok(vec![RowsOf::of_segments(transaction, table, &shares, 0)?])
}

/// Readers of all these segments of a table; none if one thread reads it alone.
fn readers_of(
    transaction: &Arc<Transaction>,
    table: &Arc<Table>,
    segments: Range<usize>,
    sharing: Sharing,
) -> Result<Vec<RowsOf>> {
    let threads = match sharing {
        Sharing::Alone => 1,
        _ => transaction.threads.min(segments.len()),
    };
    let mut beside = Vec::new();
    while beside.len() + 1 < threads
        && let Some(other) = transaction.beside()?
    {
        beside.push(other);
    }
    if beside.is_empty() {
        return Ok(Vec::new());
    }
    let shares = Arc::new(Shares::new(segments, beside.len() + 1, sharing));
    let mut readers = vec![RowsOf::of_segments(transaction, table, &shares, 0)?];
    for (other, reader) in beside.iter().zip(1..) {
        readers.push(RowsOf::of_segments(other, table, &shares, reader)?);
    }
    Ok(readers)
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanExec({}, {:?})", self.table.name, self.access)
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = |place: &usize| &self.table.indexes[*place].name;
        match &self.access {
            Access::All => write!(f, "Scan: {}", self.table.name)?,
            Access::Nothing => write!(f, "Nothing: {}", self.table.name)?,
            Access::Keys { index: place, keys } => {
                let name = index(place);
                write!(f, "KeyLookup: {} by {name}, keys={}", self.table.name, keys.len())?;
            }
            Access::Range { index: place, prefix, low, high, backwards } => {
                let way = if *backwards { "KeyRange backwards" } else { "KeyRange" };
                write!(f, "{way}: {} by {}", self.table.name, index(place))?;
                let prefix: Vec<String> = prefix.iter().map(Datum::to_string).collect();
                if !prefix.is_empty() {
                    write!(f, ", prefix=[{}]", prefix.join(", "))?;
                }
                low.iter().try_for_each(|low| write!(f, ", from={low}"))?;
                high.iter().try_for_each(|high| write!(f, ", to={high}"))?;
            }
        }
        let names: Vec<&str> = self.schema.fields().iter().map(|f| f.name().as_str()).collect();
        write!(f, ", columns=[{}]", names.join(", "))?;
        match self.division {
            Some(Division::Segments) => f.write_str(", divided")?,
            Some(Division::Keys { column, .. }) => {
                let name = self.table.columns.get(column).map_or("", |column| &column.name);
                write!(f, ", divided by {name}")?;
            }
            None => {}
        }
        self.fetch.iter().try_for_each(|fetch| write!(f, ", fetch={fetch}"))?;
        let list = |conditions: &[Condition]| {
            let texts = conditions.iter().map(|condition| condition.expr().to_string());
            texts.collect::<Vec<_>>().join(" AND ")
        };
        if !self.conditions.is_empty() {
            write!(f, ", where {}", list(&self.conditions))?;
        }
        if !self.runtime_filters.is_empty() {
            write!(f, ", runtime filters: {}", list(&self.runtime_filters))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    /// A scan that has read nothing, and counted nothing.
    fn reset_state(self: Arc<Self>) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { metrics, ..self.again(Arc::clone(&self.properties)) }))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        for condition in self.conditions.iter().chain(&self.runtime_filters) {
            if f(condition.expr())? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    /// Takes what joins say of their other side's keys, sorts of the rows they still want, and
    /// filters that compare with the value of a subquery: all are checked again above.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> PlanResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let mut runtime_filters = self.runtime_filters.clone();
        if self.access == Access::All {
            for parent in &result.parent_filters {
                let filter = &parent.filter;
                let is_known_later = match phase {
                    FilterPushdownPhase::Pre => compares_with_subquery(filter),
                    FilterPushdownPhase::Post => {
                        DynamicFilterTracking::classify(filter).contains_dynamic_filter()
                    }
                };
                if is_known_later {
                    runtime_filters.extend(Condition::of_output(
                        &self.table,
                        &self.columns,
                        filter,
                    )?);
                }
            }
        }
        let unmet = vec![PushedDown::No; result.parent_filters.len()];
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(unmet);
        if runtime_filters.len() == self.runtime_filters.len() {
            return Ok(answer);
        }
        let with_filters = Self { runtime_filters, ..self.again(Arc::clone(&self.properties)) };
        Ok(answer.with_updated_node(Arc::new(with_filters)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        // Of few rows that are requested, not many more are read.
        let mut left = self.fetch.unwrap_or(usize::MAX);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut reading = Some(self.reading(partition, &context)?);
        let mut team = None;
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            if left == 0 {
                return Poll::Ready(None);
            }
            if let Some(reading) = reading.take() {
                team = Some(Team::new(reading.begin(Sharing::ByTurns)?, true));
            }
            let Some(team) = &mut team else { return Poll::Ready(None) };
            let batch = ready!(team.poll_next(waiting)).transpose();
            let batch = batch.map(|batch| {
                let batch = batch?;
                let batch = batch.slice(0, batch.num_rows().min(left));
                left -= batch.num_rows();
                Ok(batch)
            });
            Poll::Ready(batch.map(|batch: PlanResult<_>| batch.record_output(&metrics)))
        });
        let schema = Arc::clone(&self.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}
