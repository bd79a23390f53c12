//! A subquery as a function of the columns around it that it names.
//!
//! For each set of values that these columns have, it is planned with the values in it and run
//! once; what it answered is kept for as long as the query around it runs. A list that IN looks
//! into is kept as a set.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StructArray};
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::physical_plan::execute_stream;
use futures::TryStreamExt;

use super::lateral::list_of;
use super::shape::outer_columns;
use crate::error::{Error, SqlState};
use crate::limits::cancel::Cancel;
use crate::plan::cancel_check;
use crate::transaction::scope::Scope;

/// What is asked of a subquery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Asked {
    /// The value of its one row; NULL without one.
    Value,
    /// Whether it has a row.
    Existence,
    /// All its rows as one list; NULL if there are none.
    Rows,
    /// Whether a value is among those of its rows: NULL if that depends on a NULL.
    Membership,
}

/// The rows around a subquery.
pub(crate) struct Around<'p> {
    pub(crate) columns: &'p DFSchema,
    /// A column to name even if the subquery names none. A condition without columns would be
    /// checked below an aggregate of all rows, which has a row even if there are none.
    pub(crate) anchor: Option<Column>,
}

/// A call that asks this of a subquery, among these rows.
pub(crate) fn call(
    asked: Asked,
    value: Option<Expr>,
    plan: Arc<LogicalPlan>,
    around: &Around<'_>,
) -> PlanResult<Expr> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let outer = outer_columns(&plan)?;
    let field = plan.schema().fields().first();
    let result = match (asked, field) {
        (Asked::Value, Some(field)) => field.data_type().clone(),
        (Asked::Rows, _) => list_of(plan.schema().fields()),
        _ => DataType::Boolean,
    };
    let columns = outer.iter().map(|(field, column)| match around.columns.has_column(column) {
        true => Expr::Column(column.clone()),
        // A column of rows further out.
        false => Expr::OuterReferenceColumn(field.clone(), column.clone()),
    });
    let args = value.into_iter().chain(columns);
    let args = args.chain(around.anchor.clone().map(Expr::Column)).collect();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let function = Subplan {
        name: format!("subquery {number}"),
        asked,
        outer: outer.into_iter().map(|(_, column)| column).collect(),
        plan,
        result,
        signature: Signature::one_of(
            vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
            Volatility::Volatile,
        ),
        run: Mutex::default(),
    };
    let function = Arc::new(ScalarUDF::from(function));
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}

/// The function. It is not the same however often it is called: the planner is not to call it
/// itself, nor for rows for which nobody asked.
#[derive(Debug)]
struct Subplan {
    /// One of its own: columns of plans are told apart by the names of what they are made of.
    name: String,
    asked: Asked,
    /// The columns around it that are its arguments, behind the value that is looked for.
    outer: Vec<Column>,
    plan: Arc<LogicalPlan>,
    result: DataType,
    signature: Signature,
    run: Mutex<Run>,
}

impl PartialEq for Subplan {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Subplan {}

impl Hash for Subplan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// What was answered while the query around it runs.
#[derive(Debug, Default)]
struct Run {
    of: Weak<TaskContext>,
    answers: HashMap<Vec<ScalarValue>, Arc<Answer>>,
    memory: Option<MemoryReservation>,
}

/// What a subquery answered for some values of the columns around it.
#[derive(Debug)]
enum Answer {
    Value(ScalarValue),
    List { values: HashSet<ScalarValue>, has_null: bool },
}

impl Answer {
    /// The answer to what is asked of a row.
    fn of(&self, value: Option<ScalarValue>) -> ScalarValue {
        let (values, has_null) = match self {
            Self::Value(value) => return value.clone(),
            Self::List { values, has_null } => (values, *has_null),
        };
        let value = value.map(one_zero).unwrap_or(ScalarValue::Null);
        ScalarValue::Boolean(match value {
            _ if values.is_empty() && !has_null => Some(false),
            value if value.is_null() => None,
            value if values.contains(&value) => Some(true),
            _ => (!has_null).then_some(false),
        })
    }

    fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.size(),
            Self::List { values, .. } => ScalarValue::size_of_hashset(values),
        }
    }
}

/// Zero with a sign equals zero without.
fn one_zero(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float32(Some(number)) => ScalarValue::Float32(Some(number + 0.0)),
        ScalarValue::Float64(Some(number)) => ScalarValue::Float64(Some(number + 0.0)),
        other => other,
    }
}

impl ScalarUDFImpl for Subplan {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let rows = args.number_rows;
        let scope = Scope::current();
        let scope = scope.ok_or_else(|| Error::internal("a subquery without a query"))?;
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        run.begin(scope.task(), &self.name);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        if arrays.is_empty() {
            let answer = self.answer(&mut run, &scope, Vec::new())?;
            return Ok(ColumnarValue::Scalar(answer.of(None)));
        }
        let outer_from = usize::from(self.asked == Asked::Membership);
        let outer_to = outer_from + self.outer.len();
        let mut answers = Vec::with_capacity(rows);
        for row in 0..arrays[0].len() {
            let value_at = |array: &ArrayRef| ScalarValue::try_from_array(array, row);
            let outer = arrays[outer_from..outer_to].iter().map(value_at);
            let outer = outer.collect::<PlanResult<_>>()?;
            let answer = self.answer(&mut run, &scope, outer)?;
            let value = arrays[..outer_from].first().map(value_at).transpose()?;
            answers.push(answer.of(value));
        }
        let all_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        match (all_constant, answers.pop()) {
            (true, Some(answer)) => Ok(ColumnarValue::Scalar(answer)),
            (_, None) => {
                let none = datafusion::arrow::array::new_empty_array(&self.result);
                Ok(ColumnarValue::Array(none))
            }
            (false, Some(last)) => {
                answers.push(last);
                Ok(ColumnarValue::Array(ScalarValue::iter_to_array(answers)?))
            }
        }
    }
}

impl Run {
    /// Forgets what another run of the query around it was answered.
    fn begin(&mut self, task: &Arc<TaskContext>, name: &str) {
        if std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(task)) {
            return;
        }
        let memory = MemoryConsumer::new(name).register(task.memory_pool());
        *self = Self { of: Arc::downgrade(task), answers: HashMap::new(), memory: Some(memory) };
    }
}

impl Subplan {
    fn answer(
        &self,
        run: &mut Run,
        scope: &Arc<Scope>,
        outer: Vec<ScalarValue>,
    ) -> PlanResult<Arc<Answer>> {
        if let Some(answer) = run.answers.get(&outer) {
            return Ok(Arc::clone(answer));
        }
        let answer = Arc::new(block_on(self.ask(scope, &outer))?);
        if let Some(memory) = &mut run.memory {
            let key: usize = outer.iter().map(ScalarValue::size).sum();
            memory.try_grow(key + answer.size() + size_of::<Answer>())?;
        }
        run.answers.insert(outer, Arc::clone(&answer));
        Ok(answer)
    }

    /// Runs the subquery with these values around it.
    async fn ask(&self, scope: &Arc<Scope>, outer: &[ScalarValue]) -> PlanResult<Answer> {
        let plan = self.with_values(outer)?;
        let fetch = match self.asked {
            Asked::Value => Some(2),
            Asked::Existence => Some(1),
            Asked::Membership | Asked::Rows => None,
        };
        let plan = match fetch {
            Some(_) => LogicalPlanBuilder::from(plan).limit(0, fetch)?.build()?,
            None => plan,
        };
        let plan = cancel_check::plan(&scope.state, &plan, &scope.transaction).await?;
        let mut rows = execute_stream(plan.plan, Arc::clone(scope.task()))?;
        let mut seen = 0;
        let mut value = ScalarValue::try_from(&self.result)?;
        let (mut values, mut has_null) = (HashSet::new(), false);
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            seen += batch.num_rows();
            match self.asked {
                Asked::Value if batch.num_rows() > 0 => value = first(&batch)?,
                Asked::Value | Asked::Existence => {}
                Asked::Rows => batches.push(batch),
                Asked::Membership => {
                    for row in 0..batch.num_rows() {
                        let value = ScalarValue::try_from_array(batch.column(0), row)?;
                        match value.is_null() {
                            true => has_null = true,
                            false => _ = values.insert(one_zero(value)),
                        }
                    }
                }
            }
        }
        match self.asked {
            Asked::Value if seen > 1 => {
                let text = "more than one row returned by a subquery used as an expression";
                Err(Error::new(SqlState::CARDINALITY, text).into())
            }
            Asked::Rows if seen > 0 => Ok(Answer::Value(self.list(&batches)?)),
            Asked::Value | Asked::Rows => Ok(Answer::Value(value)),
            Asked::Existence => Ok(Answer::Value(ScalarValue::Boolean(Some(seen > 0)))),
            Asked::Membership => Ok(Answer::List { values, has_null }),
        }
    }

    /// All rows as one list, whose size is asked for before it is made.
    fn list(&self, batches: &[RecordBatch]) -> PlanResult<ScalarValue> {
        let bytes = batches.iter().map(RecordBatch::get_array_memory_size).sum();
        Cancel::check_list(bytes)?;
        let DataType::List(of) = &self.result else {
            return Err(Error::internal("rows that are no list").into());
        };
        let DataType::Struct(fields) = of.data_type() else {
            return Err(Error::internal("rows without columns").into());
        };
        let columns = fields.iter().enumerate().map(|(place, field)| {
            let parts = batches.iter().map(|batch| cast(batch.column(place), field.data_type()));
            let parts = parts.collect::<Result<Vec<ArrayRef>, _>>()?;
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            concat(&parts)
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let rows = StructArray::try_new_with_length(fields.clone(), columns, None, rows)?;
        Ok(SingleRowListArrayBuilder::new(Arc::new(rows)).build_list_scalar())
    }

    /// The subquery's plan with values where it names columns around it.
    fn with_values(&self, outer: &[ScalarValue]) -> PlanResult<LogicalPlan> {
        let plan = LogicalPlan::clone(&self.plan);
        if outer.is_empty() {
            return Ok(plan);
        }
        let value_of = |expr: Expr| {
            let Expr::OuterReferenceColumn(_, column) = &expr else {
                return Ok(Transformed::no(expr));
            };
            let place = self.outer.iter().position(|other| other == column);
            match place.and_then(|place| outer.get(place)) {
                Some(value) => Ok(Transformed::yes(Expr::Literal(value.clone(), None))),
                None => Err(Error::internal(format!("no value of {column}")).into()),
            }
        };
        let plan = plan.transform_up(|node| {
            let names = NamePreserver::new(&node);
            let node = node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(value_of)?.update_data(|expr| name.restore(expr)))
            })?;
            node.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(plan.data)
    }
}

fn first(batch: &RecordBatch) -> PlanResult<ScalarValue> {
    ScalarValue::try_from_array(batch.column(0), 0)
}

/// Wakes the thread that waits.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// How long to wait for a future's word that it can go on. Words that are given by way of the
/// runtime, which waits for this thread, never come.
const PATIENCE: Duration = Duration::from_millis(1);

/// Waits for a future on this thread, which another may be waited for on, too. It is not stopped
/// for the sake of others: they would not get the thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(tokio::task::unconstrained(future));
    let waker = Waker::from(Arc::new(Waiting(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park_timeout(PATIENCE),
        }
    }
}
