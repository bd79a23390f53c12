//! A file as a stream, from its beginning to its end.
//!
//! Images are streams; here they meet files. Reading and writing go through a buffer of a
//! megabyte, and what is larger past it.

use std::io::{self, Read, Write};

use super::{StorageFile, write_all_at};

/// Bytes that are read or written at once.
const STEP: usize = 1 << 20;

/// Reads a file.
pub(crate) struct FileReader {
    file: Box<dyn StorageFile>,
    at: u64,
    bytes: Vec<u8>,
    start: usize,
}

impl FileReader {
    pub(crate) fn new(file: Box<dyn StorageFile>) -> Self {
        Self { file, at: 0, bytes: Vec::new(), start: 0 }
    }
}

impl Read for FileReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.bytes.len() {
            if out.len() >= STEP {
                let count = self.file.read_at(self.at, out)?;
                self.at += count as u64;
                return Ok(count);
            }
            self.bytes.resize(STEP, 0);
            let count = self.file.read_at(self.at, &mut self.bytes)?;
            self.at += count as u64;
            self.bytes.truncate(count);
            self.start = 0;
        }
        let count = out.len().min(self.bytes.len() - self.start);
        out[..count].copy_from_slice(&self.bytes[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }
}

/// Writes a file. What was given last is written by `flush`.
#[derive(Debug)]
pub(crate) struct FileWriter {
    file: Box<dyn StorageFile>,
    at: u64,
    bytes: Vec<u8>,
    /// The bytes that were synced.
    synced: u64,
}

impl FileWriter {
    pub(crate) fn new(file: Box<dyn StorageFile>) -> Self {
        Self { file, at: 0, bytes: Vec::with_capacity(STEP), synced: 0 }
    }

    /// Syncs what was written, if it is so much since it last was: so that nobody has to wait for
    /// all of it at the end.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn sync_if(&mut self, bytes: u64) -> io::Result<()> {
        if self.at - self.synced >= bytes {
            self.file.sync()?;
            self.synced = self.at;
        }
        Ok(())
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > STEP {
            self.flush()?;
        }
        if bytes.len() > STEP {
            write_all_at(&*self.file, self.at, bytes)?;
            self.at += bytes.len() as u64;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all_at(&*self.file, self.at, &self.bytes)?;
        self.at += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }
}
