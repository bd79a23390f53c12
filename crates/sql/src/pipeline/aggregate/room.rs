//! Where groups have room: in memory, and in a file if there is a folder for such.
//!
//! All threads of an aggregate write to one file, which is made when the first group goes there.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use remanent_exec::{Aggregation, Refused, SpillStore};

use crate::error::{Error, Result};
use crate::limits::spill::{Folder, Spilling, TempFile};
use crate::pipeline::values::with_memory;

/// Where there is a file, all groups of an aggregate have this part of a query's memory, and those
/// that have ended, and wait for others, as much of that: what else a query does needs some, too.
const GROUPS_PART: [usize; 2] = [3, 4];
const WAITING_PART: usize = 4;

/// The room of some groups.
pub(crate) struct Room {
    reservation: MemoryReservation,
    file: Option<Arc<GroupFile>>,
    /// Bytes that stay taken.
    kept: usize,
    /// So many bytes each thread's groups have at most, about, if there is a file.
    share: usize,
    /// So many bytes of groups that have ended go to the file.
    waiting_max: usize,
}

impl Room {
    /// That of an aggregate of a query, with so many threads at most; none of it is taken.
    pub(crate) fn new(
        context: &TaskContext,
        threads: usize,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> Self {
        let consumer = MemoryConsumer::new("groups of an aggregate");
        let pool = context.memory_pool();
        let folder = context.session_config().get_extension::<Spilling>();
        let folder = folder.and_then(|spilling| spilling.folder());
        let file = folder.map(|folder| GroupFile {
            folder,
            file: OnceLock::new(),
            fault: Mutex::new(None),
            files: MetricBuilder::new(metrics).spill_count(partition),
            bytes: MetricBuilder::new(metrics).spilled_bytes(partition),
        });
        let [part, of] = GROUPS_PART;
        let all = match pool.memory_limit() {
            MemoryLimit::Finite(room) => room / of * part,
            _ => usize::MAX,
        };
        Self {
            reservation: consumer.register(pool),
            file: file.map(Arc::new),
            kept: 0,
            share: all / threads.max(1),
            waiting_max: all / WAITING_PART,
        }
    }

    /// Other groups' room, of the same memory and file.
    pub(crate) fn another(&self) -> Self {
        let (reservation, file) = (self.reservation.new_empty(), self.file.clone());
        Self { reservation, file, kept: 0, ..*self }
    }

    /// Takes so many bytes, which stay taken for what comes one after the other, if they are there:
    /// what is done with groups that have gone out may take all others.
    pub(crate) fn keep(&mut self, bytes: usize) {
        if self.reservation.try_grow(bytes).is_ok() {
            self.kept = bytes;
        }
    }

    /// What is taken of the memory.
    pub(crate) fn reservation(&self) -> &MemoryReservation {
        &self.reservation
    }

    /// The same, when nothing goes to the file any more.
    pub(crate) fn into_reservation(self) -> MemoryReservation {
        self.reservation
    }

    /// Groups of a thread that go to the file when they have their share, if there may be one.
    pub(crate) fn limits(&self, aggregation: Aggregation) -> Aggregation {
        match self.file.clone() {
            Some(file) => aggregation.spilling_to(file, self.share),
            None => aggregation,
        }
    }

    /// Whether groups that have ended, and have so many bytes, are to go to the file.
    pub(crate) fn is_too_little_for(&self, bytes: usize) -> bool {
        self.file.is_some() && bytes > self.waiting_max
    }

    /// Does what takes memory, and may write to the file or read it.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`; what the file refused.
    pub(crate) fn within<T>(
        &mut self,
        take: impl FnOnce(&mut dyn FnMut(usize) -> bool) -> Result<T, Refused>,
    ) -> Result<T> {
        let kept = self.kept;
        let taken =
            with_memory(&mut self.reservation, |memory| take(&mut |bytes| memory(bytes.max(kept))));
        let fault = self.file.as_ref().filter(|_| taken.is_err()).and_then(|file| file.fault());
        fault.map_or(taken, Err)
    }
}

/// The file of an aggregate.
struct GroupFile {
    folder: Arc<Folder>,
    file: OnceLock<TempFile>,
    /// Why it has refused bytes.
    fault: Mutex<Option<Error>>,
    /// How many files there are, and how many bytes went there, for EXPLAIN ANALYZE.
    files: Count,
    bytes: Count,
}

impl fmt::Debug for GroupFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupFile").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl GroupFile {
    fn file(&self) -> Result<&TempFile> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = TempFile::new(&self.folder)?;
        Ok(self.file.get_or_init(|| {
            self.files.add(1);
            file
        }))
    }

    fn fault(&self) -> Option<Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn refuse(&self, fault: Error) -> Refused {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        Refused
    }
}

impl SpillStore for GroupFile {
    fn append(&self, bytes: &[u8]) -> Result<u64, Refused> {
        let file = self.file().map_err(|fault| self.refuse(fault))?;
        let at = file.append(bytes);
        let at = at.map_err(|fault| self.refuse(DataFusionError::IoError(fault).into()))?;
        self.bytes.add(bytes.len());
        Ok(at)
    }

    fn read(&self, from: u64, into: &mut [u8]) -> Result<(), Refused> {
        let file = self.file().map_err(|fault| self.refuse(fault))?;
        let read = file.read_exact(from, into);
        read.map_err(|fault| self.refuse(DataFusionError::IoError(fault).into()))
    }
}
