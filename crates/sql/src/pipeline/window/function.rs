//! What a function has of a partition so far, row by row.
//!
//! Whole numbers and decimals are added and compared with 16 bytes, floats as they are.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{self as dt, DataType, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_expr::window::{PlainAggregateWindowExpr, StandardWindowExpr, WindowExpr};
use datafusion::physical_plan::windows::WindowUDFExpr;

use super::peers::Peers;
use super::shifted::Shifted;
use crate::error::{Error, Result, SqlState};
use crate::functions::aggregates::average::mean::Mean;
use crate::functions::aggregates::sum;
use crate::pipeline::aggregate::result::{array_of, check};
use crate::pipeline::values::is_whole;

/// A function over the rows of a partition up to each of them.
pub(super) struct WindowFunction {
    computes: Computes,
    argument: Arc<dyn PhysicalExpr>,
    /// The type of what it says.
    result: DataType,
    /// Whether a row's peers behind it are left out.
    by_rows: bool,
    state: State,
}

enum Computes {
    Count,
    Sum,
    Average(Option<Mean>),
    Least,
    Greatest,
    RowNumber,
    Rank,
    DenseRank,
    Lag(Shifted),
}

impl Computes {
    /// Whether it is the number of a row or of its peers.
    fn is_rank(&self) -> bool {
        matches!(self, Self::RowNumber | Self::Rank | Self::DenseRank)
    }
}

/// What it has of the partition so far.
#[derive(Clone, Copy, Default)]
struct State {
    number: i128,
    float: f64,
    /// Rows with a value, or all.
    count: u64,
    /// Whether the number has outgrown 16 bytes.
    overflowed: bool,
}

/// What it says of each row of a batch.
pub(super) struct Said {
    numbers: Vec<i128>,
    floats: Vec<f64>,
    /// How many values each is made of.
    counts: Vec<i64>,
    are_floats: bool,
    /// All of it, where it is no number that is computed.
    array: Option<ArrayRef>,
}

/// The values of an argument.
enum Arguments {
    Numbers(Vec<i128>),
    Floats(Vec<f64>),
    /// Only whether they are null is asked for.
    Any,
}

impl WindowFunction {
    /// The function that a window of DataFusion's computes, if it is one that is known here, of the
    /// rows from the first one of a partition to each.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(super) fn of(window: &Arc<dyn WindowExpr>, schema: &Schema) -> PlanResult<Option<Self>> {
        let result = window.field()?.data_type().clone();
        if let Some((computes, argument)) = of_rows(window) {
            let state = State::default();
            return Ok(Some(Self { computes, argument, result, by_rows: true, state }));
        }
        let Some(plain) = window.as_any().downcast_ref::<PlainAggregateWindowExpr>() else {
            return Ok(None);
        };
        let (aggregate, frame) = (plain.get_aggregate_expr(), window.get_window_frame());
        let is_running = frame.start_bound.is_unbounded()
            && matches!(frame.start_bound, WindowFrameBound::Preceding(_))
            && frame.end_bound == WindowFrameBound::CurrentRow
            && frame.units != WindowFrameUnits::Groups;
        let is_plain = !has_filter(plain)
            && !aggregate.is_distinct()
            && !aggregate.ignore_nulls()
            && aggregate.order_bys().is_empty();
        let Ok([argument]) = <[_; 1]>::try_from(aggregate.expressions()) else {
            return Ok(None);
        };
        let of = argument.data_type(schema)?;
        let is_number = is_whole(&of) || matches!(of, DataType::Decimal128(..));
        let function = match aggregate.fun().name() {
            "count" => Some(Computes::Count),
            sum::NAME if of.is_numeric() && (is_number || of == DataType::Float64) => {
                Some(Computes::Sum)
            }
            "avg" if of == DataType::Float64 => Some(Computes::Average(None)),
            "avg" => match of {
                DataType::Decimal128(_, scale) => {
                    Some(Computes::Average(Some(Mean::new(scale, &result)?)))
                }
                _ => None,
            },
            "min" if is_number => Some(Computes::Least),
            "max" if is_number => Some(Computes::Greatest),
            _ => None,
        };
        let by_rows = frame.units == WindowFrameUnits::Rows;
        let function = function.filter(|_| is_running && is_plain);
        Ok(function.map(|function| Self {
            computes: function,
            argument,
            result,
            by_rows,
            state: State::default(),
        }))
    }

    /// Whether peers behind a row change what it says of that.
    pub(super) fn waits_for_peers(&self) -> bool {
        !self.by_rows
    }

    /// Adds the next rows. What it says of the last peers may change with those that follow.
    ///
    /// # Errors
    /// Whatever is met in evaluating the argument; `NUMBER_OUT_OF_RANGE`.
    pub(super) fn add(&mut self, batch: &RecordBatch, peers: &Peers) -> Result<Said> {
        let rows = batch.num_rows();
        if self.computes.is_rank() {
            return Ok(self.add_ranks(rows, peers));
        }
        let values = self.argument.evaluate(batch)?.into_array(rows)?;
        if let Computes::Lag(shifted) = &mut self.computes {
            return Ok(Said::array(shifted.next(&values, peers)?));
        }
        let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let arguments = match self.computes {
            Computes::Count => Arguments::Any,
            _ => arguments_of(&values)?,
        };
        let mut said = Said::with_room(rows, matches!(arguments, Arguments::Floats(_)));
        for (group, is_first) in &peers.groups {
            if *is_first {
                self.state = State::default();
            }
            if self.by_rows {
                for row in group.clone() {
                    self.add_rows(row..row + 1, &arguments, nulls.as_ref());
                    said.push(self.value()?, 1);
                }
            } else {
                self.add_rows(group.clone(), &arguments, nulls.as_ref());
                said.push(self.value()?, group.len());
            }
        }
        Ok(said)
    }

    fn add_ranks(&mut self, rows: usize, peers: &Peers) -> Said {
        let (state, mut said) = (&mut self.state, Said::with_room(rows, false));
        for (at, (group, is_first)) in peers.groups.iter().enumerate() {
            if *is_first {
                *state = State::default();
            }
            let are_new = at > 0 || !peers.go_on;
            let rank = i128::from(state.count) + 1;
            state.number = match self.computes {
                Computes::Rank if are_new => rank,
                Computes::DenseRank if are_new => state.number + 1,
                _ => state.number,
            };
            let value = |number| Value { number, float: 0.0, count: 1 };
            match self.computes {
                Computes::RowNumber => {
                    (0..).take(group.len()).for_each(|row| said.push(value(rank + row), 1));
                }
                _ => said.push(value(state.number), group.len()),
            }
            state.count += group.len() as u64;
        }
        said
    }

    fn add_rows(&mut self, rows: Range<usize>, of: &Arguments, nulls: Option<&NullBuffer>) {
        let state = &mut self.state;
        for row in rows {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            match (of, &self.computes) {
                (Arguments::Any, _) => {}
                (Arguments::Floats(floats), _) => state.float += floats[row],
                (Arguments::Numbers(numbers), Computes::Least) => {
                    let least = if state.count == 0 { i128::MAX } else { state.number };
                    state.number = least.min(numbers[row]);
                }
                (Arguments::Numbers(numbers), Computes::Greatest) => {
                    let greatest = if state.count == 0 { i128::MIN } else { state.number };
                    state.number = greatest.max(numbers[row]);
                }
                (Arguments::Numbers(numbers), _) => {
                    let (sum, overflows) = state.number.overflowing_add(numbers[row]);
                    (state.number, state.overflowed) = (sum, state.overflowed | overflows);
                }
            }
            state.count += 1;
        }
    }

    /// What it says now.
    fn value(&self) -> Result<Value> {
        let State { mut number, mut float, count, overflowed } = self.state;
        if overflowed {
            return Err(out_of_range(&self.result));
        }
        match &self.computes {
            Computes::Count => number = count.into(),
            Computes::Average(Some(mean)) => number = mean.of(number, count)?,
            Computes::Average(None) => float /= count as f64,
            _ => {}
        }
        Ok(Value { number, float, count: count as i64 })
    }

    /// What it said of the rows of a batch, as an array.
    ///
    /// # Errors
    /// `NUMBER_OUT_OF_RANGE`.
    pub(super) fn array(&self, said: Said) -> Result<ArrayRef> {
        let Said { numbers, floats, counts, are_floats, array } = said;
        if let Some(array) = array {
            return Ok(array);
        }
        let nulls = match self.computes {
            Computes::Count => None,
            _ if self.computes.is_rank() => None,
            _ => Some(counts.iter().map(|count| *count > 0).collect::<NullBuffer>()),
        };
        if are_floats {
            return Ok(Arc::new(Float64Array::new(floats.into(), nulls)));
        }
        if matches!(self.computes, Computes::Sum) {
            check(numbers.iter().zip(&counts), "a sum", &self.result)?;
        }
        array_of(numbers.into_iter(), nulls, &self.result)
    }
}

/// What a function says of some rows.
#[derive(Clone, Copy)]
pub(super) struct Value {
    number: i128,
    float: f64,
    count: i64,
}

impl Said {
    fn with_room(rows: usize, are_floats: bool) -> Self {
        let [numbers, floats] = if are_floats { [0, rows] } else { [rows, 0] };
        Self {
            numbers: Vec::with_capacity(numbers),
            floats: Vec::with_capacity(floats),
            counts: Vec::with_capacity(rows),
            are_floats,
            array: None,
        }
    }

    fn array(array: ArrayRef) -> Self {
        Self { array: Some(array), ..Self::with_room(0, false) }
    }

    /// The same of so many rows more.
    fn push(&mut self, value: Value, rows: usize) {
        let count = self.counts.len() + rows;
        self.counts.resize(count, value.count);
        match self.are_floats {
            true => self.floats.resize(count, value.float),
            false => self.numbers.resize(count, value.number),
        }
    }

    /// What it says of a row.
    pub(super) fn value(&self, row: usize) -> Value {
        Value {
            number: self.numbers.get(row).copied().unwrap_or_default(),
            float: self.floats.get(row).copied().unwrap_or_default(),
            count: self.counts.get(row).copied().unwrap_or_default(),
        }
    }

    /// Says the same of all rows from one on.
    pub(super) fn replace_from(&mut self, row: usize, value: Value) {
        let rows = self.counts.len() - row;
        self.counts.truncate(row);
        self.numbers.truncate(row);
        self.floats.truncate(row);
        self.push(value, rows);
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let array = self.array.as_ref().map_or(0, |array| array.get_array_memory_size());
        let words = self.floats.capacity() + self.counts.capacity();
        self.numbers.capacity() * size_of::<i128>() + words * size_of::<u64>() + array
    }
}

/// The function if it is one of rows, not of frames, and its argument.
fn of_rows(window: &Arc<dyn WindowExpr>) -> Option<(Computes, Arc<dyn PhysicalExpr>)> {
    let standard = window.as_any().downcast_ref::<StandardWindowExpr>()?;
    let function = standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>()?;
    match (function.fun().name(), function.args()) {
        ("row_number", _) => Some((Computes::RowNumber, none())),
        ("rank", _) => Some((Computes::Rank, none())),
        ("dense_rank", _) => Some((Computes::DenseRank, none())),
        ("lag", [argument, others @ ..]) if is_forward(function) => {
            Some((Computes::Lag(Shifted::of(others)?), Arc::clone(argument)))
        }
        _ => None,
    }
}

/// Whether a function goes through rows in their order, nulls among them; DataFusion shows it, and
/// does not give it.
fn is_forward(function: &WindowUDFExpr) -> bool {
    format!("{function:?}").ends_with("is_reversed: false, ignore_nulls: false }")
}

/// Whether a function has a FILTER; DataFusion shows it, and does not give it.
fn has_filter(plain: &PlainAggregateWindowExpr) -> bool {
    !format!("{plain:?}").ends_with("filter: None }")
}

fn out_of_range(result: &DataType) -> Error {
    let text = format!("a sum is out of the range of {result}");
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
}

fn none() -> Arc<dyn PhysicalExpr> {
    lit(ScalarValue::Null)
}

/// The values of an array of numbers; any where it is null.
fn arguments_of(array: &ArrayRef) -> Result<Arguments> {
    macro_rules! numbers {
        ($arrow:ident) => {{
            let values = array.as_primitive::<dt::$arrow>().values();
            Arguments::Numbers(values.iter().map(|value| i128::from(*value)).collect())
        }};
    }
    Ok(match array.data_type() {
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::Date32 => numbers!(Date32Type),
        DataType::Time64(TimeUnit::Microsecond) => numbers!(Time64MicrosecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers!(TimestampNanosecondType),
        DataType::Decimal128(..) => numbers!(Decimal128Type),
        DataType::Float64 => {
            Arguments::Floats(array.as_primitive::<dt::Float64Type>().values().to_vec())
        }
        other => return Err(Error::internal(format!("a window over {other}"))),
    })
}
