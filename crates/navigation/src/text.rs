//! Text of C programs in columns that hold UTF-8: any bytes in, the same bytes out.
//!
//! Valid UTF-8 is stored as it is. A byte that is not part of valid UTF-8 is stored as the
//! private-use code point U+F780 + (byte - 0x80); the bytes of such a code point in the input are
//! escaped in the same way, so decoding is unambiguous. An escaped byte takes three. Text without
//! the lead byte EF, which is nearly all text, is only checked and copied.
//!
//! Who calls this decides where text is stored; nothing here knows of rows.

use std::mem::MaybeUninit;

/// The lead byte of every escape.
const LEAD: u8 = 0xef;

/// The text to store for these bytes: the bytes themselves, or made in `buffer`.
///
/// # Examples
/// ```
/// use remanent_navigation::text;
/// let mut buffer = Vec::new();
/// assert_eq!(text::encode(b"Ulm", &mut buffer), "Ulm");
/// // A letter of Latin-1.
/// assert_eq!(text::encode(b"M\xfcnchen", &mut buffer), "M\u{f7fc}nchen");
/// ```
#[inline]
pub fn encode<'a>(bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a str {
    match ascii(bytes) {
        Some(text) => text,
        None => encode_more(bytes, buffer),
    }
}

/// The bytes as text, if they are ASCII.
///
/// # Examples
/// ```
/// use remanent_navigation::text;
/// assert_eq!(text::ascii(b"Ulm"), Some("Ulm"));
/// assert_eq!(text::ascii("Köln".as_bytes()), None);
/// ```
#[inline]
pub fn ascii(bytes: &[u8]) -> Option<&str> {
    // All are inspected, which takes less time than to stop at the first that is not ASCII.
    let (chunks, rest) = bytes.as_chunks::<32>();
    let mut all = [0u8; 32];
    for chunk in chunks {
        for (all, byte) in all.iter_mut().zip(chunk) {
            *all |= byte;
        }
    }
    let (pairs, rest) = rest.as_chunks::<4>();
    let some = pairs.iter().fold(0, |some, pair| some | u32::from_ne_bytes(*pair));
    let more = all.iter().chain(rest).fold(0, |some, byte| some | byte);
    if more < 0x80 && some & 0x8080_8080 == 0 {
        // SAFETY: ASCII is UTF-8.
        return Some(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    None
}

fn encode_more<'a>(bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a str {
    match std::str::from_utf8(bytes) {
        Ok(text) if next_escape(bytes).is_none() => text,
        _ => {
            encode_into(bytes, buffer);
            std::str::from_utf8(buffer).unwrap_or_default()
        }
    }
}

/// Copies the bytes behind stored text into `place`, as many as fit, and fills the rest with NUL;
/// whether some did not fit.
///
/// # Examples
/// ```
/// use remanent_navigation::text::decode_padded;
/// let mut place = [0xff; 6];
/// assert!(!decode_padded("\u{f7fc}x".as_bytes(), &mut place));
/// assert_eq!(place, *b"\xfcx\0\0\0\0");
/// assert!(decode_padded(b"longer than six", &mut place));
/// ```
#[inline]
pub fn decode_padded(text: &[u8], place: &mut [u8]) -> bool {
    if next_escape(text).is_none() {
        let len = text.len().min(place.len());
        place[..len].copy_from_slice(&text[..len]);
        place[len..].fill(0);
        return len < text.len();
    }
    let mut len = 0;
    each_byte(text, |byte| {
        if let Some(free) = place.get_mut(len) {
            *free = byte;
        }
        len += 1;
    });
    let end = len.min(place.len());
    place[end..].fill(0);
    len > place.len()
}

/// Copies the bytes behind stored text into `buffer`, as many as fit, and returns how many there
/// are.
///
/// # Examples
/// ```
/// use std::mem::MaybeUninit;
/// let mut buffer = [MaybeUninit::new(0_u8); 2];
/// assert_eq!(remanent_navigation::text::decode(b"Ulm", &mut buffer), 3);
/// ```
#[inline]
pub fn decode(text: &[u8], buffer: &mut [MaybeUninit<u8>]) -> usize {
    if next_escape(text).is_none() {
        let fits = text.len().min(buffer.len());
        buffer[..fits].write_copy_of_slice(&text[..fits]);
        return text.len();
    }
    let mut len = 0;
    each_byte(text, |byte| {
        if let Some(place) = buffer.get_mut(len) {
            place.write(byte);
        }
        len += 1;
    });
    len
}

/// How many bytes `decode` gives.
///
/// # Examples
/// ```
/// assert_eq!(remanent_navigation::text::decoded_len("\u{f7fc}x".as_bytes()), 2);
/// ```
pub fn decoded_len(text: &[u8]) -> usize {
    decode(text, &mut [])
}

#[cold]
fn encode_into(bytes: &[u8], buffer: &mut Vec<u8>) {
    buffer.clear();
    for chunk in bytes.utf8_chunks() {
        let mut valid = chunk.valid().as_bytes();
        while let Some(at) = next_escape(valid) {
            buffer.extend_from_slice(&valid[..at]);
            valid[at..at + 3].iter().for_each(|&byte| push_escape(byte, buffer));
            valid = &valid[at + 3..];
        }
        buffer.extend_from_slice(valid);
        chunk.invalid().iter().for_each(|&byte| push_escape(byte, buffer));
    }
}

/// Where the first escape is. (In valid UTF-8 a lead byte has all its bytes behind it.)
#[inline]
fn next_escape(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = memchr::memchr(LEAD, &text[from..]) {
        let at = from + at;
        if escaped(&text[at..]).is_some() {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The byte that the escape at the start of `text` stands for.
fn escaped(text: &[u8]) -> Option<u8> {
    match *text {
        [LEAD, 0x9e, last @ 0x80..=0xbf, ..] => Some(last),
        [LEAD, 0x9f, last @ 0x80..=0xbf, ..] => Some(last + 0x40),
        _ => None,
    }
}

/// Appends the escape of a byte, which is from 0x80 on.
fn push_escape(byte: u8, buffer: &mut Vec<u8>) {
    let (middle, last) = if byte < 0xc0 { (0x9e, byte) } else { (0x9f, byte - 0x40) };
    buffer.extend_from_slice(&[LEAD, middle, last]);
}

fn each_byte(text: &[u8], mut visit: impl FnMut(u8)) {
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        match escaped(rest) {
            Some(byte) => {
                visit(byte);
                rest = &rest[3..];
            }
            None => {
                visit(first);
                rest = behind;
            }
        }
    }
}

#[cfg(test)]
mod tests;
