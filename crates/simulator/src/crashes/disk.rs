//! A disk in memory that writes down every call.
//!
//! It behaves as a disk that never fails, unless it is told which call is to. What would be on it
//! after a crash is worked out from the calls, by `survival.rs`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remanent_compression::Lz4;
use remanent_engine::{Compression, Storage, StorageFile};

/// The files of a disk by their names.
pub(super) type Content = BTreeMap<String, Vec<u8>>;

/// A call that changes something, or a note of the program's.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Create {
        name: String,
        file: usize,
    },
    Write {
        file: usize,
        at: u64,
        bytes: Vec<u8>,
    },
    SetLen {
        file: usize,
        len: u64,
    },
    Sync {
        file: usize,
    },
    /// A sync that failed: what it was for is nowhere any more.
    LostSync {
        file: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        name: String,
    },
    SyncNames,
    Note(Note),
}

/// What the program has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// From here on state number so may be found.
    Begun(usize),
    /// State number so was acknowledged: it survives a crash of the process, or of the machine.
    Written(usize),
    Synced(usize),
}

/// How a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// With an error, nothing done.
    Io,
    /// There is no more room; a write may have been done in part.
    Full,
    /// A write takes fewer bytes than it was given, and says so.
    Short,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
    calls: Vec<Call>,
    counted: u64,
    /// The number of the first call to fail, and whether all after it do too.
    failure: Option<(u64, Failure, bool)>,
    failed: bool,
    locked: bool,
}

#[derive(Debug)]
struct OpenFile {
    disk: Disk,
    file: usize,
}

#[derive(Debug)]
struct Lock(Disk);

impl Disk {
    /// A disk with this on it.
    pub(super) fn with(content: Content) -> Self {
        let disk = Self::default();
        {
            let mut state = disk.state();
            for (name, bytes) in content {
                let file = state.files.len();
                state.files.push(bytes);
                state.names.insert(name, file);
            }
        }
        disk
    }

    /// A disk with files that have these numbers.
    pub(super) fn numbered(names: BTreeMap<String, usize>, files: Vec<Vec<u8>>) -> Self {
        let disk = Self::default();
        {
            let mut state = disk.state();
            (state.names, state.files) = (names, files);
        }
        disk
    }

    /// What is on it now.
    pub(super) fn content(&self) -> Content {
        let state = self.state();
        state.names.iter().map(|(name, &file)| (name.clone(), state.files[file].clone())).collect()
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Writes a note between the calls.
    pub(super) fn note(&self, note: Note) {
        self.state().calls.push(Call::Note(note));
    }

    /// Lets the call with this number fail, counted from 1, and all after it if it is to last.
    pub(super) fn fail_at(&self, number: u64, failure: Failure, lasts: bool) {
        self.state().failure = Some((number, failure, lasts));
    }

    /// Whether a call has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.state().failed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call that changes something, and says how it is to fail.
    fn count(&mut self) -> Option<Failure> {
        self.counted += 1;
        let (number, failure, lasts) = self.failure?;
        let fails = self.counted == number || lasts && self.counted > number;
        self.failed |= fails && failure != Failure::Short;
        fails.then_some(failure)
    }

    /// As [`State::count`], for a call that is done or not.
    fn attempt(&mut self) -> io::Result<()> {
        match self.count() {
            None | Some(Failure::Short) => Ok(()),
            Some(Failure::Io) => Err(io::Error::other("the disk does not answer")),
            Some(Failure::Full) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for Disk {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.state();
        state.attempt()?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = state.files.len();
        state.files.push(Vec::new());
        state.names.insert(name.to_owned(), file);
        state.calls.push(Call::Create { name: name.to_owned(), file });
        Ok(Box::new(OpenFile { disk: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = self.state().find(name)?;
        Ok(Box::new(OpenFile { disk: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.attempt()?;
        let file = state.find(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), file);
        state.calls.push(Call::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.attempt()?;
        state.find(name)?;
        state.names.remove(name);
        state.calls.push(Call::Remove { name: name.to_owned() });
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.state();
        state.attempt()?;
        state.calls.push(Call::SyncNames);
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        let mut state = self.state();
        if std::mem::replace(&mut state.locked, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(Lock(self.clone())))
    }

    fn compression(&self) -> Option<&dyn Compression> {
        Some(&Lz4)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.state().locked = false;
    }
}

impl StorageFile for OpenFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.file].len() as u64)
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        let content = &state.files[self.file];
        let rest = content.get(at as usize..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let failure = state.count();
        let count = match failure {
            None => bytes.len(),
            Some(Failure::Io) => return Err(io::Error::other("the disk does not answer")),
            Some(Failure::Full | Failure::Short) => bytes.len().div_ceil(2),
        };
        let bytes = bytes[..count].to_vec();
        write(&mut state.files[self.file], at, &bytes);
        state.calls.push(Call::Write { file: self.file, at, bytes });
        match failure {
            Some(Failure::Full) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(count),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.attempt()?;
        state.files[self.file].resize(len as usize, 0);
        state.calls.push(Call::SetLen { file: self.file, len });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let attempt = state.attempt();
        let file = self.file;
        state.calls.push(match attempt {
            Ok(()) => Call::Sync { file },
            Err(_) => Call::LostSync { file },
        });
        attempt
    }
}

/// Writes into a file's bytes, which grow as needed.
pub(super) fn write(content: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let (at, end) = (at as usize, at as usize + bytes.len());
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}
