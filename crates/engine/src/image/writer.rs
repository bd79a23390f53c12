//! Writing an image of what one snapshot sees.
//!
//! Rows are copied block by block from where they lie, frozen segments as they are; no lock is held
//! and nobody waits. The snapshot pins what it has still to write, as any long reader does.

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
use crate::table::columns::pieces::StoredRows;
use crate::table::{FrozenRows, Piece, Table};
use crate::transaction::ReadTransaction;

/// A rows block is closed when it has become this long.
const ROWS_BLOCK: usize = 256 << 10;

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
        write_image(&self.instance, ImageHead::default(), stream, None, |_| Ok(())).map(|_| ())
    }
}

/// Writes an image of what is committed now, and says what it holds and how many bytes it has. With
/// segment files, frozen segments go there unless they stand there already; else they are a part of
/// it. The number of the next table and the timestamp in `head` are not inspected. When all is
/// written, `seal` makes sure that it stays; then segments stand where they were written.
///
/// # Errors
/// As [`Database::save`]; `StorageFailed`.
pub(crate) fn write_image(
    db: &Instance,
    head: ImageHead,
    stream: &mut dyn Write,
    mut segments: Option<&mut SegmentWriter<'_>>,
    seal: impl FnOnce(&ImageHead) -> Result<()>,
) -> Result<(ImageHead, u64)> {
    // What there is as of the snapshot; a table that is dropped later can be read on.
    let catalog = db.catalog();
    let (transaction, tables, next_table) = catalog.unchanged(|| {
        let transaction = ReadTransaction::begin(db)?;
        let tables = catalog.all().into_iter().map(|core| (core.current_schema(), Table { core }));
        Ok((transaction, tables.collect::<Vec<_>>(), catalog.next_committed_id()))
    })?;
    if let Some(segments) = &mut segments {
        keep_stored(segments, &tables, &transaction)?;
    }
    let head = ImageHead { next_table, timestamp: transaction.timestamp(), ..head };
    let version = if segments.is_some() { VERSION } else { VERSION_ALONE };
    let placed = Vec::new();
    let mut blocks = Blocks { stream, payload: Vec::new(), bytes: 0, segments, placed };
    blocks.put(MAGIC)?;
    blocks.payload.extend(version.to_le_bytes());
    blocks.payload.extend((tables.len() as u32).to_le_bytes());
    blocks.payload.extend(head.timestamp.to_le_bytes());
    blocks.payload.extend(head.database);
    blocks.payload.extend(head.position.to_le_bytes());
    blocks.payload.extend(head.next_table.to_le_bytes());
    blocks.close(DATABASE)?;
    for (number, (schema, table)) in (0_u32..).zip(&tables) {
        blocks.payload.extend(number.to_le_bytes());
        blocks.payload.extend(table.core.id.to_le_bytes());
        blocks.payload.extend(schema.to_bytes());
        blocks.close(TABLE)?;
    }
    let mut count = 0_u64;
    for (number, (_, table)) in (0_u32..).zip(&tables) {
        count += blocks.rows(number, table, &transaction)?;
    }
    blocks.payload.extend(count.to_le_bytes());
    blocks.close(END)?;
    blocks.finish()?;
    seal(&head)?;
    for (rows, stored) in blocks.placed {
        rows.note_stored(stored);
    }
    db.memory().make_room_in_cache(0);
    Ok((head, blocks.bytes))
}

/// Says where blocks of these tables stand, as far as they do.
fn keep_stored(
    segments: &mut SegmentWriter<'_>,
    tables: &[(TableSchema, Table)],
    transaction: &ReadTransaction<'_>,
) -> Result<()> {
    for (_, table) in tables {
        let mut pieces = transaction.scan_pieces(table)?;
        while let Some(rows) = pieces.next_frozen() {
            rows.segment().stored().into_iter().for_each(|stored| segments.keep_for(stored));
        }
    }
    Ok(())
}

struct Blocks<'s, 't, 'f> {
    stream: &'s mut dyn Write,
    payload: Vec<u8>,
    bytes: u64,
    segments: Option<&'s mut SegmentWriter<'f>>,
    /// Where blocks will stand when the image has its name.
    placed: Vec<(StoredRows<'t>, StoredBlock)>,
}

impl<'t> Blocks<'_, 't, '_> {
    fn rows(
        &mut self,
        number: u32,
        table: &'t Table,
        transaction: &'t ReadTransaction<'_>,
    ) -> Result<u64> {
        let mut count = 0;
        let mut pieces = transaction.scan_pieces(table)?;
        while let Some(piece) = pieces.next_piece() {
            match piece {
                Piece::Rows(rows) => {
                    count += rows.len() as u64;
                    let mut rows = rows.iter();
                    rows.try_for_each(|row| self.row(number, row.id().0, row.bytes()))?;
                }
                Piece::Frozen(rows) => {
                    count += rows.visible_count() as u64;
                    self.frozen(number, &rows)?;
                }
            }
        }
        self.close_rows()?;
        Ok(count)
    }

    /// A frozen segment: as it is, unless most of it has changed since.
    fn frozen(&mut self, number: u32, rows: &FrozenRows<'t>) -> Result<()> {
        let seen = rows.visible_count();
        if rows.is_whole() && seen * 2 > rows.block().live() as usize {
            self.close_rows()?;
            let segment = (rows.first_row() >> 16) as u32;
            let visible = rows.visible().unwrap_or_default();
            Columns::put(&mut self.payload, number, segment, visible);
            let Some(segments) = &mut self.segments else {
                rows.ask_all()?;
                self.payload.extend_from_slice(rows.block().bytes());
                return self.close(COLUMNS);
            };
            let stored = match segments.keep(rows.segment().stored()) {
                Some(stored) => stored,
                None => {
                    rows.ask_all()?;
                    segments.write(rows.block()).map_err(|error| storage_failed(&error))?
                }
            };
            self.placed.push((rows.stored_rows(), stored));
            self.payload.extend(stored.to_bytes());
            return self.close(STORED);
        }
        rows.ask_all()?;
        let mut bytes = Vec::new();
        for i in (0..rows.len()).filter(|&i| rows.sees(i)) {
            rows.copy_row(i, &mut bytes);
            self.row(number, rows.row_id(i).0, &bytes)?;
        }
        Ok(())
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

    /// Makes sure that what segment files hold stays, and hands on what is written of the image.
    fn finish(&mut self) -> Result<()> {
        if let Some(segments) = &mut self.segments {
            segments.finish().map_err(|error| storage_failed(&error))?;
        }
        self.stream.flush().map_err(|error| stream_failed(&error))
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
