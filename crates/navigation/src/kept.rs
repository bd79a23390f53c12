//! Where a database is kept: its files, beside each other in one folder.
//!
//! `NAME.db` is a folder of the engine's, with log and checkpoints. Schemas that say `inmemory`
//! have `NAME.image` in its place, an image (`crates/engine/src/image/FORMAT.md`) that is replaced
//! as a whole: whoever reads it finds the old state or the new one. `NAME.lock` is locked as long
//! as a process has the database open, and by the system no longer than the process lives.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use remanent_engine::{Database, Durability, Options};

use crate::dictionary::Storage;
use crate::status::{Fault, Outcome, Status};

/// The file that says whether commits are synced, in the database's folder or the current one.
const INI: &str = "rdm.ini";

/// Bytes of a file of the log, which is made when the database is opened: programs with databases
/// of a few pages open and close them often.
const LOG_FILE_SIZE: u64 = 1 << 20;

/// The files of an open database.
#[derive(Debug)]
pub(crate) struct Kept {
    storage: Storage,
    /// The folder and the name, without what is behind a point.
    base: PathBuf,
    /// Whether commits wait for the disk, unless the program says otherwise.
    pub(crate) syncs: bool,
    _lock: Option<File>,
}

impl Kept {
    /// Opens a database; whether it is new.
    ///
    /// # Errors
    /// `UNAVAILABLE` if another process has it open, `NO_FILE`, `DAMAGED`, `NO_SPACE`.
    pub(crate) fn open(base: &Path, storage: Storage) -> Outcome<(Self, Arc<Database>, bool)> {
        let lock = match storage {
            Storage::Memory => None,
            _ => Some(lock_file(&base.with_extension("lock"))?),
        };
        let syncs = says_sync(base).unwrap_or(true);
        let kept = Self { storage, base: base.to_owned(), syncs, _lock: lock };
        let (db, is_new) = match storage {
            Storage::Folder => (kept.open_folder()?, false),
            Storage::Image | Storage::ReadImage => kept.load_image()?,
            Storage::Memory => (Database::open(Options::new())?, true),
        };
        Ok((kept, Arc::new(db), is_new))
    }

    /// Sees to it that all of a database is there when it is opened again.
    ///
    /// # Errors
    /// `NOT_CLOSED` if files cannot be written.
    pub(crate) fn close(&self, db: &Database, is_changed: bool) -> Outcome {
        let file = match self.storage {
            Storage::Folder => {
                let flushed = db.flush(Durability::Disk);
                return flushed.map_err(|error| not_closed(&self.folder(), &error));
            }
            Storage::Image if is_changed => self.image(),
            Storage::Image | Storage::ReadImage | Storage::Memory => return Ok(()),
        };
        save(db, &file).map_err(|error| not_closed(&file, &*error))
    }

    fn image(&self) -> PathBuf {
        self.base.with_extension("image")
    }

    fn folder(&self) -> PathBuf {
        self.base.with_extension("db")
    }

    /// The database in the folder, which is made if it is not there: of the image, if there is one.
    fn open_folder(&self) -> Outcome<Database> {
        let (folder, image) = (self.folder(), self.image());
        let is_there = |path: &Path| path.try_exists().map_err(|error| no_file(path, &error));
        if !is_there(&folder)? && is_there(&image)? {
            convert(&image, &folder).map_err(|error| no_file(&folder, &error))??;
        }
        // Of which kind most commits are decides how the log's files are made.
        let level = if self.syncs { Durability::Disk } else { Durability::Os };
        let options = Options::new().durability(level).log_file_size(LOG_FILE_SIZE);
        // What nobody changes becomes columns, which may leave memory.
        let options = options.freeze_at_checkpoint(true);
        let db = remanent_compression::open_at(&folder, options)?;
        match db.damage() {
            None => Ok(db),
            Some(damage) => Err(Status::DAMAGED.because(format!("{}: {damage}", folder.display()))),
        }
    }

    fn load_image(&self) -> Outcome<(Database, bool)> {
        let (folder, image) = (self.folder(), self.image());
        if folder.is_dir() {
            let because = format!("{} is of a schema that is not inmemory", folder.display());
            return Err(Status::DAMAGED.because(because));
        }
        match File::open(&image) {
            Ok(stream) => Ok((load(stream)?, false)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok((Database::open(Options::new())?, true))
            }
            Err(error) => Err(no_file(&image, &error)),
        }
    }
}

/// Makes a folder of what is in an image, whole or not at all; the image gets another name.
fn convert(image: &Path, folder: &Path) -> std::io::Result<Outcome> {
    let new = folder.with_extension("db.new");
    match fs::remove_dir_all(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let stream = File::open(image)?;
    let target = remanent_compression::folder(&new)?;
    let copied = load(stream).and_then(|db| Ok(db.backup(&target)?));
    if let Err(fault) = copied {
        fs::remove_dir_all(&new)?;
        return Ok(Err(fault));
    }
    fs::rename(&new, folder)?;
    fs::rename(image, image.with_extension("image.converted"))?;
    sync_names_beside(folder)?;
    Ok(Ok(()))
}

fn load(stream: File) -> Outcome<Database> {
    let mut stream = BufReader::with_capacity(1 << 20, stream);
    Ok(Database::load(Options::new(), &mut stream)?)
}

fn save(db: &Database, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let new = file.with_extension("image.new");
    // What is in a database is its owner's.
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut stream = BufWriter::with_capacity(1 << 20, options.open(&new)?);
    db.save(&mut stream)?;
    stream.flush()?;
    stream.get_ref().sync_all()?;
    fs::rename(&new, file)?;
    Ok(sync_names_beside(file)?)
}

/// A rename lasts once the folder has been synced.
fn sync_names_beside(file: &Path) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// What `rdm.ini` says of syncing, in the folder of a database or else in the current one: a line
/// `SYNCFILES=0` or `SYNCFILES=1`, of which the last one counts.
fn says_sync(base: &Path) -> Option<bool> {
    let in_folder = |folder: &Path| {
        let text = fs::read_to_string(folder.join(INI)).ok()?;
        text.lines().rev().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            name.trim().eq_ignore_ascii_case("SYNCFILES").then(|| value.trim() != "0")
        })
    };
    let beside = base.parent().and_then(in_folder);
    beside.or_else(|| in_folder(Path::new(".")))
}

/// Keeps other processes out.
fn lock_file(path: &Path) -> Outcome<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options.open(path).map_err(|error| no_file(path, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => {
            let because = format!("another process has {} locked", path.display());
            Err(Status::UNAVAILABLE.because(because))
        }
        Err(fs::TryLockError::Error(error)) => Err(no_file(path, &error)),
    }
}

fn no_file(path: &Path, error: &std::io::Error) -> Fault {
    Status::NO_FILE.because(format!("{}: {error}", path.display()))
}

fn not_closed(path: &Path, error: &dyn std::error::Error) -> Fault {
    Status::NOT_CLOSED.because(format!("{}: {error}", path.display()))
}
