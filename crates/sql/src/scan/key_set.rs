//! What a join wants of a column of whole numbers: a bit for each number between two.
//!
//! A hash join tells the scan of its larger side which keys it found, as an expression that looks
//! each key up. If it does so in a list, the list becomes bits; else, where the keys lie close
//! together beside the number of rows, it is evaluated once for each number that a key can be.
//! After that a row costs one bit, found by its encoded value. (Semi-join reduction by bitmaps:
//! Graefe, Query Evaluation Techniques for Large Databases, ACM Computing Surveys 1993.) The join
//! checks what it gets as ever.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterTracking, InListExpr, Literal,
};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;

use super::condition::{Condition, Kept};
use super::frozen::consecutive;
use super::pushed::whole;
use super::{BATCH_ROWS, KEY_DENSITY_MIN};
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::sql_type::SqlType;

/// Rows of a table for each number that is looked up ahead, at least, if these are many and a
/// look-up may take long.
const ROWS_A_NUMBER: usize = 4;

/// Parts of a long stretch of numbers that are looked at first, and the numbers of each.
const SAMPLES: usize = 16;
const SAMPLE: usize = 1024;

/// Bits for each row of a table, at most, where the keys are known as a list.
const BITS_A_ROW: usize = 8;

/// Numbers that are looked up ahead whatever the number of rows.
const NUMBERS_FREE: usize = 4096;

/// Of the numbers between the least and the greatest key, so many in four may be keys for the
/// others to be worth looking for.
const KEYS_IN_FOUR: usize = 3;

/// The numbers that a column may have.
#[derive(Debug)]
pub(crate) struct KeySet {
    /// The place of the column among the table's.
    pub(crate) column: usize,
    low: i128,
    len: usize,
    bits: Vec<u64>,
}

/// What became of a hint.
pub(crate) enum Known {
    /// Nothing: it is evaluated as it is.
    Nothing,
    /// It keeps hardly a row away.
    Useless,
    Keys(KeySet),
}

impl KeySet {
    /// The keys that a hint allows in a table of so many rows.
    ///
    /// # Errors
    /// Whatever the hint meets in evaluating.
    pub(crate) fn of(hint: &Condition, table: &Table, rows: usize) -> Result<Known> {
        let [column] = hint.columns[..] else { return Ok(Known::Nothing) };
        let sql_type = &table.columns[column].sql_type;
        let is_final = matches!(
            DynamicFilterTracking::classify(hint.expr()),
            DynamicFilterTracking::AllComplete
        );
        if !is_final || !(sql_type.is_integer() || *sql_type == SqlType::Date) {
            return Ok(Known::Nothing);
        }
        let known = snapshot_physical_expr(Arc::clone(hint.expr()))?;
        let Some((low, high)) = bounds_of(&known, sql_type) else { return Ok(Known::Nothing) };
        let len = usize::try_from(high - low).map_or(usize::MAX, |len| len.saturating_add(1));
        let list = list_of(&known, sql_type);
        let len_max = match list {
            Some(_) => rows.saturating_mul(BITS_A_ROW),
            None => rows,
        };
        if len > NUMBERS_FREE.max(len_max) {
            return Ok(Known::Nothing);
        }
        let mut set = Self { column, low, len, bits: vec![0; len.div_ceil(64)] };
        let is_long = len > NUMBERS_FREE.max(rows / ROWS_A_NUMBER);
        if is_long && list.is_none() && !set.is_dense(hint, sql_type)? {
            return Ok(Known::Nothing);
        }
        let count = match list {
            Some(keys) => {
                let places = keys.iter().map(|key| (key - low) as usize).filter(|at| *at < len);
                places.for_each(|at| set.add(at));
                set.bits.iter().map(|word| word.count_ones() as usize).sum()
            }
            None => set.look_up(hint, sql_type, (0, len))?,
        };
        let is_useless = count * 4 > len * KEYS_IN_FOUR;
        Ok(if is_useless { Known::Useless } else { Known::Keys(set) })
    }

    /// Whether so many of the numbers seem to be keys that the join finds them without a hash, so
    /// that to look a number up costs next to nothing.
    fn is_dense(&mut self, hint: &Condition, sql_type: &SqlType) -> Result<bool> {
        let (mut numbers, mut count) = (0, 0);
        for from in (0..self.len).step_by(self.len.div_ceil(SAMPLES)) {
            let to = self.len.min(from + SAMPLE);
            count += self.look_up(hint, sql_type, (from, to))?;
            numbers += to - from;
        }
        Ok(count as f64 >= numbers as f64 * KEY_DENSITY_MIN / 2.0)
    }

    /// Looks up the numbers from one place up to another; how many are keys.
    fn look_up(
        &mut self,
        hint: &Condition,
        sql_type: &SqlType,
        (from, to): (usize, usize),
    ) -> Result<usize> {
        let low = self.low;
        let mut count = 0;
        for from in (from..to).step_by(BATCH_ROWS) {
            let numbers = BATCH_ROWS.min(to - from);
            let array = consecutive(low + from as i128, numbers, sql_type)?;
            match hint.kept(vec![array], numbers)? {
                Kept::None => {}
                Kept::All => {
                    (from..from + numbers).for_each(|at| self.add(at));
                    count += numbers;
                }
                Kept::These(truths) => {
                    truths.values().set_indices().for_each(|at| self.add(from + at));
                    count += truths.true_count();
                }
            }
        }
        Ok(count)
    }

    fn add(&mut self, at: usize) {
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Whether a number is among them.
    pub(crate) fn has(&self, number: i128) -> bool {
        usize::try_from(number - self.low).is_ok_and(|at| self.has_at(at))
    }

    /// Whether a number from the first to the second is among them.
    pub(crate) fn has_between(&self, first: i128, last: i128) -> bool {
        let at = |number: i128| (number - self.low).clamp(0, self.len as i128) as usize;
        let (from, to) = (at(first), at(last + 1));
        let (head, tail) = (from.next_multiple_of(64).min(to), to / 64 * 64);
        let words = self.bits.get(head / 64..tail / 64).unwrap_or_default();
        (from..head).chain(tail.max(head)..to).any(|at| self.has_at(at))
            || words.iter().any(|word| *word != 0)
    }

    #[inline]
    fn has_at(&self, at: usize) -> bool {
        at < self.len && self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    /// Takes those out of `meets` whose numbers, which are so much more than `min`, are not among
    /// them.
    #[inline]
    pub(crate) fn filter(&self, min: i128, offsets: impl Iterator<Item = u32>, meets: &mut [bool]) {
        // What is less than the first number wraps around to more than the last.
        let first = (min - self.low) as usize;
        for (meet, offset) in meets.iter_mut().zip(offsets) {
            *meet &= self.has_at(first.wrapping_add(offset as usize));
        }
    }
}

/// The keys of an expression that looks a column up in a list of them, as joins say it.
fn list_of(known: &Arc<dyn PhysicalExpr>, sql_type: &SqlType) -> Option<Vec<i128>> {
    let parts = split_conjunction(known);
    let list = parts.iter().find_map(|part| part.downcast_ref::<InListExpr>())?;
    if list.negated() || list.expr().downcast_ref::<Column>().is_none() {
        return None;
    }
    let keys = list.list().iter().filter_map(|key| {
        let value = key.downcast_ref::<Literal>().map(Literal::value);
        // Nothing is equal to NULL.
        match value {
            Some(value) if value.is_null() => None,
            value => Some(value.and_then(|value| whole(value, sql_type))),
        }
    });
    keys.collect()
}

/// The least and the greatest number that an expression over one column allows, as joins say it.
fn bounds_of(known: &Arc<dyn PhysicalExpr>, sql_type: &SqlType) -> Option<(i128, i128)> {
    let (mut low, mut high) = (None, None);
    for part in split_conjunction(known) {
        let Some(comparison) = part.downcast_ref::<BinaryExpr>() else { continue };
        if comparison.left().downcast_ref::<Column>().is_none() {
            continue;
        }
        let bound = comparison.right().downcast_ref::<Literal>();
        let bound = bound.and_then(|literal| whole(literal.value(), sql_type));
        match comparison.op() {
            Operator::GtEq => low = bound,
            Operator::LtEq => high = bound,
            _ => {}
        }
    }
    Some((low?, high?)).filter(|(low, high)| low <= high)
}
