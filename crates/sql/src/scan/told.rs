//! What a scan is told of the keys that joins above it want, once their build sides were read.
//!
//! Numbers are compared with encoded values; a list of few keys leads to their rows by an index, or
//! is a condition on the rows.

use std::sync::Arc;

use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::PhysicalExpr;
use remanent_exec::{KeySet, WantedNumbers};

use super::condition::Condition;
use super::pushed::WantedKeys;
use crate::catalog::table::Table;

/// Bits for each row of a table, at most, where there are few keys far apart.
const BITS_A_ROW: usize = 8;

/// The keys that a join wants of a column. Whoever is told may give other rows, too.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// The place of the column in what the scan gives out.
    pub(crate) column: usize,
    /// The numbers, with some others if they are far apart.
    pub(crate) wanted: Option<WantedNumbers>,
    /// The numbers one by one, if they are few.
    pub(crate) numbers: Option<Arc<Vec<i64>>>,
    /// The same as a list of constants, over the column with this place, if they are few.
    pub(crate) list: Option<Arc<dyn PhysicalExpr>>,
}

impl Told {
    /// The keys as a condition on a table's rows, of which a scan gives these columns.
    ///
    /// # Errors
    /// None that is expected.
    pub(crate) fn condition(
        &self,
        table: &Table,
        columns: &[usize],
    ) -> PlanResult<Option<Condition>> {
        match &self.list {
            Some(list) => Condition::of_output(table, columns, list),
            None => Ok(None),
        }
    }

    /// The numbers of the column that they are keys of, in a table of so many rows.
    pub(crate) fn keys(&self, columns: &[usize], rows: usize) -> Option<WantedKeys> {
        let few = || {
            let set = KeySet::of_few(self.numbers.as_ref()?, rows.saturating_mul(BITS_A_ROW))?;
            Some(WantedNumbers::Set(Arc::new(set)))
        };
        let keys = match &self.wanted {
            Some(WantedNumbers::Set(set)) => WantedNumbers::Set(Arc::clone(set)),
            sketch => few().or_else(|| sketch.clone())?,
        };
        Some(WantedKeys { column: columns[self.column], keys, tally: Arc::default() })
    }
}
