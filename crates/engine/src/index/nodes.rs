//! Going through the nodes of an ordered index, a little with each call.
//!
//! Between two calls nothing is referred to: the key bytes are kept that lead to the node which
//! comes next, and the way there is gone again from the root. Nothing is validated as look-ups do:
//! a node that is being changed leads to no wild place, and a subtree that moves may be missed or
//! met twice. Keys that are nested in each other make a tree as deep as they are long, so the way
//! down is on the heap and not on the stack.

use super::node::{Child, Leaf, Node};
use crate::memory::region::Region;

/// What to do with the next node.
pub(super) enum Next {
    Enter,
    Skip,
    /// The call ends here; the next one begins with this node.
    Stop,
}

/// A visitor of the nodes.
pub(super) trait Visit<'m> {
    /// A node that no call has met yet is entered.
    fn enter(&mut self, node: Node<'m>);

    /// A leaf of a node.
    fn leaf(&mut self, leaf: Leaf);

    /// What to do with a node that hangs under a byte of another; `is_new` if no call has met it.
    fn next(&mut self, above: (Node<'m>, u8), node: Node<'m>, is_new: bool) -> Next;
}

/// A node on the way.
struct Level<'m> {
    node: Node<'m>,
    /// Bytes that lead to it.
    depth: usize,
    /// The byte from which on its children come next.
    from: usize,
    /// If a call was in the next child, the bytes that led to that child.
    known: Option<usize>,
}

/// Goes on from where `path` leads, and leaves there where the next call goes on; whether there is
/// more.
pub(super) fn visit_nodes<'m>(
    region: &'m Region,
    root: Node<'m>,
    path: &mut Vec<u8>,
    visit: &mut impl Visit<'m>,
) -> bool {
    let lower = std::mem::take(path);
    let mut levels: Vec<Level<'m>> = Vec::new();
    levels.extend(level(root, 0, &lower, path, visit));
    while let Some(above) = levels.last_mut() {
        let Some((byte, child)) = above.node.child_from(region, above.from) else {
            path.truncate(above.depth);
            levels.pop();
            if !levels.is_empty() {
                path.pop();
            }
            continue;
        };
        let known = above.known.take().filter(|_| usize::from(byte) == above.from);
        // The byte of a node that is being changed may be any.
        above.from = (usize::from(byte) + 1).max(above.from + 1);
        match child {
            Child::Node(at) => {
                let node = Node::at(region, at);
                let rest = known.map_or(&[][..], |at| &lower[at..]);
                path.push(byte);
                match visit.next((above.node, byte), node, rest.is_empty()) {
                    Next::Stop => return true,
                    Next::Skip => {
                        path.pop();
                    }
                    Next::Enter => match level(node, lower.len() - rest.len(), &lower, path, visit)
                    {
                        Some(level) => levels.push(level),
                        None => {
                            path.pop();
                        }
                    },
                }
            }
            Child::Leaf(leaf) => visit.leaf(leaf),
            Child::Bundle(_) | Child::None => {}
        }
    }
    false
}

/// Enters a node, to whose place the bytes of `lower` before `at` lead; `None` if all of it comes
/// before that path.
fn level<'m>(
    node: Node<'m>,
    at: usize,
    lower: &[u8],
    path: &mut Vec<u8>,
    visit: &mut impl Visit<'m>,
) -> Option<Level<'m>> {
    let (prefix, len) = node.prefix();
    let (prefix, rest) = (&prefix[..len], &lower[at..]);
    let common = len.min(rest.len());
    let (mut from, mut known) = (0, None);
    match prefix[..common].cmp(&rest[..common]) {
        std::cmp::Ordering::Less => return None,
        std::cmp::Ordering::Equal if rest.len() > len => {
            (from, known) = (usize::from(rest[len]), Some(at + len + 1));
        }
        _ => visit.enter(node),
    }
    let depth = path.len();
    path.extend_from_slice(prefix);
    Some(Level { node, depth, from, known })
}
