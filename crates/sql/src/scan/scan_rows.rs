//! Rows of a table on their way into batches of Arrow.
//!
//! Hot rows are gathered by [`super::hot_rows`]; a frozen segment becomes arrays by itself, of the
//! rows that its snapshot sees. Of both only those are given out that meet the conditions; of a
//! frozen segment, columns that no condition is about are read for no other rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use datafusion::arrow::compute::filter;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::Result as PlanResult;
use remanent_engine::{FrozenColumn, FrozenRows};
use remanent_exec::{Rows, Selection};

use super::condition::{Condition, FilterResult, RuntimeFilter};
use super::frozen;
use super::frozen::Dictionary;
use super::hot_rows::HotRows;
use super::pushed::{SegmentConditions, WantedKeys};
use super::rows_of::{Next, RowsOf};
use crate::catalog::table::Table;
use crate::error::Result;
use crate::threads::team::{Worked, Worker};
use crate::transaction::owned::HeldFrozen;

/// What is requested of the rows.
pub(crate) struct ScanRequest {
    pub(crate) table: Arc<Table>,
    /// Places of the columns; one beyond the last is the number of the row.
    pub(crate) columns: Vec<usize>,
    /// What each row given out meets.
    pub(crate) conditions: Vec<Condition>,
    /// What joins want of them.
    pub(crate) keys: Vec<WantedKeys>,
    pub(crate) schema: SchemaRef,
}

/// Where a piece of a source lies: pieces of a stretch have come to one reader one behind the
/// other, and what lies between them to nobody.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PieceNumber {
    /// The number of its segment, of those that several readers take.
    pub(crate) segment: u64,
    /// Which stretch of this reader it is of.
    pub(crate) stretch: u64,
}

impl PieceNumber {
    /// Behind all pieces.
    pub(crate) const END: Self = Self { segment: u64::MAX, stretch: u64::MAX };
}

/// Rows on their way into batches: all of a scan, or those that one of several threads reads.
pub(crate) struct Batches {
    rows: RowsOf,
    request: Arc<ScanRequest>,
    runtime_filters: Vec<RuntimeFilter>,
    /// Places of the columns that are read: those requested, then those of conditions alone.
    read: Vec<usize>,
    /// Hot rows that were met since a batch was given out.
    hot: HotRows,
    size: usize,
    /// The frozen segment that is read, and the next of its rows to look at.
    frozen: Option<(Segment, usize)>,
    /// Whether somebody works on that segment already.
    is_held: bool,
    /// Of what rows were given out last.
    place: PieceNumber,
}

impl Batches {
    pub(crate) fn new(
        rows: RowsOf,
        request: &Arc<ScanRequest>,
        runtime_filters: Vec<RuntimeFilter>,
        size: usize,
    ) -> Self {
        let mut read = request.columns.clone();
        let conditions = request
            .conditions
            .iter()
            .chain(runtime_filters.iter().map(|runtime_filter| &runtime_filter.condition));
        for &place in conditions.flat_map(|condition| &condition.columns) {
            if !read.contains(&place) {
                read.push(place);
            }
        }
        let hot = HotRows::new(request, &runtime_filters, size);
        Self {
            rows,
            request: Arc::clone(request),
            runtime_filters,
            read,
            hot,
            size,
            frozen: None,
            is_held: false,
            place: PieceNumber::default(),
        }
    }

    /// Where the rows lie that were given out last.
    pub(crate) fn place(&self) -> PieceNumber {
        self.place
    }

    /// Gives the next rows to `take`, with where they lie: hot rows as a batch, or a frozen
    /// segment; whether there were any.
    ///
    /// # Errors
    /// Whatever is met in reading them; those of `take`.
    pub(crate) fn next_piece(
        &mut self,
        take: impl FnOnce(PieceNumber, TakenRows<'_>) -> Result<()>,
    ) -> Result<bool> {
        loop {
            if let Some((segment, _)) = self.frozen.take() {
                let (request, filters) = (&self.request, &mut self.runtime_filters);
                let size = self.size;
                let reader = FrozenReader { segment: &segment, request, filters, size };
                take(self.place, TakenRows::Frozen(reader))?;
                return Ok(true);
            }
            let (hot, next) = self.next_hot()?;
            if let Some(batch) = hot {
                take(self.place, TakenRows::Batch(batch))?;
                return Ok(true);
            }
            if next == Next::End {
                return Ok(false);
            }
        }
    }

    /// Goes to the next rows and holds them, if they are a frozen segment; `None` if there are no
    /// more. Rows of several segments that follow one another come with nothing between them.
    ///
    /// # Errors
    /// Whatever is met in reading them.
    pub(crate) fn hold_next(&mut self) -> Result<Option<Held>> {
        if std::mem::take(&mut self.is_held) {
            self.frozen = None;
        }
        loop {
            // Hot rows may have come before it.
            if self.frozen.is_some() {
                self.is_held = true;
                return Ok(Some(Held::Frozen));
            }
            let (hot, next) = self.next_hot()?;
            if let Some(batch) = hot {
                return Ok(Some(Held::Batch(batch)));
            }
            match next {
                Next::SegmentEnd => return Ok(Some(Held::Nothing)),
                Next::End if self.frozen.is_none() => return Ok(None),
                Next::Rows | Next::End => {}
            }
        }
    }

    /// The frozen segment that is held, if there is one.
    pub(crate) fn held(&mut self) -> Option<FrozenReader<'_>> {
        let (segment, _) = self.frozen.as_ref()?;
        let (request, filters, size) = (&self.request, &mut self.runtime_filters, self.size);
        Some(FrozenReader { segment, request, filters, size })
    }

    /// Hot rows up to the next frozen segment, if any of them meets the conditions; and what comes
    /// behind them.
    fn next_hot(&mut self) -> Result<(Option<RecordBatch>, Next)> {
        self.place = PieceNumber { segment: self.rows.segment(), stretch: self.rows.stretch() };
        let mut met = None;
        let mut next = Next::Rows;
        while next == Next::Rows && met.is_none() && !self.hot.is_full() {
            let hot = &mut self.hot;
            next = self.rows.next(|rows| hot.add(rows), |rows| met = Some(rows))?;
        }
        let are_last = next != Next::Rows || met.is_some();
        if let Some(rows) = met {
            let (request, filters, read) = (&self.request, &self.runtime_filters, &self.read);
            let segment = Segment::new(rows, request, filters, read)?;
            // What comes next is read meanwhile; what is wrong with it is said when it has come.
            self.rows.look_ahead(|rows| drop(announce_next(rows, request, filters, read)))?;
            self.frozen = segment.map(|segment| (segment, 0));
        }
        let hot = self.hot.take(&self.request, &mut self.runtime_filters, are_last)?;
        Ok((hot, next))
    }
}

impl Worker for Batches {
    fn work(&mut self) -> Result<Worked> {
        if let Some((segment, at)) = &mut self.frozen {
            let (request, filters) = (&self.request, &mut self.runtime_filters);
            if let Some(mut rows) = segment.next(at, request, filters, self.size)? {
                let arrays = request.columns.iter().map(|&place| rows.array(place));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                return batch_of(arrays, request, rows.len()).map(Worked::Made);
            }
            self.frozen = None;
        }
        let (hot, next) = self.next_hot()?;
        Ok(match (hot, next) {
            (Some(batch), _) => Worked::Made(batch),
            (None, Next::Rows) => Worked::GoesOn,
            (None, Next::SegmentEnd) => Worked::Through,
            (None, Next::End) if self.frozen.is_some() => Worked::GoesOn,
            (None, Next::End) => Worked::Ended,
        })
    }

    fn piece(&self) -> u64 {
        self.place.segment
    }
}

/// A batch of the requested columns.
pub(super) fn batch_of(
    arrays: Vec<ArrayRef>,
    request: &ScanRequest,
    count: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    let schema = Arc::clone(&request.schema);
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}

/// Announces the columns of a frozen segment that comes next, unless no row of it can meet the
/// conditions. Nothing is read for it.
fn announce_next(
    rows: &FrozenRows<'_>,
    request: &ScanRequest,
    runtime_filters: &[RuntimeFilter],
    read: &[usize],
) -> Result<()> {
    let (table, keys) = (&request.table, &request.keys);
    let runtime = runtime_filters.iter().map(|filter| filter.condition.for_encoded_values(table));
    let runtime = runtime.collect::<PlanResult<Vec<_>>>()?;
    let conditions = request.conditions.iter().chain(runtime.iter().flatten());
    match SegmentConditions::exclude(conditions, keys, table, rows)? {
        true => Ok(()),
        false => announce(rows, table, read),
    }
}

/// Says that columns of a frozen segment are about to be read.
fn announce(rows: &FrozenRows<'_>, table: &Table, read: &[usize]) -> Result<()> {
    let columns = read.iter().filter_map(|&place| table.columns.get(place));
    Ok(rows.announce(&columns.map(|column| column.handle).collect::<Vec<_>>())?)
}

/// A frozen segment that is being read.
struct Segment {
    rows: HeldFrozen,
    conditions: SegmentConditions,
    /// The place of each column that is read, with the views of its dictionary, if it has one of
    /// text.
    dictionaries: Vec<(usize, Option<Dictionary>)>,
}

impl Segment {
    /// A segment to read; `None` if no row of it can meet the conditions.
    fn new(
        held: HeldFrozen,
        request: &ScanRequest,
        runtime_filters: &[RuntimeFilter],
        read: &[usize],
    ) -> Result<Option<Self>> {
        let rows = held.rows()?;
        let (table, keys) = (&request.table, &request.keys);
        let Some(mut conditions) = SegmentConditions::new(&request.conditions, keys, table, rows)?
        else {
            return Ok(None);
        };
        for runtime_filter in runtime_filters {
            let now = runtime_filter.condition.for_encoded_values(table)?;
            if let Some(now) = now
                && !conditions.add(&now, table, rows)?
            {
                return Ok(None);
            }
        }
        announce(rows, table, read)?;
        let dictionaries = read.iter().map(|&place| {
            let Some(column) = request.table.columns.get(place) else { return Ok((place, None)) };
            Ok((place, frozen::dictionary(rows, column.handle)?))
        });
        let dictionaries = dictionaries.collect::<Result<Vec<_>>>()?;
        Ok(Some(Self { rows: held, conditions, dictionaries }))
    }

    /// The array of a column for some rows.
    fn array(
        &self,
        rows: &FrozenRows<'_>,
        request: &ScanRequest,
        place: usize,
        chosen: Rows<'_>,
    ) -> Result<ArrayRef> {
        let Some(column) = request.table.columns.get(place) else {
            return Ok(numbers_of(rows.first_row(), chosen));
        };
        let dictionary = self.dictionaries.iter().find(|(of, _)| *of == place);
        let dictionary = dictionary.and_then(|(_, dictionary)| dictionary.as_ref());
        frozen::array(&rows.column(column.handle)?, &column.sql_type, dictionary, chosen)
    }

    /// The next rows, from row `at` on, that are seen and meet the conditions; `None` after the
    /// last.
    fn next<'s>(
        &'s self,
        at: &mut usize,
        request: &'s ScanRequest,
        runtime_filters: &mut [RuntimeFilter],
        size: usize,
    ) -> Result<Option<SelectedRows<'s>>> {
        let rows = self.rows.rows()?;
        while *at < rows.len() {
            let stretch = *at..rows.len().min(*at + size);
            *at = stretch.end;
            let mut chosen = SelectedRows {
                segment: self,
                rows,
                request,
                places: self.conditions.select(rows, stretch)?,
                arrays: Vec::new(),
            };
            for &other in &self.conditions.others {
                chosen.keep(&request.conditions[other])?;
            }
            for runtime_filter in runtime_filters.iter_mut() {
                if !chosen.places.is_empty() && runtime_filter.is_worth_it() {
                    let before = chosen.places.len();
                    chosen.keep(&runtime_filter.condition)?;
                    runtime_filter.note(before, chosen.places.len());
                }
            }
            if !chosen.places.is_empty() {
                return Ok(Some(chosen));
            }
        }
        Ok(None)
    }
}

/// Rows that are held.
pub(crate) enum Held {
    /// None: a segment has come to its end.
    Nothing,
    /// The requested columns of hot rows.
    Batch(RecordBatch),
    Frozen,
}

/// Rows on their way to whoever reads encoded columns.
pub(crate) enum TakenRows<'b> {
    /// The requested columns of hot rows.
    Batch(RecordBatch),
    Frozen(FrozenReader<'b>),
}

/// A frozen segment, whose rows are read part by part.
pub(crate) struct FrozenReader<'b> {
    segment: &'b Segment,
    request: &'b ScanRequest,
    filters: &'b mut [RuntimeFilter],
    size: usize,
}

impl<'b> FrozenReader<'b> {
    /// How many columns are requested.
    pub(crate) fn width(&self) -> usize {
        self.request.columns.len()
    }

    /// A requested column, by its place among them; `None` if it is the number of the row.
    ///
    /// # Errors
    /// `CANCELLED`; a transaction that has ended.
    pub(crate) fn column(&self, requested: usize) -> Result<Option<FrozenColumn<'b>>> {
        let Some(column) = self.request.table.columns.get(self.request.columns[requested]) else {
            return Ok(None);
        };
        Ok(Some(self.segment.rows.rows()?.column(column.handle)?))
    }

    /// The next rows, from row `at` on, that are seen and meet the conditions; `None` after the
    /// last.
    ///
    /// # Errors
    /// Whatever is met in evaluating conditions; `CANCELLED`.
    pub(crate) fn next(&mut self, at: &mut usize) -> Result<Option<SelectedRows<'b>>> {
        self.segment.next(at, self.request, self.filters, self.size)
    }

    /// The array of a requested column, by its place among them, for some rows.
    ///
    /// # Errors
    /// A fault of the caller; `CANCELLED`.
    pub(crate) fn array(&self, requested: usize, rows: Rows<'_>) -> Result<ArrayRef> {
        let place = self.request.columns[requested];
        self.segment.array(self.segment.rows.rows()?, self.request, place, rows)
    }
}

/// Rows of a segment that are left, with the arrays that were made of them.
pub(crate) struct SelectedRows<'s> {
    segment: &'s Segment,
    rows: &'s FrozenRows<'s>,
    request: &'s ScanRequest,
    places: Selection,
    arrays: Vec<(usize, ArrayRef)>,
}

impl SelectedRows<'_> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Which rows of the segment they are, and no more.
    pub(crate) fn into_selection(self) -> Selection {
        self.places
    }

    /// Which rows of the segment they are.
    pub(crate) fn rows(&self) -> Rows<'_> {
        self.places.rows()
    }

    /// The array of a requested column, by its place among them.
    ///
    /// # Errors
    /// A fault of the caller.
    pub(crate) fn requested(&mut self, requested: usize) -> Result<ArrayRef> {
        self.array(self.request.columns[requested])
    }

    /// The array of a column.
    fn array(&mut self, place: usize) -> Result<ArrayRef> {
        if let Some((_, array)) = self.arrays.iter().find(|(of, _)| *of == place) {
            return Ok(Arc::clone(array));
        }
        let array = self.segment.array(self.rows, self.request, place, self.places.rows())?;
        self.arrays.push((place, Arc::clone(&array)));
        Ok(array)
    }

    /// Leaves the rows that meet a condition.
    fn keep(&mut self, condition: &Condition) -> Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        let columns = condition.columns.iter().map(|&place| self.array(place));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        match condition.kept(columns, self.places.len())? {
            FilterResult::All => {}
            FilterResult::None => self.places = Selection::List(Vec::new()),
            FilterResult::Some(truths) => {
                self.places.keep(truths.values().set_indices());
                for (_, array) in &mut self.arrays {
                    *array = filter(array, &truths)?;
                }
            }
        }
        Ok(())
    }
}

/// The numbers of rows of a segment.
fn numbers_of(first: u64, chosen: Rows<'_>) -> ArrayRef {
    let numbers = UInt64Array::from(chosen.map(|row| first + row as u64));
    Arc::new(numbers)
}
