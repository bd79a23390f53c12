//! Removing what a new image makes needless, a little at a time.
//!
//! To remove a file, the system gives back each of its pages, and whoever removes it waits: 50 ms
//! for a GB. So an image first loses its name, that nobody takes it for one, and is then cut from
//! its end until nothing is left. Segment files are as small as what is cut. They go after the
//! images that refer to them, and as a whole: somebody may have them open still.

use std::io;

use super::NEW_IMAGE;
use crate::storage::{Storage, StorageFile};

/// Bytes that are cut at once, for each that a slice may write: they take less than its time.
const CUT_EACH: u64 = 16;

/// Files that are not needed any more.
#[derive(Debug, Default)]
pub(super) struct Removal {
    images: Vec<String>,
    segment_files: Vec<String>,
    /// The image that is being cut, and its bytes.
    going: Option<(Box<dyn StorageFile>, u64)>,
}

impl Removal {
    pub(super) fn of(images: Vec<String>, segment_files: Vec<String>) -> Self {
        Self { images, segment_files, going: None }
    }

    /// Removes all of them.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn all(&mut self, storage: &dyn Storage) -> io::Result<()> {
        self.end_cutting(storage)?;
        let names = self.images.drain(..).chain(self.segment_files.drain(..));
        names.into_iter().try_for_each(|name| storage.remove(&name))
    }

    /// Removes one, or a part of one, in the time of writing so many bytes; whether there was any.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn some(&mut self, storage: &dyn Storage, most: u64) -> io::Result<bool> {
        if self.going.is_none()
            && let Some(name) = self.images.pop()
        {
            storage.rename(&name, NEW_IMAGE)?;
            let file = storage.open(NEW_IMAGE)?;
            let len = file.len()?;
            self.going = Some((file, len));
        }
        if let Some((file, len)) = &mut self.going {
            *len = len.saturating_sub(most.saturating_mul(CUT_EACH));
            // What cannot be cut goes as a whole.
            if *len == 0 || file.set_len(*len).is_err() {
                self.end_cutting(storage)?;
            }
            return Ok(true);
        }
        let Some(name) = self.segment_files.pop() else { return Ok(false) };
        storage.remove(&name)?;
        Ok(true)
    }

    /// Removes what is left of an image that is being cut, so that nobody finds a part of one.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn end_cutting(&mut self, storage: &dyn Storage) -> io::Result<()> {
        self.going.take().map_or(Ok(()), |_| storage.remove(NEW_IMAGE))
    }
}
