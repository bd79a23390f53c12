//! Going through many rows with one call: the rest of an ordered index, the rest of a scan.
//!
//! One reading call covers the leaves of a node, or a batch of slots, and while a row is visited
//! those some places ahead are on their way from memory. Who visits may read in the same
//! transaction; what it refers to stays as long as the transaction, as always.

use std::ops::ControlFlow;

use super::lookup::Cursor;
use super::row::Row;
use super::scan::Scan;
use super::segment::{Chunk, newest_of};
use super::version::visible;
use crate::index::cursor::Direction;
use crate::index::node::{Leaf, NODE_LEAVES_MAX};
use crate::memory::atomic::{Acquire, Relaxed};

/// How many rows ahead of the one visited are asked for.
const AHEAD: usize = 12;

/// The processor's unit of memory, in bytes.
const LINE: u64 = 64;

impl<'t> Cursor<'t> {
    /// Moves on row by row, in key order, and calls `visit` with each, until it breaks off or there
    /// are no more. The cursor then stands at the last row that was visited; a cursor that stands
    /// nowhere begins at the first.
    ///
    /// As quick as memory allows where rows were inserted in key order.
    ///
    /// # Errors
    /// `SnapshotExpired`, before anything is visited.
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
    /// let mut sum = 0;
    /// tx.cursor(&table, primary)?.sweep(|row| {
    ///     sum += row.get::<i32>(a).unwrap_or(0);
    ///     if sum < 1000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// })?;
    /// assert_eq!(sum, 1035);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn sweep(
        &mut self,
        mut visit: impl FnMut(Row<'t>) -> ControlFlow<()>,
    ) -> crate::error::Result<()> {
        self.check_expired()?;
        let mut leaves = [0; NODE_LEAVES_MAX];
        let mut near = Chunk::default();
        let mut found = if self.at != 0 { self.next_at() } else { self.first_at() };
        while let Some(at) = found {
            if visit(self.row(at)).is_break() {
                return Ok(());
            }
            let broken_off = self.sweep_node(&mut leaves, &mut near, &mut visit);
            if broken_off {
                return Ok(());
            }
            found = self.next_at();
        }
        Ok(())
    }

    /// Visits the rows whose leaves follow at the cursor's node; says whether `visit` broke off.
    fn sweep_node(
        &mut self,
        leaves: &mut [u64; NODE_LEAVES_MAX],
        near: &mut Chunk,
        visit: &mut impl FnMut(Row<'t>) -> ControlFlow<()>,
    ) -> bool {
        let Some(_operation) = self.enter() else { return false };
        let view = self.view;
        let (memory, directory) = (view.table.memory, view.table.directory());
        let count = self.cursor.take_leaves(leaves);
        let leaves = &leaves[..count];
        let (mut visited, mut last, mut broken_off) = (0, 0, false);
        for (i, &word) in leaves.iter().enumerate() {
            if let Some(&ahead) = leaves.get(i + AHEAD) {
                let hint = Leaf::of_word(ahead).hint();
                memory.region().prefetch(hint);
                memory.region().prefetch(hint + LINE);
            }
            let leaf = Leaf::of_word(word);
            let found = match leaf.plain_row() {
                Some(row) => {
                    let newest = directory.newest_near(memory, near, row);
                    visible(memory, newest, view.reader.snapshot)
                }
                None => view.visible_leaf(leaf),
            };
            let Some(at) = found else { continue };
            (visited, last) = (visited + 1, at);
            if view.reader.reads.is_some() {
                view.hand_out(at);
            }
            if visit(Row::at(view.table, at)).is_break() {
                broken_off = true;
                break;
            }
        }
        if visited > 0 {
            self.pass(Direction::Forward, visited, Some(last));
        }
        if broken_off {
            // The tree's cursor stands at the last leaf that was taken.
            self.cursor.forget_node();
        }
        broken_off
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
        let end = self.limit.min(self.next + FOLDED_ROWS);
        let slots = directory.slots_beside(memory, self.next as u32, end);
        self.next += slots.len() as u64;
        let mut folded = initial;
        for (i, slot) in slots.iter().enumerate() {
            if let Some(ahead) = slots.get(i + AHEAD) {
                memory.region().prefetch(newest_of(ahead.load(Relaxed)));
            }
            let newest = newest_of(slot.load(Acquire));
            if let Some(at) = visible(memory, newest, self.reader.snapshot) {
                let row = Row::at(self.table, at);
                if let Some(reads) = self.reader.reads {
                    reads.hand_out(self.table.core.id, row.id().0);
                }
                folded = fold(folded, row);
            }
        }
        folded
    }
}

/// Slots that are visited in one reading call.
const FOLDED_ROWS: u64 = 1024;
