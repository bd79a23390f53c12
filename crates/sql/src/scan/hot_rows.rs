//! Hot rows on their way into batches of Arrow.
//!
//! Conditions that `remanent-exec` can evaluate on the bytes of rows leave the rows of a tile; of
//! these alone the columns that are needed become vectors. Other conditions, and what joins say of
//! their keys while they run, are evaluated on the arrays of a batch. A batch holds what several
//! tiles have left of their rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::compute::{concat_batches, filter};
use remanent_engine::Row;
use remanent_exec::{GatheredColumn, RowFilter, RowTile, WantedNumbers};

use super::condition::{Condition, FilterResult, RuntimeFilter};
use super::constant::ComparedColumns;
use super::frozen::array_of_decoded;
use super::pushed::{OnColumn, WantedKeys};
use super::scan_rows::{ScanRequest, batch_of};
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::arrow_in::ColumnBuilder;
use crate::values::sql_type::SqlType;

/// Bytes of text that a batch holds, about: what comes next begins another.
const TEXT_BYTES: usize = 16 << 20;

/// Hot rows of a scan that meet its conditions, and have not been given out.
pub(crate) struct HotRows {
    filter: RowFilter,
    /// Places of the conditions that are evaluated on arrays.
    others: Vec<usize>,
    /// Places of the columns: those requested, then those that arrays are made of for conditions
    /// alone.
    read: Vec<usize>,
    columns: Vec<HotColumn>,
    /// Rows in each of the columns.
    count: usize,
    /// Rows of which a batch is made.
    size: usize,
    /// Of these, batches that are too small to be given out by themselves.
    small: Vec<RecordBatch>,
}

/// The values of a column.
enum HotColumn {
    Gathered(GatheredColumn, SqlType),
    /// Of a type whose values are lists or bytes.
    Built(ColumnBuilder),
    /// The numbers of the rows.
    Numbers(Vec<u64>),
}

impl HotRows {
    pub(crate) fn new(
        request: &ScanRequest,
        runtime_filters: &[RuntimeFilter],
        size: usize,
    ) -> Self {
        let table = &request.table;
        let (mut row_filter, mut others) = (RowFilter::default(), Vec::new());
        for (place, condition) in request.conditions.iter().enumerate() {
            if !add_condition(&mut row_filter, condition, table) {
                others.push(place);
            }
        }
        for WantedKeys { column, keys, .. } in &request.keys {
            // Where they are not compared, the join does it.
            if let WantedNumbers::Set(keys) = keys {
                row_filter.add_keys(table.handle.layout(), table.columns[*column].leaf, keys);
            }
        }
        let mut read = request.columns.clone();
        let on_arrays = others.iter().map(|&place| &request.conditions[place]);
        let on_arrays = on_arrays.chain(runtime_filters.iter().map(|it| &it.condition));
        for &place in on_arrays.flat_map(|condition| &condition.columns) {
            if !read.contains(&place) {
                read.push(place);
            }
        }
        let columns = read.iter().map(|&place| HotColumn::new(table, place)).collect();
        let filter = row_filter;
        Self { filter, others, read, columns, count: 0, size, small: Vec::new() }
    }

    /// Whether there are as many rows as a batch is made of.
    pub(crate) fn is_full(&self) -> bool {
        let text_bytes = self.columns.iter().map(HotColumn::text_bytes);
        self.count >= self.size || text_bytes.sum::<usize>() >= TEXT_BYTES
    }

    /// Adds those of some rows that meet the conditions on their bytes.
    pub(crate) fn add(&mut self, rows: &[Row<'_>]) {
        for mut tile in RowTile::of(rows) {
            self.filter.select(&mut tile);
            if !tile.is_empty() {
                self.columns.iter_mut().for_each(|column| column.extend(&tile));
                self.count += tile.len();
            }
        }
    }

    /// A batch of the rows that meet all conditions. There may be none, although some rows do: few
    /// of them wait for more, unless these are the last.
    ///
    /// # Errors
    /// Whatever is met in evaluating conditions.
    pub(crate) fn take(
        &mut self,
        request: &ScanRequest,
        runtime_filters: &mut [RuntimeFilter],
        are_last: bool,
    ) -> Result<Option<RecordBatch>> {
        let kept = self.take_kept(request, runtime_filters)?;
        if self.small.is_empty() && kept.as_ref().is_none_or(|kept| self.is_large(kept)) {
            return Ok(kept);
        }
        self.small.extend(kept);
        let rows: usize = self.small.iter().map(RecordBatch::num_rows).sum();
        if !are_last && rows < self.size / 2 {
            return Ok(None);
        }
        let small = std::mem::take(&mut self.small);
        Ok(match small.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(concat_batches(&request.schema, several)?),
        })
    }

    fn is_large(&self, batch: &RecordBatch) -> bool {
        batch.num_rows() >= self.size / 2
    }

    /// A batch of the rows of the columns that meet all conditions, if there are any.
    fn take_kept(
        &mut self,
        request: &ScanRequest,
        runtime_filters: &mut [RuntimeFilter],
    ) -> Result<Option<RecordBatch>> {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().map(HotColumn::take).collect::<Result<Vec<_>>>()?;
        let mut kept = KeptRows { read: &self.read, arrays, count };
        for &other in &self.others {
            kept.keep(&request.conditions[other])?;
        }
        for runtime_filter in runtime_filters {
            if kept.count > 0 && runtime_filter.is_worth_it() {
                let before = kept.count;
                kept.keep(&runtime_filter.condition)?;
                runtime_filter.note(before, kept.count);
            }
        }
        if kept.count == 0 {
            return Ok(None);
        }
        kept.arrays.truncate(request.columns.len());
        batch_of(kept.arrays, request, kept.count).map(Some)
    }
}

/// Adds a condition to those that are evaluated on the bytes of rows; whether that can be done.
fn add_condition(row_filter: &mut RowFilter, condition: &Condition, table: &Table) -> bool {
    let layout = table.handle.layout();
    match (condition.columns.as_slice(), &condition.compared) {
        (&[column], _) => {
            let column = &table.columns[column];
            let predicate = OnColumn { condition, sql_type: &column.sql_type };
            row_filter.add(layout, column.leaf, &predicate)
        }
        (_, Some(ComparedColumns { left, right, comparison })) => {
            let leaf = |place: &usize| table.columns[*place].leaf;
            row_filter.add_comparison(layout, leaf(left), *comparison, leaf(right))
        }
        _ => false,
    }
}

/// Rows that have become arrays.
struct KeptRows<'r> {
    /// The place of the column that each of the arrays is of.
    read: &'r [usize],
    arrays: Vec<ArrayRef>,
    count: usize,
}

impl KeptRows<'_> {
    /// Leaves the rows that meet a condition.
    fn keep(&mut self, condition: &Condition) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let columns = condition.columns.iter().filter_map(|place| {
            let at = self.read.iter().position(|read| read == place)?;
            Some(Arc::clone(&self.arrays[at]))
        });
        match condition.kept(columns.collect(), self.count)? {
            FilterResult::All => {}
            FilterResult::None => self.count = 0,
            FilterResult::Some(truths) => {
                self.count = truths.true_count();
                for array in &mut self.arrays {
                    *array = filter(array, &truths)?;
                }
            }
        }
        Ok(())
    }
}

impl HotColumn {
    fn new(table: &Table, place: usize) -> Self {
        let Some(column) = table.columns.get(place) else { return Self::Numbers(Vec::new()) };
        match GatheredColumn::new(table.handle.layout(), column.leaf) {
            Some(gathered) => Self::Gathered(gathered, column.sql_type.clone()),
            None => {
                let (stored, sql_type) = (&column.stored, &column.sql_type);
                Self::Built(ColumnBuilder::new(column.handle, stored, sql_type, 0))
            }
        }
    }

    fn extend(&mut self, tile: &RowTile<'_, '_>) {
        match self {
            Self::Gathered(gathered, _) => gathered.extend(tile),
            Self::Built(builder) => builder.extend(&tile.rows().collect::<Vec<_>>()),
            Self::Numbers(numbers) => numbers.extend(tile.rows().map(|row| row.id().number())),
        }
    }

    fn text_bytes(&self) -> usize {
        match self {
            Self::Gathered(gathered, _) => gathered.text_bytes(),
            _ => 0,
        }
    }

    /// The array of the values; none are left.
    fn take(&mut self) -> Result<ArrayRef> {
        match self {
            Self::Gathered(gathered, sql_type) => array_of_decoded(gathered.take(), sql_type, None),
            Self::Built(builder) => builder.finish(),
            Self::Numbers(numbers) => Ok(Arc::new(UInt64Array::from(std::mem::take(numbers)))),
        }
    }
}
