//! A folder that is there, read into memory: what `check`, `backup`, `restore` and `salvage` begin
//! with.
//!
//! The folder is not changed. It is locked as long as the program looks at it, as a database locks
//! it if it has the file for that, and otherwise by itself; where that cannot be, it needs no lock.

use std::fmt::Debug;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use remanent_compression::Lz4;
use remanent_engine::{Database, Folder, Options, Progress, RecoverUntil, Storage};

use crate::flags::Flags;
use crate::outcome::Failure;
use crate::sizes;

/// How often progress is shown.
const PROGRESS_TIME: Duration = Duration::from_millis(100);

/// Locks a folder, and makes nothing in it.
fn lock_by_itself(path: &str) -> std::io::Result<Box<dyn Debug + Send + Sync>> {
    let folder = std::fs::File::open(path)?;
    folder.try_lock()?;
    Ok(Box::new(folder))
}

/// Whether files with these names are those of a database.
pub(crate) fn has_database(names: &[String]) -> bool {
    names.iter().any(|name| name.starts_with("log-") || name.starts_with("image-"))
}

/// A folder with a database that nobody else has open.
pub(crate) struct Source {
    pub(crate) folder: Folder,
    _lock: Option<Box<dyn Debug + Send + Sync>>,
}

impl Source {
    /// The folder with this path.
    pub(crate) fn open(path: &str) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| Failure::Refused(format!("error: {path}: {error}"));
        let folder = Folder::existing(path).map_err(refused)?.compressed_by(Arc::new(Lz4));
        let locked = match Path::new(path).join("lock").exists() {
            true => folder.lock(),
            false => lock_by_itself(path),
        };
        let lock = match locked {
            Ok(lock) => Some(lock),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return Err(Failure::Refused(format!(
                    "error: {path}: a program has this database open; close it first, or let it \
                     make a backup itself, as `remanent backup CONNECTION TARGET` has a server do"
                )));
            }
            Err(_) => None,
        };
        let names = folder.names().map_err(refused)?;
        if !has_database(&names) {
            return Err(Failure::Refused(format!("error: {path}: there is no database in it")));
        }
        Ok(Self { folder, _lock: lock })
    }

    /// The database as it was at some moment, in memory.
    pub(crate) fn recover(
        &self,
        options: Options,
        until: RecoverUntil,
    ) -> Result<Database, Failure> {
        let recovered = Database::recover(&self.folder, options, until);
        end_progress();
        recovered.map_err(refused)
    }
}

/// How the database is opened: the budget that was asked for, and progress if anybody looks.
pub(crate) fn options(flags: &Flags) -> Result<Options, Failure> {
    let mut options = Options::new();
    if let Some(text) = &flags.memory {
        let bytes = sizes::parse(text).ok_or_else(|| {
            Failure::Usage(format!("--memory takes bytes such as 500M or 8G, not `{text}`"))
        })?;
        options = options.budget(bytes);
    }
    if let Some(text) = &flags.buffer_cache {
        let bytes = sizes::parse(text).ok_or_else(|| {
            Failure::Usage(format!("--buffer-cache takes bytes such as 500M or 8G, not `{text}`"))
        })?;
        options = options.buffer_cache(bytes);
    }
    if let Some(text) = &flags.change_feed {
        let bytes = sizes::parse(text).ok_or_else(|| {
            Failure::Usage(format!("--change-feed takes bytes such as 500M or 8G, not `{text}`"))
        })?;
        options = options.log_old_rows(bytes > 0).keep_log(bytes);
    }
    options = options.system_cache(!flags.no_system_cache);
    if std::io::stderr().is_terminal() {
        let shown = Mutex::new(Instant::now());
        options = options.progress(move |progress| {
            let mut shown = shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if shown.elapsed() >= PROGRESS_TIME {
                *shown = Instant::now();
                show(progress);
            }
        });
    }
    Ok(options)
}

/// Writes a database into a folder that has none yet.
pub(crate) fn write_to(db: &Database, target: &str) -> Result<u64, Failure> {
    let wrong = |error: std::io::Error| Failure::Refused(format!("error: {target}: {error}"));
    let folder = remanent_compression::folder(target).map_err(wrong)?;
    db.backup(&folder).map_err(|error| Failure::Refused(format!("error: {target}: {error}")))
}

/// Refuses to go on with a database that is not whole.
pub(crate) fn refuse_damage(db: &Database) -> Result<(), Failure> {
    match db.damage() {
        None => Ok(()),
        Some(damage) => Err(Failure::Refused(format!(
            "error: {damage}\nnothing was written; `remanent salvage` takes what can be read"
        ))),
    }
}

pub(crate) fn refused(error: remanent_engine::Error) -> Failure {
    Failure::Refused(format!("error: {error}"))
}

/// Removes the line that shows progress.
pub(crate) fn end_progress() {
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

fn show(progress: &Progress) {
    let percent = progress.bytes_done * 100 / progress.bytes.max(1);
    let read = sizes::shown(progress.bytes_done);
    let of = sizes::shown(progress.bytes);
    // If nobody reads it, nobody reads of that either.
    let _ = write!(
        std::io::stderr(),
        "\rreading: {read} of {of}, {percent} %; {} rows, {} commits\x1b[K",
        progress.rows,
        progress.commits
    );
}
