//! Reading an image into a new database.
//!
//! Nothing in the stream is believed: checksums, order, schemas, rows, columns, keys and links are
//! checked before anybody sees the database, and what is wrong leaves none. Rows keep their ids, so
//! that what programs or sets have noted of them stays true, and what was frozen stays so.

use std::io::Read;
use std::sync::Arc;

use remanent_schema::{RowLayout, TableSchema, Value};

use super::{
    COLUMNS, Columns, DATABASE, END, ImageHead, MAGIC, PAYLOAD_MAX, ROWS, STORED, TABLE, VERSION,
};
use crate::checksum::Checksum;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Allocator;
use crate::options::Options;
use crate::segment_files::{SegmentReader, SegmentSource, StoredBlock};
use crate::snapshot::Snapshot;
use crate::storage::Storage;
use crate::table::columns::freeze::install;
use crate::table::columns::paging::set_stored;
use crate::table::rows::change::Change;
use crate::table::rows::row::RowId;
use crate::table::table::TableAt;
use crate::table::write::batch::RowBatch;
use crate::table::{Set, Table};
use crate::transaction::begin::clock::{self, HeldSlot};

/// Rows that go into the indexes at a time, at most.
const ROWS_PER_BATCH: usize = 64 << 10;
/// Rows that are loaded are as if they had been committed with the first timestamp there is.
const FIRST: Snapshot = Snapshot { timestamp: 1, own: 1 };
/// A payload is read in steps, so that a wrong length does not ask for memory that is not needed.
const STEP: usize = 1 << 20;

impl Database {
    /// Opens a new database with the content of an image that [`Database::save`] wrote. Indexes are
    /// built as the rows come.
    ///
    /// # Errors
    /// `StreamFailed` if the stream does, `DamagedImage` if what it gives is not a whole image,
    /// `BudgetReached` if it does not fit, and as [`Database::open`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options};
    /// let error = Database::load(Options::new(), &mut &b"no image"[..]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DamagedImage);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn load(options: Options, stream: &mut dyn Read) -> Result<Self> {
        read_image(options, stream, None, &mut |_, _| ()).map(|(db, _)| db)
    }
}

impl Database {
    /// Fills the tables of a database that is new with the rows of an image, whose tables may have
    /// had fewer columns: what a program does whose schema has grown. Columns are the same if they
    /// have the same name; those that the image does not know get their default, or null. Tables
    /// that are not there are created as the image has them. Rows keep their ids.
    ///
    /// # Errors
    /// As [`Database::load`]; `SchemaMismatch` if the image has a column that its table has not, if
    /// a value does not fit its column any more, or if a new column has neither default nor null;
    /// `TableExists` if a table has had rows. Then some rows are there, and others not.
    /// `InvalidOptions` if the database lies in a folder, for what is loaded is not logged: load
    /// into one in memory, and make its folder by [`Database::backup`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let city = || TableSchema::new("City").column("name", ColumnType::STRING);
    /// let db = Database::open(Options::new())?;
    /// let cities = db.create_table(city())?;
    /// let ulm = db.write(|tx| tx.insert_values(&cities, &[Some("Ulm".into())]))?;
    /// let mut image = Vec::new();
    /// db.save(&mut image)?;
    ///
    /// let db = Database::open(Options::new())?;
    /// let cities = db.create_table(city().nullable_column("people", ColumnType::U32))?;
    /// db.load_into(&mut image.as_slice())?;
    /// let tx = db.begin_read()?;
    /// let row = tx.row(&cities, ulm)?.expect("it was saved");
    /// assert_eq!(row.str(cities.column("name")?), Some("Ulm"));
    /// assert!(row.is_null(cities.column("people")?));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn load_into(&self, stream: &mut dyn Read) -> Result<()> {
        if self.instance.log().is_some() {
            return Err(Error::new(ErrorKind::InvalidOptions)
                .because("what is loaded is not logged; load into a database in memory"));
        }
        let mut blocks = Blocks::open(stream)?;
        let (tables, _) = blocks.tables(self)?;
        Load::new(self, tables, None)?.all(&mut blocks, &mut |_, _| ())?;
        self.set_names().iter().try_for_each(|name| check_links(self, &self.set(name)?))
    }
}

/// The segment files that an image refers to.
pub(crate) struct FilesOfImage<'s> {
    pub(crate) reader: SegmentReader<'s>,
    /// To read columns again that were evicted; without it, none leaves memory.
    pub(crate) storage: Option<Arc<dyn Storage>>,
    /// Whether the system may keep what was read.
    pub(crate) system_cache: bool,
}

/// As [`Database::load`]; the image may refer to segment files, if there are any. Reports how many
/// rows and bytes were read, now and then.
///
/// # Errors
/// As [`Database::load`].
pub(crate) fn read_image(
    options: Options,
    stream: &mut dyn Read,
    files: Option<FilesOfImage<'_>>,
    report: &mut dyn FnMut(u64, u64),
) -> Result<(Database, ImageHead)> {
    let mut blocks = Blocks::open(stream)?;
    let db = Database::open(options)?;
    // What was in a full database finds room again, wherever it comes to lie.
    db.instance.memory().header().account.open_reserve(true);
    let (tables, head) = blocks.tables(&db)?;
    let segments = files.map(|FilesOfImage { reader, storage, system_cache }| {
        let source = |storage| SegmentSource::new(storage, head.database, system_cache);
        let source = storage.map(source);
        source.into_iter().for_each(|it| db.instance.memory().buffer_cache.set_source(it));
        (reader, head.database)
    });
    Load::new(&db, tables, segments)?.all(&mut blocks, report)?;
    db.instance.memory().header().account.open_reserve(false);
    db.set_names().iter().try_for_each(|name| check_links(&db, &db.set(name)?))?;
    Ok((db, head))
}

/// Reads an image to its end, with what it refers to, and checks what can be checked without making
/// a database of it.
///
/// # Errors
/// `StreamFailed`, `StorageFailed`, `DamagedImage`.
pub(crate) fn verify(stream: &mut dyn Read, mut segments: SegmentReader<'_>) -> Result<ImageHead> {
    let mut blocks = Blocks::open(stream)?;
    let (_, head, _) = blocks.head()?;
    loop {
        match blocks.next()? {
            TABLE | ROWS | COLUMNS => {}
            STORED => {
                let (_, stored) = Columns::of_stored(&blocks.payload).ok_or_else(no_columns)?;
                segments.block(head.database, stored)?;
            }
            END => return Ok(head),
            _ => return Err(damaged("a block stands where it cannot")),
        }
    }
}

/// The head of the image that a stream begins with.
///
/// # Errors
/// As [`read_image`].
pub(crate) fn read_head(stream: &mut dyn Read) -> Result<ImageHead> {
    Ok(Blocks::open(stream)?.head()?.1)
}

struct Blocks<'s> {
    stream: &'s mut dyn Read,
    payload: Vec<u8>,
    bytes: u64,
}

impl<'s> Blocks<'s> {
    /// The blocks of a stream that begins like an image.
    fn open(stream: &'s mut dyn Read) -> Result<Self> {
        let mut blocks = Self { stream, payload: Vec::new(), bytes: 0 };
        let mut magic = [0; 8];
        blocks.take(&mut magic)?;
        if magic != *MAGIC {
            return Err(damaged("it does not begin like one"));
        }
        Ok(blocks)
    }

    /// The number of tables, what the image says of itself, and its version.
    fn head(&mut self) -> Result<(u32, ImageHead, u16)> {
        if self.next()? != DATABASE {
            return Err(damaged("it does not say what it holds"));
        }
        head_of(&self.payload)
    }

    /// The tables of the image, created unless they are there.
    fn tables(&mut self, db: &Database) -> Result<(Vec<Filled>, ImageHead)> {
        let (count, head, version) = self.head()?;
        let mut tables = Vec::new();
        for expected in 0..count {
            if self.next()? != TABLE || number(&self.payload, 0)? != expected {
                return Err(damaged("a table is missing"));
            }
            let (id, schema) = table_of(&self.payload, version)?;
            if let Some(id) = id {
                if id >= head.next_table {
                    return Err(damaged("a table has a number that is too high"));
                }
                db.instance.catalog().skip_to(id);
            }
            tables.push(Filled::find_or_create(db, schema)?);
        }
        db.instance.catalog().skip_to(head.next_table);
        Ok((tables, head))
    }

    /// The tag of the next block, whose payload is in `payload` then.
    fn next(&mut self) -> Result<u8> {
        let mut head = [0; 5];
        self.take(&mut head)?;
        let length = number(&head, 1)? as usize;
        if length > PAYLOAD_MAX {
            return Err(damaged("a block is too long"));
        }
        self.payload.clear();
        while self.payload.len() < length {
            let start = self.payload.len();
            self.payload.resize(length.min(start + STEP), 0);
            let mut payload = std::mem::take(&mut self.payload);
            let taken = self.take(&mut payload[start..]);
            self.payload = payload;
            taken?;
        }
        let mut stored = [0; 4];
        self.take(&mut stored)?;
        let mut checksum = Checksum::new();
        checksum.add(&head);
        checksum.add(&self.payload);
        if checksum.value() != u32::from_le_bytes(stored) {
            return Err(damaged("a checksum is wrong"));
        }
        Ok(head[0])
    }

    fn take(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.stream.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged("it ends early"),
            _ => Error::new(ErrorKind::StreamFailed).because(format!("reading an image: {error}")),
        })
    }
}

/// A table that is filled, and how rows become its rows.
struct Filled {
    table: Table,
    /// If the image's rows are others: their layout, and which of its leaves each leaf of the table
    /// is.
    from: Option<(RowLayout, Vec<Option<usize>>)>,
}

impl Filled {
    fn find_or_create(db: &Database, schema: TableSchema) -> Result<Self> {
        let Ok(core) = db.instance.catalog().by_name(&schema.name) else {
            return Ok(Self { table: create(db, schema)?, from: None });
        };
        let table = Table { core };
        let root = db.instance.memory().get(table.core.root);
        if root.directory.limit() > 0 {
            return Err(Error::new(ErrorKind::TableExists)
                .because(format!("`{}` has had rows", table.name())));
        }
        let (from, to) = (RowLayout::new(&schema), &table.core.layout);
        let leaf_of = |path: &str| from.leaf_by_path(path);
        let leaves: Vec<_> = to.leaves().iter().map(|leaf| leaf_of(&leaf.path)).collect();
        let gone = from.leaves().iter().find(|leaf| to.leaf_by_path(&leaf.path).is_none());
        if let Some(gone) = gone {
            return Err(Error::new(ErrorKind::SchemaMismatch).because(format!(
                "`{}` has no column `{}`",
                table.name(),
                gone.path
            )));
        }
        Ok(Self { table, from: Some((from, leaves)) })
    }

    /// The bytes of a row of the table, put together in `buffer` if the image's row is another.
    fn row<'b>(&self, row: u32, bytes: &'b [u8], buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        let layout = &self.table.core.layout;
        let read = self.from.as_ref().map_or(layout, |(from, _)| from);
        if !read.is_well_formed(bytes) {
            return Err(damaged(format!("row {row} of `{}` is not one", self.table.name())));
        }
        let Some((from, leaves)) = &self.from else { return Ok(bytes) };
        let value = |leaf: &Option<usize>| leaf.map(|leaf| from.read_value(bytes, leaf));
        let values: Vec<Option<Value<'_>>> = leaves.iter().map(value).collect();
        let encoded = layout.encoded_len(&values).and_then(|length| {
            buffer.clear();
            buffer.resize(length, 0);
            layout.encode(&values, buffer)
        });
        encoded.map_err(|error| {
            let because = format!("row {row} of `{}`: {error}", self.table.name());
            Error::new(ErrorKind::SchemaMismatch).because(because)
        })?;
        Ok(buffer)
    }
}

/// Puts rows into tables that nobody uses yet: without transactions, as of the first timestamp.
struct Load<'d, 's> {
    db: &'d Database,
    /// The segment files, and the id of their database.
    segments: Option<(SegmentReader<'s>, [u8; 16])>,
    held: HeldSlot<'d>,
    tables: Vec<Filled>,
    count: u64,
    buffer: Vec<u8>,
    /// Rows that are in no index yet, and the number of their table.
    batch: RowBatch<'d>,
    batch_of: u32,
}

impl<'d, 's> Load<'d, 's> {
    fn new(
        db: &'d Database,
        tables: Vec<Filled>,
        segments: Option<(SegmentReader<'s>, [u8; 16])>,
    ) -> Result<Self> {
        let (held, _) = clock::begin_past_gate(db.instance.memory(), db.instance.slots())?;
        let batch = RowBatch::new(db.instance.memory().allocator(held.cache()), ROWS_PER_BATCH)?;
        let (count, buffer, batch_of) = (0, Vec::new(), 0);
        Ok(Self { db, segments, held, tables, count, buffer, batch, batch_of })
    }

    fn all(mut self, blocks: &mut Blocks<'_>, report: &mut dyn FnMut(u64, u64)) -> Result<()> {
        loop {
            match blocks.next()? {
                ROWS => self.rows(&blocks.payload)?,
                COLUMNS => {
                    let columns = Columns::of_payload(&blocks.payload).ok_or_else(no_columns)?;
                    self.columns(number(&blocks.payload, 0)?, columns, None)?;
                }
                STORED => self.stored(&blocks.payload)?,
                END if blocks.payload == self.count.to_le_bytes() => break,
                END => return Err(damaged("it has another number of rows than it says")),
                _ => return Err(damaged("a block stands where it cannot")),
            }
            let stored = self.segments.as_ref().map_or(0, |(segments, _)| segments.bytes);
            report(self.count, blocks.bytes + stored);
        }
        self.index_rest()?;
        let memory = self.db.instance.memory();
        for filled in &self.tables {
            memory.get(filled.table.core.root).directory.thread_free(memory);
        }
        Ok(())
    }

    /// Turns to a table; the rows of the one before go into its indexes.
    fn turn_to(&mut self, of: u32) -> Result<()> {
        if of != self.batch_of {
            self.index_rest()?;
            self.batch_of = of;
        }
        if self.tables.len() <= of as usize {
            return Err(damaged("rows are of a table that is not there"));
        }
        Ok(())
    }

    fn rows(&mut self, payload: &[u8]) -> Result<()> {
        self.turn_to(number(payload, 0)?)?;
        let mut rest = &payload[4..];
        while !rest.is_empty() {
            let (row, length) = (number(rest, 0)?, number(rest, 4)? as usize);
            let Some(bytes) = rest.get(8..8 + length) else {
                return Err(damaged("a row is longer than its block"));
            };
            rest = &rest[8 + length..];
            self.row(row, bytes)?;
        }
        Ok(())
    }

    /// Inserts a row of the table, unindexed, under the id that it had.
    fn row(&mut self, row: u32, bytes: &[u8]) -> Result<()> {
        let filled = &self.tables[self.batch_of as usize];
        let memory = self.db.instance.memory();
        let alloc = memory.allocator(self.held.cache());
        let at = TableAt { memory, core: &filled.table.core };
        if row == u32::MAX || at.is_taken(row) {
            return Err(damaged("a row is there twice"));
        }
        let bytes = filled.row(row, bytes, &mut self.buffer)?;
        at.directory().claim(alloc, row)?;
        let change = at.insert_unindexed_as(alloc, FIRST, row, bytes.len(), |out| {
            out.copy_from_slice(bytes);
            Ok(())
        })?;
        alloc.cache.retired.release();
        self.count += 1;
        if self.batch.push(change) {
            index(&mut self.batch, at, alloc)?;
        }
        Ok(())
    }

    /// As [`Load::columns`], of a segment that stands in a segment file.
    fn stored(&mut self, payload: &[u8]) -> Result<()> {
        let (columns, stored) = Columns::of_stored(payload).ok_or_else(no_columns)?;
        let Some((mut segments, database)) = self.segments.take() else {
            return Err(damaged("it refers to segment files, and was to be read without them"));
        };
        let columns = columns.filled(segments.block(database, stored)?);
        self.columns(number(payload, 0)?, columns, Some(stored))?;
        self.segments = Some((segments, database));
        Ok(())
    }

    /// Puts a frozen segment in its place; where the table's rows are others, they become rows.
    fn columns(
        &mut self,
        table: u32,
        columns: Columns<'_>,
        stored: Option<StoredBlock>,
    ) -> Result<()> {
        self.turn_to(table)?;
        let filled = &self.tables[self.batch_of as usize];
        if let Some((layout, _)) = &filled.from {
            let layout = layout.clone();
            let block = columns.checked(&layout).ok_or_else(no_columns)?;
            return columns.each_row(block, &layout, |row, bytes| self.row(row, bytes));
        }
        let memory = self.db.instance.memory();
        let alloc = memory.allocator(self.held.cache());
        let at = TableAt { memory, core: &filled.table.core };
        let block = columns.checked(&at.core.layout).ok_or_else(no_columns)?;
        let first = u64::from(columns.segment) << 16;
        match at.directory().limit() {
            limit if limit > first => return Err(damaged("a segment is there twice")),
            limit if limit < first => at.directory().claim(alloc, first as u32 - 1)?,
            _ => {}
        }
        let frozen = install(alloc, columns.bytes(), FIRST.timestamp)?;
        let placed = at.directory().place(alloc, columns.segment, frozen);
        placed.inspect_err(|_| memory.get(frozen).destroy(alloc))?;
        if let Some(stored) = stored {
            set_stored(at, memory.get(frozen), stored);
            memory.make_room_in_cache(0);
        }
        for (ordinal, is_seen) in columns.ordinals(block) {
            let row = columns.segment << 16 | ordinal;
            if !is_seen {
                at.directory().set_gone(memory, row);
                continue;
            }
            self.count += 1;
            if self.batch.push(Change::new(row, 0)) {
                index(&mut self.batch, at, alloc)?;
            }
        }
        Ok(())
    }

    /// Puts the rows that wait into the indexes of their table.
    fn index_rest(&mut self) -> Result<()> {
        let Some(filled) = self.tables.get(self.batch_of as usize) else { return Ok(()) };
        let memory = self.db.instance.memory();
        let at = TableAt { memory, core: &filled.table.core };
        index(&mut self.batch, at, memory.allocator(self.held.cache()))
    }
}

/// Puts the rows of a batch into the indexes of their table.
fn index<'t>(batch: &mut RowBatch<'_>, table: TableAt<'t>, alloc: Allocator<'t>) -> Result<()> {
    batch.index(table, alloc, FIRST, None).map_err(|error| match error.kind() {
        ErrorKind::DuplicateKey => damaged(format!("a key is there twice: {error}")),
        _ => error,
    })?;
    batch.clear();
    Ok(())
}

/// What a database block says: the number of tables, the image's head, its version.
pub(super) fn head_of(payload: &[u8]) -> Result<(u32, ImageHead, u16)> {
    let Some(&[first, second]) = payload.get(..2) else {
        return Err(damaged("it does not say what it holds"));
    };
    let version = u16::from_le_bytes([first, second]);
    let known = match version {
        1 => payload.len() == 14,
        2..=VERSION => payload.len() == 42,
        _ => false,
    };
    if !known {
        return Err(damaged(format!("it has version {version}, which is not known here")));
    }
    let count = number(payload, 2)?;
    let mut head = ImageHead { timestamp: long_number(payload, 6)?, ..ImageHead::default() };
    if version >= 2 {
        head.database.copy_from_slice(&payload[14..30]);
        head.position = long_number(payload, 30)?;
        head.next_table = number(payload, 38)?;
    }
    Ok((count, head, version))
}

/// What a table block says behind the table's number in the image: its id, its schema.
pub(super) fn table_of(payload: &[u8], version: u16) -> Result<(Option<u32>, TableSchema)> {
    let id = if version >= 2 { Some(number(payload, 4)?) } else { None };
    let schema = payload.get(if id.is_some() { 8.. } else { 4.. }).unwrap_or_default();
    let schema = TableSchema::from_bytes(schema)
        .map_err(|error| damaged(format!("the schema of a table: {error}")))?;
    Ok((id, schema))
}

/// Makes a table, or a set with its relation.
pub(crate) fn create(db: &Database, schema: TableSchema) -> Result<Table> {
    let created = match schema.set.clone() {
        None => db.create_table(schema),
        Some(set) => db.create_set(set).map(|set| set.relation().clone()),
    };
    created.map_err(|error| match error.is_out_of_memory() {
        true => error,
        false => damaged(error.to_string()),
    })
}

/// Checks that who is linked is there, and that later links will have later places.
pub(crate) fn check_links(db: &Database, set: &Set) -> Result<()> {
    let tx = db.begin_read()?;
    tx.each_row(set.relation(), |link| {
        let link = set.core.read_link(link.bytes());
        let table = set.core.members.get(usize::from(link.member.table));
        let Some(table) = table.map(|member| &member.table) else {
            return Err(damaged(format!("`{}` links a table that it does not have", set.name())));
        };
        let member = tx.has_row(table, RowId(link.member.row))?;
        if !tx.has_row(set.owner(), RowId(link.owner))? || !member {
            return Err(damaged(format!("`{}` links a row that is not there", set.name())));
        }
        set.core.note_place(link.place);
        Ok(())
    })
}

pub(super) fn number(bytes: &[u8], at: usize) -> Result<u32> {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(damaged("a block is too short")),
    }
}

pub(super) fn long_number(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from(number(bytes, at)?) | u64::from(number(bytes, at + 4)?) << 32)
}

#[cold]
fn no_columns() -> Error {
    damaged("the columns of a segment are none")
}

#[cold]
fn damaged(because: impl Into<String>) -> Error {
    Error::new(ErrorKind::DamagedImage).because(because.into())
}
