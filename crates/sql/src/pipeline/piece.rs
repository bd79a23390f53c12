//! A piece of the source: rows of a frozen segment as they are encoded, or a batch.
//!
//! Of both it is known where the values of a column are, and what they are for some rows as an
//! array; nothing is made of rows that nobody asks for.

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use remanent_exec::{Rows, Selection, Source};

use super::values::Values;
use crate::error::Result;
use crate::scan::scan_rows::FrozenReader;

/// A piece of the source.
pub(crate) enum Piece<'p> {
    Frozen(FrozenReader<'p>),
    Batch(&'p BatchPiece),
}

/// Rows of a batch.
pub(crate) struct BatchPiece {
    batch: RecordBatch,
    values: Vec<Values>,
}

impl BatchPiece {
    /// # Errors
    /// None that is expected.
    pub(crate) fn new(batch: RecordBatch) -> Result<Self> {
        let values = batch.columns().iter().map(Values::of).collect::<Result<_>>()?;
        Ok(Self { batch, values })
    }
}

impl<'p> Piece<'p> {
    /// Where the values of each column are.
    ///
    /// # Errors
    /// `CANCELLED`; a transaction that has ended.
    pub(crate) fn sources(&self) -> Result<Vec<Source<'p>>> {
        match self {
            Self::Frozen(reader) => {
                let columns = (0..reader.width()).map(|place| {
                    let column = reader.column(place)?;
                    Ok(column.map_or(Source::Elsewhere, Source::Encoded))
                });
                columns.collect()
            }
            Self::Batch(batch) => {
                let values = batch.values.iter();
                Ok(values.map(|values| Source::Given(values.given())).collect())
            }
        }
    }

    /// The next rows from row `at` on; `None` after the last.
    ///
    /// # Errors
    /// Whatever is met in evaluating conditions; `CANCELLED`.
    pub(crate) fn next(&mut self, at: &mut usize) -> Result<Option<Selection>> {
        match self {
            Self::Frozen(reader) => Ok(reader.next(at)?.map(|rows| rows.into_selection())),
            Self::Batch(batch) => {
                let (from, rows) = (*at, batch.batch.num_rows());
                *at = rows;
                Ok((from < rows).then_some(Selection::Stretch(from, rows)))
            }
        }
    }

    /// The values of some rows of a column.
    ///
    /// # Errors
    /// A fault of the caller.
    pub(crate) fn array(&self, place: usize, rows: Rows<'_>) -> Result<ArrayRef> {
        match (self, rows) {
            (Self::Frozen(reader), rows) => reader.array(place, rows),
            (Self::Batch(batch), Rows::Stretch(from, to)) => {
                Ok(batch.batch.column(place).slice(from, to - from))
            }
            (Self::Batch(batch), rows) => {
                let rows = UInt32Array::from(rows.map(|row| row as u32));
                Ok(take(batch.batch.column(place), &rows, None)?)
            }
        }
    }
}
