//! The bytes of one key part: memcmp order is the order of values, and no key is a prefix of
//! another.
//!
//! Numbers: big-endian, sign bit flipped; floats so that memcmp is numeric, -0.0 as 0.0 and every
//! NaN as one, greater than all numbers. Text: 00 as 00 FF, ended by 00 01. Nullable parts begin
//! with 00 for NULL and 01 otherwise. A descending part is complemented, its null byte included.
//!
//! A part goes to a *sink*: a buffer that keeps it, or a comparison that stops at a difference.

use std::cmp::Ordering;

use crate::error::KeyTooLong;
use crate::key::buffer::KeyBuffer;

/// The byte before a part that is NULL, ascending.
pub(crate) const NULL_MARK: u8 = 0;
/// The byte before a nullable part that is not NULL, ascending.
pub(crate) const VALUE_MARK: u8 = 1;

/// Takes the bytes of a key in order.
pub(crate) trait KeySink {
    /// Why no more bytes are wanted.
    type Stop;

    /// Takes bytes as they are.
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), Self::Stop>;

    /// Takes bytes, complemented if the part is descending.
    fn put_slice(&mut self, bytes: &[u8], descending: bool) -> Result<(), Self::Stop>;

    /// Takes text that is not descending in one go, if that is quick; otherwise gives `None`, and
    /// has taken nothing.
    fn put_whole_text(&mut self, text: &[u8]) -> Option<()>;
}

impl KeySink for KeyBuffer {
    type Stop = KeyTooLong;

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), KeyTooLong> {
        self.push(&bytes)
    }

    #[inline]
    fn put_slice(&mut self, bytes: &[u8], descending: bool) -> Result<(), KeyTooLong> {
        let start = self.len();
        self.push(bytes)?;
        if descending {
            self.complement_from(start);
        }
        Ok(())
    }

    #[inline]
    fn put_whole_text(&mut self, text: &[u8]) -> Option<()> {
        self.push_escaped(text)
    }
}

/// Compares the bytes it takes with a key.
pub(crate) struct KeyComparison<'k> {
    /// The rest of the key that has not been compared.
    rest: &'k [u8],
}

impl<'k> KeyComparison<'k> {
    pub(crate) fn new(key: &'k [u8]) -> KeyComparison<'k> {
        KeyComparison { rest: key }
    }

    /// How the bytes taken compare with the key, given that all were taken without a stop.
    pub(crate) fn finish(&self) -> Ordering {
        if self.rest.is_empty() { Ordering::Equal } else { Ordering::Less }
    }

    /// Whether the key has ended, so that the bytes to come are beyond it.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl KeySink for KeyComparison<'_> {
    /// How the bytes taken compare with the key; never `Equal`.
    type Stop = Ordering;

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), Ordering> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) if *head == bytes => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(order_of(bytes.iter().copied(), self.rest)),
        }
    }

    #[inline]
    fn put_slice(&mut self, bytes: &[u8], descending: bool) -> Result<(), Ordering> {
        let flip = flip_of(descending);
        match self.rest.split_at_checked(bytes.len()) {
            Some((head, rest)) if head.iter().zip(bytes).all(|(key, byte)| *key == byte ^ flip) => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(order_of(bytes.iter().map(|byte| byte ^ flip), self.rest)),
        }
    }

    #[inline]
    fn put_whole_text(&mut self, text: &[u8]) -> Option<()> {
        let mut rest = self.rest;
        for byte in text {
            rest = match rest {
                [0, 0xff, rest @ ..] if *byte == 0 => rest,
                [first, rest @ ..] if first == byte && *byte != 0 => rest,
                _ => return None,
            };
        }
        let [0, 1, rest @ ..] = rest else { return None };
        self.rest = rest;
        Some(())
    }
}

/// The mask that a part's bytes are xored with.
#[inline]
pub(crate) fn flip_of(descending: bool) -> u8 {
    if descending { 0xff } else { 0 }
}

/// The byte before a nullable part.
#[inline]
pub(crate) fn put_mark<S: KeySink>(
    mark: u8,
    descending: bool,
    sink: &mut S,
) -> Result<(), S::Stop> {
    sink.put([mark ^ flip_of(descending)])
}

/// Text: escaped and ended.
#[inline]
pub(crate) fn put_text<S: KeySink>(
    text: &[u8],
    descending: bool,
    sink: &mut S,
) -> Result<(), S::Stop> {
    if !descending && sink.put_whole_text(text).is_some() {
        return Ok(());
    }
    let flip = flip_of(descending);
    let mut rest = text;
    while let Some(nul) = rest.iter().position(|byte| *byte == 0) {
        sink.put_slice(&rest[..nul], descending)?;
        sink.put([flip, 0xff ^ flip])?;
        rest = &rest[nul + 1..];
    }
    sink.put_slice(rest, descending)?;
    sink.put([flip, 0x01 ^ flip])
}

/// The bits of a float whose unsigned order is the order of numbers.
#[inline]
pub(crate) fn ordered_f32(number: f32) -> u32 {
    const SIGN: u32 = 1 << 31;
    let bits = match number {
        nan if nan.is_nan() => f32::NAN.to_bits() & !SIGN,
        // Adding zero makes -0.0 into 0.0 and changes nothing else.
        number => (number + 0.0).to_bits(),
    };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The bits of a float whose unsigned order is the order of numbers.
#[inline]
pub(crate) fn ordered_f64(number: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = match number {
        nan if nan.is_nan() => f64::NAN.to_bits() & !SIGN,
        number => (number + 0.0).to_bits(),
    };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The order of some bytes, of which not all are the beginning of `key`, and `key`.
#[cold]
fn order_of(bytes: impl Iterator<Item = u8>, key: &[u8]) -> Ordering {
    bytes.cmp(key.iter().copied())
}

#[cfg(test)]
mod tests;
