//! The rows of a build side: columns that somebody asks for, and a table of the keys.
//!
//! They are collected batch by batch, and memory is asked for each before it is kept. Behind the
//! last row comes one of nulls, which stands for the row that an outer join did not find.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array,
};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use remanent_exec::{Given, JoinBuild, JoinKey, JoinTable, Rows, Source};

use super::plan::{Expr, Join};
use super::values::{Values, with_memory};
use crate::error::{Error, Result};

/// The rows of a build side.
pub(crate) struct Relation {
    /// Those columns that somebody asks for.
    columns: Vec<Option<Column>>,
    _reservation: Option<MemoryReservation>,
}

/// A column of a build side.
struct Column {
    array: ArrayRef,
    values: Values,
}

impl Column {
    fn of(array: ArrayRef) -> Result<Self> {
        let values = Values::of(&array)?.with_range();
        Ok(Self { array, values })
    }
}

impl Relation {
    /// The rows by which rows are marked: false, true, and one of nulls.
    ///
    /// # Errors
    /// None that is expected.
    pub(crate) fn of_marks() -> Result<Self> {
        let marks: ArrayRef = Arc::new(BooleanArray::from(vec![Some(false), Some(true), None]));
        Ok(Self { columns: vec![Some(Column::of(marks)?)], _reservation: None })
    }

    /// Where the values of a column are.
    pub(crate) fn source(&self, place: usize) -> Source<'_> {
        let column = self.columns.get(place).and_then(Option::as_ref);
        column.map_or(Source::Elsewhere, |column| Source::Given(column.values.given()))
    }

    /// The values of some rows of a column.
    ///
    /// # Errors
    /// A column that nobody was said to ask for.
    pub(crate) fn array(&self, place: usize, rows: Rows<'_>) -> Result<ArrayRef> {
        let column = self.columns.get(place).and_then(Option::as_ref);
        let column = column.ok_or_else(|| Error::internal("a column that was not collected"))?;
        let rows = match rows {
            Rows::List(rows) => UInt32Array::from(rows.to_vec()),
            rows => UInt32Array::from(rows.map(|row| row as u32)),
        };
        Ok(take(&column.array, &rows, None)?)
    }
}

/// A build side that is being read.
pub(crate) struct Collecting {
    build: JoinBuild,
    keys: Vec<Expr>,
    /// Places of the columns that somebody asks for.
    used: Vec<usize>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// What batches take, and what the table does.
    rows: MemoryReservation,
    table: MemoryReservation,
}

impl Collecting {
    /// No rows yet of a join's build side; `used` says which of its columns somebody asks for.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn new(join: &Join, used: &[bool], context: &TaskContext) -> Result<Self> {
        let schema = join.build.schema();
        let keys = join.build_keys.iter().map(|key| {
            let data_type = key.data_type(&schema)?;
            Ok(JoinKey { is_text: data_type.is_string() })
        });
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let register =
            |name: &str| MemoryConsumer::new(name.to_owned()).register(context.memory_pool());
        let used = used.iter().enumerate().filter(|(_, used)| **used);
        Ok(Self {
            build: JoinBuild::new(&keys, join.nulls_are_equal),
            keys: join.build_keys.clone(),
            used: used.map(|(place, _)| place).collect(),
            schema,
            batches: Vec::new(),
            rows: register("rows of a join"),
            table: register("keys of a join"),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Whatever is met in computing keys; `OUT_OF_MEMORY`.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let keys = self.keys.iter().map(|key| {
            let array = key.evaluate(batch)?.into_array(batch.num_rows())?;
            let values = Values::of(&array)?;
            match values.can_be_key() {
                true => Ok(values),
                false => Err(Error::internal("a key of more digits than its type has")),
            }
        });
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let given: Vec<Given<'_>> = keys.iter().map(Values::given).collect();
        let build = &mut self.build;
        with_memory(&mut self.table, |memory| build.add(&given, batch.num_rows(), memory))?;
        let kept = batch.project(&self.used)?;
        self.rows.try_grow(get_record_batch_memory_size(&kept))?;
        self.batches.push(kept);
        Ok(())
    }

    /// The rows with their table; `wanted` says of which keys the numbers are.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn finish(
        self,
        wanted: &[bool],
    ) -> Result<(Relation, JoinTable, MemoryReservation)> {
        let Self { build, mut table, batches, rows, used, schema, .. } = self;
        let joined = with_memory(&mut table, |memory| build.finish(wanted, memory))?;
        let mut columns: Vec<Option<Column>> = schema.fields().iter().map(|_| None).collect();
        for (at, place) in used.into_iter().enumerate() {
            let nulls = new_null_array(schema.field(place).data_type(), 1);
            let parts = batches.iter().map(|batch| batch.column(at).as_ref());
            let parts: Vec<&dyn Array> = parts.chain([nulls.as_ref()]).collect();
            // Both are there while rows are copied.
            let count: usize = parts.iter().map(|part| part.len()).sum();
            let width = nulls.data_type().primitive_width().unwrap_or(size_of::<u128>());
            rows.try_grow(count * width)?;
            columns[place] = Some(Column::of(concat(&parts)?)?);
        }
        drop(batches);
        let bytes = columns.iter().flatten().map(|column| column.array.get_array_memory_size());
        rows.try_resize(bytes.sum())?;
        let reservation = Some(rows);
        Ok((Relation { columns, _reservation: reservation }, joined, table))
    }
}
