//! How far reading an image and a log has come, as it is reported to a program.
//!
//! Reported while a database is opened, by the thread that opens it: every 16 MiB, and at the end.
//! What there is to read is known from the beginning, so a share of it can be shown.

/// The progress of opening.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// # let path = std::env::temp_dir().join(format!("remanent-progress-{}", std::process::id()));
/// let options = Options::new().progress(|progress| {
///     eprintln!("{} of {} bytes", progress.bytes_done, progress.bytes);
/// });
/// let db = Database::open_at(&path, options)?;
/// # drop(db);
/// # std::fs::remove_dir_all(&path).ok();
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of image and log that were read.
    pub bytes_done: u64,
    /// Bytes of image and log in all.
    pub bytes: u64,
    /// Rows that were loaded from the image.
    pub rows: u64,
    /// Commits that were repeated from the log.
    pub commits: u64,
    /// Row changes that were repeated from the log.
    pub changes: u64,
}
