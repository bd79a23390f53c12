//! Taking out of a damaged folder what is still there.
//!
//! First it is decided where to begin: where most of the log can be repeated, and there with an
//! image that is whole if there is one. Then all rows of the image are taken that stand in whole
//! blocks, and all commits up to the first damage of the log. A change that cannot be made, since
//! it builds on what is lost, is counted and left out; links that lead nowhere are taken out at
//! the end. What comes of it may be a state that never was: each row is right, but rows that
//! belong to it may be older or not there.

use std::collections::HashMap;
use std::io;

use super::{ProgressReporter, storage_failed};
use crate::checkpoint::image_timestamp;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{self, Columns, Lost, Piece, Pieces};
use crate::log::Progress;
use crate::log::dump::first_position;
use crate::log::reader::{Damage, FrameAt, Next, Reader};
use crate::log::record::{Frame, Operation, Operations};
use crate::options::Options;
use crate::replay::{self, CHANGES_TOGETHER, Replay, table_of};
use crate::segment_files::SegmentReader;
use crate::storage::Storage;
use crate::storage::stream::FileReader;
use crate::table::rows::row::RowId;
use crate::table::{Set, Table};

/// What was taken out of a damaged folder, and what was not.
///
/// # Examples
/// See [`Database::salvage`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Salvaged {
    /// The image that was begun with.
    pub image: Option<String>,
    /// Places in the image where nothing could be read.
    pub gaps: u64,
    /// Bytes of the image in these places.
    pub bytes_lost: u64,
    /// Whether the image's end, which says how many rows it had, could not be read.
    pub image_is_cut: bool,
    /// Rows that were taken from the image.
    pub rows: u64,
    /// Rows that the image had, as it says.
    pub rows_before: Option<u64>,
    /// Rows that could be read and not taken: their table is lost, they are none, or they have a
    /// key that another row has.
    pub rows_refused: u64,
    /// Tables and sets whose definition could be read and not be made.
    pub tables_refused: u64,
    /// Links of sets that led to rows which are not there.
    pub links_lost: u64,
    /// Commits that were repeated from the log, changes of tables included.
    pub commits: u64,
    /// Row changes that were repeated from the log.
    pub changes: u64,
    /// Row changes that could be read and not be repeated, since they build on what is lost.
    pub changes_refused: u64,
    /// Commits that could be read and not be repeated, or whose changes of tables could not.
    pub commits_refused: u64,
    /// Why nothing of the log could be repeated, if that is so.
    pub log_unusable: Option<String>,
    /// Whether there is no image, and what there is of the log begins later than the database.
    pub begins_late: bool,
    /// Where the log is damaged, and how many commits lie behind that.
    pub log_damage: Option<Damage>,
    /// The last commit that was met.
    pub timestamp: u64,
}

impl Salvaged {
    /// Whether anything is known to be lost.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Folder, Options};
    /// # let path = std::env::temp_dir().join(format!("remanent-lost-{}", std::process::id()));
    /// drop(Database::open_at(&path, Options::new())?);
    /// let folder = Folder::existing(&path).expect("a folder");
    /// let (_, salvaged) = Database::salvage(&folder, Options::new())?;
    /// assert!(!salvaged.is_less_than_all());
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn is_less_than_all(&self) -> bool {
        let counted = [
            self.gaps,
            self.rows_refused,
            self.tables_refused,
            self.links_lost,
            self.changes_refused,
            self.commits_refused,
        ];
        let fewer = self.rows_before.is_some_and(|before| before != self.rows);
        fewer
            || self.image_is_cut
            || self.begins_late
            || self.log_unusable.is_some()
            || self.log_damage.is_some()
            || counted.iter().any(|&count| count > 0)
    }
}

impl Database {
    /// Makes a database in memory of whatever can be read in a damaged folder, and says what could
    /// not. Nothing in the folder is changed or locked. For a folder that is not damaged it is
    /// what [`Database::recover`] gives.
    ///
    /// # Errors
    /// `DamagedImage` if there is neither an image nor a log; `StorageFailed` if a file cannot be
    /// read, `BudgetReached` if it does not fit, and as [`Database::open`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Folder, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-salvage-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// drop(db);
    ///
    /// let folder = Folder::existing(&path).expect("a folder");
    /// let (db, salvaged) = Database::salvage(&folder, Options::new())?;
    /// assert_eq!((salvaged.changes, salvaged.changes_refused), (1, 0));
    /// assert_eq!(db.begin_read()?.scan(&db.table("T")?)?.count(), 1);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn salvage(storage: &dyn Storage, mut options: Options) -> Result<(Self, Salvaged)> {
        let log_options = options.take_log();
        let begin = Begin::choose(storage)?;
        let db = Self::open(options)?;
        let mut reporter =
            ProgressReporter { progress: Progress::default(), options: &log_options, next: 0 };
        let mut done = take_all(&db, storage, &begin, &mut reporter)?;
        done.timestamp = replay::finish(&db, done.timestamp)?;
        reporter.report();
        Ok((db, done))
    }
}

fn take_all(
    db: &Database,
    storage: &dyn Storage,
    begin: &Begin,
    reporter: &mut ProgressReporter<'_>,
) -> Result<Salvaged> {
    let mut salvage = Salvage {
        db,
        replay: Replay::new(db),
        since: begin.timestamp,
        fragments: HashMap::new(),
        reporter,
        done: Salvaged::default(),
    };
    if let Some(name) = &begin.image {
        salvage.image(storage, begin, name)?;
    }
    salvage.log(storage, begin)?;
    salvage.replay.end_transaction()?;
    salvage.drop_lost_links()?;
    Ok(salvage.done)
}

/// Where salvage begins.
struct Begin {
    image: Option<String>,
    is_whole: bool,
    /// The timestamp of the image.
    timestamp: u64,
    database: Option<[u8; 16]>,
    position: u64,
    /// The last commit that the log reaches from here, or why there is none.
    reached: Result<u64, String>,
}

impl Begin {
    /// Where most can be had.
    fn choose(storage: &dyn Storage) -> Result<Self> {
        let failed = |error: io::Error| storage_failed(&error);
        let start = first_position(storage).map_err(failed)?;
        let mut choices = Vec::new();
        for name in storage.names().map_err(failed)? {
            if let Some(timestamp) = image_timestamp(&name) {
                choices.push(Self::with_image(storage, name, timestamp, start)?);
            }
        }
        if let Some(position) = start.filter(|&start| start == 0 || choices.is_empty()) {
            choices.push(Self::found(storage, None, 0, None, position, position == 0)?);
        }
        // Of equals the last is taken.
        choices.sort_by_key(|choice| choice.timestamp);
        let value = |choice: &Self| {
            let reached = choice.reached.as_ref().map_or(0, |&reached| reached);
            (reached.max(choice.timestamp), choice.is_whole)
        };
        choices.into_iter().max_by_key(value).ok_or_else(|| {
            Error::new(ErrorKind::DamagedImage).because("there is neither an image nor a log")
        })
    }

    fn with_image(
        storage: &dyn Storage,
        name: String,
        timestamp: u64,
        start: Option<u64>,
    ) -> Result<Self> {
        let failed = |error: io::Error| storage_failed(&error);
        let mut stream = FileReader::new(storage.open(&name).map_err(failed)?);
        let whole = image::verify(&mut stream, SegmentReader::new(storage));
        let is_whole = whole.as_ref().is_ok_and(|head| head.timestamp == timestamp);
        let mut head = whole.ok();
        if head.is_none() {
            let mut pieces = Pieces::open(storage.open(&name).map_err(failed)?).map_err(failed)?;
            if let Some(Piece::Head(found)) = pieces.next().map_err(failed)? {
                head = Some(found);
            }
        }
        // Without its head nobody knows where the log goes on; what is too old is passed over.
        let (timestamp, database, position) = match head {
            // A file may have got another name.
            Some(head) => (head.timestamp, Some(head.database), head.position),
            None => (timestamp, None, start.unwrap_or(0)),
        };
        Self::found(storage, Some(name), timestamp, database, position, is_whole)
    }

    fn found(
        storage: &dyn Storage,
        image: Option<String>,
        timestamp: u64,
        database: Option<[u8; 16]>,
        position: u64,
        is_whole: bool,
    ) -> Result<Self> {
        let reached = match Reader::open(storage, database, position) {
            Ok(None) => Ok(timestamp),
            Ok(Some(mut reader)) => loop {
                match reader.next().map_err(|error| storage_failed(&error))? {
                    Next::Frame { .. } => {}
                    Next::End(end) => break Ok(end.timestamp),
                }
            },
            Err(error) => Err(super::unreadable(error).to_string()),
        };
        Ok(Self { image, is_whole, timestamp, database, position, reached })
    }
}

/// A salvage under way.
struct Salvage<'d, 't, 'o> {
    db: &'d Database,
    replay: Replay<'d>,
    /// What the image has already.
    since: u64,
    /// Parts of transactions, by the place of the first.
    fragments: HashMap<u64, Vec<FrameAt>>,
    reporter: &'t mut ProgressReporter<'o>,
    done: Salvaged,
}

impl Salvage<'_, '_, '_> {
    fn image(&mut self, storage: &dyn Storage, begin: &Begin, name: &str) -> Result<()> {
        let failed = |error: io::Error| storage_failed(&error);
        let opened = storage.open(name).and_then(|file| Ok((file.len()?, file)));
        let (length, file) = opened.map_err(failed)?;
        self.reporter.progress.bytes += length;
        let mut pieces = Pieces::open(file).map_err(failed)?;
        let mut tables: Vec<(u32, Table)> = Vec::new();
        let (mut next_table, mut database) = (0, begin.database.unwrap_or_default());
        let mut segments = SegmentReader::new(storage);
        self.done.image_is_cut = true;
        while let Some(piece) = pieces.next().map_err(failed)? {
            match piece {
                Piece::Head(head) => {
                    next_table = head.next_table;
                    database = head.database;
                }
                Piece::Table { number, id, schema } => {
                    let created = self.create(id, *schema)?;
                    tables.extend(created.map(|table| (number, table)));
                }
                Piece::Rows { number, mut rows } => {
                    let table = tables.iter().find(|(of, _)| *of == number);
                    while let Some(row) = rows.next() {
                        self.row(table.map(|(_, table)| table.core.id), row)?;
                    }
                }
                Piece::Columns { number, columns } => {
                    let table = tables.iter().find(|(of, _)| *of == number);
                    self.columns(table.map(|(_, table)| table), columns)?;
                }
                Piece::Stored { number, columns, stored } => {
                    let table = tables.iter().find(|(of, _)| *of == number);
                    let table = table.map(|(_, table)| table);
                    match segments.block(database, stored) {
                        Ok(bytes) => self.columns(table, columns.filled(bytes))?,
                        Err(_) => {
                            self.done.gaps += 1;
                            self.done.bytes_lost += stored.len;
                        }
                    }
                }
                Piece::End { rows } => {
                    self.done.rows_before = Some(rows);
                    self.done.image_is_cut = false;
                }
                Piece::Malformed => self.done.gaps += 1,
            }
            self.reporter.progress.bytes_done = pieces.bytes_done();
            self.reporter.report_if_due();
        }
        self.replay.end_transaction()?;
        self.db.instance.catalog().skip_to(next_table);
        let Lost { stretches, bytes } = pieces.lost;
        self.done.gaps += stretches;
        self.done.bytes_lost += bytes;
        self.done.image = Some(name.to_owned());
        Ok(())
    }

    fn create(
        &mut self,
        id: Option<u32>,
        schema: remanent_schema::TableSchema,
    ) -> Result<Option<Table>> {
        let catalog = self.db.instance.catalog();
        // Ids only grow, and no table gets that of another.
        let fits = id.is_none_or(|id| catalog.next_id().is_ok_and(|next| next <= id));
        if let Some(id) = id.filter(|_| fits) {
            catalog.skip_to(id);
        }
        let created = match fits {
            true => image::create(self.db, schema),
            false => Err(Error::new(ErrorKind::DamagedImage)),
        };
        match created {
            Err(error) if error.is_out_of_memory() => Err(error),
            Err(_) => {
                self.done.tables_refused += 1;
                Ok(None)
            }
            Ok(table) => Ok(Some(table)),
        }
    }

    fn row(&mut self, table: Option<u32>, row: Result<(u32, &[u8]), ()>) -> Result<()> {
        let taken = match (table, row) {
            (Some(table), Ok((row, bytes))) => {
                self.apply(&Operation::Insert { table, row, bytes })?
            }
            _ => false,
        };
        if taken {
            self.done.rows += 1;
            self.reporter.progress.rows += 1;
        } else {
            self.done.rows_refused += 1;
        }
        Ok(())
    }

    fn columns(&mut self, table: Option<&Table>, columns: Columns<'_>) -> Result<()> {
        let found = table.and_then(|table| {
            let layout = &table.core.layout;
            Some((table.core.id, layout, columns.checked(layout)?))
        });
        let Some((table, layout, block)) = found else {
            self.done.gaps += 1;
            return Ok(());
        };
        columns.each_row(block, layout, |row, bytes| self.row(Some(table), Ok((row, bytes))))
    }

    fn log(&mut self, storage: &dyn Storage, begin: &Begin) -> Result<()> {
        let failed = |error: io::Error| storage_failed(&error);
        self.done.timestamp = begin.timestamp;
        self.done.begins_late = begin.image.is_none() && begin.position > 0;
        if let Err(because) = &begin.reached {
            self.done.log_unusable = Some(because.clone());
            return Ok(());
        }
        let reader = Reader::open(storage, begin.database, begin.position);
        let Some(mut reader) = reader.map_err(super::unreadable)? else { return Ok(()) };
        let until = reader.bytes_left().map_err(failed)?;
        self.reporter.progress.bytes += until;
        let (before, start) = (self.reporter.progress.bytes_done, reader.position());
        loop {
            let (frame, at) = match reader.next().map_err(failed)? {
                Next::Frame { frame, at } => (frame, at),
                Next::End(end) => {
                    self.done.timestamp = self.done.timestamp.max(end.timestamp);
                    self.done.log_damage = end.damage;
                    return Ok(());
                }
            };
            self.reporter.progress.bytes_done = before + at.position - start;
            match frame {
                Frame::Fragment { first, .. } => {
                    self.fragments.entry(first).or_default().push(at);
                }
                Frame::Mark { .. } | Frame::Close | Frame::Entry { .. } => {}
                Frame::Commit { timestamp, operations } => {
                    self.commit(timestamp, Some(operations))?;
                }
                Frame::CommitOf { timestamp, first, operations } => {
                    let last = operations.to_vec();
                    let parts = self.fragments.remove(&first).unwrap_or_default();
                    let mut bytes = Vec::new();
                    for &part in &parts {
                        bytes.extend(reader.fragment(part).map_err(failed)?);
                    }
                    bytes.extend(last);
                    let is_whole = parts.first().is_some_and(|part| part.position == first);
                    self.commit(timestamp, Some(&*bytes).filter(|_| is_whole))?;
                }
                Frame::Define { timestamp, definition } => self.define(timestamp, definition)?,
            }
            self.reporter.report_if_due();
        }
    }

    /// Repeats a commit as far as that is possible; without operations it is not.
    fn commit(&mut self, timestamp: u64, operations: Option<&[u8]>) -> Result<()> {
        if timestamp <= self.since {
            return Ok(());
        }
        let Some(operations) = operations else {
            self.done.commits_refused += 1;
            return Ok(());
        };
        let mut operations = Operations::new(operations);
        let mut is_whole = true;
        loop {
            match operations.next() {
                Ok(None) => break,
                Ok(Some(Operation::Define { bytes })) => is_whole &= self.make(bytes)?,
                Ok(Some(Operation::Old { .. })) => {}
                Ok(Some(operation)) if self.apply(&operation)? => self.done.changes += 1,
                Ok(Some(_)) => self.done.changes_refused += 1,
                Err(_) => {
                    self.done.commits_refused += 1;
                    return Ok(());
                }
            }
        }
        self.done.commits += u64::from(is_whole);
        self.done.commits_refused += u64::from(!is_whole);
        self.reporter.progress.commits += 1;
        Ok(())
    }

    fn define(&mut self, timestamp: u64, definition: &[u8]) -> Result<()> {
        if timestamp <= self.since {
            return Ok(());
        }
        match self.make(definition)? {
            false => self.done.commits_refused += 1,
            true => self.done.commits += 1,
        }
        Ok(())
    }

    /// Makes a definition, in a transaction of its own. False if it cannot be made.
    fn make(&mut self, definition: &[u8]) -> Result<bool> {
        self.replay.end_transaction()?;
        let made = self.replay.define(definition).and_then(|()| self.replay.end_transaction());
        match made {
            Err(error) if error.is_out_of_memory() => Err(error),
            Err(_) => {
                // What is left of it is taken back.
                self.replay.roll_back();
                Ok(false)
            }
            Ok(()) => Ok(true),
        }
    }

    /// Makes one change. False if it cannot be made.
    fn apply(&mut self, operation: &Operation<'_>) -> Result<bool> {
        let table = table_of(operation).map(|table| self.replay.table(table));
        let Some(Ok(table)) = table else { return Ok(false) };
        if self.replay.is_long() {
            self.replay.end_transaction()?;
        }
        let made = match (self.attempt(&table, operation), *operation) {
            // The row is lost, and what it becomes is known.
            (Err(error), Operation::Update { table: id, row, bytes })
                if error.kind() == ErrorKind::RowNotFound =>
            {
                self.attempt(&table, &Operation::Insert { table: id, row, bytes })
            }
            (Err(error), Operation::Delete { .. }) if error.kind() == ErrorKind::RowNotFound => {
                Ok(())
            }
            (made, _) => made,
        };
        match made {
            Err(error) if error.is_out_of_memory() => Err(error),
            made => Ok(made.is_ok()),
        }
    }

    fn attempt(&mut self, table: &Table, operation: &Operation<'_>) -> Result<()> {
        if let Operation::Insert { row, .. } = *operation {
            self.replay.make_vacant(table, row)?;
        }
        self.replay.change(table, operation)
    }

    /// Takes links out whose owner or member is not there.
    fn drop_lost_links(&mut self) -> Result<()> {
        for name in self.db.set_names() {
            let set = self.db.set(&name)?;
            let lost = self.lost_links(&set)?;
            for links in lost.chunks(CHANGES_TOGETHER) {
                let tx = self.db.begin_write()?;
                for &link in links {
                    tx.delete_any(set.relation(), link)?;
                }
                tx.commit()?;
            }
            self.done.links_lost += lost.len() as u64;
        }
        Ok(())
    }

    fn lost_links(&self, set: &Set) -> Result<Vec<RowId>> {
        let tx = self.db.begin_read()?;
        let mut lost = Vec::new();
        tx.each_row(set.relation(), |row| {
            let link = set.core.read_link(row.bytes());
            let member = set.core.members.get(usize::from(link.member.table));
            let has_member = match member.map(|member| &member.table) {
                Some(table) => tx.has_row(table, RowId(link.member.row))?,
                None => false,
            };
            if !has_member || !tx.has_row(set.owner(), RowId(link.owner))? {
                lost.push(row.id());
            }
            Ok(())
        })?;
        Ok(lost)
    }
}
