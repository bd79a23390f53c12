//! The rows that one thread has found to be among the first.
//!
//! A row is compared key by key, and the values of a key are made only of rows that earlier keys
//! do not tell. What is kept is sorted whenever it has become too much, and cut: its last row is
//! the bound for whatever comes then.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use remanent_exec::{SortBound, SortKey, Tuples, sort_rows};

use super::told::Told;
use crate::error::{Error, Result};
use crate::limits::cancel::Cancel;
use crate::pipeline::flow::{Columns, Stages};
use crate::pipeline::kept_rows::copied_bytes;
use crate::pipeline::plan::{Expr, Pipeline, over};
use crate::pipeline::running::{Sink, Taken, Through};
use crate::pipeline::texts::without_others;
use crate::pipeline::values::{Computed, Values, with_memory};

/// Rows that are kept beside those that are wanted, before they are sorted.
const SPARE_ROWS: usize = 1024;

/// Rows whose values are made at once, at most.
const STEP_ROWS: usize = 1024;

/// What is wanted.
#[derive(Debug)]
pub(super) struct Wanted {
    keys: Vec<KeyOrder>,
    outputs: Vec<Computed>,
    /// What goes out, and behind that the keys that do not.
    schema: SchemaRef,
    rows: usize,
    told: Option<Arc<Told>>,
}

/// A key, and its order.
#[derive(Debug)]
struct KeyOrder {
    computed: Computed,
    /// Its column among those that are kept.
    place: usize,
    descending: bool,
    nulls_first: bool,
}

impl Wanted {
    /// So many rows of a pipeline, in the order of keys over what goes out of it.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(super) fn new<'k>(
        pipeline: &Pipeline,
        schema: &SchemaRef,
        keys: impl IntoIterator<Item = &'k PhysicalSortExpr>,
        rows: usize,
        told: Option<Arc<Told>>,
    ) -> PlanResult<Self> {
        let computed = |expr: &Expr| Computed::new(expr, &pipeline.columns);
        let outputs = pipeline.outputs.iter().map(computed).collect::<PlanResult<_>>()?;
        let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
        let mut orders = Vec::new();
        for PhysicalSortExpr { expr, options } in keys {
            let place = match expr.downcast_ref::<Column>() {
                Some(column) => column.index(),
                None => {
                    fields.push(Arc::new(Field::new("key", expr.data_type(schema)?, true)));
                    fields.len() - 1
                }
            };
            orders.push(KeyOrder {
                place,
                computed: computed(&over(expr, &pipeline.outputs)?)?,
                descending: options.descending,
                nulls_first: options.nulls_first,
            });
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { keys: orders, outputs, schema, rows, told })
    }
}

/// The first rows, as far as they have come.
pub(super) struct FirstRows {
    wanted: Arc<Wanted>,
    kept: Vec<RecordBatch>,
    /// How many these are.
    rows: usize,
    /// The keys of the last row that is wanted, once there are as many.
    bounds: Vec<SortBound>,
    memory: MemoryReservation,
}

impl FirstRows {
    pub(super) fn new(wanted: &Arc<Wanted>, memory: MemoryReservation) -> Self {
        let wanted = Arc::clone(wanted);
        Self { wanted, kept: Vec::new(), rows: 0, bounds: Vec::new(), memory }
    }

    /// The rows, in their order.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`; `CANCELLED`.
    pub(super) fn finish(mut self) -> Result<(Option<RecordBatch>, MemoryReservation)> {
        self.sort()?;
        let width = self.wanted.outputs.len();
        let columns: Vec<usize> = (0..width).collect();
        let rows = self.kept.pop().map(|rows| rows.project(&columns));
        Ok((rows.transpose()?, self.memory))
    }

    /// Keeps those of some tuples that may be among the first.
    fn add(&mut self, columns: &Columns, through: &Through<'_, '_>, all: &Tuples) -> Result<()> {
        match self.places(columns, through, all)? {
            _ if all.is_empty() => Ok(()),
            None => self.keep(columns, through, all),
            Some(places) if places.is_empty() => Ok(()),
            Some(places) => self.keep(columns, through, &all.kept(&places)),
        }
    }

    /// The places of tuples that come before the last row that is wanted; `None` if all may.
    fn places(
        &self,
        columns: &Columns,
        through: &Through<'_, '_>,
        all: &Tuples,
    ) -> Result<Option<Vec<u32>>> {
        let mut places = Vec::new();
        // Those whose keys were equal so far, if these are not all.
        let mut equal: Option<Vec<u32>> = None;
        for (key, bound) in self.wanted.keys.iter().zip(&self.bounds) {
            let chosen = equal.as_ref().map(|equal| all.kept(equal));
            let tuples = chosen.as_ref().unwrap_or(all);
            let array = |column| columns.array(through.piece.piece(), tuples, column);
            let values = key.computed.values(tuples.len(), array)?;
            let (mut before, mut same) = (Vec::new(), Vec::new());
            if !bound.split(&values.given(), tuples.len(), &mut before, &mut same) {
                return Err(Error::internal("a key of another kind than before"));
            }
            if let Some(equal) = &equal {
                let place = |of: &mut u32| *of = equal[*of as usize];
                before.iter_mut().chain(&mut same).for_each(place);
            }
            places.append(&mut before);
            let is_decided = same.is_empty();
            equal = Some(same);
            if is_decided {
                break;
            }
        }
        if equal.is_none() {
            return Ok(None);
        }
        places.sort_unstable();
        Ok(Some(places))
    }

    /// Keeps tuples, whose values are made.
    fn keep(
        &mut self,
        columns: &Columns,
        through: &Through<'_, '_>,
        tuples: &Tuples,
    ) -> Result<()> {
        let wanted = Arc::clone(&self.wanted);
        let keys = wanted.keys.iter().filter(|key| key.place >= wanted.outputs.len());
        let computed = wanted.outputs.iter().chain(keys.map(|key| &key.computed));
        let array = |column| columns.array(through.piece.piece(), tuples, column);
        let arrays = computed.map(|computed| computed.array(tuples.len(), array));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(tuples.len()));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&wanted.schema), arrays, &options)?;
        let batch = without_others(batch)?;
        let bytes = batch.get_array_memory_size();
        if self.memory.try_grow(bytes).is_err() {
            // What is not wanted any longer makes room.
            self.sort()?;
            self.memory.try_grow(bytes)?;
        }
        self.rows += batch.num_rows();
        self.kept.push(batch);
        if self.rows >= 2 * wanted.rows + SPARE_ROWS { self.sort() } else { Ok(()) }
    }

    /// Sorts what is kept, and leaves what is wanted of it.
    fn sort(&mut self) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let wanted = self.wanted.rows;
        // For a while all of it is there twice, but for the texts that views lead to.
        let fields = self.wanted.schema.fields().iter();
        let width: usize = fields.map(|field| copied_bytes(field.data_type())).sum();
        let copies = self.memory.new_empty();
        copies.try_grow(self.rows * width)?;
        let all = concat_batches(&self.wanted.schema, &self.kept)?;
        let values = self.wanted.keys.iter().map(|key| Values::of(all.column(key.place)));
        let values = values.collect::<Result<Vec<_>>>()?;
        let orders = values.iter().zip(&self.wanted.keys);
        let keys: Vec<SortKey<'_>> = orders
            .map(|(values, key)| SortKey {
                values: values.given(),
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
            .collect();
        let mut memory = self.memory.new_empty();
        let stop = &mut || Cancel::check_current().is_err();
        let order =
            with_memory(&mut memory, |memory| sort_rows(&keys, all.num_rows(), memory, stop));
        // Whoever was told to stop says why.
        Cancel::check_current()?;
        let mut order = order?.ok_or_else(|| Error::internal("a key that cannot be sorted"))?;
        order.truncate(wanted);
        if let (true, Some(last)) = (order.len() == wanted, order.last()) {
            let last = *last as usize;
            self.bounds = keys.iter().filter_map(|key| SortBound::of(key, last)).collect();
            let first = self.wanted.keys.first().zip(self.bounds.first());
            if let (Some(told), Some((key, bound))) = (&self.wanted.told, first) {
                told.tell(bound, ScalarValue::try_from_array(all.column(key.place), last)?)?;
            }
        }
        let first = without_others(take_record_batch(&all, &UInt32Array::from(order))?)?;
        self.memory.try_resize(first.get_array_memory_size())?;
        self.rows = first.num_rows();
        self.kept = vec![first];
        Ok(())
    }
}

impl Sink for FirstRows {
    const MAKES_ROWS: bool = false;

    fn take(
        &mut self,
        columns: &Columns,
        stages: &mut Stages<'_>,
        through: Through<'_, '_>,
    ) -> Result<Taken> {
        while let Some(tuples) = stages.next(through.piece, through.at)? {
            let rows = tuples.len();
            if rows <= STEP_ROWS {
                self.add(columns, &through, &tuples)?;
                continue;
            }
            for first in (0..rows).step_by(STEP_ROWS) {
                let places: Vec<u32> =
                    (first..rows.min(first + STEP_ROWS)).map(|at| at as u32).collect();
                self.add(columns, &through, &tuples.kept(&places))?;
            }
        }
        Ok(Taken { is_through: true, made: None })
    }

    fn absorb(&mut self, others: Vec<Self>) -> Result<()> {
        for mut other in others {
            self.rows += other.rows;
            self.kept.append(&mut other.kept);
            let bytes = other.memory.free();
            self.memory.try_grow(bytes)?;
        }
        Ok(())
    }
}
