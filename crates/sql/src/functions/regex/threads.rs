//! All ways to match a text at the same time, with what their groups hold.
//!
//! The machine of Pike and Thompson (Cox, Regular Expression Matching: the Virtual Machine
//! Approach, 2009): a list of threads in the order of their priority goes through the text, one
//! step for each byte. It finds what groups hold within a match that an automaton has found, and
//! what automata cannot tell; like these it looks whether to stop.

use regex_automata::Span;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::automaton::stride;
use super::expression::Groups;
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;

/// No place.
const NONE: usize = usize::MAX;

/// Places of groups that all threads together may hold.
const PLACES_MAX: usize = 2 << 20;

/// What a match may begin and end at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bounds {
    /// Anywhere from this place on.
    From(usize),
    /// At the ends of this one.
    Exactly(Span),
}

/// Threads in the order of their priority, at most one in each state.
struct List {
    order: Vec<StateID>,
    /// The place of a state in the order.
    places: Vec<u32>,
    /// What the groups of each thread hold, by its state.
    slots: Vec<usize>,
}

impl List {
    fn insert(&mut self, state: StateID) -> bool {
        let place = self.places[state.as_usize()] as usize;
        if self.order.get(place) == Some(&state) {
            return false;
        }
        self.places[state.as_usize()] = self.order.len() as u32;
        self.order.push(state);
        true
    }
}

/// What is left to do of following a state.
enum Rest {
    State(StateID),
    Restore(usize, usize),
}

/// The machine.
pub(crate) struct Threads {
    nfa: NFA,
    now: List,
    next: List,
    left: Vec<Rest>,
    width: usize,
}

impl Threads {
    /// # Errors
    /// `BAD_PATTERN` for a pattern with too many states and groups.
    pub(crate) fn new(nfa: &NFA) -> Result<Self> {
        let (states, width) = (nfa.states().len(), nfa.group_info().slot_len());
        if states.saturating_mul(width) > PLACES_MAX {
            let text = "invalid regular expression: regular expression is too complex";
            return Err(Error::new(SqlState::BAD_PATTERN, text));
        }
        let list = || List {
            order: Vec::new(),
            places: vec![0; states],
            slots: vec![NONE; states * width],
        };
        Ok(Self { nfa: nfa.clone(), now: list(), next: list(), left: Vec::new(), width })
    }

    /// The begin and the end of what each group holds, the whole match first; `None` if nothing
    /// matches.
    pub(crate) fn run(&mut self, text: &[u8], bounds: Bounds) -> Result<Option<Groups>> {
        let (from, end, is_exact) = match bounds {
            Bounds::From(from) => (from, text.len(), false),
            Bounds::Exactly(found) => (found.start, found.end, true),
        };
        let looks = stride(&self.nfa);
        let mut found: Option<Vec<usize>> = None;
        self.now.order.clear();
        let mut slots = vec![NONE; self.width];
        for at in from..=end {
            if (at - from) % looks == 0 {
                Cancel::check_current()?;
            }
            let may_begin = found.is_none() && (!is_exact || at == from);
            if may_begin && (text.get(at)).is_none_or(|byte| !(0x80..0xC0).contains(byte)) {
                slots.fill(NONE);
                let begin = self.nfa.start_anchored();
                let lists = Lists { reached: &mut self.now, left: &mut self.left };
                follow(&self.nfa, lists, begin, &mut slots, TextPosition { text, at });
            } else if self.now.order.is_empty() && (found.is_some() || is_exact) {
                break;
            }
            self.next.order.clear();
            for place in 0..self.now.order.len() {
                let state = self.now.order[place];
                let first = state.as_usize() * self.width;
                let of_thread = &mut self.now.slots[first..first + self.width];
                let byte = text.get(at).copied().filter(|_| at < end);
                let to = match self.nfa.state(state) {
                    State::Match { .. } if is_exact && at != end => None,
                    State::Match { .. } => {
                        found = Some(of_thread.to_vec());
                        // What follows has less priority.
                        break;
                    }
                    State::ByteRange { trans } => {
                        byte.filter(|byte| trans.matches_byte(*byte)).map(|_| trans.next)
                    }
                    State::Sparse(sparse) => byte.and_then(|byte| sparse.matches_byte(byte)),
                    State::Dense(dense) => byte.and_then(|byte| dense.matches_byte(byte)),
                    _ => None,
                };
                if let Some(to) = to {
                    let lists = Lists { reached: &mut self.next, left: &mut self.left };
                    follow(&self.nfa, lists, to, of_thread, TextPosition { text, at: at + 1 });
                }
            }
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Ok(found.map(|slots| {
            let pairs = slots.chunks_exact(2);
            pairs
                .map(|pair| (pair[1] != NONE).then(|| Span { start: pair[0], end: pair[1] }))
                .collect()
        }))
    }
}

/// Where states are added that are reached, and what is left to do of that.
struct Lists<'t> {
    reached: &'t mut List,
    left: &'t mut Vec<Rest>,
}

/// A position in a text.
#[derive(Clone, Copy)]
struct TextPosition<'t> {
    text: &'t [u8],
    at: usize,
}

/// Adds the states that are reached from one without reading a byte.
fn follow(
    nfa: &NFA,
    lists: Lists<'_>,
    from: StateID,
    slots: &mut [usize],
    position: TextPosition<'_>,
) {
    let (Lists { reached, left }, TextPosition { text, at }) = (lists, position);
    left.push(Rest::State(from));
    while let Some(rest) = left.pop() {
        let mut state = match rest {
            Rest::State(state) => state,
            Rest::Restore(slot, before) => {
                slots[slot] = before;
                continue;
            }
        };
        while reached.insert(state) {
            state = match nfa.state(state) {
                State::Look { look, next } => {
                    if !nfa.look_matcher().matches(*look, text, at) {
                        break;
                    }
                    *next
                }
                State::Union { alternates } => {
                    let Some((first, others)) = alternates.split_first() else { break };
                    left.extend(others.iter().rev().map(|other| Rest::State(*other)));
                    *first
                }
                State::BinaryUnion { alt1, alt2 } => {
                    left.push(Rest::State(*alt2));
                    *alt1
                }
                State::Capture { next, slot, .. } => {
                    let slot = slot.as_usize();
                    left.push(Rest::Restore(slot, slots[slot]));
                    slots[slot] = at;
                    *next
                }
                _ => {
                    let first = state.as_usize() * slots.len();
                    reached.slots[first..first + slots.len()].copy_from_slice(slots);
                    break;
                }
            };
        }
    }
}
