//! A disk in memory that can stop: what was not synced may be lost, in any order.
//!
//! A process that is killed loses nothing that it wrote; its handles are of no use from then on. A
//! machine that stops keeps what was synced, and of what was written since whatever the seed says,
//! write by write. Names count as files do: they are sure when they are synced.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::Rng;
use rand::rngs::StdRng;
use remanent_engine::{Storage, StorageFile};

/// The disk of one machine, which outlives its processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    files: Vec<File>,
    /// Which process has it; handles of earlier ones are dead.
    process: u64,
    locked: bool,
    /// Syncs fail, or writes find no room.
    fails: Option<io::ErrorKind>,
}

#[derive(Clone, Debug, Default)]
struct File {
    now: Vec<u8>,
    synced: Vec<u8>,
    /// Changes since the last sync.
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

/// The disk as one process has it.
#[derive(Clone, Debug)]
pub(crate) struct Mounted {
    disk: Disk,
    process: u64,
}

#[derive(Debug)]
struct Opened {
    mounted: Mounted,
    file: usize,
}

#[derive(Debug)]
struct Lock(Mounted);

impl Disk {
    /// For a new process; that before is dead.
    pub(crate) fn mount(&self) -> Mounted {
        let mut state = self.state();
        state.process += 1;
        state.locked = false;
        state.fails = None;
        Mounted { disk: self.clone(), process: state.process }
    }

    /// Its process is killed.
    pub(crate) fn unmount(&self) {
        self.state().process += 1;
    }

    /// Calls that write fail from now on, until it is mounted again.
    pub(crate) fn fail(&self, kind: io::ErrorKind) {
        self.state().fails = Some(kind);
    }

    /// The machine stops.
    pub(crate) fn lose_power(&self, random: &mut StdRng) {
        let mut state = self.state();
        state.process += 1;
        let (names, synced) = (state.names.clone(), state.synced_names.clone());
        let all: Vec<&String> = names.keys().chain(synced.keys()).collect();
        let mut left = BTreeMap::new();
        for name in all {
            let now = random.gen_bool(0.5);
            if let Some(&file) = if now { names.get(name) } else { synced.get(name) } {
                left.insert(name.clone(), file);
            }
        }
        // A name that two files would have is the newer one's; one that is lost is nowhere.
        state.names = left.clone();
        state.synced_names = left;
        for file in &mut state.files {
            let mut bytes = std::mem::take(&mut file.synced);
            for change in std::mem::take(&mut file.changes) {
                if random.gen_bool(0.5) {
                    apply(&mut bytes, &change);
                }
            }
            (file.now, file.synced) = (bytes.clone(), bytes);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mounted {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if state.process != self.process {
            return Err(io::Error::other("its process was killed"));
        }
        Ok(state)
    }

    fn writing(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state()?;
        match state.fails {
            Some(kind) => Err(kind.into()),
            None => Ok(state),
        }
    }
}

impl Storage for Mounted {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.state()?.names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.writing()?;
        let file = state.files.len();
        state.files.push(File::default());
        if state.names.insert(name.to_owned(), file).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Box::new(Opened { mounted: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = *self.state()?.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Opened { mounted: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.writing()?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        // A file has its old name or its new one, and what had the new one is there until then.
        if let Some(before) = state.synced_names.remove(from) {
            state.synced_names.entry(to.to_owned()).or_insert(before);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let found = self.writing()?.names.remove(name);
        found.map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.writing()?;
        state.synced_names = state.names.clone();
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        let mut state = self.state()?;
        if state.locked {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.locked = true;
        Ok(Box::new(Lock(self.clone())))
    }
}

impl StorageFile for Opened {
    fn len(&self) -> io::Result<u64> {
        Ok(self.mounted.state()?.files[self.file].now.len() as u64)
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let state = self.mounted.state()?;
        let now = &state.files[self.file].now;
        let from = now.get(at as usize..).unwrap_or_default();
        let count = from.len().min(bytes.len());
        bytes[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        self.change(Change::Write(at, bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Change::SetLen(len))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.mounted.writing()?;
        let file = &mut state.files[self.file];
        for change in std::mem::take(&mut file.changes) {
            apply(&mut file.synced, &change);
        }
        Ok(())
    }
}

impl Opened {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.mounted.writing()?;
        let file = &mut state.files[self.file];
        apply(&mut file.now, &change);
        file.changes.push(change);
        Ok(())
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(at, written) => {
            let (at, end) = (*at as usize, *at as usize + written.len());
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[at..end].copy_from_slice(written);
        }
        Change::SetLen(len) => bytes.resize(*len as usize, 0),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Ok(mut state) = self.0.state() {
            state.locked = false;
        }
    }
}
