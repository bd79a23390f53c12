//! Writing an image of what one snapshot sees.
//!
//! Rows are copied block by block from where they lie, frozen segments as they are; no lock is held
//! and nobody waits. The snapshot pins what it has still to write, as any long reader does. It may
//! be written in parts, with other calls in between.

use std::io::{self, Write};

use remanent_schema::TableSchema;

use super::{
    COLUMNS, Columns, DATABASE, END, ImageHead, MAGIC, PAYLOAD_MAX, ROWS, STORED, TABLE, VERSION,
    VERSION_ALONE,
};
use crate::checksum::Checksum;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::segment_files::{SegmentWriter, StoredBlock};
use crate::storage::Storage;
use crate::table::columns::pieces::SegmentToStore;
use crate::table::table::TableAt;
use crate::table::{FrozenRows, Piece, Row, Table};
use crate::transaction::{ReadTransaction, TransactionOptions};

/// A rows block is closed when it has become this long.
const ROWS_BLOCK: usize = 256 << 10;
/// Row ids that are passed at once, and the bytes that to pass them counts as: it takes its time
/// where nothing is written, too.
const WINDOW: u64 = 1 << 16;
const WINDOW_BYTES: u64 = 32 << 10;
/// Slots of hot rows that are read at once, where little is to be written at once.
const HOT_SLOTS: u64 = 64;
/// The name of the transactions that write images.
const NAME: &str = "checkpoint";

impl Database {
    /// Writes everything committed so far to a stream, in a format that
    /// [`Database::load`] reads; transactions go on meanwhile. The bytes are in
    /// `crates/engine/src/image/FORMAT.md`. Nothing is flushed or synced.
    ///
    /// # Errors
    /// `StreamFailed` if the stream does, `TooManyTransactions`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// let mut image = Vec::new();
    /// db.save(&mut image)?;
    ///
    /// let copy = Database::load(Options::new(), &mut image.as_slice())?;
    /// let table = copy.table("T")?;
    /// let tx = copy.begin_read()?;
    /// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get(table.column("a").ok()?)), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn save(&self, stream: &mut dyn Write) -> Result<()> {
        let (transaction, tables) = look(&self.instance)?;
        let (head, form) = (ImageHead::default(), Form::Alone);
        let mut image = ImageWriter::begin(&transaction, tables, head, form, stream)?;
        while !image.write_some(&transaction, None, u64::MAX)? {}
        image.finish().map(|_| ())
    }
}

/// Where frozen segments are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// A part of the image.
    Alone,
    /// In segment files, to which it refers.
    WithFiles,
}

/// Segment files, and the storage in which they are.
pub(crate) struct Segments<'s> {
    pub(crate) storage: &'s dyn Storage,
    pub(crate) writer: &'s mut SegmentWriter,
}

/// The tables that an image has.
pub(crate) struct Tables {
    tables: Vec<TableToWrite>,
    next_table: u32,
}

#[derive(Debug)]
struct TableToWrite {
    schema: TableSchema,
    table: Table,
    /// The end of its row ids; what lies behind came later.
    end: u64,
}

/// What is committed now: a snapshot of it, and its tables. One that is dropped later can be read
/// on.
///
/// # Errors
/// `TooManyTransactions`.
pub(crate) fn look(db: &Instance) -> Result<(ReadTransaction<'_>, Tables)> {
    let catalog = db.catalog();
    catalog.unchanged(|| {
        let options = TransactionOptions::new().name(NAME);
        let transaction = ReadTransaction::begin_with(db, &options)?;
        let tables = catalog.all().into_iter().map(|core| {
            let end = TableAt { memory: db.memory(), core: &core }.directory().limit();
            TableToWrite { schema: core.current_schema(), table: Table { core }, end }
        });
        let (tables, next_table) = (tables.collect(), catalog.next_committed_id());
        Ok((transaction, Tables { tables, next_table }))
    })
}

impl Tables {
    /// Says where blocks of the tables stand, as far as they do.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub(crate) fn keep_stored(
        &self,
        segments: &mut SegmentWriter,
        transaction: &ReadTransaction<'_>,
    ) -> Result<()> {
        self.tables.iter().try_for_each(|it| {
            transaction.each_segment(&it.table, |segment| {
                segment.stored().into_iter().for_each(|stored| segments.keep_for(stored));
            })
        })
    }
}

/// An image that is being written.
#[derive(Debug)]
pub(crate) struct ImageWriter<W> {
    blocks: Blocks<W>,
    head: ImageHead,
    tables: Vec<TableToWrite>,
    /// How far it is: the number of the table, and the next row id.
    table: usize,
    next: u64,
    /// Rows that were written.
    count: u64,
    /// Where blocks will stand when the image has its name, by the numbers of their tables.
    placed: Vec<(usize, SegmentToStore, StoredBlock)>,
}

impl<W: Write> ImageWriter<W> {
    /// Begins to write what a transaction sees of these tables. The number of the next table and
    /// the timestamp in `head` are not inspected.
    ///
    /// # Errors
    /// `StreamFailed`.
    pub(crate) fn begin(
        transaction: &ReadTransaction<'_>,
        tables: Tables,
        head: ImageHead,
        form: Form,
        stream: W,
    ) -> Result<Self> {
        let Tables { tables, next_table } = tables;
        let head = ImageHead { next_table, timestamp: transaction.timestamp(), ..head };
        let mut blocks = Blocks { stream, payload: Vec::new(), bytes: 0 };
        blocks.put(MAGIC)?;
        blocks.payload.extend(form.version().to_le_bytes());
        blocks.payload.extend((tables.len() as u32).to_le_bytes());
        blocks.payload.extend(head.timestamp.to_le_bytes());
        blocks.payload.extend(head.database);
        blocks.payload.extend(head.position.to_le_bytes());
        blocks.payload.extend(head.next_table.to_le_bytes());
        blocks.close(DATABASE)?;
        for (number, it) in (0_u32..).zip(&tables) {
            blocks.payload.extend(number.to_le_bytes());
            blocks.payload.extend(it.table.core.id.to_le_bytes());
            blocks.payload.extend(it.schema.to_bytes());
            blocks.close(TABLE)?;
        }
        let (table, next, count, placed) = (0, 0, 0, Vec::new());
        Ok(Self { blocks, head, tables, table, next, count, placed })
    }

    /// Goes on until about so many bytes are written, here or into segment files; whether those
    /// were the last. The transaction is that which it was begun with. Frozen segments that do not
    /// stand in a segment file go there, or else become a part of the image.
    ///
    /// # Errors
    /// `StreamFailed`; `StorageFailed`, `DamagedImage`, `BudgetReached` for columns that are read.
    pub(crate) fn write_some(
        &mut self,
        transaction: &ReadTransaction<'_>,
        mut segments: Option<Segments<'_>>,
        most: u64,
    ) -> Result<bool> {
        let mut passed = 0;
        let written = |blocks: &Blocks<W>, segments: &Option<Segments<'_>>| {
            let beside = segments.as_ref().map_or(0, |segments| segments.writer.bytes);
            blocks.bytes + blocks.payload.len() as u64 + beside
        };
        let enough = written(&self.blocks, &segments).saturating_add(most);
        while let Some(it) = self.tables.get(self.table) {
            let mut pieces = transaction.scan_pieces(&it.table)?;
            if most < u64::MAX {
                pieces.limit_hot_slots(HOT_SLOTS);
            }
            while self.next < it.end {
                let end = it.end.min((self.next / WINDOW + 1) * WINDOW);
                pieces.go_to(self.next..end);
                while let Some(piece) = pieces.next_piece() {
                    let number = self.table as u32;
                    match piece {
                        Piece::Rows(rows) => {
                            self.count += rows.len() as u64;
                            let put =
                                |row: &Row<'_>| self.blocks.row(number, row.id().0, row.bytes());
                            rows.iter().try_for_each(put)?;
                        }
                        Piece::Frozen(rows) => {
                            self.count += rows.visible_count() as u64;
                            let stored = self.blocks.frozen(number, &rows, segments.as_mut())?;
                            let placed = stored.map(|it| (self.table, rows.to_store(), it));
                            self.placed.extend(placed);
                        }
                    }
                    if let Some(next) = pieces.next_row() {
                        self.next = next;
                        if written(&self.blocks, &segments) + passed >= enough {
                            return Ok(false);
                        }
                    }
                }
                self.next = end;
                passed += WINDOW_BYTES;
            }
            self.blocks.close_rows()?;
            (self.table, self.next) = (self.table + 1, 0);
        }
        Ok(true)
    }

    /// Ends the image when all is written, and hands it on to its stream.
    ///
    /// # Errors
    /// `StreamFailed`.
    pub(crate) fn finish(&mut self) -> Result<ImageHead> {
        self.blocks.payload.extend(self.count.to_le_bytes());
        self.blocks.close(END)?;
        self.blocks.stream.flush().map_err(|error| stream_failed(&error))?;
        Ok(self.head)
    }

    /// Says of segments that they stand where they were written: the image has its name. Its
    /// transaction has not ended.
    pub(crate) fn note_stored(&mut self, db: &Instance) {
        for (number, segment, stored) in self.placed.drain(..) {
            if let Some(it) = self.tables.get(number) {
                let core = &it.table.core;
                segment.note_stored(TableAt { memory: db.memory(), core }, stored);
            }
        }
        db.memory().make_room_in_cache(0);
    }

    /// The stream.
    pub(crate) fn stream(&mut self) -> &mut W {
        &mut self.blocks.stream
    }

    /// Bytes of the image so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.bytes
    }
}

impl Form {
    fn version(self) -> u16 {
        match self {
            Self::Alone => VERSION_ALONE,
            Self::WithFiles => VERSION,
        }
    }
}

/// The blocks of an image, one behind another.
#[derive(Debug)]
struct Blocks<W> {
    stream: W,
    payload: Vec<u8>,
    bytes: u64,
}

impl<W: Write> Blocks<W> {
    /// A frozen segment: as it is, unless most of it has changed since. Where it stands in a
    /// segment file, if it does.
    fn frozen(
        &mut self,
        number: u32,
        rows: &FrozenRows<'_>,
        segments: Option<&mut Segments<'_>>,
    ) -> Result<Option<StoredBlock>> {
        let seen = rows.visible_count();
        if rows.is_whole() && seen * 2 > rows.block().live() as usize {
            self.close_rows()?;
            let segment = (rows.first_row() >> 16) as u32;
            let visible = rows.visible().unwrap_or_default();
            Columns::put(&mut self.payload, number, segment, visible);
            let Some(Segments { storage, writer }) = segments else {
                rows.ask_all()?;
                self.payload.extend_from_slice(rows.block().bytes());
                self.close(COLUMNS)?;
                return Ok(None);
            };
            let stored = match writer.keep(rows.segment().stored()) {
                Some(stored) => stored,
                None => {
                    rows.ask_all()?;
                    let written = writer.write(*storage, rows.block());
                    written.map_err(|error| storage_failed(&error))?
                }
            };
            self.payload.extend(stored.to_bytes());
            self.close(STORED)?;
            return Ok(Some(stored));
        }
        rows.ask_all()?;
        let mut bytes = Vec::new();
        for i in (0..rows.len()).filter(|&i| rows.sees(i)) {
            rows.copy_row(i, &mut bytes);
            self.row(number, rows.row_id(i).0, &bytes)?;
        }
        Ok(None)
    }

    fn row(&mut self, number: u32, row: u32, bytes: &[u8]) -> Result<()> {
        if !self.payload.is_empty() && self.payload.len() + bytes.len() > ROWS_BLOCK {
            self.close(ROWS)?;
        }
        if self.payload.is_empty() {
            self.payload.extend(number.to_le_bytes());
        }
        self.payload.extend(row.to_le_bytes());
        self.payload.extend((bytes.len() as u32).to_le_bytes());
        self.payload.extend_from_slice(bytes);
        Ok(())
    }

    fn close_rows(&mut self) -> Result<()> {
        if self.payload.is_empty() { Ok(()) } else { self.close(ROWS) }
    }

    fn close(&mut self, tag: u8) -> Result<()> {
        debug_assert!(self.payload.len() <= PAYLOAD_MAX);
        let mut head = [tag, 0, 0, 0, 0];
        head[1..].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        let mut checksum = Checksum::new();
        checksum.add(&head);
        checksum.add(&self.payload);
        self.put(&head)?;
        let payload = std::mem::take(&mut self.payload);
        self.put(&payload)?;
        self.payload = payload;
        self.payload.clear();
        self.put(&checksum.value().to_le_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.stream.write_all(bytes).map_err(|error| stream_failed(&error))
    }
}

#[cold]
fn stream_failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::StreamFailed).because(format!("writing an image: {error}"))
}

#[cold]
fn storage_failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(format!("writing a segment file: {error}"))
}
