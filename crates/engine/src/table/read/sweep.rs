//! Going through many rows with one call: the rest of an ordered index, the rest of a scan.
//!
//! One reading call covers the leaves of a node, or a batch of slots, and while a row is visited
//! those some places ahead are on their way from memory. Who visits may read in the same
//! transaction; what it refers to stays as long as the transaction, as always.

use std::ops::ControlFlow;

use super::lookup::Cursor;
use super::scan::Scan;
use crate::index::cursor::Direction;
use crate::index::node::{Leaf, NODE_LEAVES_MAX};
use crate::memory::atomic::{Acquire, Relaxed};
use crate::table::rows::row::{Row, RowId};
use crate::table::rows::segment::{Chunk, is_frozen, is_latched, newest_of};
use crate::table::rows::version::{Version, bytes_at, visible_bytes};

/// Rows that are prefetched.
const AHEAD: usize = 16;

/// The processor's unit of memory, in bytes.
const LINE: u64 = 64;

/// Slots that a scan visits in one reading call.
const FOLDED_ROWS: u64 = 1024;

impl<'t> Cursor<'t> {
    /// Moves on row by row, in key order, and gives each to `visit` with what it made of those
    /// before, until it breaks off or there are no more. The cursor then stands at the last row
    /// that was visited; one that stands nowhere begins at the first.
    ///
    /// Quickest where rows were inserted in key order. After a snapshot has expired there are no
    /// more rows.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// # let (a, primary) = (table.column("a")?, table.index("primary")?);
    /// let tx = db.begin_write()?;
    /// for number in 0..1000 {
    ///     tx.insert_values(&table, &[Some(Value::I32(number))])?;
    /// }
    /// let enough = tx.cursor(&table, primary)?.sweep(0, |sum, row| {
    ///     let sum = sum + row.get::<i32>(a).unwrap_or(0);
    ///     if sum < 1000 { ControlFlow::Continue(sum) } else { ControlFlow::Break(sum) }
    /// });
    /// assert_eq!(enough, ControlFlow::Break(1035));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn sweep<A, B>(
        &mut self,
        initial: A,
        mut visit: impl FnMut(A, Row<'t>) -> ControlFlow<B, A>,
    ) -> ControlFlow<B, A> {
        let mut leaves = [0; NODE_LEAVES_MAX];
        let mut near = Chunk::default();
        let mut folded = initial;
        let mut found = if self.at != 0 { self.next_at() } else { self.first_at() };
        while let Some(at) = found {
            folded = match visit(folded, self.row(at)) {
                ControlFlow::Continue(folded) => folded,
                broken_off => return broken_off,
            };
            folded = match self.sweep_node(folded, &mut leaves, &mut near, &mut visit) {
                ControlFlow::Continue(folded) => folded,
                broken_off => return broken_off,
            };
            found = self.next_at();
        }
        ControlFlow::Continue(folded)
    }

    /// Visits the rows whose leaves follow at the cursor's node.
    #[inline]
    fn sweep_node<A, B>(
        &mut self,
        initial: A,
        leaves: &mut [u64; NODE_LEAVES_MAX],
        near: &mut Chunk,
        visit: &mut impl FnMut(A, Row<'t>) -> ControlFlow<B, A>,
    ) -> ControlFlow<B, A> {
        // Each row of a range is asked whether it is beyond the end: step by step.
        if self.within.is_some() {
            return ControlFlow::Continue(initial);
        }
        let Some(_operation) = self.enter() else { return ControlFlow::Continue(initial) };
        let count = self.cursor.take_leaves(leaves);
        let leaves = &leaves[..count];
        let view = self.view;
        let (memory, directory) = (view.table.memory, view.table.directory());
        let (snapshot, hands_out) = (view.reader.snapshot, view.reader.reads.is_some());
        let layout = &view.table.core.layout;
        let (mut visited, mut last) = (0, 0);
        let mut folded = ControlFlow::Continue(initial);
        for (i, &word) in leaves.iter().enumerate() {
            let ahead = Leaf::of_word(*leaves.get(i + AHEAD).unwrap_or(&word)).hint();
            memory.region().prefetch(ahead);
            memory.region().prefetch(ahead + LINE);
            let leaf = Leaf::of_word(word);
            let found = match leaf.plain_row() {
                Some(row) => {
                    let word = directory.word_near(memory, near, row);
                    match visible_bytes(memory, newest_of(word), snapshot) {
                        Some((at, bytes)) => Some((row, at, bytes)),
                        None if is_frozen(word) => {
                            let copy = view.reader.see(&view.table, row, word);
                            copy.map(|at| (row, at, bytes_at(memory, at)))
                        }
                        None => None,
                    }
                }
                None => view
                    .visible_leaf(leaf)
                    .map(|at| (Version::at(memory, at).row(), at, bytes_at(memory, at))),
            };
            let Some((row, at, bytes)) = found else { continue };
            (visited, last) = (visited + 1, at);
            if hands_out {
                view.hand_out(at);
            }
            let ControlFlow::Continue(before) = folded else { break };
            folded = visit(before, Row::of_bytes(layout, bytes, RowId(row)));
            if folded.is_break() {
                // The tree's cursor stands at the last leaf that was taken.
                self.cursor.forget_node();
                break;
            }
        }
        if visited > 0 {
            self.pass(Direction::Forward, visited, Some(last));
        }
        folded
    }
}

impl<'t> Scan<'t> {
    /// Visits the slots of one batch, in one reading call.
    #[inline]
    pub(super) fn fold_batch<B>(
        &mut self,
        initial: B,
        fold: &mut impl FnMut(B, Row<'t>) -> B,
    ) -> B {
        let memory = self.table.memory;
        let _operation = self.reader.enter(memory);
        if self.reader.is_expired() {
            self.next = self.limit;
            return initial;
        }
        let directory = self.table.directory();
        let slots = directory.stretch(memory, &mut self.next, self.limit, FOLDED_ROWS);
        let first = self.next as u32;
        self.next += slots.len() as u64;
        let (snapshot, layout) = (self.reader.snapshot, &self.table.core.layout);
        let mut folded = initial;
        for (i, slot) in slots.iter().enumerate() {
            // Whatever else the word may be, to ask for it does no harm.
            let ahead = slots.get(i + AHEAD).unwrap_or(slot);
            memory.region().prefetch(ahead.load(Relaxed));
            let row = first + i as u32;
            let mut word = slot.load(Acquire);
            if is_latched(word) {
                // Perhaps for ever, since the segment was frozen meanwhile.
                word = self.table.directory().word(memory, row);
            }
            let mut found = visible_bytes(memory, newest_of(word), snapshot);
            if found.is_none() && is_frozen(word) {
                let copy = self.reader.see(&self.table, row, word);
                found = copy.map(|at| (at, bytes_at(memory, at)));
            }
            if let Some((_, bytes)) = found {
                if let Some(reads) = self.reader.reads {
                    reads.hand_out(self.table.core.id, row);
                }
                folded = fold(folded, Row::of_bytes(layout, bytes, RowId(row)));
            }
        }
        folded
    }
}
