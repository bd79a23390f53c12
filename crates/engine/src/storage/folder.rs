//! A folder of the file system as storage.
//!
//! One process at a time: the lock is the system's own, so it ends with the process that had it,
//! however that ends. It is taken of the folder itself, which nobody can remove and make anew
//! beneath a database, and of the file `lock`, for systems that do not lock folders and for
//! versions that know the file alone.
//!
//! What is made here is its owner's: folders have the mode 0700, files 0600. A folder that was
//! there keeps the mode it has.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Compression, Storage, StorageFile};

/// The file whose lock is taken. It stays empty.
const LOCK: &str = "lock";
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A folder of the file system.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use remanent_engine::{Database, Folder, Options};
/// # let path = std::env::temp_dir().join(format!("remanent-folder-{}", std::process::id()));
/// let folder = Arc::new(Folder::create(&path)?);
/// let db = Database::open_in(folder, Options::new())?;
/// # drop(db);
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    compression: Option<Arc<dyn Compression>>,
}

impl Folder {
    /// The folder at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Folder, Storage};
    /// # let path = std::env::temp_dir().join(format!("remanent-create-{}", std::process::id()));
    /// assert!(Folder::create(&path)?.names()?.is_empty());
    /// # std::fs::remove_dir_all(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let missing: Vec<_> = path.ancestors().take_while(|folder| !folder.is_dir()).collect();
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&path)?;
        // Their own names have to stay too.
        for parent in missing.iter().filter_map(|folder| folder.parent()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { path, compression: None })
    }

    /// The folder at `path`, which must be there.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, or what the system says.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Folder;
    /// let error = Folder::existing("/no/such/folder").unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn existing(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_owned(), compression: None })
    }

    /// The folder, with a library that compresses the columns in its files. What is there already
    /// is read as it is.
    ///
    /// # Examples
    /// See [`Compression`].
    pub fn compressed_by(self, library: Arc<dyn Compression>) -> Self {
        Self { compression: Some(library), ..self }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Storage for Folder {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string()
                && entry.file_type()?.is_file()
                && name != LOCK
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(FILE_MODE);
        Ok(Box::new(options.open(self.at(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let path = self.at(name);
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let refused = |error: &io::Error| {
            matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            )
        };
        match opened {
            Err(error) if refused(&error) => Ok(Box::new(File::open(path)?)),
            opened => Ok(Box::new(opened?)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        // A file that is used again under another name is a new one, whoever made it.
        let mode = fs::metadata(self.at(from))?.permissions().mode();
        if mode & 0o777 & !FILE_MODE != 0 {
            // Whose it is not cannot do that, and need not.
            let _ = fs::set_permissions(self.at(from), Permissions::from_mode(FILE_MODE));
        }
        fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn lock(&self) -> io::Result<Box<dyn Debug + Send + Sync>> {
        let folder = File::open(&self.path)?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            // Some systems lock only files that can be written to.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(FILE_MODE);
        let file = options.open(self.at(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new((folder, file))),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn compression(&self) -> Option<&dyn Compression> {
        self.compression.as_deref()
    }
}

impl StorageFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, bytes, at)
    }

    fn will_read(&self, at: u64, len: u64) {
        // Of 0 bytes, the system takes all to the end.
        if len > 0 {
            advise(self, at, len, libc::POSIX_FADV_WILLNEED);
        }
    }

    fn will_read_here_and_there(&self) {
        advise(self, 0, 0, libc::POSIX_FADV_RANDOM);
    }

    fn was_read(&self, at: u64, len: u64) {
        if len > 0 {
            advise(self, at, len, libc::POSIX_FADV_DONTNEED);
        }
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(self, bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Advises the system how a part of a file is read; 0 bytes are all to its end.
fn advise(file: &File, at: u64, len: u64, advice: libc::c_int) {
    let part = (libc::off_t::try_from(at), libc::off_t::try_from(len));
    if let (Ok(at), Ok(len)) = part {
        // SAFETY: advice on a file that is open, which changes no content.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), at, len, advice) };
    }
}
