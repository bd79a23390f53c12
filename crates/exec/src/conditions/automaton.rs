//! A LIKE over text that is written in symbols, from code to code.
//!
//! The automaton of the pattern's parts over bytes (Knuth, Morris and Pratt, Fast Pattern Matching
//! in Strings, SIAM Journal on Computing 1977) is run once over each symbol from each state; after
//! that a code costs one look-up, however many bytes it stands for. A look-up waits for the one
//! before it: texts that cannot have the longest of the parts are passed over before that.

#[cfg(test)]
mod tests;

use std::ops::Range;

use remanent_engine::Symbols;

use crate::conditions::part_search::PartSearch;
use crate::conditions::pattern::PatternParts;
use crate::encodings::encoded_texts::EncodedTexts;
use crate::rows::bits::{RowBits, bits_of, each_of};

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
    /// What finds texts that may have each of some parts; none where the first codes decide.
    searches: Vec<PartSearch>,
    negated: bool,
}

/// States over bytes, at most: there is another one behind an escape in each, and `LOST`.
const STATES_MAX: usize = 127;

/// The state of a text that is not like the pattern, however it goes on.
const LOST: u8 = 255;

/// Of so many rows one has to be left for all texts to be searched for a part.
const SEARCHED_MIN: usize = 4;

/// Parts that are searched for, at most.
const SEARCHES_MAX: usize = 3;

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
        let parts = pattern.between.iter().chain([&pattern.end]);
        let mut parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        let searched = if pattern.start.is_empty() { SEARCHES_MAX } else { 0 };
        let searches = parts.iter().take(searched).map(|part| PartSearch::new(part, symbols));
        let searches = searches.collect();
        Some(Self { table, last, is_final, searches, negated: pattern.negated })
    }

    /// Leaves the rows of a stretch, which begins with row `first`, whose texts meet the pattern;
    /// none is null.
    pub(crate) fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits) {
        if self.searches.is_empty() || rows.count() * SEARCHED_MIN < rows.len() {
            return texts.filter(first, rows, |codes| self.meets(codes));
        }
        let codes = texts.stretch(first..first + rows.len());
        let start = codes.start;
        let codes = texts.bytes(codes);
        let found: Vec<_> = self.searches.iter().map(|search| search.find(codes)).collect();
        rows.keep_words(|stretch, left| {
            let (mut begins, mut may_be) = (texts.start(first + stretch.start) - start, 0);
            for (row, bit) in stretch.clone().zip(0..) {
                let ends = texts.start(first + row + 1) - start;
                // Which text has a part is not foreseen, and nothing branches by it.
                let has_all = found.iter().fold(true, |all, it| all & has_bits(it, begins..ends));
                may_be |= u64::from(has_all) << bit;
                begins = ends;
            }
            let searched = left & may_be;
            let meets = |bit: usize| self.meets(texts.get(first + stretch.start + bit));
            each_of(searched, meets) | if self.negated { !may_be } else { 0 }
        });
    }

    /// Whether the text with these codes, which is not NULL, meets the pattern.
    fn meets(&self, codes: &[u8]) -> bool {
        let mut state = 0;
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

/// Whether a bitmap has one of some bits.
#[inline]
fn has_bits(bitmap: &[u64], bits: Range<usize>) -> bool {
    let mut from = bits.start;
    while bits.end - from > 64 {
        if bits_of(bitmap, from..from + 64) != 0 {
            return true;
        }
        from += 64;
    }
    bits_of(bitmap, from..bits.end) != 0
}
