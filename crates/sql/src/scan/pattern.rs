//! LIKE on text as it lies in frozen segments, without making arrays of it.
//!
//! A pattern whose only wildcard is `%` is a start, an end, and what comes between them in order;
//! each part is searched for by itself. In text that is written in symbols an automaton goes from
//! code to code (of the parts that of Knuth, Morris and Pratt, Fast Pattern Matching in Strings,
//! SIAM Journal on Computing 1977). Patterns with `_` or an escape are left to DataFusion.

#[cfg(test)]
mod tests;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use memchr::memmem::Finder;
use remanent_engine::Symbols;

/// What a LIKE without `_` asks of a text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    start: Vec<u8>,
    /// In this order, none within another.
    between: Vec<Finder<'static>>,
    end: Vec<u8>,
    negated: bool,
}

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

impl Pattern {
    /// The pattern of a filter that is a LIKE of a column and nothing else.
    pub(crate) fn of(filter: &Expr) -> Option<Self> {
        let Expr::Like(like) = filter else { return None };
        if like.case_insensitive || like.escape_char.is_some() {
            return None;
        }
        let (Expr::Column(_), Expr::Literal(literal, _)) =
            (like.expr.as_ref(), like.pattern.as_ref())
        else {
            return None;
        };
        let (ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text))) = literal
        else {
            return None;
        };
        Self::parse(text, like.negated)
    }

    fn parse(text: &str, negated: bool) -> Option<Self> {
        if text.contains(['_', '\\']) {
            return None;
        }
        let (start, rest) = text.split_once('%')?;
        let (between, end) = rest.rsplit_once('%').unwrap_or(("", rest));
        let between = between.split('%').filter(|part| !part.is_empty());
        let between = between.map(|part| Finder::new(part).into_owned()).collect();
        Some(Self { start: start.into(), between, end: end.into(), negated })
    }

    /// Whether a text, which is not NULL, meets it.
    pub(crate) fn meets(&self, text: &[u8]) -> bool {
        self.is_like(text) != self.negated
    }

    fn is_like(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(self.start.as_slice());
        let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(self.end.as_slice())) else {
            return false;
        };
        // The first place of a part leaves most for those behind it.
        self.between.iter().all(|part| match part.find(rest) {
            Some(at) => {
                rest = &rest[at + part.needle().len()..];
                true
            }
            None => false,
        })
    }
}

impl Pattern {
    /// The automaton over the codes of a column; `None` if the pattern is too long.
    pub(crate) fn over(&self, symbols: &Symbols<'_>) -> Option<Automaton> {
        let (by_byte, last) = self.states()?;
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
        Some(Automaton { by_byte, by_code, last, negated: self.negated })
    }

    /// The states, one behind each byte of the parts that was found, and the last of them.
    fn states(&self) -> Option<(Vec<[u8; 256]>, u8)> {
        let parts = self.between.iter().map(|part| part.needle());
        let len = parts.clone().map(<[u8]>::len).sum::<usize>() + self.start.len() + self.end.len();
        if len >= STATES_MAX {
            return None;
        }
        let mut states = Vec::with_capacity(len + 1);
        for byte in &self.start {
            let mut to = [LOST; 256];
            to[usize::from(*byte)] = states.len() as u8 + 1;
            states.push(to);
        }
        for part in parts {
            seek(part, &mut states);
        }
        // Behind the end the same end may come again; behind `%` anything may.
        let before = seek(&self.end, &mut states);
        let own = states.len() as u8;
        states.push(states.get(usize::from(before)).copied().unwrap_or([own; 256]));
        let last = states.len() as u8 - 1;
        Some((states, last))
    }
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

impl Automaton {
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
