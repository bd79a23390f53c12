//! Copies of a replica, for those that join or have fallen behind.
//!
//! Whoever needs one asks for it, and fetches its files piece by piece, into a place of its own
//! first. A copy that nobody has asked for a while is removed.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remanent_engine::{Database, Replica, Storage};
use tokio::time::Instant;

use crate::caller::Caller;
use crate::wire::{Answer, CopyFiles, PIECE, Request};

/// A copy goes when nobody has asked for a piece for so long.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Copies at a time.
const COPIES_MAX: usize = 4;

/// Places for copies.
pub trait Scratch: Debug + Send + Sync {
    /// An empty storage.
    ///
    /// # Errors
    /// The system's.
    fn make(&self) -> io::Result<Arc<dyn Storage>>;

    /// A storage that was made is not needed any more.
    fn remove(&self, storage: Arc<dyn Storage>);
}

/// Folders in a folder.
#[derive(Debug)]
pub(crate) struct ScratchFolders {
    path: PathBuf,
    made: Mutex<Vec<(Arc<dyn Storage>, PathBuf)>>,
    next: AtomicU64,
}

impl ScratchFolders {
    /// In this folder, of which nothing is kept.
    pub(crate) fn new(path: PathBuf) -> Self {
        let _ = std::fs::remove_dir_all(&path);
        Self { path, made: Mutex::default(), next: AtomicU64::new(0) }
    }
}

impl Scratch for ScratchFolders {
    fn make(&self) -> io::Result<Arc<dyn Storage>> {
        let path = self.path.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&path)?;
        let storage: Arc<dyn Storage> = Arc::new(remanent_compression::folder(&path)?);
        lock(&self.made).push((Arc::clone(&storage), path));
        Ok(storage)
    }

    fn remove(&self, storage: Arc<dyn Storage>) {
        let mut made = lock(&self.made);
        if let Some(place) = made.iter().position(|(other, _)| Arc::ptr_eq(other, &storage)) {
            let (_, path) = made.swap_remove(place);
            if let Err(error) = std::fs::remove_dir_all(&path) {
                tracing::warn!(%error, path = %path.display(), "a copy could not be removed");
            }
        }
        if made.is_empty() {
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The copies that others fetch from this replica.
#[derive(Debug)]
pub(crate) struct Copies {
    scratch: Arc<dyn Scratch>,
    made: Mutex<HashMap<u64, Copy>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Copy {
    storage: Arc<dyn Storage>,
    asked: Instant,
}

impl Copies {
    pub(crate) fn new(scratch: Arc<dyn Scratch>) -> Self {
        Self { scratch, made: Mutex::default(), next: AtomicU64::new(1) }
    }

    /// Makes one of a replica: of what a majority has, or for a member with which one has the log
    /// up to an entry.
    ///
    /// # Errors
    /// What keeps it from being made, in words.
    pub(crate) fn make(&self, db: &Database, for_member: Option<u64>) -> Result<CopyFiles, String> {
        self.remove_idle();
        if lock(&self.made).len() >= COPIES_MAX {
            return Err("other copies are being fetched".to_owned());
        }
        let storage = self.scratch.make().map_err(|error| error.to_string())?;
        let files = Replica::of(db)
            .and_then(|replica| {
                match for_member {
                    None => replica.copy_to(&*storage)?,
                    Some(last) => replica.copy_for_member(&*storage, last)?,
                };
                Ok(replica.group_id())
            })
            .map_err(|error| error.to_string())
            .and_then(|group| {
                let files = list(&*storage).map_err(|error| error.to_string())?;
                let copy = self.next.fetch_add(1, Ordering::Relaxed);
                Ok(CopyFiles { copy, group, files })
            });
        match &files {
            Ok(files) => {
                let copy = Copy { storage, asked: Instant::now() };
                lock(&self.made).insert(files.copy, copy);
            }
            Err(_) => self.scratch.remove(storage),
        }
        files
    }

    /// A piece of a file of a copy.
    ///
    /// # Errors
    /// The system's; `NotFound` if there is no such copy.
    pub(crate) fn piece(&self, copy: u64, file: &str, at: u64) -> io::Result<Vec<u8>> {
        let storage = {
            let mut made = lock(&self.made);
            let copy = made.get_mut(&copy).ok_or(io::ErrorKind::NotFound)?;
            copy.asked = Instant::now();
            Arc::clone(&copy.storage)
        };
        // What the other one names is a file of the copy or nothing.
        if !storage.names()?.iter().any(|name| name == file) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = storage.open(file)?;
        let left = file.len()?.saturating_sub(at).min(PIECE);
        let mut bytes = vec![0; left as usize];
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(at + read as u64, &mut bytes[read..])? {
                0 => break,
                count => read += count,
            }
        }
        bytes.truncate(read);
        Ok(bytes)
    }

    pub(crate) fn end(&self, copy: u64) {
        if let Some(copy) = lock(&self.made).remove(&copy) {
            self.scratch.remove(copy.storage);
        }
    }

    fn remove_idle(&self) {
        let mut made = lock(&self.made);
        let idle = made.iter().filter(|(_, copy)| copy.asked.elapsed() >= IDLE_MAX);
        let idle: Vec<u64> = idle.map(|(&number, _)| number).collect();
        for number in idle {
            if let Some(copy) = made.remove(&number) {
                self.scratch.remove(copy.storage);
            }
        }
    }
}

fn list(storage: &dyn Storage) -> io::Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    for name in storage.names()? {
        let length = storage.open(&name)?.len()?;
        files.push((name, length));
    }
    Ok(files)
}

/// Fetches a copy of the replica that is asked.
///
/// # Errors
/// The system's; what the other one refuses.
pub(crate) async fn fetch(caller: &mut Caller, into: &dyn Storage) -> io::Result<()> {
    let files = match caller.call(Request::Copy).await? {
        Answer::Copy(files) => files,
        answer => return Err(unexpected(answer)),
    };
    let fetched = fetch_files(caller, &files, into).await;
    // Whether it hears that does not matter: it would find out.
    let _ = caller.call(Request::CopyEnd { copy: files.copy }).await;
    fetched
}

async fn fetch_files(caller: &mut Caller, files: &CopyFiles, into: &dyn Storage) -> io::Result<()> {
    let CopyFiles { copy, .. } = *files;
    for (name, length) in &files.files {
        if name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a file of another folder"));
        }
        let target = into.create(name)?;
        let mut at = 0;
        while at < *length {
            let request = Request::Piece { copy, file: name.clone(), at };
            let bytes = match caller.call(request).await? {
                Answer::Piece(bytes) if !bytes.is_empty() => bytes,
                answer => return Err(unexpected(answer)),
            };
            let mut written = 0;
            while written < bytes.len() {
                match target.write_at(at + written as u64, &bytes[written..])? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => written += count,
                }
            }
            at += bytes.len() as u64;
        }
        target.sync()?;
    }
    into.sync_names()
}

pub(crate) fn unexpected(answer: Answer) -> io::Error {
    match answer {
        Answer::Refused(why) => io::Error::other(why),
        Answer::Elsewhere(Some(address)) => io::Error::other(format!("{address} leads")),
        Answer::Elsewhere(None) => io::Error::other("no leader is known"),
        _ => io::Error::other("an answer to another question"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
