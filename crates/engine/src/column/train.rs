//! FSST: choosing the symbols that a column's text is written in, and writing it.
//!
//! A few times over, a sample of the text is written in the symbols so far, and those symbols and
//! pairs of neighbours stay that stood for most bytes: so symbols grow out of shorter ones. What
//! the next symbol is, one look into each of two tables says: of symbols of three bytes and more by
//! a hash of their first three, the best one for each bucket; of shorter ones by the next two
//! bytes.

use super::encode::{EncodedColumn, Values};
use super::ends;
use super::fsst::{ESCAPE, Extremes, SYMBOL_LEN_MAX, SYMBOLS_MAX, Symbol, Symbols};
use super::head::{FSST, STRINGS};

/// Text is written in symbols where its values have at least so many bytes on average, which a
/// reader saves more by than it pays, and there are so many in all.
const MEAN_LEN_MIN: usize = 20;
const TEXT_LEN_MIN: usize = 16 << 10;

/// Bytes of the sample, and in how many places it is taken.
const SAMPLE: usize = 12 << 10;
const SAMPLE_PARTS: usize = 64;

/// Rounds of training.
const ROUNDS: usize = 5;

const LONG_BUCKETS: usize = 2048;

/// In `short`: no symbol.
const NONE: u16 = 0;
/// Codes of bytes that stand for themselves, while symbols are chosen, and what is no code.
const BYTES: u16 = 256;
const NO_CODE: u16 = u16::MAX;

/// Which symbol comes next.
struct Matcher {
    symbols: Vec<Symbol>,
    /// By two bytes: the code of the longest symbol of one or two bytes, and above it its length.
    short: Vec<u16>,
    /// By a hash of three bytes: a symbol of at least three, and its code.
    long: Vec<Long>,
}

/// A symbol of at least three bytes; of none if its length is 0.
#[derive(Clone, Copy, Default)]
struct Long {
    word: u64,
    len: u8,
    code: u8,
}

/// The column, whose text is plain strings, in FSST symbols if that takes at most three quarters.
pub(super) fn in_symbols(column: EncodedColumn, values: &Values<'_>) -> EncodedColumn {
    let text = &column.text;
    let is_worth_it = text.len() >= TEXT_LEN_MIN && text.len() >= MEAN_LEN_MIN * values.len();
    let Some((least, greatest)) = column.head.zone.filter(|_| is_worth_it) else { return column };
    if column.head.encoding != STRINGS {
        return column;
    }
    let text_of = |row: i128| values[row as usize].unwrap_or_default();
    let extremes = Extremes { least: text_of(least), greatest: text_of(greatest) };
    let matcher = Matcher::train(&sample_of(text));
    let most = text.len() / 4 * 3;
    let mut codes = Vec::with_capacity(most);
    let mut ends = Vec::with_capacity(values.len() + 1);
    ends.push(0);
    let mut start = 0;
    for value in values {
        let end = start + value.map_or(0, <[u8]>::len);
        matcher.write(text, start, end, &mut codes);
        start = end;
        if codes.len() > most {
            return column;
        }
        ends.push(codes.len() as u32);
    }
    let mut head = column.head;
    head.encoding = FSST;
    head.value_count = matcher.symbols.len() as u32;
    let table = Symbols::write(&matcher.symbols, &extremes);
    head.value_size = table.len() as u32;
    let (data, width) = ends::encode_ends(&ends);
    head.width = width;
    EncodedColumn { head, data, text: codes, values: table, ..column }
}

/// Parts of a text, taken from all over it.
fn sample_of(text: &[u8]) -> Vec<u8> {
    let (step, part) = (text.len() / SAMPLE_PARTS, SAMPLE / SAMPLE_PARTS);
    if step <= part {
        return text.to_vec();
    }
    (0..SAMPLE_PARTS).flat_map(|i| &text[i * step..i * step + part]).copied().collect()
}

impl Matcher {
    fn train(sample: &[u8]) -> Self {
        let mut matcher = Self::of(Vec::new());
        for _ in 0..ROUNDS {
            matcher = Self::of(matcher.better_symbols(sample));
        }
        matcher
    }

    /// The symbols, best first; of two long ones that have one bucket the second is left out.
    fn of(symbols: Vec<Symbol>) -> Self {
        let mut short = vec![NONE; 1 << 16];
        let mut long = vec![Long::default(); LONG_BUCKETS];
        let mut kept = Vec::with_capacity(SYMBOLS_MAX);
        for symbol in symbols {
            let code = kept.len() as u16;
            if symbol.len >= 3 {
                let bucket = &mut long[bucket_of(symbol.word)];
                if bucket.len > 0 {
                    continue;
                }
                *bucket = Long { word: symbol.word, len: symbol.len, code: code as u8 };
            }
            kept.push(symbol);
            if kept.len() == SYMBOLS_MAX {
                break;
            }
        }
        for (code, symbol) in (0..).zip(&kept).filter(|(_, symbol)| symbol.len == 1) {
            let codes = short.iter_mut().skip(symbol.word as usize).step_by(256);
            codes.for_each(|word| *word = code | 1 << 8);
        }
        for (code, symbol) in (0..).zip(&kept).filter(|(_, symbol)| symbol.len == 2) {
            short[symbol.word as usize] = code | 2 << 8;
        }
        Self { symbols: kept, short, long }
    }

    /// The code of the symbol that stands at a place of a text that ends at `end`, and the symbol's
    /// length; if there is none, that of the byte.
    #[inline]
    fn next(&self, text: &[u8], at: usize, end: usize) -> (u16, usize) {
        let left = end - at;
        let word = word_at(text, at, left);
        let long = self.long[bucket_of(word)];
        let bits = u64::MAX >> (64 - 8 * u32::from(long.len.max(1)));
        let len = usize::from(long.len);
        if len > 0 && word & bits == long.word && len <= left {
            return (long.code.into(), len);
        }
        let short = self.short[word as usize & 0xffff];
        let len = usize::from(short >> 8);
        if short != NONE && len <= left {
            return (short & 0xff, len);
        }
        (BYTES + (word as u8 as u16), 1)
    }

    /// Writes the part of a text up to `end` in codes.
    fn write(&self, text: &[u8], start: usize, end: usize, codes: &mut Vec<u8>) {
        let mut at = start;
        while at < end {
            // A few codes at a time, so that there is room for each.
            let (mut room, mut count) = ([0; 64], 0);
            while at < end && count < room.len() - 1 {
                let (code, len) = self.next(text, at, end);
                room[count] = code as u8;
                if code >= BYTES {
                    room[count] = ESCAPE;
                    count += 1;
                    room[count] = text[at];
                }
                count += 1;
                at += len;
            }
            codes.extend_from_slice(&room[..count]);
        }
    }

    /// The symbols that cover most of the sample, out of symbols, bytes, and two of them in a row.
    fn better_symbols(&self, sample: &[u8]) -> Vec<Symbol> {
        let mut pairs = Vec::with_capacity(sample.len());
        let (mut at, mut last) = (0, NO_CODE);
        while at < sample.len() {
            let (code, len) = self.next(sample, at, sample.len());
            pairs.push(u32::from(code) << 16 | u32::from(last));
            last = code;
            at += len;
        }
        pairs.sort_unstable();
        let mut found: Vec<(Symbol, usize)> = Vec::new();
        for same in pairs.chunk_by(|a, b| a >> 16 == b >> 16) {
            let symbol = self.symbol((same[0] >> 16) as u16);
            // A byte that needs no escape saves one.
            let weight = if symbol.len == 1 { 8 } else { usize::from(symbol.len) };
            found.push((symbol, same.len() * weight));
            for pair in same.chunk_by(|a, b| a == b) {
                let before = pair[0] as u16;
                if before != NO_CODE && pair.len() > 1 {
                    let both = self.symbol(before).and(symbol);
                    found.push((both, pair.len() * usize::from(both.len)));
                }
            }
        }
        found.sort_unstable();
        found.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        found.sort_unstable_by_key(|&(symbol, gain)| (std::cmp::Reverse(gain), symbol));
        found.into_iter().map(|(symbol, _)| symbol).collect()
    }

    fn symbol(&self, code: u16) -> Symbol {
        match code.checked_sub(BYTES) {
            None => self.symbols[usize::from(code)],
            Some(byte) => Symbol::byte(byte as u8),
        }
    }
}

/// The next eight bytes of a text of which `left` are left there, zeros behind them.
#[inline]
fn word_at(text: &[u8], at: usize, left: usize) -> u64 {
    match text.get(at..).and_then(|rest| rest.first_chunk::<SYMBOL_LEN_MAX>()) {
        Some(word) => u64::from_le_bytes(*word) & u64::MAX >> (64 - 8 * left.min(SYMBOL_LEN_MAX)),
        None => {
            text[at..].iter().take(left).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
        }
    }
}

/// The bucket of symbols with these first three bytes.
#[inline]
fn bucket_of(word: u64) -> usize {
    let three = word & 0x00ff_ffff;
    (three.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % LONG_BUCKETS
}
