//! Looking at what lies in a folder without making a database of it.
//!
//! Files are read and nothing is changed or locked. Whoever looks at a database that is open may
//! see files that are being written, and take that for damage.

use std::ops::ControlFlow;

use super::{storage_failed, unreadable};
use crate::checkpoint::image_timestamp;
use crate::database::Database;
use crate::definition;
use crate::error::Result;
use crate::image;
use crate::log::LogEntry;
use crate::log::dump;
use crate::log::reader::Damage;
use crate::log::record::Operation;
use crate::segment_files::SegmentReader;
use crate::storage::Storage;
use crate::storage::stream::FileReader;

/// An image in a folder.
///
/// # Examples
/// See [`Database::images`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ImageInfo {
    /// The file.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// The timestamp of the last commit that it has, as its name says.
    pub timestamp: u64,
    /// What is wrong with it, if anything is.
    pub damage: Option<String>,
}

impl Operation<'_> {
    /// A change of tables or indexes: the table's number, its name if that stands there, and what
    /// becomes of it as text. `None` for a change of a row.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::LogOperation;
    /// let deletion = LogOperation::Delete { table: 1, row: 7 };
    /// assert_eq!(deletion.definition(), None);
    /// ```
    pub fn definition(&self) -> Option<(u32, Option<String>, String)> {
        let Self::Define { bytes } = self else { return None };
        let unknown = || (0, None, "a change that cannot be read".to_owned());
        Some(definition::describe(bytes).unwrap_or_else(unknown))
    }
}

impl Database {
    /// Shows every entry of the log in a folder to `visit`, oldest first, until that says that it
    /// is enough. Only reads. Returns what is damaged behind the last entry that was shown.
    ///
    /// # Errors
    /// `DamagedLog` if files of several databases lie there, `StorageFailed`.
    ///
    /// # Examples
    /// ```
    /// use std::ops::ControlFlow;
    /// use remanent_engine::{Database, Folder, LogEntryKind, LogOperation, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-dump-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// drop(db);
    ///
    /// let mut lines = Vec::new();
    /// let folder = Folder::existing(&path).expect("a folder");
    /// let damage = Database::read_log(&folder, &mut |entry| {
    ///     match entry.kind {
    ///         LogEntryKind::Commit { .. } => {
    ///             for operation in entry.operations().flatten() {
    ///                 if let LogOperation::Insert { row, bytes, .. } = operation {
    ///                     lines.push(format!("row {row}: {} bytes", bytes.len()));
    ///                 } else if let Some((_, _, words)) = operation.definition() {
    ///                     lines.push(words);
    ///                 }
    ///             }
    ///         }
    ///         _ => {}
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((lines.join("; ").as_str(), damage), ("create table T; row 0: 4 bytes", None));
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn read_log(
        storage: &dyn Storage,
        visit: &mut dyn FnMut(&LogEntry<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Damage>> {
        dump::walk(storage, &definition::describe, visit).map_err(unreadable)
    }

    /// The images in a folder, oldest first, each read to its end and checked as far as that is
    /// possible without making a database of it.
    ///
    /// # Errors
    /// `StorageFailed`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Folder, Options};
    /// # let path = std::env::temp_dir().join(format!("remanent-images-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new())?;
    /// let bytes = db.checkpoint()?;
    /// drop(db);
    /// let images = Database::images(&Folder::existing(&path).expect("a folder"))?;
    /// assert_eq!((images.len(), images[0].bytes, &images[0].damage), (1, bytes, &None));
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn images(storage: &dyn Storage) -> Result<Vec<ImageInfo>> {
        let mut images = Vec::new();
        for name in storage.names().map_err(|error| storage_failed(&error))? {
            let Some(timestamp) = image_timestamp(&name) else { continue };
            let opened = storage.open(&name).and_then(|file| Ok((file.len()?, file)));
            let (bytes, file) = opened.map_err(|error| storage_failed(&error))?;
            let damage =
                match image::verify(&mut FileReader::new(file), SegmentReader::new(storage)) {
                    Err(error) => Some(error.to_string()),
                    Ok(head) if head.timestamp == timestamp => None,
                    Ok(head) => Some(format!("it has the timestamp {}", head.timestamp)),
                };
            images.push(ImageInfo { name, bytes, timestamp, damage });
        }
        images.sort_by_key(|image| image.timestamp);
        Ok(images)
    }
}
