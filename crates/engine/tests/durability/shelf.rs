//! Files in memory that are only read.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;

use remanent_engine::{Storage, StorageFile};

/// A storage whose files do not change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf(pub(crate) BTreeMap<String, Vec<u8>>);

#[derive(Debug)]
struct Item(Vec<u8>);

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Storage for Shelf {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.0.keys().cloned().collect())
    }
    fn create(&self, _: &str) -> io::Result<Box<dyn StorageFile>> {
        refused()
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let bytes = self.0.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Item(bytes.clone())))
    }
    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }
    fn sync_names(&self) -> io::Result<()> {
        refused()
    }
    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        refused()
    }
}

impl StorageFile for Item {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let rest = self.0.get(at as usize..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<usize> {
        refused()
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        refused()
    }
    fn sync(&self) -> io::Result<()> {
        refused()
    }
}
