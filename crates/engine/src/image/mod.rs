//! Images: a whole database to a stream and from one.
//!
//! [`writer`] writes what one snapshot sees while transactions go on, [`reader`] makes a new
//! database of it; `FORMAT.md` has the bytes, [`checksum`] guards them. Nothing here opens a file
//! or knows what a stream is connected to.

mod checksum;
mod reader;
mod writer;

/// What an image begins with.
const MAGIC: &[u8; 8] = b"RMNTIMG1";
/// The version that is written.
const VERSION: u16 = 1;
/// The longest payload of a block.
const PAYLOAD_MAX: usize = 1 << 30;

const DATABASE: u8 = 1;
const TABLE: u8 = 2;
const ROWS: u8 = 3;
const END: u8 = 4;
