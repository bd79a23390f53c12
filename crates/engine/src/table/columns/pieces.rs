//! Reading a table in pieces: hot rows as rows, frozen segments as columns.
//!
//! In the order of row ids. A frozen segment comes with a bitmap of the rows for which its columns
//! are what the snapshot sees; rows that have changed since it was frozen follow it as rows. Both
//! are taken from one look at each slot, so every row that is seen comes once. Columns are
//! references into the database, which stay until the transaction ends.

use std::ops::Range;

use super::frozen::{FrozenSegment, GROUP};
use super::paging::{Pin, set_stored};
use crate::column::block::Block;
use crate::column::{ColumnSummary, FrozenColumn};
use crate::error::Result;
use crate::memory::Memory;
use crate::memory::aligned::as_u64s;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed};
use crate::segment_files::StoredBlock;
use crate::snapshot::SnapshotOfMany;
use crate::table::handle::{ColumnHandle, Table};
use crate::table::read::reader::Reader;
use crate::table::rows::row::{Row, RowId};
use crate::table::rows::segment::{SEGMENT_SHIFT, is_frozen, newest_of};
use crate::table::rows::version::{Version, visible_bytes_by};
use crate::table::table::TableAt;

/// Slots of hot rows that one piece is made of, unless something else is said.
const HOT_SLOTS: u64 = 1024;

/// Rows whose versions are on their way from memory.
const AHEAD: usize = 32;

/// How far rows lie apart, at most, for what is between them to be asked for as well.
const APART_MAX: usize = 384;

/// A table in pieces, in the order of row ids.
///
/// # Examples
/// See [`ReadTransaction::scan_pieces`](crate::ReadTransaction::scan_pieces).
pub struct Pieces<'t> {
    table: TableAt<'t>,
    handle: &'t Table,
    reader: Reader<'t>,
    /// The reader's.
    snapshot: SnapshotOfMany,
    /// The next row id to look at, and the end of those to look at.
    next: u64,
    limit: u64,
    /// The end of the table when this began; what came behind it is not seen.
    end: u64,
    rows: Vec<Row<'t>>,
    hot_slots: u64,
    /// Whether there are rows that belong to the frozen segment given last.
    rows_follow: bool,
}

/// Some rows of a table.
///
/// # Examples
/// See [`ReadTransaction::scan_pieces`](crate::ReadTransaction::scan_pieces).
pub enum Piece<'p, 't> {
    /// Rows that lie by themselves, at most 65,536; never none.
    Rows(&'p [Row<'t>]),
    /// The rows of a frozen segment that are as they were frozen; some of them are seen.
    Frozen(FrozenRows<'t>),
}

/// The rows of a frozen segment, as columns.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, Piece, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
/// let a = table.column("a")?;
/// let rows = (0..100_i64).map(|i| [Some(Value::I64(i))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// db.write(|tx| {
///     let third = tx.scan(&table)?.nth(3).expect("there are 100").id();
///     tx.update_values(&table, third, &[(a, Value::I64(1000))])
/// })?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// assert_eq!((rows.first_row(), rows.len()), (0, 100));
/// // The row that has changed is hidden in the columns.
/// assert_eq!(rows.visible().map(|bits| bits[0]), Some(!(1 << 3)));
/// assert_eq!(rows.visible_count(), 99);
/// assert_eq!(rows.column(a)?.value(4, &mut Vec::new()), Value::I64(4));
/// // It comes as a row.
/// let Some(Piece::Rows(rows)) = pieces.next_piece() else { unreachable!() };
/// assert_eq!(rows.iter().filter_map(|row| row.get::<i64>(a)).collect::<Vec<_>>(), [1000]);
/// assert!(pieces.next_piece().is_none());
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone)]
pub struct FrozenRows<'t> {
    memory: &'t Memory,
    handle: &'t Table,
    frozen: &'t FrozenSegment,
    block: Block<'t>,
    /// Keeps the columns that were asked for in memory, if they could leave it.
    pin: Option<Pin<'t>>,
    first: u64,
    visible: Visible<'t>,
    /// Whether it begins with the segment: else rows of it were given before it was frozen.
    is_whole: bool,
    is_worn: bool,
}

/// A segment of a table, of which it is to be said where it stands in a file. The snapshot that
/// sees it keeps it, be it the newest one of its rows or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentToStore {
    frozen: u64,
}

impl SegmentToStore {
    /// Notes where it stands. It is of this table, and the snapshot is still held.
    pub(crate) fn note_stored(self, table: TableAt<'_>, stored: StoredBlock) {
        set_stored(table, FrozenSegment::at(table.memory, self.frozen), stored);
    }
}

/// For which rows the columns are what is seen.
#[derive(Clone)]
enum Visible<'t> {
    All,
    /// All that were there.
    Present(&'t [u64]),
    Some(Box<[u64]>),
}

impl<'t> Pieces<'t> {
    pub(crate) fn new(table: TableAt<'t>, handle: &'t Table, reader: Reader<'t>) -> Self {
        let end = table.directory().limit();
        let snapshot = SnapshotOfMany::new(reader.snapshot);
        let (rows, rows_follow, hot_slots) = (Vec::new(), false, HOT_SLOTS);
        let (next, limit) = (0, end);
        Self { table, handle, reader, snapshot, next, limit, end, rows, hot_slots, rows_follow }
    }

    /// Makes pieces of hot rows out of so many slots at most.
    pub(crate) fn limit_hot_slots(&mut self, slots: u64) {
        self.hot_slots = slots;
    }

    /// Goes to the first of the rows with these ids, and stays within them.
    pub(crate) fn go_to(&mut self, rows: Range<u64>) {
        (self.next, self.limit) = (rows.start, self.end.min(rows.end));
        self.rows_follow = false;
    }

    /// The row id from which the next piece is taken; `None` if rows follow that belong to the
    /// frozen segment given last.
    pub(crate) fn next_row(&self) -> Option<u64> {
        (!self.rows_follow).then_some(self.next)
    }

    /// The next piece; `None` after the last, and after the snapshot has expired.
    pub fn next_piece(&mut self) -> Option<Piece<'_, 't>> {
        if std::mem::take(&mut self.rows_follow) {
            return Some(Piece::Rows(&self.rows));
        }
        self.rows.clear();
        while self.next < self.limit {
            let _operation = self.reader.enter(self.table.memory);
            if self.reader.is_expired() {
                self.next = self.limit;
                break;
            }
            let directory = self.table.directory();
            if let Some(frozen) = directory.frozen(self.table.memory, self.next as u32) {
                if let Some(rows) = self.take_frozen(frozen) {
                    self.rows_follow = !self.rows.is_empty();
                    return Some(Piece::Frozen(rows));
                }
            } else {
                self.take_hot();
            }
            if !self.rows.is_empty() {
                return Some(Piece::Rows(&self.rows));
            }
        }
        None
    }

    /// The next frozen segment of which something is seen, without the rows that have changed in
    /// it; hot rows are passed over. For whoever asks columns what they say of themselves.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    /// let a = table.column("a")?;
    /// let rows = (0..70_000_i64).map(|i| [Some(Value::I64(i % 50))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// db.freeze(&table)?;
    /// let tx = db.begin_read()?;
    /// let mut pieces = tx.scan_pieces(&table)?;
    /// let rows = pieces.next_frozen().expect("65,536 rows are frozen");
    /// let sketch = rows.column(a)?.sketch().expect("there are rows enough");
    /// assert!((45.0..55.0).contains(&sketch.estimate()));
    /// assert!(pieces.next_frozen().is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next_frozen(&mut self) -> Option<FrozenRows<'t>> {
        self.rows_follow = false;
        while self.next < self.limit {
            let _operation = self.reader.enter(self.table.memory);
            if self.reader.is_expired() {
                self.next = self.limit;
                break;
            }
            self.rows.clear();
            let directory = self.table.directory();
            match directory.frozen(self.table.memory, self.next as u32) {
                Some(frozen) => {
                    if let Some(rows) = self.take_frozen(frozen) {
                        return Some(rows);
                    }
                }
                None => self.next = ((self.next >> SEGMENT_SHIFT) + 1) << SEGMENT_SHIFT,
            }
        }
        None
    }

    /// Of a paged table, the frozen segment behind the last piece, be it another reader's or not,
    /// for whoever announces its columns; `None` if there is none, or rows of it have changed.
    pub fn following(&self) -> Option<FrozenRows<'t>> {
        if !self.table.core.is_paged() {
            return None;
        }
        let memory = self.table.memory;
        let _operation = self.reader.enter(memory);
        let number = self.next.div_ceil(1 << SEGMENT_SHIFT);
        let first = number << SEGMENT_SHIFT;
        if first >= self.end || self.reader.is_expired() {
            return None;
        }
        let frozen = self.table.directory().frozen(memory, first as u32)?;
        let is_seen = self.reader.snapshot.sees(memory, &frozen.begin);
        if !is_seen || frozen.is_changed() || !frozen.ends.is_none() {
            return None;
        }
        let present = frozen.block(memory).present().map(as_u64s);
        let visible = present.map_or(Visible::All, Visible::Present);
        Some(FrozenRows { is_whole: true, ..self.rows_of(frozen, first, visible) })
    }

    fn take_hot(&mut self) {
        let memory = self.table.memory;
        let first = self.next as u32;
        let end = self.limit.min(self.next + self.hot_slots);
        let slots = self.table.directory().slots_beside(memory, first, end);
        self.next += slots.len() as u64;
        self.rows.reserve(slots.len());
        let fixed_size = self.table.core.layout.fixed_size();
        let bytes = (size_of::<Version>() + fixed_size).max(bytes_between(slots));
        for (i, (row, slot)) in (first..).zip(slots).enumerate() {
            // Whatever else the word may be, to ask for it does no harm.
            let ahead = slots.get(i + AHEAD).unwrap_or(slot);
            memory.region().prefetch_bytes(ahead.load(Relaxed), bytes);
            self.push(row, newest_of(slot.load(Acquire)));
        }
    }

    /// The rest of a frozen segment from the next row on, and the rows beside its columns; `None`
    /// if the snapshot sees nothing of what is in the columns.
    fn take_frozen(&mut self, frozen: &'t FrozenSegment) -> Option<FrozenRows<'t>> {
        let memory = self.table.memory;
        let number = self.next >> SEGMENT_SHIFT;
        let first = number << SEGMENT_SHIFT;
        let passed = (self.next - first) as usize;
        self.next = self.limit.min((number + 1) << SEGMENT_SHIFT);
        if !self.reader.snapshot.sees(memory, &frozen.begin) {
            // Row ids of rows deleted since may have been given to this very transaction.
            self.take_changed(frozen, first, passed, |_| {});
            return None;
        }
        let block = frozen.block(memory);
        let present = block.present().map(as_u64s);
        if passed == 0 && !frozen.is_changed() && frozen.ends.is_none() {
            let visible = present.map_or(Visible::All, Visible::Present);
            return Some(FrozenRows {
                is_whole: true,
                is_worn: false,
                ..self.rows_of(frozen, first, visible)
            });
        }
        let rows = block.rows() as usize;
        let mut bits: Box<[u64]> = match present {
            Some(present) => present.into(),
            None => all_of(rows),
        };
        for (number, bits) in bits.iter_mut().enumerate() {
            let before = passed.saturating_sub(number * GROUP).min(GROUP);
            *bits &= u64::MAX.checked_shl(before as u32).unwrap_or(0);
        }
        let mut changed = 0;
        self.take_changed(frozen, first, passed, |ordinal| {
            changed += 1;
            if let Some(bits) = bits.get_mut(ordinal / GROUP) {
                *bits &= !(1 << (ordinal % GROUP));
            }
        });
        frozen.ends.hide(memory, self.reader.snapshot, &mut bits);
        if bits.iter().all(|bits| *bits == 0) {
            // Columns of which nothing is seen may go while the transaction lasts.
            return None;
        }
        Some(FrozenRows {
            is_whole: passed == 0,
            is_worn: frozen.is_worn_by(memory, changed),
            ..self.rows_of(frozen, first, Visible::Some(bits))
        })
    }

    fn rows_of(
        &self,
        frozen: &'t FrozenSegment,
        first: u64,
        visible: Visible<'t>,
    ) -> FrozenRows<'t> {
        let (memory, handle) = (self.table.memory, self.handle);
        let pin = self.table.core.is_paged().then(|| frozen.pin(memory));
        let (block, is_whole, is_worn) = (frozen.block(memory), false, false);
        FrozenRows { memory, handle, frozen, block, pin, first, visible, is_whole, is_worn }
    }

    /// The rows of a frozen segment that have changed, of those that were not `passed`. Calls
    /// `visit` with the ordinal of each, whether it is seen or not.
    fn take_changed(
        &mut self,
        frozen: &FrozenSegment,
        first: u64,
        passed: usize,
        mut visit: impl FnMut(usize),
    ) {
        let memory = self.table.memory;
        for (number, slots) in frozen.groups(memory, passed / GROUP) {
            for (ordinal, slot) in (number * GROUP..).zip(slots) {
                let word = slot.load(Acquire);
                if !is_frozen(word) && ordinal >= passed {
                    visit(ordinal);
                    self.push((first as usize + ordinal) as u32, newest_of(word));
                }
            }
        }
    }

    fn push(&mut self, row: u32, newest: u64) {
        let (memory, snapshot) = (self.table.memory, self.reader.snapshot);
        let found =
            visible_bytes_by(memory, newest, snapshot, |begin| self.snapshot.sees(memory, begin));
        if let Some((_, bytes)) = found {
            if let Some(reads) = self.reader.reads {
                reads.hand_out(self.table.core.id, row);
            }
            self.rows.push(Row::of_bytes(&self.table.core.layout, bytes, RowId(row)));
        }
    }
}

impl<'t> FrozenRows<'t> {
    /// The id of the first row, as [`RowId::number`] gives it; row `i` has this and `i` more.
    pub fn first_row(&self) -> u64 {
        self.first
    }

    /// The number of rows in the columns, at most 65,536, including those that are not visible.
    #[expect(clippy::len_without_is_empty, reason = "a frozen segment has rows")]
    pub fn len(&self) -> usize {
        self.block.rows() as usize
    }

    /// For which rows the columns are what this snapshot sees: bit `i % 64` of word `i / 64`.
    /// `None` if for all. Rows that are not were deleted, or have changed; what is seen of those
    /// comes as rows, in the piece that follows.
    pub fn visible(&self) -> Option<&[u64]> {
        match &self.visible {
            Visible::All => None,
            Visible::Present(bits) => Some(bits),
            Visible::Some(bits) => Some(bits),
        }
    }

    /// Whether row `i` is visible.
    pub(crate) fn sees(&self, i: usize) -> bool {
        self.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
    }

    /// Whether the columns are of all rows of the segment that were not passed before.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether so many rows of the segment were changed or deleted that it is worth freezing again,
    /// as [`Database::freeze_segments`](crate::Database::freeze_segments) does.
    pub fn is_worn(&self) -> bool {
        self.is_worn
    }

    /// What the segment was frozen to.
    pub(crate) fn segment(&self) -> &'t FrozenSegment {
        self.frozen
    }

    /// The segment without its pin, to say where it stands.
    pub(crate) fn to_store(&self) -> SegmentToStore {
        SegmentToStore { frozen: self.memory.region().offset_of(self.frozen) }
    }

    /// The columns as they lie in memory, those that are there.
    pub(crate) fn block(&self) -> Block<'t> {
        self.block
    }

    /// Puts row `i` together. All columns were asked for.
    pub(crate) fn copy_row(&self, i: usize, bytes: &mut Vec<u8>) {
        let layout = &self.handle.core.layout;
        bytes.resize(self.block.row_len(layout, i as u32), 0);
        self.block.write_row(layout, i as u32, bytes);
    }

    /// The number of visible rows.
    pub fn visible_count(&self) -> usize {
        let count = |bits: &[u64]| bits.iter().map(|word| word.count_ones() as usize).sum();
        self.visible().map_or(self.len(), count)
    }

    /// The id of row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_id(&self, i: usize) -> RowId {
        assert!(i < self.len(), "row {i} is not of the segment");
        RowId((self.first + i as u64) as u32)
    }

    /// A column. Of a paged table it comes to memory, and stays there as long as these rows.
    ///
    /// # Errors
    /// `UnknownColumn` if it is of another table; of a paged table `StorageFailed` and
    /// `DamagedImage` if it cannot be read, with the file, and `BudgetReached` if all that is in
    /// memory is in use.
    pub fn column(&self, column: ColumnHandle) -> Result<FrozenColumn<'_>> {
        self.handle.check_column(column)?;
        let leaf = column.leaf();
        let found = match &self.pin {
            Some(pin) => pin.column(leaf)?,
            None => self.block.column(leaf),
        };
        let column_type = &self.handle.core.layout.leaves()[leaf].column_type;
        Ok(FrozenColumn::new(found, column_type))
    }

    /// What a column says of itself without its rows. Nothing is read for it.
    ///
    /// # Errors
    /// `UnknownColumn` if it is of another table.
    pub fn summary(&self, column: ColumnHandle) -> Result<ColumnSummary<'_>> {
        self.handle.check_column(column)?;
        let leaf = column.leaf();
        let column_type = &self.handle.core.layout.leaves()[leaf].column_type;
        Ok(ColumnSummary::new(self.block.column(leaf), column_type))
    }

    /// Says that columns are about to be asked for: those of a paged table that are not in memory
    /// may come at once, and beside other work.
    ///
    /// # Errors
    /// `UnknownColumn` if one is of another table.
    pub fn announce(&self, columns: &[ColumnHandle]) -> Result<()> {
        columns.iter().try_for_each(|&column| self.handle.check_column(column))?;
        if let Some(pin) = &self.pin {
            pin.announce(columns.iter().map(|column| column.leaf()));
        }
        Ok(())
    }

    /// The columns in the order of the layout's leaves.
    ///
    /// # Errors
    /// As [`FrozenRows::column`].
    pub fn columns(&self) -> Result<impl ExactSizeIterator<Item = FrozenColumn<'_>>> {
        self.ask_all()?;
        let (block, leaves) = (self.block, self.handle.core.layout.leaves());
        let types = leaves.iter().map(|leaf| &leaf.column_type);
        Ok(types.enumerate().map(move |(i, of)| FrozenColumn::new(block.column(i), of)))
    }

    /// Sees to it that all columns are in memory.
    ///
    /// # Errors
    /// As [`FrozenRows::column`].
    pub(crate) fn ask_all(&self) -> Result<()> {
        self.pin.as_ref().map_or(Ok(()), Pin::ask_all)
    }
}

/// Bytes from one row to the next, in the mean, if rows lie in the order of their slots. All of
/// them are asked for then: lines one behind the other come three times as fast as some of them.
fn bytes_between(slots: &[AtomicU64]) -> usize {
    let [first, .., last] = slots else { return 0 };
    let apart = last.load(Relaxed).wrapping_sub(first.load(Relaxed)) as usize / (slots.len() - 1);
    if apart <= APART_MAX { apart } else { 0 }
}

/// A bitmap of so many rows.
fn all_of(rows: usize) -> Box<[u64]> {
    let mut bits = vec![u64::MAX; rows.div_ceil(64)];
    if !rows.is_multiple_of(64)
        && let Some(last) = bits.last_mut()
    {
        *last = (1 << (rows % 64)) - 1;
    }
    bits.into()
}
