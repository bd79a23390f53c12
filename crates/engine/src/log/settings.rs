//! What a log is opened with.
//!
//! `options.rs` has what the user may say, with its defaults and limits; here is what the log keeps
//! of that, and what follows from it.

use super::durability::{Batch, Durability};
use super::file::{VERSION_OF_GROUP, VERSION_OF_OLD_ROWS};
use super::record::FRAGMENT;

/// The smallest file and the smallest buffer.
pub(crate) const FILE_MIN: u64 = 4 << 10;
pub(crate) const BUFFER_MIN: usize = 4 << 10;

/// The settings of a log.
#[derive(Clone, Debug)]
pub(crate) struct LogSettings {
    /// The durability of commits that do not ask for one.
    pub(crate) durability: Durability,
    pub(crate) file_size: u64,
    pub(crate) buffer_size: usize,
    /// The batch of commits that one sync waits for.
    pub(crate) group: Option<Batch>,
    /// When what was not synced is.
    pub(crate) sync_after: Option<Batch>,
    /// Whether files that are not needed any more are kept.
    pub(crate) keep: bool,
    /// So many bytes of the log are kept in any case.
    pub(crate) keep_bytes: u64,
    /// Whether rows that seem to have come as columns become columns where they are repeated.
    pub(crate) repeats_columns: bool,
    /// Whether rows are logged as they were before they were changed; as until now, if it was not
    /// said.
    pub(crate) old_rows: Option<bool>,
}

impl LogSettings {
    /// Bytes of operations that one frame takes at most: several fit a file and the buffer.
    pub(crate) fn fragment(&self) -> usize {
        FRAGMENT.min(self.buffer_size / 2).min(self.file_size as usize / 4)
    }

    /// Whether files are filled before they are used: what then changes is their content alone,
    /// which a sync has less to do for. Writes that are not synced are quicker at a file's end.
    pub(super) fn fills(&self) -> bool {
        self.durability == Durability::Disk
    }

    #[inline]
    pub(super) fn has_old_rows(&self) -> bool {
        self.old_rows == Some(true)
    }

    /// The version of files that it writes.
    pub(super) fn file_version(&self, is_of_group: bool) -> u16 {
        match (self.has_old_rows(), is_of_group) {
            (true, _) => VERSION_OF_OLD_ROWS,
            (false, true) => VERSION_OF_GROUP,
            (false, false) => 0,
        }
    }
}
