//! A build side that is being read, by one thread or by several.
//!
//! Rows are kept as they come, and memory is asked for them before that. Each thread keeps those of
//! its own pieces of the source; in the end all are put into the order of the pieces.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::metrics::{BaselineMetrics, RecordOutput};
use remanent_exec::{BuildRun, Given, JoinBuild, JoinKey, JoinTable};

use super::exec::BatchMaker;
use super::flow::{Columns, Stages};
use super::kept_rows::KeptRows;
use super::plan::{Expr, Join};
use super::relation::Relation;
use super::running::{Sink, Taken, Through};
use super::values::{Values, with_memory};
use crate::error::{Error, Result};
use crate::threads::pair::do_both;

/// Rows of a build side from which on its columns are put together beside its table.
const ROWS_BESIDE: usize = 1 << 16;

/// A build side that is being read.
pub(crate) struct Collecting {
    build: JoinBuild,
    /// What other threads have read.
    others: Others,
    asked: Arc<Asked>,
    columns: KeptRows,
    /// What its table takes.
    table: MemoryReservation,
    /// How many threads have read it.
    threads: usize,
}

/// The keys of rows that other threads have read, until they are put to those of the first.
#[derive(Default)]
struct Others {
    builds: Vec<JoinBuild>,
    /// The order in which all rows come.
    runs: Vec<BuildRun>,
    /// What they take.
    reservations: Vec<MemoryReservation>,
}

impl Others {
    /// Puts them, of which none is left then, to those of the first thread.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn absorb_into(&mut self, build: &mut JoinBuild, table: &mut MemoryReservation) -> Result<()> {
        let Self { builds, runs, reservations } = std::mem::take(self);
        with_memory(table, |memory| build.absorb(builds, &runs, memory))?;
        drop(reservations);
        Ok(())
    }
}

/// What is asked of a build side, whichever thread reads it.
struct Asked {
    keys: Vec<Expr>,
    key_columns: Vec<JoinKey>,
    nulls_are_equal: bool,
}

impl Collecting {
    /// No rows yet of a join's build side; `used` says which of its columns somebody asks for.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn new(join: &Join, used: &[bool], context: &TaskContext) -> Result<Self> {
        let schema = join.build.schema();
        let key_columns = join.build_keys.iter().map(|key| {
            let data_type = key.data_type(&schema)?;
            Ok(JoinKey { is_text: data_type.is_string() })
        });
        let key_columns = key_columns.collect::<Result<Vec<_>>>()?;
        let used = used.iter().enumerate().filter(|(_, used)| **used);
        let nulls_are_equal = join.nulls_are_equal;
        let asked = Asked { keys: join.build_keys.clone(), key_columns, nulls_are_equal };
        let register =
            |name: &str| MemoryConsumer::new(name.to_owned()).register(context.memory_pool());
        let used = used.map(|(place, _)| place).collect();
        let columns = KeptRows::new(schema, used, register("rows of a join"));
        Ok(Self::of(Arc::new(asked), columns, register("keys of a join")))
    }

    fn of(asked: Arc<Asked>, columns: KeptRows, table: MemoryReservation) -> Self {
        let build = JoinBuild::new(&asked.key_columns, asked.nulls_are_equal);
        Self { build, others: Others::default(), asked, columns, table, threads: 1 }
    }

    /// No rows yet of the same build side, for another thread.
    pub(crate) fn beside(&self) -> Self {
        Self::of(Arc::clone(&self.asked), self.columns.beside(), self.table.new_empty())
    }

    /// Adds rows of a segment of the source.
    ///
    /// # Errors
    /// Whatever is met in computing keys; `OUT_OF_MEMORY`.
    pub(crate) fn add(&mut self, segment: u64, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        // Rows that come when all threads have ended stand behind those of all of them.
        self.others.absorb_into(&mut self.build, &mut self.table)?;
        let keys = self.asked.keys.iter().map(|key| {
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
        self.columns.add(segment, batch)
    }

    /// Takes over what others have read of the same build side.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn absorb(&mut self, others: Vec<Self>) -> Result<()> {
        if others.is_empty() {
            return Ok(());
        }
        self.threads += others.len();
        let (mut builds, mut columns, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for other in others {
            builds.push(other.build);
            columns.push(other.columns);
            tables.push(other.table);
        }
        let runs = absorb_rows(&mut self.columns, columns)?;
        self.others = Others { builds, runs, reservations: tables };
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
        let Self { mut build, mut others, columns, mut table, threads, .. } = self;
        let is_large = threads > 1 && columns.rows() >= ROWS_BESIDE;
        let columns = columns.into_columns(true);
        let of_keys = || {
            others.absorb_into(&mut build, &mut table)?;
            with_memory(&mut table, |memory| build.finish(wanted, memory))
        };
        let joined = match is_large {
            true => {
                // Who has done with the keys takes columns that are left.
                let keys_first =
                    || of_keys().and_then(|joined| columns.put_together().map(|()| joined));
                let (joined, put) = do_both(threads, keys_first, || columns.put_together());
                put.and(joined)?
            }
            false => {
                let joined = of_keys()?;
                columns.put_together()?;
                joined
            }
        };
        Ok((columns.finish()?, joined, table))
    }
}

/// Takes over the rows of others; all come in the order of their segments, which is said.
fn absorb_rows(own: &mut KeptRows, others: Vec<KeptRows>) -> Result<Vec<BuildRun>> {
    let mut all = Vec::new();
    let mut take = |build: usize, batches: Vec<(u64, RecordBatch)>| {
        let mut first = 0;
        for (segment, batch) in batches {
            let end = first + batch.num_rows();
            all.push((BuildRun { build, rows: first..end }, segment, batch));
            first = end;
        }
    };
    take(0, std::mem::take(&mut own.batches));
    for (other, build) in others.into_iter().zip(1..) {
        own.reservation.try_grow(other.reservation.free())?;
        take(build, other.batches);
    }
    all.sort_by_key(|(_, segment, _)| *segment);
    let mut runs = Vec::with_capacity(all.len());
    for (run, segment, batch) in all {
        runs.push(run);
        own.batches.push((segment, batch));
    }
    Ok(runs)
}

/// What takes the rows of a pipeline as those of a build side.
pub(crate) struct BuildRows {
    maker: BatchMaker,
    pub(crate) collecting: Collecting,
    /// Where rows are counted.
    metrics: Option<BaselineMetrics>,
}

impl BuildRows {
    pub(crate) fn new(
        maker: BatchMaker,
        collecting: Collecting,
        metrics: Option<BaselineMetrics>,
    ) -> Self {
        Self { maker, collecting, metrics }
    }
}

impl Sink for BuildRows {
    const MAKES_ROWS: bool = false;

    fn take(
        &mut self,
        columns: &Columns,
        stages: &mut Stages<'_>,
        through: Through<'_, '_>,
    ) -> Result<Taken> {
        let segment = through.place.segment;
        let Taken { is_through, made } = self.maker.take(columns, stages, through)?;
        if let Some(batch) = made {
            if let Some(metrics) = &self.metrics {
                batch.num_rows().record_output(metrics);
            }
            self.collecting.add(segment, &batch)?;
        }
        Ok(Taken { is_through, made: None })
    }

    fn absorb(&mut self, others: Vec<Self>) -> Result<()> {
        self.collecting.absorb(others.into_iter().map(|other| other.collecting).collect())
    }
}
