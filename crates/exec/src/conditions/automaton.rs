//! A LIKE over text that is written in symbols, from code to code.
//!
//! The automaton of the pattern's parts over bytes (Knuth, Morris and Pratt, Fast Pattern Matching
//! in Strings, SIAM Journal on Computing 1977) is run once over each symbol from each state; after
//! that a code costs one look-up, however many bytes it stands for.

#[cfg(test)]
mod tests;

use remanent_engine::Symbols;

use crate::conditions::pattern::PatternParts;

/// A pattern over the codes of one column's symbols.
#[derive(Debug)]
pub(crate) struct Automaton {
    /// The state behind each byte, by the state before it.
    by_byte: Vec<[u8; 256]>,
    /// The same for each code.
    by_code: Vec<[u8; 256]>,
    /// The only state in which a text is like the pattern at its end.
    last: u8,
    negated: bool,
}

/// States of an automaton, at most.
const STATES_MAX: usize = 250;

/// The state of a text that is not like the pattern, however it goes on.
const LOST: u8 = 255;

impl Automaton {
    /// The automaton over the codes of a column; `None` if the pattern is too long.
    pub(crate) fn new(pattern: &PatternParts, symbols: &Symbols<'_>) -> Option<Self> {
        let (by_byte, last) = states(pattern)?;
        let (writer, mut text) = (symbols.writer(), Vec::new());
        let mut by_code = vec![[LOST; 256]; by_byte.len()];
        for code in (0..=u8::MAX).filter(|code| *code != Symbols::ESCAPE) {
            text.clear();
            writer.append(&[code], &mut text);
            for (from, to) in by_code.iter_mut().enumerate() {
                to[usize::from(code)] =
                    text.iter().fold(from as u8, |state, byte| step(&by_byte, state, *byte));
            }
        }
        Some(Self { by_byte, by_code, last, negated: pattern.negated })
    }

    /// Whether the text with these codes, which is not NULL, meets the pattern.
    pub(crate) fn meets(&self, codes: &[u8]) -> bool {
        let (mut state, mut rest) = (0, codes.iter());
        while let Some(&code) = rest.next() {
            state = match code {
                Symbols::ESCAPE => match rest.next() {
                    Some(&byte) => step(&self.by_byte, state, byte),
                    None => state,
                },
                code => step(&self.by_code, state, code),
            };
        }
        (state == self.last) != self.negated
    }
}

/// The states, one behind each byte of the parts that was found, and the last of them; `None` if
/// there are too many.
fn states(pattern: &PatternParts) -> Option<(Vec<[u8; 256]>, u8)> {
    let parts = pattern.between.iter().map(Vec::as_slice);
    let fixed = pattern.start.len() + pattern.end.len();
    let len = parts.clone().map(<[u8]>::len).sum::<usize>() + fixed;
    if len >= STATES_MAX {
        return None;
    }
    let mut states = Vec::with_capacity(len + 1);
    for byte in &pattern.start {
        let mut to = [LOST; 256];
        to[usize::from(*byte)] = states.len() as u8 + 1;
        states.push(to);
    }
    for part in parts {
        seek(part, &mut states);
    }
    // Behind the end the same end may come again; behind `%` anything may.
    let before = seek(&pattern.end, &mut states);
    let own = states.len() as u8;
    states.push(states.get(usize::from(before)).copied().unwrap_or([own; 256]));
    let last = states.len() as u8 - 1;
    Some((states, last))
}

/// Adds the states of looking for a part; the state is said in which one is that has found it and
/// forgets its first byte.
fn seek(part: &[u8], states: &mut Vec<[u8; 256]>) -> u8 {
    let first = states.len() as u8;
    let mut before = first;
    for (place, byte) in part.iter().enumerate() {
        let mut to = [first; 256];
        if place > 0 {
            to = states[usize::from(before)];
            before = to[usize::from(*byte)];
        }
        to[usize::from(*byte)] = states.len() as u8 + 1;
        states.push(to);
    }
    before
}

#[inline]
fn step(states: &[[u8; 256]], state: u8, byte: u8) -> u8 {
    states.get(usize::from(state)).map_or(LOST, |to| to[usize::from(byte)])
}
