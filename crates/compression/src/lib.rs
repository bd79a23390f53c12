//! Columns in files take less room when they are compressed.
//!
//! The engine depends on no library, so the storage of a database brings one along: [`Lz4`]. The
//! columns of frozen rows are encoded already, so that most of them gain little; a quarter of those
//! of TPC-H shrink to less than half, and the rest is stored as it is. Whoever opens a folder later
//! needs the same library, and is told so without it.
//!
//! # Examples
//! ```
//! use remanent_compression::open_at;
//! use remanent_engine::{Options, schema::*};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path();
//! let db = open_at(path, Options::new())?;
//! let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
//! let rows = (0..65_536_i64).map(|i| [Some(Value::I64(i / 100 * 70_000_000_000))]);
//! db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
//! db.freeze_all(&table)?;
//! assert!(db.checkpoint()? < 65_536 * 8 / 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::path::Path;
use std::sync::Arc;

use remanent_engine::{Compression, Database, Error, ErrorKind, Folder, Options, Result};

/// LZ4 blocks (Collet, 2011): a format without entropy coding, made to be decompressed at the speed
/// of memory.
///
/// # Examples
/// ```
/// use remanent_compression::Lz4;
/// use remanent_engine::Compression;
/// let (mut compressed, mut again) = (Vec::new(), [1; 5000]);
/// Lz4.compress(&[0; 5000], &mut compressed);
/// assert!(compressed.len() < 50);
/// Lz4.decompress(Lz4.method(), &compressed, &mut again)?;
/// assert_eq!(again, [0; 5000]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lz4;

/// The examples of the page on paged tables.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/paged-tables.md")]
struct PagedTables;

/// The number by which files name it.
const LZ4: u32 = 1;

impl Compression for Lz4 {
    fn method(&self) -> u32 {
        LZ4
    }

    fn compress(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + lz4_flex::block::get_maximum_output_size(bytes.len()), 0);
        // There is room for whatever comes out.
        let len = lz4_flex::block::compress_into(bytes, &mut out[start..]).unwrap_or(bytes.len());
        out.truncate(start + len);
    }

    fn decompress(&self, method: u32, bytes: &[u8], out: &mut [u8]) -> io::Result<()> {
        if method != LZ4 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let damaged = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let len = lz4_flex::block::decompress_into(bytes, out)
            .map_err(|error| damaged(error.to_string()))?;
        if len < out.len() {
            return Err(damaged(format!("{len} bytes came out in place of {}", out.len())));
        }
        Ok(())
    }
}

/// As [`Folder::create`], with [`Lz4`] for what stands in its files.
///
/// # Errors
/// The system's error.
pub fn folder(path: impl AsRef<Path>) -> io::Result<Folder> {
    Ok(Folder::create(path)?.compressed_by(Arc::new(Lz4)))
}

/// As [`Database::open_at`], with [`Lz4`] for what stands in its files.
///
/// # Errors
/// As [`Database::open_at`].
pub fn open_at(path: impl AsRef<Path>, options: Options) -> Result<Database> {
    let folder = folder(path)
        .map_err(|error| Error::new(ErrorKind::StorageFailed).because(error.to_string()))?;
    Database::open_in(Arc::new(folder), options)
}
