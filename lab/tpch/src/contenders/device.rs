//! A folder behind a device of a given speed: what is read comes when such a device would have it.
//!
//! Reads wait in one queue. Each takes the time of its bytes, and comes no sooner than a device's
//! latency after it was asked for. What was read or announced is in memory afterwards, as in the
//! system's cache of files, until it is forgotten. Who announces early enough never waits, so the
//! time of a query is the larger of the device's and its own. Writes are not slowed down.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use remanent_engine::{Compression, Folder, Storage, StorageFile};

const PAGE: u64 = 4096;

/// From a request to an idle device to its first byte, as of a solid state disk.
const LATENCY: Duration = Duration::from_micros(100);

/// The device.
#[derive(Debug)]
pub(super) struct Device {
    bytes_per_second: f64,
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    /// When the last read that was asked for ends.
    ends: Instant,
    /// For how long it has been reading, in all.
    busy: Duration,
    /// When pages of files are in memory.
    ready: HashMap<(Arc<str>, u64), Instant>,
}

impl Device {
    pub(super) fn new(bytes_per_second: u64) -> Self {
        let (ends, busy) = (Instant::now(), Duration::ZERO);
        let queue = Mutex::new(Queue { ends, busy, ready: HashMap::new() });
        Self { bytes_per_second: bytes_per_second as f64, queue }
    }

    /// For how long it has been reading, in all.
    pub(super) fn busy(&self) -> Duration {
        self.queue().busy
    }

    /// Nothing that was read is in memory any more, and nothing is being read.
    pub(super) fn forget(&self) {
        let mut queue = self.queue();
        queue.ready.clear();
        queue.ends = Instant::now();
    }

    fn queue(&self) -> impl std::ops::DerefMut<Target = Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a part of a file at a moment; when all of it is in memory.
    fn ask(&self, now: Instant, file: &Arc<str>, at: u64, len: u64) -> Instant {
        let mut queue = self.queue();
        let mut last = now;
        let of_page = Duration::from_secs_f64(PAGE as f64 / self.bytes_per_second);
        for page in at / PAGE..(at + len).div_ceil(PAGE) {
            let place = (Arc::clone(file), page);
            if let Some(&ready) = queue.ready.get(&place) {
                last = last.max(ready);
                continue;
            }
            // Of pages that lie one behind the other, only the first has to be found.
            let begins = queue.ends.max(now + LATENCY);
            queue.ends = begins + of_page;
            queue.busy += of_page;
            last = queue.ends;
            queue.ready.insert(place, last);
        }
        last
    }
}

/// A folder on the device.
#[derive(Debug)]
pub(super) struct SlowFolder {
    pub(super) folder: Folder,
    pub(super) device: Arc<Device>,
}

#[derive(Debug)]
struct SlowFile {
    file: Box<dyn StorageFile>,
    name: Arc<str>,
    device: Arc<Device>,
}

impl SlowFolder {
    fn over(&self, name: &str, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        Box::new(SlowFile { file, name: name.into(), device: Arc::clone(&self.device) })
    }
}

impl Storage for SlowFolder {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.over(name, self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.over(name, self.folder.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.folder.sync_names()
    }

    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        self.folder.lock()
    }

    fn compression(&self) -> Option<&dyn Compression> {
        self.folder.compression()
    }
}

impl StorageFile for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let ready = self.device.ask(Instant::now(), &self.name, at, bytes.len() as u64);
        thread::sleep(ready.saturating_duration_since(Instant::now()));
        self.file.read_at(at, bytes)
    }

    fn will_read(&self, at: u64, len: u64) {
        self.device.ask(Instant::now(), &self.name, at, len);
        self.file.will_read(at, len);
    }

    fn will_read_here_and_there(&self) {
        self.file.will_read_here_and_there();
    }

    fn was_read(&self, at: u64, len: u64) {
        self.file.was_read(at, len);
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(at, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

#[cfg(test)]
mod tests;
