//! How much memory is made of what a client sends, before it is made.
//!
//! A statement's tree is far larger than its text, which counts for little by itself: what counts
//! is how many words it has. Estimates are meant to be too high rather than too low.

use remanent_sql::Datum;

/// Bytes that a word of a statement becomes, in the parser and in plans.
const WORD_BYTES: usize = 800;
/// Bytes that a byte of a long literal becomes, by copies of it.
const LETTER_BYTES: usize = 16;
/// Texts up to here are not inspected.
const SHORT_BYTES: usize = 256;
/// What a statement takes that is kept, beside its words.
pub(super) const STATEMENT_BYTES: usize = 8 << 10;
/// How many bytes become of one of a list in binary, at most: a NULL of four bytes is a value.
pub(super) const LIST_FACTOR: usize = 16;
/// How often a value that was bound is there while its statement runs.
pub(super) const VALUE_FACTOR: usize = 4;
/// What a portal takes beside its values, with the operators that run.
pub(super) const PORTAL_BYTES: usize = 16 << 10;

/// What a statement with this text takes while it runs.
pub(super) fn of_text(text: &str) -> usize {
    if text.len() <= SHORT_BYTES {
        return 0;
    }
    words(text.as_bytes()).saturating_mul(WORD_BYTES).saturating_add(text.len() * LETTER_BYTES)
}

/// The words and signs of a text, of which a quoted one is one where it is plain where it ends.
fn words(text: &[u8]) -> usize {
    let next = text.iter().skip(1).chain(b" ");
    // Other quotes and comments could hide where quotes begin: then none are inspected.
    let is_odd = |(a, b): (&u8, &u8)| match a {
        b'"' | b'\\' => true,
        b'$' => !b.is_ascii_digit(),
        b'-' => *b == b'-',
        b'/' => *b == b'*',
        _ => false,
    };
    let is_plain = !text.iter().zip(next).any(is_odd);
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let (mut count, mut quoted, mut in_word) = (0, false, false);
    for &byte in text {
        if byte == b'\'' && is_plain {
            quoted = !quoted;
        }
        let is_letter = is_letter(byte);
        if !(quoted || byte.is_ascii_whitespace() || is_letter && in_word) {
            count += 1;
        }
        in_word = is_letter;
    }
    count
}

/// What values take.
pub(super) fn of_row(row: &[Datum]) -> usize {
    row.iter().map(of_datum).sum::<usize>() + 2 * size_of::<Vec<Datum>>()
}

fn of_datum(datum: &Datum) -> usize {
    let own = size_of::<Datum>();
    match datum {
        Datum::Text(text) => own + allocated(text.len()),
        Datum::Bytes(bytes) => own + allocated(bytes.len()),
        Datum::List(elements) => own + of_row(elements),
        _ => own,
    }
}

/// What an allocator takes for so many bytes: an eighth more at most, and something each time.
fn allocated(bytes: usize) -> usize {
    bytes + bytes / 8 + 16
}

#[cfg(test)]
mod tests;
