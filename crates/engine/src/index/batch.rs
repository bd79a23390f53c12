//! Look-ups of many keys whose cache misses overlap.
//!
//! A look-up is a chain of dependent misses; sixteen of them side by side cost little more than
//! one (the idea of group prefetching: Chen, Ailamaki, Gibbons, Mowry, ICDE 2004). Each key is a
//! small state: a node to read, or a child to read in it. In each round every state takes one step,
//! whose memory was asked for a round ago, and asks for what its next step needs. Results are those
//! of one look-up after the other; a key that meets a change is simply looked up again alone.

use remanent_schema::KeyBuffer;

use super::node::{Child, Node, NodeHeader, Restart, State};
use super::ordered::{Found, OrderedIndex};
use crate::memory::Ref;

/// Keys that are looked up side by side.
pub(crate) const GROUP: usize = 64;

#[derive(Clone, Copy)]
enum Step<'m> {
    /// The node's first line was asked for; the node above is as it was under this version.
    Enter {
        above: Option<(Node<'m>, State)>,
        at: Ref<NodeHeader>,
        depth: usize,
    },
    /// The place of the child was asked for.
    Child {
        node: Node<'m>,
        version: State,
        depth: usize,
    },
    Done(Found),
}

/// Looks up at most [`GROUP`] keys; `found[i]` is the result for `keys[i]`.
pub(crate) fn lookup_group(index: OrderedIndex<'_>, keys: &[KeyBuffer], found: &mut [Found]) {
    debug_assert!(keys.len() <= GROUP && keys.len() == found.len());
    let start = Step::Enter { above: None, at: index.root().reference(), depth: 0 };
    let mut states = [start; GROUP];
    let states = &mut states[..keys.len()];
    let mut running = true;
    while running {
        running = false;
        for (state, key) in states.iter_mut().zip(keys) {
            if matches!(state, Step::Done(_)) {
                continue;
            }
            let key = key.as_slice();
            *state = match step(index, *state, key) {
                Ok(next) => next,
                Err(Restart) => Step::Done(index.lookup(key)),
            };
            running = true;
        }
    }
    for (result, state) in found.iter_mut().zip(states) {
        if let Step::Done(outcome) = state {
            *result = *outcome;
        }
    }
}

#[inline]
fn step<'m>(index: OrderedIndex<'m>, state: Step<'m>, key: &[u8]) -> Result<Step<'m>, Restart> {
    match state {
        Step::Enter { above, at, depth } => enter(index, above, at, depth, key),
        Step::Child { node, version, depth } => {
            let child = node.child_in(index.region(), version, key[depth]);
            Ok(match child {
                Child::None => {
                    node.validate(version)?;
                    Step::Done(Found::None)
                }
                Child::Leaf(leaf) => {
                    node.validate(version)?;
                    Step::Done(Found::One { leaf, exact: depth + 1 == key.len() })
                }
                Child::Node(at) => {
                    index.region().prefetch(at.offset());
                    Step::Enter { above: Some((node, version)), at, depth: depth + 1 }
                }
            })
        }
        Step::Done(_) => Ok(state),
    }
}

#[inline]
fn enter<'m>(
    index: OrderedIndex<'m>,
    above: Option<(Node<'m>, State)>,
    at: Ref<NodeHeader>,
    depth: usize,
    key: &[u8],
) -> Result<Step<'m>, Restart> {
    let node = Node::at(index.region(), at);
    let version = node.read()?;
    if let Some((above, above_version)) = above {
        above.validate(above_version)?;
    }
    let matched = node.matching_prefix(version, &key[depth..]);
    let depth = depth + matched;
    if depth == key.len() || matched < version.prefix_len() {
        node.validate(version)?;
        let found = if depth == key.len() { Found::Many } else { Found::None };
        return Ok(Step::Done(found));
    }
    node.prefetch_child(index.region(), key[depth]);
    Ok(Step::Child { node, version, depth })
}
