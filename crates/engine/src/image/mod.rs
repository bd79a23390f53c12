//! Images: a whole database to a stream and from one.
//!
//! [`writer`] writes what one snapshot sees while transactions go on, [`reader`] makes a new
//! database of it, [`columns`] are frozen segments, which may
//! stand in segment files, [`salvage`] takes a damaged one apart;
//! `FORMAT.md` has the bytes, `checksum.rs` guards them. Nothing here opens a file or knows what a
//! stream is connected to.

mod columns;
mod reader;
mod salvage;
mod writer;

pub(crate) use crate::table::columns::paging::files_read;
pub(crate) use columns::Columns;
pub(crate) use reader::{FilesOfImage, check_links, create, read_head, read_image, verify};
pub(crate) use salvage::{Lost, Piece, Pieces};
pub(crate) use writer::{Form, ImageWriter, Segments, look};

/// The first bytes of an image.
const MAGIC: &[u8; 8] = b"RMNTIMG1";
/// The version that is written.
const VERSION: u16 = 6;
/// The version of images that refer to no segment file.
const VERSION_ALONE: u16 = 5;
/// The longest payload of a block.
const PAYLOAD_MAX: usize = 1 << 30;

const DATABASE: u8 = 1;
const TABLE: u8 = 2;
const ROWS: u8 = 3;
const END: u8 = 4;
const COLUMNS: u8 = 5;
const STORED: u8 = 6;

/// The header of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ImageHead {
    pub(crate) timestamp: u64,
    /// The id of the database; zeros if it has no log.
    pub(crate) database: [u8; 16],
    /// The position in the log from which on all that is newer stands.
    pub(crate) position: u64,
    /// The number that the next table gets.
    pub(crate) next_table: u32,
}
