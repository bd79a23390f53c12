//! What the decimals of many groups add up to, and how many there are: of sums, and of averages.
//!
//! Nulls, and the rows that a filter leaves out, are not counted.

use std::mem::size_of;

use datafusion::arrow::array::{Array, BooleanArray, PrimitiveArray, UInt64Array};
use datafusion::arrow::datatypes::Decimal128Type;
use datafusion::logical_expr::EmitTo;

/// The totals so far; group `g` has those at index `g`.
#[derive(Default)]
pub(crate) struct Totals {
    sums: Vec<i128>,
    counts: Vec<u64>,
    /// Whether a sum has outgrown 16 bytes; what it is then means nothing.
    overflowed: bool,
}

/// The totals of some groups, in their order.
pub(crate) struct Taken {
    pub(crate) sums: Vec<i128>,
    pub(crate) counts: Vec<u64>,
    /// Whether each sum is what the values add up to.
    pub(crate) are_exact: bool,
}

impl Totals {
    /// Adds each value to the group at the same index, where there are `count` groups now.
    pub(crate) fn update(
        &mut self,
        values: &PrimitiveArray<Decimal128Type>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) {
        self.grow(count);
        let counts = |row: usize| {
            let passes = |filter: &BooleanArray| filter.is_valid(row) && filter.value(row);
            values.is_valid(row) && filter.is_none_or(passes)
        };
        if values.null_count() == 0 && filter.is_none() {
            let rows = groups.iter().zip(values.values());
            rows.for_each(|(group, value)| self.add(*group, *value, 1));
        } else {
            for (row, (&group, &value)) in groups.iter().zip(values.values()).enumerate() {
                if counts(row) {
                    self.add(group, value, 1);
                }
            }
        }
    }

    /// Adds totals of parts to the groups at the same indexes, where there are `count` groups now.
    pub(crate) fn merge(
        &mut self,
        sums: &PrimitiveArray<Decimal128Type>,
        counts: &UInt64Array,
        groups: &[usize],
        count: usize,
    ) {
        self.grow(count);
        for ((&group, sum), count) in groups.iter().zip(sums).zip(counts) {
            if let (Some(sum), Some(count)) = (sum, count) {
                self.add(group, sum, count);
            }
        }
    }

    /// Takes out the totals of the groups that are asked for.
    pub(crate) fn take(&mut self, emit_to: EmitTo) -> Taken {
        Taken {
            sums: emit_to.take_needed(&mut self.sums),
            counts: emit_to.take_needed(&mut self.counts),
            are_exact: !self.overflowed,
        }
    }

    /// Bytes that it holds.
    pub(crate) fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.counts.capacity() * size_of::<u64>()
    }

    fn grow(&mut self, count: usize) {
        self.sums.resize(count, 0);
        self.counts.resize(count, 0);
    }

    #[inline]
    fn add(&mut self, group: usize, sum: i128, count: u64) {
        let (sum, overflowed) = self.sums[group].overflowing_add(sum);
        self.sums[group] = sum;
        self.counts[group] += count;
        self.overflowed |= overflowed;
    }
}
