//! Compression of what stands in files, by a library that the program brings along.
//!
//! The engine depends on none: it says what it needs of one, stores what saves enough, and checks
//! what comes out.

use std::fmt::Debug;
use std::io;

/// A library that compresses bytes, for the columns of frozen rows in files. Every storage may have
/// one ([`Storage::compression`](super::Storage::compression)); the engine has none of its own.
///
/// # Examples
/// ```
/// use std::io;
/// use std::sync::Arc;
/// use remanent_engine::{Compression, Database, Folder, Options};
///
/// /// Bytes that are all the same, as their number would be in a real library.
/// #[derive(Debug)]
/// struct Runs;
///
/// impl Compression for Runs {
///     fn method(&self) -> u32 {
///         1 << 20
///     }
///
///     fn compress(&self, bytes: &[u8], out: &mut Vec<u8>) {
///         let is_run = bytes.iter().all(|byte| *byte == bytes[0]);
///         out.extend_from_slice(if is_run { &bytes[..1] } else { bytes });
///     }
///
///     fn decompress(&self, method: u32, bytes: &[u8], out: &mut [u8]) -> io::Result<()> {
///         match bytes {
///             _ if method != self.method() => return Err(io::ErrorKind::Unsupported.into()),
///             [byte] => out.fill(*byte),
///             _ => return Err(io::ErrorKind::InvalidData.into()),
///         }
///         Ok(())
///     }
/// }
///
/// # let path = std::env::temp_dir().join(format!("remanent-runs-{}", std::process::id()));
/// let folder = Folder::create(&path)?.compressed_by(Arc::new(Runs));
/// let db = Database::open_in(Arc::new(folder), Options::new())?;
/// # drop(db);
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Compression: Send + Sync + Debug {
    /// The number by which files name how [`Compression::compress`] does it; not 0. The library
    /// `remanent-compression` has 1 for LZ4 blocks and 2 for Zstandard frames; who writes another
    /// one takes a number from 65,536 on.
    fn method(&self) -> u32;

    /// Puts bytes compressed behind what is in `out`. They need not be fewer: what saves little is
    /// stored as it is.
    fn compress(&self, bytes: &[u8], out: &mut Vec<u8>);

    /// Fills `out` with what was compressed to `bytes`. Bytes from a damaged file may be anything;
    /// what comes out of them is checked by a checksum later.
    ///
    /// # Errors
    /// `Unsupported` if the method is not known; `InvalidData` if they are no such bytes, or have
    /// another length.
    fn decompress(&self, method: u32, bytes: &[u8], out: &mut [u8]) -> io::Result<()>;
}
