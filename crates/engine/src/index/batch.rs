//! Look-ups of many keys whose cache misses overlap.
//!
//! A look-up is a chain of dependent misses; many of them side by side cost little more than one
//! (the idea of group prefetching: Chen, Ailamaki, Gibbons, Mowry, ICDE 2004). Each key stands at a
//! node. In each round every key takes one step, to a node whose lines were asked for a round ago,
//! and asks for those of the next: its first, and the one where the child is if it is a large node,
//! as nodes far from the root and out of the caches mostly are. Results are those of one look-up
//! after the other; a key that meets a change is simply looked up again alone.

use remanent_schema::KeyBuffer;

use super::node::{Child, Node, NodeHeader, Restart, State};
use super::ordered::{Found, OrderedIndex};
use crate::memory::Ref;

/// Keys that are looked up side by side.
pub(crate) const GROUP: usize = 64;

#[derive(Clone, Copy)]
enum Walk<'m> {
    /// At a node that `depth` bytes lead to; the node above is as it was in this state.
    At {
        above: Option<(Node<'m>, State)>,
        at: Ref<NodeHeader>,
        depth: usize,
    },
    Done(Found),
}

/// Looks up at most [`GROUP`] keys; `found[i]` is the result for `keys[i]`.
pub(crate) fn lookup_group(index: OrderedIndex<'_>, keys: &[KeyBuffer], found: &mut [Found]) {
    debug_assert!(keys.len() <= GROUP && keys.len() == found.len());
    let start = Walk::At { above: None, at: index.root().reference(), depth: 0 };
    let mut walks = [start; GROUP];
    let walks = &mut walks[..keys.len()];
    let mut running = keys.len();
    while running > 0 {
        for (walk, key) in walks.iter_mut().zip(keys) {
            let Walk::At { above, at, depth } = *walk else { continue };
            let key = key.as_slice();
            *walk = match step(index, above, at, depth, key) {
                Ok(next) => next,
                Err(Restart) => Walk::Done(index.lookup(key)),
            };
            running -= usize::from(matches!(walk, Walk::Done(_)));
        }
    }
    for (result, walk) in found.iter_mut().zip(walks) {
        if let Walk::Done(outcome) = walk {
            *result = *outcome;
        }
    }
}

#[inline]
fn step<'m>(
    index: OrderedIndex<'m>,
    above: Option<(Node<'m>, State)>,
    at: Ref<NodeHeader>,
    depth: usize,
    key: &[u8],
) -> Result<Walk<'m>, Restart> {
    let node = Node::at(index.region(), at);
    let state = node.read()?;
    if let Some((above, above_state)) = above {
        above.validate(above_state)?;
    }
    let matched = node.matching_prefix(state, &key[depth..]);
    let depth = depth + matched;
    if depth == key.len() || matched < state.prefix_len() {
        node.validate(state)?;
        let found = if depth == key.len() { Found::Many } else { Found::None };
        return Ok(Walk::Done(found));
    }
    match node.child_in(index.region(), state, key[depth]) {
        Child::Node(at) => {
            Node::prefetch(index.region(), at, key.get(depth + 1).copied());
            Ok(Walk::At { above: Some((node, state)), at, depth: depth + 1 })
        }
        Child::Leaf(leaf) => {
            node.validate(state)?;
            Ok(Walk::Done(Found::One { leaf, exact: depth + 1 == key.len() }))
        }
        Child::Bundle(bundle) => {
            node.validate(state)?;
            Ok(Walk::Done(bundle.lookup(&key[depth + 1..])))
        }
        Child::None => {
            node.validate(state)?;
            Ok(Walk::Done(Found::None))
        }
    }
}
