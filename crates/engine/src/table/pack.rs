//! Making a table's ordered indexes smaller once its rows are frozen.
//!
//! Entries of hot rows say where their versions lie, which saves a look-up a miss; those of rows in
//! columns need not, and several can be one word (`index/bundle.rs`). Nothing else about an index
//! changes, and readers and writers go on.

use super::segment::is_frozen;
use super::table::{IndexCore, TableAt};
use crate::index::pack::Packing;
use crate::memory::Heap;

impl<'m> TableAt<'m> {
    /// Goes on making an ordered index smaller; whether there is more to do. To be called by a
    /// writer that has taken a slot.
    pub(crate) fn pack(&self, heap: Heap<'m>, index: &IndexCore, packing: &mut Packing) -> bool {
        let (directory, memory) = (self.directory(), self.memory);
        packing.step(self.ordered(index), heap, &|row| is_frozen(directory.word(memory, row)))
    }
}
