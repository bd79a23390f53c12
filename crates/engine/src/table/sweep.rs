//! Going through many rows with one call: the rest of an ordered index, the rest of a scan.
//!
//! One reading call covers the leaves of a node, or a batch of slots, and while a row is visited
//! those some places ahead are on their way from memory. Who visits may read in the same
//! transaction; what it refers to stays as long as the transaction, as always.

use std::ops::ControlFlow;

use super::lookup::Cursor;
use super::row::{Row, RowId};
use super::scan::Scan;
use super::segment::{Chunk, is_plain, newest_of};
use super::version::{Version, bytes_at, is_seen, visible, visible_bytes};
use crate::index::cursor::Direction;
use crate::index::node::{Leaf, NODE_LEAVES_MAX};
use crate::memory::atomic::{Acquire, Relaxed};

/// How many rows ahead of the one visited are asked for.
const AHEAD: usize = 32;

/// Room for the leaves of a node, and for looking ahead of the last.
const WORDS: usize = NODE_LEAVES_MAX + AHEAD;
type Words = [u64; WORDS];

/// The processor's unit of memory, in bytes.
const LINE: u64 = 64;

/// Slots that a scan visits in one reading call.
const FOLDED_ROWS: u64 = 1024;

impl<'t> Cursor<'t> {
    /// Moves on row by row, in key order, and gives each to `visit` with what it made of those
    /// before, until it breaks off or there are no more. The cursor then stands at the last row
    /// that was visited; one that stands nowhere begins at the first.
    ///
    /// As quick as memory allows where rows were inserted in key order. After a snapshot has
    /// expired there are no more rows.
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
        let mut leaves = [0; WORDS];
        let mut near = Chunk::default();
        let mut folded = initial;
        let mut found = if self.at != 0 { self.next_at() } else { self.first_at() };
        while let Some(at) = found {
            folded = match visit(folded, self.row(at)) {
                ControlFlow::Continue(folded) => folded,
                broken_off => return broken_off,
            };
            folded = match self.sweep_node(folded, (&mut leaves, &mut near), &mut visit) {
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
        (words, near): (&mut Words, &mut Chunk),
        visit: &mut impl FnMut(A, Row<'t>) -> ControlFlow<B, A>,
    ) -> ControlFlow<B, A> {
        let Some(_operation) = self.enter() else { return ControlFlow::Continue(initial) };
        let Some(leaves) = words.first_chunk_mut() else { unreachable!("there is room") };
        let count = self.cursor.take_leaves(leaves);
        self.cursor.prefetch_next_node();
        let count = self.find_versions(words, count, near);
        let (memory, layout) = (self.view.table.memory, &self.view.table.core.layout);
        let hands_out = self.view.reader.reads.is_some();
        let mut folded = initial;
        for (i, &at) in words[..count].iter().enumerate() {
            if hands_out {
                self.view.hand_out(at);
            }
            let row = RowId(Version::at(memory, at).row());
            folded = match visit(folded, Row::of_bytes(layout, bytes_at(memory, at), row)) {
                ControlFlow::Continue(folded) => folded,
                broken_off => {
                    self.pass(Direction::Forward, i as i64 + 1, Some(at));
                    // The tree's cursor stands at the last leaf that was taken.
                    self.cursor.forget_node();
                    return broken_off;
                }
            };
        }
        if let Some(&last) = words[..count].last() {
            self.pass(Direction::Forward, count as i64, Some(last));
        }
        ControlFlow::Continue(folded)
    }

    /// Puts in the place of leaves the versions that the snapshot sees; how many they are.
    fn find_versions(&self, words: &mut Words, count: usize, near: &mut Chunk) -> usize {
        let view = self.view;
        let (memory, directory) = (view.table.memory, view.table.directory());
        let snapshot = view.reader.snapshot;
        let mut found = 0;
        for i in 0..count.min(NODE_LEAVES_MAX) {
            // Beyond the last leaf are others, of a node before: to ask for them does no harm.
            let ahead = Leaf::of_word(words[i + AHEAD] | 1).hint();
            memory.region().prefetch(ahead);
            memory.region().prefetch(ahead + LINE);
            let leaf = Leaf::of_word(words[i]);
            let version = match leaf.plain_row() {
                Some(row) => {
                    let word = directory.word_near(memory, near, row);
                    if is_plain(word) && is_seen(memory, word, snapshot) {
                        Some(word)
                    } else {
                        visible(memory, newest_of(word), snapshot)
                    }
                }
                None => view.visible_leaf(leaf),
            };
            if let Some(at) = version {
                words[found] = at;
                found += 1;
            }
        }
        found
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
        let end = self.limit.min(self.next + FOLDED_ROWS);
        let first = self.next as u32;
        let slots = self.table.directory().slots_beside(memory, first, end);
        self.next += slots.len() as u64;
        let (snapshot, layout) = (self.reader.snapshot, &self.table.core.layout);
        let mut folded = initial;
        for (i, slot) in slots.iter().enumerate() {
            // Whatever else the word may be, to ask for it does no harm.
            let ahead = slots.get(i + AHEAD).unwrap_or(slot);
            memory.region().prefetch(ahead.load(Relaxed));
            let newest = newest_of(slot.load(Acquire));
            if let Some((_, bytes)) = visible_bytes(memory, newest, snapshot) {
                let row = first + i as u32;
                if let Some(reads) = self.reader.reads {
                    reads.hand_out(self.table.core.id, row);
                }
                folded = fold(folded, Row::of_bytes(layout, bytes, RowId(row)));
            }
        }
        folded
    }
}
