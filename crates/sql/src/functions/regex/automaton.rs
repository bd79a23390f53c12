//! A deterministic automaton that is made while it reads, and looks whether to stop.
//!
//! The crate's own searches go through a text in one call. Here each byte is a step, and after some
//! steps somebody looks: after fewer where a step may make a large state.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::NFA;
use regex_automata::{Anchored, Input, MatchKind};

use super::expression::bad_pattern;
use crate::error::{Error, Result};
use crate::limits::cancel::Cancel;

/// What a state may cost to make, in states of the pattern, between two looks.
const WORK: usize = 1 << 19;

/// Where a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    At(usize),
    Nowhere,
    /// The automaton cannot tell: it is asked for ends of words, and there is more than ASCII.
    Unknown,
}

/// The automaton.
pub(crate) struct Automaton {
    dfa: DFA,
    cache: Cache,
    /// Steps between two looks.
    stride: usize,
}

/// Steps between two looks, for a pattern of so many states.
pub(crate) fn stride(nfa: &NFA) -> usize {
    (WORK / nfa.states().len().max(1)).clamp(1, 1 << 14)
}

impl Automaton {
    pub(crate) fn new(nfa: &NFA, kind: MatchKind) -> Result<Self> {
        let config = DFA::config()
            .match_kind(kind)
            .unicode_word_boundary(true)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa.clone());
        let dfa = dfa.map_err(|error| bad_pattern(&error))?;
        let cache = dfa.create_cache();
        Ok(Self { cache, stride: stride(nfa), dfa })
    }

    /// The end of the match that begins first from this place on, or here alone; of any match,
    /// if it is only asked whether there is one.
    pub(crate) fn end(
        &mut self,
        text: &[u8],
        from: usize,
        anchored: Anchored,
        earliest: bool,
    ) -> Result<Found> {
        let input = Input::new(text).range(from..).anchored(anchored);
        let Ok(mut state) = self.dfa.start_state_forward(&mut self.cache, &input) else {
            return Ok(Found::Unknown);
        };
        let mut found = Found::Nowhere;
        let mut at = from;
        for part in text[from..].chunks(self.stride) {
            Cancel::check_current()?;
            for byte in part {
                state = self.dfa.next_state(&mut self.cache, state, *byte).map_err(gave_up)?;
                if state.is_tagged() {
                    // A match is told of one byte behind it.
                    match () {
                        () if state.is_match() => found = Found::At(at),
                        () if state.is_dead() => return Ok(found),
                        () if state.is_quit() => return Ok(Found::Unknown),
                        () => {}
                    }
                    if earliest && found != Found::Nowhere {
                        return Ok(found);
                    }
                }
                at += 1;
            }
        }
        state = self.dfa.next_eoi_state(&mut self.cache, state).map_err(gave_up)?;
        Ok(if state.is_match() { Found::At(text.len()) } else { found })
    }

    /// Where a match begins that ends here, not before `from`; of the reversed pattern.
    pub(crate) fn begin(&mut self, text: &[u8], from: usize, end: usize) -> Result<Found> {
        let input = Input::new(text).range(from..end).anchored(Anchored::Yes);
        let Ok(mut state) = self.dfa.start_state_reverse(&mut self.cache, &input) else {
            return Ok(Found::Unknown);
        };
        let mut found = Found::Nowhere;
        let mut at = end;
        for part in text[from..end].rchunks(self.stride) {
            Cancel::check_current()?;
            for byte in part.iter().rev() {
                state = self.dfa.next_state(&mut self.cache, state, *byte).map_err(gave_up)?;
                if state.is_tagged() {
                    match () {
                        () if state.is_match() => found = Found::At(at),
                        () if state.is_dead() => return Ok(found),
                        () if state.is_quit() => return Ok(Found::Unknown),
                        () => {}
                    }
                }
                at -= 1;
            }
        }
        state = self.before(text, from, state)?;
        Ok(match () {
            () if state.is_match() => Found::At(from),
            () if state.is_quit() => Found::Unknown,
            () => found,
        })
    }

    /// The state that also knows what stands before the place to which was read.
    fn before(&mut self, text: &[u8], from: usize, state: LazyStateID) -> Result<LazyStateID> {
        let next = match from.checked_sub(1) {
            Some(place) => self.dfa.next_state(&mut self.cache, state, text[place]),
            None => self.dfa.next_eoi_state(&mut self.cache, state),
        };
        next.map_err(gave_up)
    }
}

/// It only gives up if it was told after how long.
fn gave_up(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("an automaton gave up: {error}"))
}
