//! Files, as the engine needs them: a folder of named files, which may be a simulated one.
//!
//! Everything durable goes through [`Storage`] and [`StorageFile`], so that a test can lose what
//! was not synced, tear a write, or say that the disk is full. [`Folder`] is the real thing. What
//! is promised is what file systems promise and no more: a write may reach the disk in parts, in
//! any order, or not at all until `sync` returned; a name that was made, renamed or removed is sure
//! only after `sync_names`. Nobody else changes the files as long as the lock is held.

mod compression;
mod folder;
pub(crate) mod stream;

use std::fmt::Debug;
use std::io;

pub use compression::Compression;
pub use folder::Folder;

/// A folder of files.
///
/// # Examples
/// ```
/// use remanent_engine::{Folder, Storage};
/// # let path = std::env::temp_dir().join(format!("remanent-storage-{}", std::process::id()));
/// let folder = Folder::create(&path)?;
/// let file = folder.create("a")?;
/// assert_eq!(file.write_at(0, b"something")?, 9);
/// file.sync()?;
/// folder.sync_names()?;
/// assert_eq!(folder.names()?, ["a"]);
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Storage: Send + Sync + Debug {
    /// The names of all files, in no order.
    ///
    /// # Errors
    /// The system's error.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Makes an empty file.
    ///
    /// # Errors
    /// `AlreadyExists`, or what the system says.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;

    /// Opens a file to read and write, or to read only where it may not be written.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;

    /// Gives a file another name; what had that name before is gone.
    ///
    /// # Errors
    /// The system's error.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's error.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes sure that names that were made, changed and removed so far stay so.
    ///
    /// # Errors
    /// The system's error.
    fn sync_names(&self) -> io::Result<()>;

    /// Keeps all other openers out until what is returned is dropped.
    ///
    /// # Errors
    /// `WouldBlock` if somebody else has it.
    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>>;

    /// The library that compresses columns in files, and reads those that are compressed. Without
    /// one they are written as they are.
    fn compression(&self) -> Option<&dyn Compression> {
        None
    }
}

/// An open file.
///
/// # Examples
/// ```
/// # use remanent_engine::{Folder, Storage};
/// # let path = std::env::temp_dir().join(format!("remanent-file-{}", std::process::id()));
/// # let folder = Folder::create(&path)?;
/// let file = folder.create("numbers")?;
/// file.write_at(4, &[1, 2, 3])?;
/// let mut bytes = [9; 8];
/// assert_eq!((file.len()?, file.read_at(0, &mut bytes)?), (7, 7));
/// assert_eq!(bytes, [0, 0, 0, 0, 1, 2, 3, 9]);
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait StorageFile: Send + Sync + Debug {
    /// Bytes in the file.
    ///
    /// # Errors
    /// The system's error.
    fn len(&self) -> io::Result<u64>;

    /// Whether there are none.
    ///
    /// # Errors
    /// The system's error.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads from a place on, as many bytes as there are at once; 0 at the end.
    ///
    /// # Errors
    /// The system's error.
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// Says that these bytes are about to be read, so that they may come meanwhile. A hint: nothing
    /// is promised, and nothing fails.
    fn will_read(&self, _at: u64, _len: u64) {}

    /// Says that what is read from now on lies here and there: what follows it is not worth reading
    /// ahead. A hint, too.
    fn will_read_here_and_there(&self) {}

    /// Says that these bytes are not read again soon, so that the system need not keep them. A
    /// hint, too.
    fn was_read(&self, _at: u64, _len: u64) {}

    /// Writes from a place on, and says how many bytes were taken.
    ///
    /// # Errors
    /// The system's error.
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts or lengthens the file.
    ///
    /// # Errors
    /// The system's error.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes sure that what was written so far stays, the file's length included.
    ///
    /// # Errors
    /// What the system says. Then nobody knows what stays.
    fn sync(&self) -> io::Result<()>;
}

/// The name of a file that is one of many: a word, and its number in sixteen hexadecimal digits.
pub(crate) fn numbered(word: &str, number: u64) -> String {
    format!("{word}{number:016x}")
}

/// The number in a name that [`numbered`] has made with this word; `None` for any other, however
/// alike: a file is found again by its number.
pub(crate) fn number_in(word: &str, name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_prefix(word)?, 16).ok()?;
    (numbered(word, number) == name).then_some(number)
}

/// Writes all of `bytes`.
pub(crate) fn write_all_at(file: &dyn StorageFile, at: u64, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(at + done as u64, &bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `bytes` is full or the file ends, and says how many there were.
pub(crate) fn read_at_most(file: &dyn StorageFile, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(at + done as u64, &mut bytes[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
