//! Columns: how the rows of a frozen segment lie in bytes.
//!
//! Each leaf of the rows has one byte-aligned encoding that is chosen from its values ([`gather`],
//! [`encode`], [`dictionary`], [`train`], [`fsst`] and [`ends`]); the columns of a segment are
//! one relocatable [`block`], in which every array starts at a multiple of 64 bytes and everything
//! is found by its offset from the block's start.
//! [`head`] is what a column says of itself, [`kind`] how the types of columns are stored,
//! [`sketch`] counts different values, [`zones`] are the extremes of parts of a column,
//! [`extents`] which bytes are whose, [`check`] what makes a block from outside one, [`view`] what
//! a program sees of a column, [`summary`] what it sees of one without its rows. Nothing here knows
//! of versions, snapshots or memory: a block is bytes.

pub(crate) mod block;
pub(crate) mod check;
pub(crate) mod dictionary;
pub(crate) mod encode;
pub(crate) mod ends;
pub(crate) mod extents;
pub(crate) mod fsst;
pub(crate) mod gather;
pub(crate) mod head;
pub(crate) mod kind;
pub(crate) mod sketch;
pub(crate) mod summary;
pub(crate) mod train;
pub(crate) mod view;
pub(crate) mod zones;

pub use ends::Ends;
pub use fsst::{SymbolWriter, Symbols};
pub use sketch::DistinctSketch;
pub use summary::{ColumnSummary, EncodingSummary};
pub use view::{DictionaryValues, Encoding, FrozenColumn};
pub use zones::Zones;

/// Alignment of every array in a block.
pub(crate) const ALIGNMENT: usize = 64;

#[cfg(test)]
mod tests;
