//! Making bundles of the nodes that can be one, in a walk over all of an ordered index; and nodes
//! of bundles that are about to be changed.
//!
//! For a table that has been frozen: a bundle's entries have no hints where their rows' versions
//! lie, and rows in columns have no use for one. The walk is made a little with each call
//! (`nodes.rs`). A node that others are changing stays a node.

use super::bundle::Bundle;
use super::node::{Child, Leaf, Node, Restart, State, kind_for};
use super::nodes::{Next, Visit, visit_nodes};
use super::ordered::OrderedIndex;
use crate::error::Result;
use crate::memory::{AllocationClass, Allocator};

/// Nodes that are gone through in one call; few for models and tests.
const AT_ONCE: u64 = if cfg!(any(shuttle, test)) { 2 } else { 16 * 1024 };

/// A walk in the making.
#[derive(Default)]
pub(crate) struct Packing {
    /// The key bytes that lead to the node which comes next.
    path: Vec<u8>,
}

impl Packing {
    /// Goes on; whether there is more. `needs_no_hint` says whether a row has no use for one.
    pub(crate) fn step<'m>(
        &mut self,
        index: OrderedIndex<'m>,
        alloc: Allocator<'m>,
        needs_no_hint: &dyn Fn(u32) -> bool,
    ) -> bool {
        let mut pack = Pack { alloc, needs_no_hint, left: AT_ONCE };
        visit_nodes(alloc.region(), index.root(), &mut self.path, &mut pack)
    }
}

/// State for making bundles of nodes.
struct Pack<'p, 'm> {
    alloc: Allocator<'m>,
    needs_no_hint: &'p dyn Fn(u32) -> bool,
    /// Nodes that this call may still visit.
    left: u64,
}

impl<'m> Visit<'m> for Pack<'_, 'm> {
    fn enter(&mut self, _: Node<'m>) {
        self.left = self.left.saturating_sub(1);
    }

    fn leaf(&mut self, _: Leaf) {}

    fn next(&mut self, above: (Node<'m>, u8), node: Node<'m>, is_new: bool) -> Next {
        if is_new && self.left == 0 {
            return Next::Stop;
        }
        match self.make_bundle(above.0, above.1, node) {
            Ok(true) => {
                self.left = self.left.saturating_sub(1);
                Next::Skip
            }
            // A node that others are changing is gone through all the same.
            Ok(false) | Err(Restart) => Next::Enter,
        }
    }
}

impl<'m> Pack<'_, 'm> {
    /// Makes a bundle of a node, if it can be one; whether it was.
    fn make_bundle(
        &self,
        above: Node<'m>,
        byte: u8,
        node: Node<'m>,
    ) -> std::result::Result<bool, Restart> {
        let alloc = self.alloc;
        let (above_state, state) = (above.read()?, node.read()?);
        let Some(bundle) = self.bundle_of(node) else { return Ok(false) };
        if above.child(alloc.region(), byte) != Child::Node(node.reference())
            || alloc.cache.retired.make_room(alloc, 1, AllocationClass::Normal).is_err()
        {
            return Ok(false);
        }
        above.lock(above_state)?;
        if let Err(restart) = node.lock(state) {
            above.unlock_unchanged();
            return Err(restart);
        }
        above.replace_child(alloc.region(), byte, Child::Bundle(bundle));
        node.unlock_obsolete(alloc);
        above.unlock();
        Ok(true)
    }

    /// The bundle that a node can be, if nobody is changing it.
    fn bundle_of(&self, node: Node<'m>) -> Option<Bundle> {
        let entry_of = |child| match child {
            Child::Leaf(leaf) => leaf.plain_row().filter(|row| (self.needs_no_hint)(*row)),
            _ => None,
        };
        let mut from = 0;
        let entries = std::iter::from_fn(|| {
            let (byte, child) = node.child_from(self.alloc.region(), from)?;
            from = usize::from(byte) + 1;
            Some(entry_of(child).map(|row| (byte, row)))
        });
        let (prefix, len) = node.prefix();
        Bundle::of(&prefix[..len], entries)
    }
}

/// Makes a node of a bundle, which hangs at a node under `byte`, unless that node was changed since
/// it had this version. Either way it has to be inspected again.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
pub(super) fn unpack<'m>(
    alloc: Allocator<'m>,
    above: Node<'m>,
    version: State,
    byte: u8,
    bundle: Bundle,
) -> Result<()> {
    let (prefix, len) = bundle.prefix();
    let node = Node::create(alloc, kind_for(bundle.count()), &prefix[..len])?;
    let mut from = 0;
    while let Some((byte, leaf)) = bundle.leaf_from(from) {
        node.add_child(alloc.region(), byte, Child::Leaf(leaf));
        from = usize::from(byte) + 1;
    }
    if above.lock(version).is_err() {
        node.discard(alloc);
        return Ok(());
    }
    above.replace_child(alloc.region(), byte, Child::Node(node.reference()));
    above.unlock();
    Ok(())
}
