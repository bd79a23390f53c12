//! What some row before each has: `lag`.
//!
//! The last values of a partition are kept for the rows that follow in the next batch.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, UInt32Array};
use datafusion::arrow::compute::{concat, take};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;

use super::peers::Peers;
use crate::error::Result;

/// Rows that it goes back at most; more are left to DataFusion.
const BACK_MAX: usize = 100;

/// How far it goes back, and what was there.
pub(super) struct Shifted {
    back: usize,
    /// The last values of the partition so far, as many as it goes back or fewer.
    before: Option<ArrayRef>,
}

impl Shifted {
    /// That of `lag` with these arguments, behind the first one, if it is null where there is no
    /// such row.
    pub(super) fn of(arguments: &[Arc<dyn PhysicalExpr>]) -> Option<Self> {
        let literal = |at: usize| {
            let argument = arguments.get(at)?;
            argument.downcast_ref::<Literal>().map(Literal::value)
        };
        let back = match arguments.len() {
            0 => 1,
            _ => match literal(0)? {
                ScalarValue::Int64(Some(back)) => usize::try_from(*back).ok()?,
                ScalarValue::Int32(Some(back)) => usize::try_from(*back).ok()?,
                _ => return None,
            },
        };
        let has_default = arguments.len() > 1 && !literal(1)?.is_null();
        (back <= BACK_MAX && !has_default).then_some(Self { back, before: None })
    }

    /// What the rows before the next ones have; these have values of their own.
    ///
    /// # Errors
    /// A fault of Arrow's.
    pub(super) fn next(&mut self, values: &ArrayRef, peers: &Peers) -> Result<ArrayRef> {
        let (before, all) = match self.before.take() {
            Some(before) => (before.len(), concat(&[before.as_ref(), values])?),
            None => (0, Arc::clone(values)),
        };
        let mut from = Vec::with_capacity(values.len());
        let mut first = 0;
        for (group, is_first) in &peers.groups {
            if *is_first {
                first = before + group.start;
            }
            let rows = group.clone().map(|row| (before + row).checked_sub(self.back));
            from.extend(rows.map(|row| row.filter(|row| *row >= first).map(|row| row as u32)));
        }
        let kept = (all.len() - first).min(self.back);
        self.before = Some(all.slice(all.len() - kept, kept));
        Ok(take(&all, &UInt32Array::from(from), None)?)
    }
}
