//! Tables: rows, their versions, and the indexes kept in step with them.
//!
//! [`handle`] is what a program holds to name a table, [`table`] the table itself: it makes a
//! change to a row and its indexes together and takes it back. Then the rooms, in the order in
//! which a transaction meets them: [`rows`] from row id to versions, [`read`] by key or all of
//! them, [`write`](mod@write) many at once, [`cleanup`] of what nobody sees, [`columns`] in place
//! of rows. Beside them [`structure`] makes and frees tables and indexes, [`life`] says for whom
//! they are there, [`describe`] formats rows for errors, [`set`] keeps network sets in tables,
//! [`measure`] adds up what they take. Nothing here knows how transactions commit, or of any log.

pub(crate) mod cleanup;
pub(crate) mod columns;
pub(crate) mod describe;
pub(crate) mod handle;
pub(crate) mod life;
pub(crate) mod measure;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod set;
pub(crate) mod structure;
#[expect(clippy::module_inception, reason = "the folder is named after its main file")]
pub(crate) mod table;
pub(crate) mod write;

pub use columns::bulk_segment::SEGMENT_ROWS;
pub use columns::pieces::{FrozenRows, Piece, Pieces};
pub use handle::{ColumnHandle, IndexHandle, Table, TypedTable};
pub use read::key_range::KeyBound;
pub use read::position::KeyPosition;
pub use read::read_set::{ReadTracking, RowPredicate};
pub use read::scan::Scan;
pub use read::typed::{Found, Records, TypedCursor};
pub use rows::draft::RowDraft;
pub use rows::row::{Row, RowId};
pub use set::Set;
