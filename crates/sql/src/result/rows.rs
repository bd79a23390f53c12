//! A query that runs: its rows come when they are asked for.
//!
//! Rows of a statement about one key are ready as values; those of a query are a stream of
//! batches that keeps the transaction it reads in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;

use crate::catalog::table::type_of_field;
use crate::error::Result;
use crate::limits::held::Held;
use crate::names::shown;
use crate::plan_cache::InUse;
use crate::transaction::Transaction;
use crate::values::arrow_in::array_of;
use crate::values::blanks;
pub use crate::values::column::ResultColumn;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The rows of a statement, as they come.
///
/// Rows of a query are read in the transaction of their session; once that has ended, asking for
/// more is an error.
pub struct Rows {
    columns: Arc<[ResultColumn]>,
    source: Source,
    /// Rows that are ready as values.
    pending: VecDeque<Vec<Datum>>,
    /// The batch that was read last, and how many of its rows were given out: each is made
    /// values when it is asked for, so that what is large is there once.
    begun: Option<(RecordBatch, usize)>,
    /// Whether values are made what the columns say.
    casts: bool,
    /// Whether there are columns of CHAR, whose values get their blanks.
    pads: bool,
}

enum Source {
    Stream {
        stream: SendableRecordBatchStream,
        guard: Box<Guard>,
        /// How long batches were worked for.
        worked: Duration,
    },
    Batches {
        batches: VecDeque<RecordBatch>,
        _held: Option<Held>,
    },
    Values,
}

/// What is done when a statement has ended, told how long it worked.
pub(crate) type Afterwards = Box<dyn FnOnce(Duration) + Send>;

/// What becomes of the transaction when the rows have been read.
pub(crate) struct Guard {
    /// Kept as long as there may be rows to read; of a statement by itself, the last to keep it.
    pub(crate) transaction: Option<Arc<Transaction>>,
    /// What rows of named queries that were computed before are held by.
    pub(crate) named: Vec<Held>,
    /// The plan of which a copy is run, if it is one that is kept.
    pub(crate) plan: Option<InUse>,
    /// Done once the transaction is let go.
    pub(crate) afterwards: Option<Afterwards>,
}

impl Rows {
    /// The rows of a stream.
    pub(crate) fn stream(stream: SendableRecordBatchStream, guard: Guard) -> Self {
        let columns = columns_of(&stream.schema());
        Self {
            source: Source::Stream { stream, guard: Box::new(guard), worked: Duration::ZERO },
            pending: VecDeque::new(),
            begun: None,
            casts: false,
            pads: blanks::are_shown(&columns),
            columns,
        }
    }

    /// Rows that are ready.
    pub(crate) fn batches(
        schema: &SchemaRef,
        batches: Vec<RecordBatch>,
        held: Option<Held>,
    ) -> Self {
        let source = Source::Batches { batches: batches.into(), _held: held };
        let columns = columns_of(schema);
        let pads = blanks::are_shown(&columns);
        Self { columns, source, pending: VecDeque::new(), begun: None, casts: false, pads }
    }

    /// Rows that are ready, as values.
    pub fn values(columns: Arc<[ResultColumn]>, rows: VecDeque<Vec<Datum>>) -> Self {
        let pads = blanks::are_shown(&columns);
        Self { columns, source: Source::Values, pending: rows, begun: None, casts: false, pads }
    }

    /// The same rows with these columns, which were described to the caller before; `None` if there
    /// are more or fewer. Values are cast to their types.
    #[must_use]
    pub fn described_as(mut self, described: &Arc<[ResultColumn]>) -> Option<Self> {
        if described.len() != self.columns.len() {
            return None;
        }
        self.casts =
            described.iter().zip(self.columns.iter()).any(|(a, b)| a.sql_type != b.sql_type);
        self.columns = Arc::clone(described);
        self.pads = blanks::are_shown(described);
        Some(self)
    }

    fn cast(&self, row: Vec<Datum>) -> Result<Vec<Datum>> {
        let told = |column: &ResultColumn| match &column.sql_type {
            SqlType::Unknown => SqlType::Text,
            known => known.clone(),
        };
        row.iter().zip(self.columns.iter()).map(|(datum, to)| datum.cast(&told(to))).collect()
    }

    /// What each row has.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// The columns as Arrow has them, under the names that are shown.
    pub fn schema(&self) -> SchemaRef {
        let types: Vec<DataType> = match &self.source {
            Source::Stream { stream, .. } => {
                stream.schema().fields().iter().map(|field| field.data_type().clone()).collect()
            }
            _ => self.columns.iter().map(|column| column.sql_type.to_arrow()).collect(),
        };
        let columns = self.columns.iter().zip(types);
        let fields = columns.map(|(column, of)| Field::new(&column.name, of, true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The next of the rows that are ready, without waiting: all rows of a statement about one
    /// key.
    pub fn next_ready(&mut self) -> Option<Vec<Datum>> {
        let row = self.pending.pop_front()?;
        Some(self.shown(row))
    }

    /// A row with the blanks of its CHAR.
    fn shown(&self, mut row: Vec<Datum>) -> Vec<Datum> {
        if self.pads {
            row.iter_mut().zip(self.columns.iter()).for_each(|(datum, column)| {
                blanks::add(datum, &column.sql_type);
            });
        }
        row
    }

    /// Begins to read, so that what the query meets at its begin is said now.
    ///
    /// # Errors
    /// That.
    ///
    /// # Examples
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// let mut session = remanent_sql::SqlDatabase::in_memory()?.session();
    /// let statement = session.parse("select 1 / n from generate_series(0, 9) g(n)")?;
    /// let mut rows = runtime.block_on(session.run(&statement, &[]))?.rows.expect("a query");
    /// let refused = runtime.block_on(rows.read_ahead()).unwrap_err();
    /// assert_eq!(refused.state().as_str(), "22012");
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub async fn read_ahead(&mut self) -> Result<()> {
        if self.pending.is_empty() && self.begun.is_none() {
            self.begun = self.next_batch().await?.map(|batch| (batch, 0));
        }
        Ok(())
    }

    /// The next batch; `None` after the last.
    ///
    /// # Errors
    /// Whatever the query meets.
    pub async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        // None of its rows was given out: it was read ahead.
        if let Some((batch, _)) = self.begun.take_if(|(_, given)| *given == 0) {
            return Ok(Some(batch));
        }
        loop {
            let batch = match &mut self.source {
                Source::Stream { stream, worked, .. } => {
                    let begun = Instant::now();
                    let next = stream.next().await;
                    *worked += begun.elapsed();
                    next.transpose()?
                }
                Source::Batches { batches, .. } => batches.pop_front(),
                Source::Values => self.pending_batch()?,
            };
            match batch {
                None => {
                    self.end();
                    return Ok(None);
                }
                Some(batch) if batch.num_rows() > 0 && self.pads => {
                    return blanks::added(&batch, &self.columns).map(Some);
                }
                Some(batch) if batch.num_rows() > 0 => return Ok(Some(batch)),
                Some(_) => {}
            }
        }
    }

    /// A statement by itself ends with its last row.
    fn end(&mut self) {
        let Source::Stream { guard, worked, .. } = &mut self.source else { return };
        let worked = *worked;
        guard.transaction = None;
        guard.named.clear();
        guard.plan = None;
        if let Some(afterwards) = guard.afterwards.take() {
            // Operators keep the transaction, too.
            self.source = Source::Batches { batches: VecDeque::new(), _held: None };
            afterwards(worked);
        }
    }

    /// Values that are ready, as a batch.
    fn pending_batch(&mut self) -> Result<Option<RecordBatch>> {
        let rows = std::mem::take(&mut self.pending);
        if rows.is_empty() {
            return Ok(None);
        }
        let mut columns = vec![Vec::with_capacity(rows.len()); self.columns.len()];
        for row in rows {
            columns.iter_mut().zip(row).for_each(|(column, datum)| column.push(datum));
        }
        let arrays = columns.iter().zip(self.columns.iter());
        let arrays = arrays.map(|(column, of)| array_of(column, &of.sql_type));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok(Some(RecordBatch::try_new(self.schema(), arrays)?))
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// Whatever the query meets.
    pub async fn next_row(&mut self) -> Result<Option<Vec<Datum>>> {
        let row = loop {
            if let Some(row) = self.next_ready() {
                break row;
            }
            if let Some((batch, given)) = &mut self.begun {
                let row = *given;
                *given += 1;
                if row < batch.num_rows() {
                    let values = batch.columns().iter();
                    break values
                        .map(|array| Datum::from_array(array, row))
                        .collect::<Result<_>>()?;
                }
                self.begun = None;
            }
            match self.next_batch().await? {
                Some(batch) => self.begun = Some((batch, 0)),
                None => return Ok(None),
            }
        };
        if self.casts { self.cast(row).map(|row| Some(self.shown(row))) } else { Ok(Some(row)) }
    }
}

/// The columns of a result with this schema.
pub(crate) fn columns_of(schema: &SchemaRef) -> Arc<[ResultColumn]> {
    let column = |field: &Arc<Field>| ResultColumn {
        name: shown(field.name()).to_owned(),
        sql_type: type_of_field(field),
    };
    schema.fields().iter().map(column).collect()
}
