//! A disk that stalls while the log begins a new file: committers wait for it asleep.
//!
//! They need the new file, so they have to wait; but not in a loop under the latch of commits,
//! where each of them would take a processor for as long as the disk takes.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Durability, Folder, Options, Storage, StorageFile, Table};

const STALL: Duration = Duration::from_millis(600);

/// Whether writes to files that are made now wait.
#[derive(Debug, Default)]
struct Gate {
    closed: AtomicBool,
    waiting: Mutex<u32>,
    changed: Condvar,
}

#[derive(Debug)]
struct Stalling {
    folder: Folder,
    gate: Arc<Gate>,
}

#[derive(Debug)]
struct StallingFile {
    file: Box<dyn StorageFile>,
    /// Of a file that was made while the gate was closed.
    gate: Option<Arc<Gate>>,
}

impl Gate {
    fn pass(&self) {
        if self.closed.load(Ordering::SeqCst) {
            let mut waiting = self.waiting.lock().expect("nobody panics");
            *waiting += 1;
            self.changed.notify_all();
            while self.closed.load(Ordering::SeqCst) {
                waiting = self.changed.wait(waiting).expect("nobody panics");
            }
        }
    }

    fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
        let _waiting = self.waiting.lock().expect("nobody panics");
        self.changed.notify_all();
    }

    fn wait_until_somebody_waits(&self) {
        let mut waiting = self.waiting.lock().expect("nobody panics");
        while *waiting == 0 {
            waiting = self.changed.wait(waiting).expect("nobody panics");
        }
    }
}

impl Stalling {
    fn file(&self, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        let is_gated = self.gate.closed.load(Ordering::SeqCst);
        Box::new(StallingFile { file, gate: is_gated.then(|| Arc::clone(&self.gate)) })
    }
}

impl Storage for Stalling {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.file(self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.file(self.folder.open(name)?))
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
}

impl StorageFile for StallingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, bytes)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        if let Some(gate) = &self.gate {
            gate.pass();
        }
        self.file.write_at(at, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// Nanoseconds that this thread had a processor so far.
fn cpu_ns() -> u64 {
    let shown = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    shown.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

fn insert(db: &Database, table: &Table, len: usize) {
    db.write(|tx| tx.insert_values(table, &[Some(vec![7; len].as_slice().into())]))
        .expect("the disk is only slow");
}

#[test]
fn committers_sleep_while_the_disk_stalls() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("stalled_disk");
    let _ = std::fs::remove_dir_all(&path);
    let gate = Arc::new(Gate::default());
    let folder = Folder::create(&path).expect("it can be made");
    let storage = Stalling { folder, gate: Arc::clone(&gate) };
    let options = Options::new().budget(16 << 20).durability(Durability::Buffered);
    let options = options.log_file_size(64 << 10).log_buffer_size(1 << 20);
    let db = Database::open_in(Arc::new(storage), options).expect("it opens");
    let schema = TableSchema::new("T").column("data", ColumnType::BLOB);
    let table = db.create_table(schema).expect("there is memory");
    let slowest = AtomicU64::new(0);
    // When the file is full, one begins the next, and the others wait.
    gate.closed.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        // Short ones would fit into what is left of the file.
        for len in [500, 1, 500, 20] {
            let (db, table, slowest) = (&db, &table, &slowest);
            scope.spawn(move || {
                for _ in 0..100 {
                    let before = cpu_ns();
                    let start = Instant::now();
                    insert(db, table, len);
                    if start.elapsed() > STALL / 2 {
                        slowest.fetch_max(cpu_ns() - before, Ordering::SeqCst);
                    }
                }
            });
        }
        gate.wait_until_somebody_waits();
        std::thread::sleep(STALL);
        gate.open();
    });
    let spent = Duration::from_nanos(slowest.into_inner());
    assert!(spent < STALL / 10, "a committer ran {spent:?} while the disk stalled for {STALL:?}");
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count())).expect("it is there"), 400);
    drop(db);
    // What was appended while the file was begun is in one of the two.
    let db = Database::open_at(&path, Options::new().budget(16 << 20)).expect("it opens");
    let table = db.table("T").expect("it is there");
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count())).expect("it is there"), 400);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
}
