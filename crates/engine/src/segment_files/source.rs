//! Reading extents of blocks again that were evicted.
//!
//! Files are kept open, the last ones that were read, and tables of records are kept in memory. A
//! file that has gone since is opened no more, and none goes as long as a segment is said to stand
//! in it. Extents that stand close to each other are read at once.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::extent_table::{Entry, ExtentTable};
use super::reader::{check_header, damaged};
use super::{HEADER, name_of};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::pages::buffer_cache::{ColumnReads, EvictedBytes, EvictedRecord};
use crate::storage::{Storage, StorageFile, read_at_most};

/// Files that are kept open, and tables that are kept.
const OPEN_MAX: usize = 64;
const TABLES_MAX: usize = 4096;
/// Extents with no more bytes between them are read at once, if it is no more than so much.
const GAP_MAX: u64 = 32 << 10;
const READ_MAX: u64 = 4 << 20;
/// Room that a thread keeps for what it reads next.
const ROOM_KEPT: usize = 1 << 20;

/// The segment files of a database that is open.
#[derive(Debug)]
pub(crate) struct SegmentSource {
    storage: Arc<dyn Storage>,
    database: [u8; 16],
    /// Open files by their numbers, the one that was read last at the end.
    open: Mutex<Vec<(u64, Arc<dyn StorageFile>)>>,
    tables: Mutex<Tables>,
    spent: Spent,
    /// Whether the system may keep what was read.
    system_cache: bool,
}

/// Reads, and nanoseconds that they took and what came after them.
#[derive(Debug, Default)]
struct Spent {
    reads: AtomicU64,
    waiting_ns: AtomicU64,
    unpacking_ns: AtomicU64,
}

/// Tables of records, in the order of the files and the places in them.
type Tables = Vec<((u64, u64), Arc<[u8]>)>;

/// An extent that is wanted: its number, what its table says, and where it stands in the file.
#[derive(Clone)]
struct Wanted {
    number: usize,
    entry: Entry,
    place: Range<u64>,
}

thread_local! {
    /// Room for what is read, and for what is decompressed.
    static ROOM: Cell<[Vec<u8>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

impl SegmentSource {
    pub(crate) fn new(storage: Arc<dyn Storage>, database: [u8; 16], system_cache: bool) -> Self {
        let (open, tables) = (Mutex::default(), Mutex::default());
        Self { storage, database, open, tables, spent: Spent::default(), system_cache }
    }

    fn file(&self, number: u64) -> Result<Arc<dyn StorageFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = open.iter().rposition(|(of, _)| *of == number) {
            let found = open.remove(place);
            let file = Arc::clone(&found.1);
            open.push(found);
            return Ok(file);
        }
        drop(open);
        let name = name_of(number);
        let failed = |error: io::Error| failed(&name, &error);
        let file: Arc<dyn StorageFile> = self.storage.open(&name).map_err(failed)?.into();
        let mut header = [0; HEADER];
        read_at_most(&*file, 0, &mut header).map_err(failed)?;
        self.spent.reads.fetch_add(1, Relaxed);
        check_header(&header, self.database, number).map_err(|why| damaged(&name, why))?;
        file.will_read_here_and_there();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == OPEN_MAX {
            open.remove(0);
        }
        open.push((number, Arc::clone(&file)));
        Ok(file)
    }

    /// The table of a record.
    fn table(&self, record: EvictedRecord) -> Result<Arc<[u8]>> {
        let place = (record.file, record.at);
        let tables = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |tables: &Tables| tables.binary_search_by_key(&place, |(of, _)| *of);
        {
            let tables = tables();
            if let Ok(at) = find(&tables) {
                return Ok(Arc::clone(&tables[at].1));
            }
        }
        let mut bytes = vec![0; ExtentTable::len_of(record.extents)];
        self.fill(record.file, record.at, &mut bytes)?;
        let split = ExtentTable::split_from(&bytes, record.checksum);
        let (table, _) = split.map_err(|why| self.wrong(record, &why))?;
        let table: Arc<[u8]> = table.bytes().into();
        let mut tables = tables();
        if tables.len() >= TABLES_MAX {
            // Those of the oldest files, which go first.
            tables.drain(..TABLES_MAX / 4);
        }
        if let Err(at) = find(&tables) {
            tables.insert(at, (place, Arc::clone(&table)));
        }
        Ok(table)
    }

    /// Reads extents that stand close to each other, and gives them to `take`.
    fn read_group(
        &self,
        record: EvictedRecord,
        group: &[Wanted],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
        let place = first.place.start..last.place.end;
        let [mut stored, mut room] = ROOM.with(Cell::take);
        stored.resize((place.end - place.start) as usize, 0);
        let mut unpacking = Duration::ZERO;
        let read = self.fill(record.file, place.start, &mut stored).and_then(|()| {
            group.iter().try_for_each(|Wanted { number, entry, place: of }| {
                let start = (of.start - place.start) as usize;
                let stored = &stored[start..start + entry.stored_len];
                let begin = Instant::now();
                let bytes = entry.bytes_in(stored, self.storage.compression(), &mut room);
                unpacking += begin.elapsed();
                let wrong = |why: String| self.wrong(record, &format!("extent {number} {why}"));
                take(*number, bytes.map_err(wrong)?)
            })
        });
        note(&self.spent.unpacking_ns, unpacking);
        for room in [&mut stored, &mut room] {
            room.truncate(ROOM_KEPT);
            room.shrink_to(ROOM_KEPT);
        }
        ROOM.with(|rooms| rooms.set([stored, room]));
        read
    }

    /// Fills `bytes` with those of a file from a place on.
    fn fill(&self, file: u64, at: u64, bytes: &mut [u8]) -> Result<()> {
        let begin = Instant::now();
        let open = self.file(file)?;
        let count =
            read_at_most(&*open, at, bytes).map_err(|error| failed(&name_of(file), &error))?;
        if !self.system_cache {
            open.was_read(at, count as u64);
        }
        self.spent.reads.fetch_add(1, Relaxed);
        note(&self.spent.waiting_ns, begin.elapsed());
        if count < bytes.len() {
            return Err(damaged(&name_of(file), &format!("it ends at {}", at + count as u64)));
        }
        Ok(())
    }

    #[cold]
    fn wrong(&self, record: EvictedRecord, why: &str) -> Error {
        damaged(&name_of(record.file), &format!("the record at {}: {why}", record.at))
    }
}

impl EvictedBytes for SegmentSource {
    fn read(
        &self,
        record: EvictedRecord,
        extents: &[usize],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let table = self.table(record)?;
        let wanted: Vec<_> = wanted(&table, record, extents).collect();
        let mut rest = &wanted[..];
        while let Some(first) = rest.first() {
            let begin = first.place.start;
            let is_near = |(one, next): (&Wanted, &Wanted)| {
                next.place.start - one.place.end <= GAP_MAX && next.place.end - begin <= READ_MAX
            };
            let more = rest.iter().zip(&rest[1..]).take_while(|&pair| is_near(pair)).count();
            let (group, others) = rest.split_at(more + 1);
            self.read_group(record, group, take)?;
            rest = others;
        }
        Ok(())
    }

    fn will_read(&self, record: EvictedRecord, extents: &[usize]) {
        // Who reads it says what is wrong with it.
        if let (Ok(table), Ok(file)) = (self.table(record), self.file(record.file)) {
            for Wanted { place, .. } in wanted(&table, record, extents) {
                file.will_read(place.start, place.end - place.start);
            }
        }
    }

    fn figures(&self) -> ColumnReads {
        let Spent { reads, waiting_ns, unpacking_ns } = &self.spent;
        let took = |ns: &AtomicU64| Duration::from_nanos(ns.load(Relaxed));
        let (waiting, unpacking) = (took(waiting_ns), took(unpacking_ns));
        ColumnReads { count: reads.load(Relaxed), waiting, unpacking }
    }
}

fn note(total: &AtomicU64, took: Duration) {
    total.fetch_add(took.as_nanos() as u64, Relaxed);
}

/// What a table says of some extents, whose numbers ascend.
fn wanted(table: &[u8], record: EvictedRecord, extents: &[usize]) -> impl Iterator<Item = Wanted> {
    let table = ExtentTable::new(table);
    let all = table.entries().zip(table.places()).enumerate();
    let place_of = move |place: Range<u64>| record.at + place.start..record.at + place.end;
    all.filter(|(number, _)| extents.binary_search(number).is_ok())
        .map(move |(number, (entry, place))| Wanted { number, entry, place: place_of(place) })
}

#[cold]
fn failed(name: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(format!("{name}: {error}"))
}
