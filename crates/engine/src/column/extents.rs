//! Which bytes of a block belong to one column: what is read and checked by itself, and what can
//! leave memory.
//!
//! A block's arrays lie column by column, so what columns have in common and each column are
//! *extents*. The head of the block, the columns' heads and sketches, zones, the values of small
//! dictionaries and tables of symbols say what a column has, and whether a query has to read it at
//! all: they stay in memory. What has an entry for each row, and text, can leave.

use std::ops::Range;

use super::block::{Block, BlockColumn, HEADS_AT};
use super::ends;
use super::head::{CONSTANT, DICTIONARY, FSST, HEAD_SIZE, OFFSETS, PLAIN, STRINGS};
use super::sketch::SKETCH_SIZE;

/// Of dictionaries with more bytes of values, the values can leave too.
const VALUES_LEN_MAX: usize = 64 << 10;

impl Block<'_> {
    /// The parts of the block that can be read each by itself, one behind the other: what its
    /// columns have in common, then each column; the whole, if its columns do not lie in order.
    pub(crate) fn extents(self) -> Vec<Range<usize>> {
        let len = self.bytes().len();
        let mut begins: Vec<usize> =
            (0..self.columns()).map(|i| self.column(i).begin(len)).collect();
        // A column without arrays begins where the next one does.
        let mut next = len;
        for begin in begins.iter_mut().rev() {
            next = next.min(*begin);
            if *begin == len {
                *begin = next;
            }
        }
        if !begins.is_sorted() {
            begins.clear();
        }
        let ends = begins.iter().copied().chain([len]);
        let all = std::iter::once(0).chain(begins.iter().copied());
        all.zip(ends).map(|(begin, end)| begin..end).collect()
    }

    /// The bytes of a column that can leave memory: what it has for each row, and text.
    pub(crate) fn evictable(self, column: usize) -> [Range<usize>; 2] {
        self.column(column).evictable()
    }

    /// Whether each column's bytes that can leave memory are its own and no others: so this program
    /// writes blocks, but what a block from outside says is no more than well formed.
    pub(crate) fn is_orderly(self) -> bool {
        let extents = self.extents();
        let lie_in = |inner: &Range<usize>, outer: &Range<usize>| {
            inner.is_empty() || outer.start <= inner.start && inner.end <= outer.end
        };
        extents.len() == self.columns() + 1
            && extents[0].end >= self.front_len()
            && extents[1..].iter().enumerate().all(|(i, extent)| {
                let column = self.column(i);
                let evictable = column.evictable();
                let stays = column.stays();
                evictable.iter().all(|range| lie_in(range, extent))
                    && !stays.iter().any(|it| evictable.iter().any(|range| overlap(it, range)))
                    && !overlap(&evictable[0], &evictable[1])
            })
    }

    /// Bytes of what the columns have in common.
    fn front_len(self) -> usize {
        let present = match self.present_at() as usize {
            0 => 0,
            at => at + self.bitmap_len(),
        };
        let sketches = match self.sketches_at() as usize {
            0 => 0,
            at => at + self.columns() * SKETCH_SIZE,
        };
        (HEADS_AT + self.columns() * HEAD_SIZE).max(present).max(sketches)
    }
}

impl BlockColumn<'_> {
    /// Where the first of its arrays begins; `none` if it has none.
    fn begin(self, none: usize) -> usize {
        let head = self.head;
        let text = if head.text_len() == 0 { 0 } else { head.text() };
        let arrays = [head.nulls(), head.data(), head.values(), text].into_iter();
        arrays.filter(|at| *at != 0).min().map_or(none, |at| at as usize)
    }

    fn evictable(self) -> [Range<usize>; 2] {
        let (head, rows) = (self.head, self.block.rows() as usize);
        let part = |at: u64, len: usize| at as usize..at as usize + len;
        let nulls = match head.nulls() {
            0 => 0..0,
            at => part(at, self.block.bitmap_len()),
        };
        let width = head.width();
        let data = match head.encoding() {
            OFFSETS | PLAIN | DICTIONARY => part(head.data(), rows * width as usize),
            STRINGS | FSST => part(head.data(), ends::size_of_ends(rows, width)),
            _ => 0..0,
        };
        // Nothing lies between them but what aligns the second.
        let of_rows = span(nulls, data);
        let text = part(head.text(), head.text_len() as usize);
        let count = head.value_count() as usize;
        let others = match head.encoding() {
            STRINGS | FSST => text,
            DICTIONARY if !self.has_few_values() => match head.value_size() as usize {
                0 => span(part(head.values(), (count + 1) * 4), text),
                size => part(head.values(), count * size),
            },
            _ => 0..0,
        };
        [of_rows, others]
    }

    /// What of it stays in memory.
    fn stays(self) -> [Range<usize>; 2] {
        let head = self.head;
        let part = |at: u64, len: usize| at as usize..at as usize + len;
        let (count, size) = (head.value_count() as usize, head.value_size() as usize);
        let text = part(head.text(), head.text_len() as usize);
        match head.encoding() {
            OFFSETS | PLAIN if head.values() != 0 => [part(head.values(), count * 2 * size), 0..0],
            FSST => [part(head.values(), size), 0..0],
            DICTIONARY if self.has_few_values() => match size {
                0 => [part(head.values(), (count + 1) * 4), text],
                size => [part(head.values(), count * size), 0..0],
            },
            CONSTANT => [text, 0..0],
            _ => [0..0, 0..0],
        }
    }

    /// Of a dictionary: whether its values stay in memory.
    pub(crate) fn has_few_values(&self) -> bool {
        let count = self.head.value_count() as usize;
        let len = match self.head.value_size() as usize {
            0 => (count + 1) * 4 + self.head.text_len() as usize,
            size => count * size,
        };
        len <= VALUES_LEN_MAX
    }
}

/// From the beginning of the first to the end of the last, of those that are not empty.
fn span(one: Range<usize>, other: Range<usize>) -> Range<usize> {
    match (one.is_empty(), other.is_empty()) {
        (_, true) => one,
        (true, false) => other,
        (false, false) => one.start.min(other.start)..one.end.max(other.end),
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}
