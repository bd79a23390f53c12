//! A storage that keeps nothing: what is written to its only file goes to whoever reads.
//!
//! A thread of its own makes the backup, and waits as long as some pieces are not taken. When
//! nobody takes them any more its next write fails, and it ends before what has begun it does: so
//! nobody has the database open whom the session does not know.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use remanent_engine::{Storage, StorageFile};

use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;

/// Bytes of a piece at most, and pieces that wait to be taken.
const PIECE_BYTES: usize = 1 << 20;
const PIECES_WAITING: usize = 4;
/// How often it is looked whether the statement is to end.
const LOOK_AFTER: Duration = Duration::from_millis(20);

/// Something of the file.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes { at: u64, bytes: Box<[u8]> },
    End { length: u64, name: String },
}

/// The pieces of a backup that is being made.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Until the last was taken.
    taken: Option<Receiver<Piece>>,
    maker: Option<JoinHandle<remanent_engine::Result<u64>>>,
}

impl Pieces {
    /// Begins one.
    ///
    /// # Errors
    /// The system's, if it has no more threads.
    pub(super) fn of(database: Arc<SqlDatabase>) -> Result<Self> {
        let (given, taken) = sync_channel(PIECES_WAITING);
        let make = move || database.engine().backup(&Pipe { given, length: Arc::default() });
        let maker = std::thread::Builder::new().name("backup".to_owned()).spawn(make)?;
        Ok(Self { taken: Some(taken), maker: Some(maker) })
    }

    /// The next one; none behind the last.
    ///
    /// # Errors
    /// Those of [`remanent_engine::Database::backup`]; `QUERY_CANCELED`.
    pub(super) fn next(&mut self) -> Result<Option<Piece>> {
        while let Some(taken) = &self.taken {
            Cancel::check_current()?;
            match taken.recv_timeout(LOOK_AFTER) {
                Ok(piece) => return Ok(Some(piece)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.taken = None,
            }
        }
        let Some(maker) = self.maker.take() else { return Ok(None) };
        match maker.join() {
            Ok(made) => made.map(|_| None).map_err(Error::from),
            Err(_) => Err(Error::new(SqlState::INTERNAL, "the backup was interrupted")),
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.taken = None;
        if let Some(maker) = self.maker.take() {
            // Nobody is there to hear of an error.
            let _ = maker.join();
        }
    }
}

/// The storage, and its file.
#[derive(Clone, Debug)]
struct Pipe {
    given: SyncSender<Piece>,
    /// Bytes of the file.
    length: Arc<AtomicU64>,
}

impl Pipe {
    fn give(&self, piece: Piece) -> io::Result<()> {
        self.given.send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Storage for Pipe {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(self.clone()))
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn StorageFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn rename(&self, _: &str, to: &str) -> io::Result<()> {
        self.give(Piece::End { length: self.len()?, name: to.to_owned() })
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        Ok(Box::new(()))
    }
}

impl StorageFile for Pipe {
    fn len(&self) -> io::Result<u64> {
        Ok(self.length.load(Ordering::Relaxed))
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PIECE_BYTES)];
        self.give(Piece::Bytes { at, bytes: taken.into() })?;
        self.length.fetch_max(at + taken.len() as u64, Ordering::Relaxed);
        Ok(taken.len())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
