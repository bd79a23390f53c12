//! The rows of a build side: the columns that somebody asks for.
//!
//! Behind the last row comes one of nulls, which stands for the row that an outer join did not
//! find. Values of a column are found by the numbers of rows, in any order and as often as wanted.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::execution::memory_pool::MemoryReservation;
use remanent_exec::{Rows, Source};

use super::values::Values;
use crate::error::{Error, Result};

/// The rows of a build side.
pub(crate) struct Relation {
    /// Those columns that somebody asks for.
    columns: Vec<Option<Column>>,
    _reservation: Option<MemoryReservation>,
}

/// A column of a build side.
struct Column {
    array: ArrayRef,
    values: Values,
}

impl Column {
    fn of(array: ArrayRef) -> Result<Self> {
        let values = Values::of(&array)?.with_range();
        Ok(Self { array, values })
    }
}

impl Relation {
    /// The rows by which rows are marked: false, true, and one of nulls.
    ///
    /// # Errors
    /// None that is expected.
    pub(crate) fn of_marks() -> Result<Self> {
        let marks: ArrayRef = Arc::new(BooleanArray::from(vec![Some(false), Some(true), None]));
        Self::new(vec![Some(marks)], None)
    }

    /// The rows with these columns, as far as somebody asks for them.
    ///
    /// # Errors
    /// None that is expected.
    pub(crate) fn new(
        columns: Vec<Option<ArrayRef>>,
        reservation: Option<MemoryReservation>,
    ) -> Result<Self> {
        let columns = columns.into_iter().map(|column| column.map(Column::of).transpose());
        Ok(Self { columns: columns.collect::<Result<_>>()?, _reservation: reservation })
    }

    /// Where the values of a column are.
    pub(crate) fn source(&self, place: usize) -> Source<'_> {
        let column = self.columns.get(place).and_then(Option::as_ref);
        column.map_or(Source::Elsewhere, |column| Source::Given(column.values.given()))
    }

    /// The values of some rows of a column.
    ///
    /// # Errors
    /// A column that nobody was said to ask for.
    pub(crate) fn array(&self, place: usize, rows: Rows<'_>) -> Result<ArrayRef> {
        let column = self.columns.get(place).and_then(Option::as_ref);
        let column = column.ok_or_else(|| Error::internal("a column that was not collected"))?;
        let rows = match rows {
            Rows::List(rows) => UInt32Array::from(rows.to_vec()),
            rows => UInt32Array::from(rows.map(|row| row as u32)),
        };
        Ok(take(&column.array, &rows, None)?)
    }
}
