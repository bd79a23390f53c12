//! A disk in memory of which each state is kept: the one before each call that changes something.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use remanent_engine::{Storage, StorageFile};

/// Files by their names.
pub(super) type Content = BTreeMap<String, Vec<u8>>;

/// The disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
    /// While it is watched, what was there at each call.
    watched: Option<Vec<Content>>,
}

#[derive(Debug)]
struct OpenFile {
    disk: Disk,
    file: usize,
}

impl Disk {
    /// A disk with this on it.
    pub(super) fn with(content: &Content) -> Self {
        let disk = Self::default();
        {
            let mut state = disk.state();
            for (name, bytes) in content {
                let file = state.files.len();
                state.files.push(bytes.clone());
                state.names.insert(name.clone(), file);
            }
        }
        disk
    }

    /// From here on states are kept.
    pub(super) fn watch(&self) {
        self.state().watched = Some(Vec::new());
    }

    /// The states since, and the one now.
    pub(super) fn watched(&self) -> Vec<Content> {
        let mut state = self.state();
        let mut all = state.watched.take().unwrap_or_default();
        all.push(state.content());
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn content(&self) -> Content {
        self.names.iter().map(|(name, &file)| (name.clone(), self.files[file].clone())).collect()
    }

    /// A call that changes something follows.
    fn note(&mut self) {
        if self.watched.is_some() {
            let content = self.content();
            self.watched.get_or_insert_with(Vec::new).push(content);
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
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.note();
        let file = state.files.len();
        state.files.push(Vec::new());
        state.names.insert(name.to_owned(), file);
        Ok(Box::new(OpenFile { disk: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = self.state().find(name)?;
        Ok(Box::new(OpenFile { disk: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        let file = state.find(from)?;
        state.note();
        state.names.remove(from);
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.find(name)?;
        state.note();
        state.names.remove(name);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        Ok(Box::new(()))
    }
}

impl StorageFile for OpenFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.file].len() as u64)
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        let rest = state.files[self.file].get(at as usize..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let (at, half) = (at as usize, bytes.len() / 2);
        let mut write = |from: usize, to: usize| {
            state.note();
            let content = &mut state.files[self.file];
            if content.len() < at + to {
                content.resize(at + to, 0);
            }
            content[at + from..at + to].copy_from_slice(&bytes[from..to]);
        };
        // A process may end in the middle of a write.
        write(0, half);
        write(half, bytes.len());
        Ok(bytes.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.note();
        state.files[self.file].resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
