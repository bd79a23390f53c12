//! Making bundles of the nodes that can be one, in a walk over all of an ordered index; and nodes
//! of bundles that are about to be changed.
//!
//! For a table that has been frozen: a bundle's entries have no hints where their rows' versions
//! lie, and rows in columns have no use for one. The walk is made a little with each call and
//! keeps, in between, the key bytes that lead to the node which comes next, as in `size.rs`. A node
//! that others are changing stays a node.

use std::ops::ControlFlow;

use super::bundle::Bundle;
use super::node::{Child, Node, Restart, State, kind_for};
use super::ordered::OrderedIndex;
use crate::error::Result;
use crate::memory::{Entitlement, Heap};

/// Nodes that are gone through in one call; few for models and tests.
const AT_ONCE: u64 = if cfg!(any(shuttle, test)) { 2 } else { 16 * 1024 };

/// A walk in the making.
#[derive(Default)]
pub(crate) struct Packing {
    /// The key bytes that lead to the node which comes next.
    path: Vec<u8>,
    /// How many nodes may still be gone through in this call.
    left: u64,
}

impl Packing {
    /// Goes on; whether there is more. `needs_no_hint` says whether a row has no use for one.
    pub(crate) fn step<'m>(
        &mut self,
        index: OrderedIndex<'m>,
        heap: Heap<'m>,
        needs_no_hint: &dyn Fn(u32) -> bool,
    ) -> bool {
        self.left = AT_ONCE;
        let lower = std::mem::take(&mut self.path);
        let pack = Pack { heap, needs_no_hint };
        self.below(&pack, index.root(), &lower).is_break()
    }

    /// Goes through what is below a node, from the key bytes `lower` on, which are relative to it.
    /// If there are none, all of it is new.
    fn below<'m>(&mut self, pack: &Pack<'_, 'm>, node: Node<'m>, lower: &[u8]) -> ControlFlow<()> {
        let region = pack.heap.region();
        let (prefix, len) = node.prefix();
        let prefix = &prefix[..len];
        let common = len.min(lower.len());
        let (mut from, mut rest) = (0, None);
        match prefix[..common].cmp(&lower[..common]) {
            std::cmp::Ordering::Less => return ControlFlow::Continue(()),
            std::cmp::Ordering::Equal if lower.len() > len => {
                (from, rest) = (lower[len] as usize, Some(&lower[len + 1..]));
            }
            _ => self.left = self.left.saturating_sub(1),
        }
        let depth = self.path.len();
        self.path.extend_from_slice(prefix);
        while let Some((byte, child)) = node.child_from(region, from) {
            let lower = rest.take().filter(|_| byte as usize == from).unwrap_or(&[]);
            if let Child::Node(at) = child {
                let child = Node::at(region, at);
                self.path.push(byte);
                if lower.is_empty() && self.left == 0 {
                    return ControlFlow::Break(());
                }
                match pack.make_bundle((node, byte), child) {
                    Ok(true) => self.left = self.left.saturating_sub(1),
                    // A node that others are changing is gone through all the same.
                    Ok(false) | Err(Restart) => self.below(pack, child, lower)?,
                }
                self.path.pop();
            }
            // The byte of a node that is being changed may be any.
            from = (byte as usize + 1).max(from + 1);
        }
        self.path.truncate(depth);
        ControlFlow::Continue(())
    }
}

/// What is needed to make a bundle of a node.
struct Pack<'p, 'm> {
    heap: Heap<'m>,
    needs_no_hint: &'p dyn Fn(u32) -> bool,
}

impl<'m> Pack<'_, 'm> {
    /// Makes a bundle of a node, if it can be one; whether it was.
    fn make_bundle(
        &self,
        (above, byte): (Node<'m>, u8),
        node: Node<'m>,
    ) -> std::result::Result<bool, Restart> {
        let heap = self.heap;
        let (above_state, state) = (above.read()?, node.read()?);
        let Some(bundle) = self.bundle_of(node) else { return Ok(false) };
        if above.child(heap.region(), byte) != Child::Node(node.reference())
            || heap.cache.retired.make_room(heap, 1, Entitlement::Ordinary).is_err()
        {
            return Ok(false);
        }
        above.lock(above_state)?;
        if let Err(restart) = node.lock(state) {
            above.unlock_unchanged();
            return Err(restart);
        }
        above.replace_child(heap.region(), byte, Child::Bundle(bundle));
        node.unlock_obsolete(heap);
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
            let (byte, child) = node.child_from(self.heap.region(), from)?;
            from = usize::from(byte) + 1;
            Some(entry_of(child).map(|row| (byte, row)))
        });
        let (prefix, len) = node.prefix();
        Bundle::of(&prefix[..len], entries)
    }
}

/// Makes a node of a bundle, which hangs at a node under `byte`, unless that node was changed since
/// it had this version. Either way it has to be looked at again.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
pub(super) fn unpack<'m>(
    heap: Heap<'m>,
    (above, version): (Node<'m>, State),
    byte: u8,
    bundle: Bundle,
) -> Result<()> {
    let (prefix, len) = bundle.prefix();
    let node = Node::create(heap, kind_for(bundle.count()), &prefix[..len])?;
    let mut from = 0;
    while let Some((byte, leaf)) = bundle.leaf_from(from) {
        node.add_child(heap.region(), byte, Child::Leaf(leaf));
        from = usize::from(byte) + 1;
    }
    if above.lock(version).is_err() {
        node.discard(heap);
        return Ok(());
    }
    above.replace_child(heap.region(), byte, Child::Node(node.reference()));
    above.unlock();
    Ok(())
}
