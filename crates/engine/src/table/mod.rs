//! Tables: rows, their versions, and the indexes kept in step with them.
//!
//! A [`segment`] directory leads from a row id to the newest [`version`] of the row, older ones
//! behind it; or to columns, where a segment is [`frozen`] ([`freeze`] makes it so, a
//! [`bulk_segment`] is so at once). [`table`] makes a [`change`] to a row and its indexes together
//! and takes it back, [`run`] many insertions at once, [`batch`] puts many rows into the indexes,
//! [`constraint`] decides uniqueness, [`prune`] removes what no snapshot sees, [`ended`] whole rows
//! whose deletion took no memory, [`compact`] moves rows together. [`lookup`] finds rows by key, a
//! [`key_range`] of them if asked for one, [`position`] keeps a place among them, [`scan`] reads
//! all, [`pieces`] as columns where they are, [`sweep`] many with one call; [`row`] is what a
//! reader holds, [`draft`] one in the making. [`reader`] is who reads, [`copies`] what it was given
//! of frozen rows, [`read_set`] what was read, [`pins`] which snapshots need which versions.
//! [`describe`] formats rows for errors, [`set`] keeps network sets in tables, [`measure`] adds up
//! what they take. Nothing here knows how transactions commit, or of any log.

pub(crate) mod batch;
pub(crate) mod bulk_segment;
pub(crate) mod change;
pub(crate) mod compact;
pub(crate) mod constraint;
pub(crate) mod copies;
pub(crate) mod describe;
pub(crate) mod draft;
pub(crate) mod ended;
pub(crate) mod freeze;
pub(crate) mod frozen;
pub(crate) mod frozen_ends;
pub(crate) mod handle;
pub(crate) mod key_range;
pub(crate) mod life;
pub(crate) mod lookup;
pub(crate) mod measure;
pub(crate) mod neighbour;
pub(crate) mod pieces;
pub(crate) mod pins;
pub(crate) mod position;
pub(crate) mod prune;
pub(crate) mod read_set;
pub(crate) mod reader;
pub(crate) mod row;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod segment;
pub(crate) mod set;
pub(crate) mod structure;
pub(crate) mod sweep;
#[expect(clippy::module_inception, reason = "the folder is named after its main file")]
pub(crate) mod table;
pub(crate) mod typed;
pub(crate) mod version;

pub use bulk_segment::SEGMENT_ROWS;
pub use draft::RowDraft;
pub use handle::{ColumnHandle, IndexHandle, Table, TypedTable};
pub use key_range::KeyBound;
pub use pieces::{FrozenRows, Piece, Pieces};
pub use position::KeyPosition;
pub use read_set::{ReadTracking, RowPredicate};
pub use row::{Row, RowId};
pub use scan::Scan;
pub use set::Set;
pub use typed::{Found, Records, TypedCursor};
