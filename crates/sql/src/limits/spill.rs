//! Files for rows of queries that have no room in memory, in a folder that somebody has named.
//!
//! Where nobody has, there are none: what has no room is refused. A file has no name in its folder
//! (`O_TMPFILE`), so nothing is left when the process ends, in whatever way. All files together
//! have a limit. They are written and read by the threads that run the query.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder};
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::Stream;

use super::cancel::Cancel;
use crate::error::{Error, Result, SqlState};

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 128 << 10;

/// Where queries of a database write what has no room, if anywhere.
#[derive(Default, Debug)]
pub(crate) struct Spilling(Mutex<Option<Files>>);

/// A folder for such files.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    limit: u64,
    /// Bytes of all files that are there now.
    used: AtomicU64,
}

/// One file, which is gone when nobody has it any longer.
pub(crate) struct TempFile {
    file: File,
    folder: Arc<Folder>,
    length: AtomicU64,
}

impl Spilling {
    /// From now on there are files in this folder, of so many bytes together.
    ///
    /// # Errors
    /// A folder that no file can be made in.
    pub(crate) fn set(&self, path: &Path, limit: u64) -> Result<()> {
        let folder = Arc::new(Folder { path: path.to_owned(), limit, used: AtomicU64::new(0) });
        TempFile::new(&folder)?;
        let files = FilesOf(Arc::clone(&folder));
        let manager = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(files));
        let files = Some(Files { folder, manager: Arc::new(manager.build()?) });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = files;
        Ok(())
    }

    /// What makes files for operators of DataFusion's.
    pub(crate) fn files(&self) -> Option<Arc<DiskManager>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.as_ref().map(|files| Arc::clone(&files.manager))
    }

    /// The folder.
    pub(crate) fn folder(&self) -> Option<Arc<Folder>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.as_ref().map(|files| Arc::clone(&files.folder))
    }
}

/// What makes files.
#[derive(Debug)]
struct Files {
    folder: Arc<Folder>,
    /// For operators of DataFusion's.
    manager: Arc<DiskManager>,
}

/// Makes files for operators of DataFusion's.
struct FilesOf(Arc<Folder>);

impl TempFileFactory for FilesOf {
    fn create_temp_file(&self, _: &str) -> PlanResult<Arc<dyn SpillFile>> {
        Ok(Arc::new(Spilled(Arc::new(TempFile::new(&self.0)?))))
    }
}

impl TempFile {
    /// An empty one.
    ///
    /// # Errors
    /// A folder that no file can be made in.
    pub(crate) fn new(folder: &Arc<Folder>) -> Result<Self> {
        let file = tempfile::tempfile_in(&folder.path).map_err(|error| {
            let path = folder.path.display();
            Error::from(error).detail(format!("No file can be made in the spill folder {path}."))
        })?;
        Ok(Self { file, folder: Arc::clone(folder), length: AtomicU64::new(0) })
    }

    /// Adds bytes at the end, and says where they begin. What others add at the same time is
    /// elsewhere.
    ///
    /// # Errors
    /// The folder has no room for them, or the disk; `CANCELLED`.
    pub(crate) fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        Cancel::check_current().map_err(io::Error::other)?;
        let more = bytes.len() as u64;
        let Folder { used, limit, path } = self.folder.as_ref();
        let before = used.fetch_add(more, Ordering::Relaxed);
        let length = self.length.fetch_add(more, Ordering::Relaxed);
        if before + more > *limit {
            let text = "queries have written as much as their spill folder may hold";
            let detail = format!("All files in {} may have {limit} bytes.", path.display());
            let error = Error::new(SqlState::CONFIGURED_LIMIT, text).detail(detail);
            return Err(io::Error::other(error));
        }
        self.file.write_all_at(bytes, length)?;
        Ok(length)
    }

    /// Reads bytes that were added, from a place on.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn read_exact(&self, from: u64, into: &mut [u8]) -> io::Result<()> {
        Cancel::check_current().map_err(io::Error::other)?;
        self.file.read_exact_at(into, from)
    }

    /// Some bytes from a place on; none at the end. Whoever adds some has ended.
    fn read(&self, from: u64) -> PlanResult<Bytes> {
        let length = (self.length.load(Ordering::Relaxed) - from).min(PIECE_BYTES);
        let mut piece = vec![0; length as usize];
        self.file.read_exact_at(&mut piece, from).map_err(DataFusionError::IoError)?;
        Ok(Bytes::from(piece))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.folder.used.fetch_sub(self.length.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A file as operators have it.
struct Spilled(Arc<TempFile>);

impl SpillFile for Spilled {
    fn size(&self) -> Option<u64> {
        Some(self.0.length.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> PlanResult<Pin<Box<dyn Stream<Item = PlanResult<Bytes>> + Send>>> {
        let file = Arc::clone(&self.0);
        let pieces = futures::stream::try_unfold((file, 0), |(file, from)| async move {
            let piece = file.read(from)?;
            let next = from + piece.len() as u64;
            Ok((!piece.is_empty()).then_some((piece, (file, next))))
        });
        Ok(Box::pin(pieces))
    }

    fn open_writer(&self) -> PlanResult<Box<dyn SpillWriter>> {
        let end = End(Arc::clone(&self.0));
        Ok(Box::new(Writer(BufWriter::with_capacity(PIECE_BYTES as usize, end))))
    }
}

/// Who adds to a file, pieces at a time.
struct Writer(BufWriter<End>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // Whoever flushes has no more to write yet; that is read after the end.
        Ok(())
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> PlanResult<()> {
        self.0.flush().map_err(DataFusionError::IoError)
    }
}

/// The end of a file.
struct End(Arc<TempFile>);

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
