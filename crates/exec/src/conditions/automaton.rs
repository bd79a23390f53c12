//! A LIKE over text that is written in symbols, from code to code.
//!
//! The automaton of the pattern's parts over bytes (Knuth, Morris and Pratt, Fast Pattern Matching
//! in Strings, SIAM Journal on Computing 1977) is run once over each symbol from each state; after
//! that a code costs one look-up, however many bytes it stands for. A look-up waits for the one
//! before it, so several texts are read at once.

#[cfg(test)]
mod tests;

use remanent_engine::Symbols;

use crate::conditions::pattern::PatternParts;
use crate::encodings::encoded_texts::EncodedTexts;
use crate::rows::bits::RowBits;
use crate::rows::list::list_of;

/// A pattern over the codes of one column's symbols.
#[derive(Debug)]
pub(crate) struct Automaton {
    /// The state behind each code, by the state before it. Behind an escape there is a state that
    /// goes on with the byte itself. No state is beyond the table's end.
    table: Box<[[u8; 256]; 256]>,
    /// The only state in which a text is like the pattern at its end.
    last: u8,
    /// For each state whether no code leads out of it.
    is_final: [bool; 256],
    /// Whether the first codes of most texts decide.
    is_early: bool,
    negated: bool,
}

/// States over bytes, at most: there is another one behind an escape in each, and `LOST`.
const STATES_MAX: usize = 127;

/// The state of a text that is not like the pattern, however it goes on.
const LOST: u8 = 255;

/// Texts that are read at once.
const LANES: usize = 4;

/// A text that is being read.
#[derive(Clone, Copy)]
struct Lane<'t> {
    row: usize,
    state: u8,
    rest: &'t [u8],
}

impl Automaton {
    /// The automaton over the codes of a column; `None` if the pattern is too long.
    pub(crate) fn new(pattern: &PatternParts, symbols: &Symbols<'_>) -> Option<Self> {
        let (by_byte, last) = states(pattern)?;
        let (writer, mut text) = (symbols.writer(), Vec::new());
        let mut table = Box::new([[LOST; 256]; 256]);
        for code in (0..=u8::MAX).filter(|code| *code != Symbols::ESCAPE) {
            text.clear();
            writer.append(&[code], &mut text);
            for from in 0..by_byte.len() {
                table[from][usize::from(code)] =
                    text.iter().fold(from as u8, |state, byte| step(&by_byte, state, *byte));
            }
        }
        let count = by_byte.len();
        for (from, to) in by_byte.iter().enumerate() {
            table[from][usize::from(Symbols::ESCAPE)] = (count + from) as u8;
            table[count + from] = *to;
        }
        let mut is_final = [false; 256];
        is_final[usize::from(LOST)] = true;
        for (state, to) in by_byte.iter().enumerate() {
            is_final[state] = to.iter().all(|to| usize::from(*to) == state);
        }
        let is_early = !pattern.start.is_empty();
        Some(Self { table, last, is_final, is_early, negated: pattern.negated })
    }

    /// Leaves the rows of a stretch, which begins with row `first`, whose texts meet the pattern;
    /// none is null.
    pub(crate) fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits) {
        if self.is_early {
            return texts.filter(first, rows, |codes| self.meets(0, codes));
        }
        let list = list_of(rows.words(), 0, rows.count());
        let mut next = list.iter().map(|row| {
            let row = *row as usize;
            Lane { row, state: 0, rest: texts.get(first + row) }
        });
        let mut lanes: Vec<Lane<'_>> = next.by_ref().take(LANES).collect();
        while let Some(lanes) = lanes.first_chunk_mut::<LANES>() {
            self.advance(lanes);
            let read = lanes.iter_mut().filter(|lane| lane.rest.is_empty());
            let mut is_through = false;
            for lane in read {
                rows.set(lane.row, (lane.state == self.last) != self.negated);
                match next.next() {
                    Some(text) => *lane = text,
                    None => is_through = true,
                }
            }
            if is_through {
                break;
            }
        }
        // Those that were read say the same once more.
        for Lane { row, state, rest } in lanes.drain(..).chain(next) {
            rows.set(row, self.meets(state, rest));
        }
    }

    /// Reads as many codes of each text as the shortest has.
    #[inline]
    fn advance(&self, lanes: &mut [Lane<'_>; LANES]) {
        let codes = lanes.iter().map(|lane| lane.rest.len()).min().unwrap_or_default();
        let mut states = lanes.map(|lane| lane.state);
        let read = lanes.map(|lane| &lane.rest[..codes]);
        for at in 0..codes {
            for (state, read) in states.iter_mut().zip(read) {
                *state = self.table[usize::from(*state)][usize::from(read[at])];
            }
        }
        for (lane, state) in lanes.iter_mut().zip(states) {
            *lane = Lane { state, rest: &lane.rest[codes..], ..*lane };
        }
    }

    /// Whether a text, which is not NULL, meets the pattern with these codes behind a state.
    fn meets(&self, mut state: u8, codes: &[u8]) -> bool {
        for code in codes {
            if self.is_final[usize::from(state)] {
                break;
            }
            state = self.table[usize::from(state)][usize::from(*code)];
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
