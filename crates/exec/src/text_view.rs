//! Texts as views of 16 bytes: what is short stands in the view, what is longer behind the others.
//!
//! The lower 4 bytes are the length. Text of at most 12 bytes follows, with zeros behind it; of a
//! longer one its first 4 bytes, 4 bytes of zeros (the number of the only buffer), and 4 bytes that
//! say where it begins in the buffer. (Neumann and Freitag, Umbra: A Disk-Based System with
//! In-Memory Performance, CIDR 2020; Arrow's Utf8View.)

#[cfg(test)]
mod tests;

use remanent_engine::{Ends, Symbols};

use crate::rows::Rows;

/// Bytes of the longest text that stands in its view.
pub(crate) const INLINE_MAX: usize = 12;

/// Texts as views. Only this crate makes them: each is a whole value of a column of text, which
/// the engine has checked to be UTF-8 when it came in, and lies where its view says.
#[derive(Debug)]
pub struct TextViews {
    views: Vec<u128>,
    /// `None` if the views lead into the text of a dictionary.
    bytes: Option<Vec<u8>>,
}

impl TextViews {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The views, and the bytes that they lead into: `None` if these are the text of the
    /// [`Dictionary`](crate::Dictionary) that was given to [`decode`](crate::decode).
    pub fn into_parts(self) -> (Vec<u128>, Option<Vec<u8>>) {
        (self.views, self.bytes)
    }

    /// A copy of the text with this index; `dictionary` has the bytes that the views lead into
    /// where they have none of their own.
    ///
    /// # Panics
    /// If there is no such text.
    pub fn get(&self, index: usize, dictionary: &[u8]) -> Vec<u8> {
        let view = self.views[index];
        let len = view as u32 as usize;
        if len > INLINE_MAX {
            let at = (view >> 96) as usize;
            return self.bytes.as_deref().unwrap_or(dictionary)[at..at + len].to_vec();
        }
        view.to_le_bytes()[4..4 + len].to_vec()
    }

    /// Views into the text of a dictionary.
    pub(crate) fn into_dictionary(views: Vec<u128>) -> Self {
        Self { views, bytes: None }
    }

    /// These texts, one behind the other.
    pub(crate) fn from_texts<'b>(texts: impl Iterator<Item = &'b [u8]>) -> Self {
        let mut bytes = Vec::new();
        let views = texts.map(|text| {
            let at = bytes.len() as u32;
            if text.len() > INLINE_MAX {
                bytes.extend_from_slice(text);
            }
            view_of(text, at)
        });
        let views = views.collect();
        Self { views, bytes: Some(bytes) }
    }

    /// No texts, and room for so many, and for so many bytes of those that are long.
    pub(crate) fn with_room(texts: usize, bytes: usize) -> Self {
        let (views, bytes) = (Vec::with_capacity(texts), Vec::with_capacity(bytes));
        Self { views, bytes: Some(bytes) }
    }

    /// Adds texts that lie in rows, each from one place up to another. All texts have to take less
    /// than 4 GiB.
    #[inline]
    pub(crate) fn append<'r>(&mut self, texts: impl Iterator<Item = (&'r [u8], usize, usize)>) {
        let bytes = self.bytes.get_or_insert_default();
        self.views.extend(texts.map(|(row, start, end)| match end - start {
            len @ ..=INLINE_MAX => inline_view(row, start, len),
            _ => {
                let (text, at) = (&row[start..end], bytes.len() as u32);
                bytes.extend_from_slice(text);
                view_of(text, at)
            }
        }));
    }

    /// Bytes of text that the views lead into, of their own.
    pub(crate) fn own_bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, Vec::len)
    }

    /// Texts that lie behind one another.
    pub(crate) fn from_strings(ends: Ends<'_>, bytes: &[u8], rows: Rows<'_>) -> Self {
        let Rows::Stretch(from, to) = rows else {
            let mut kept = Vec::new();
            let views = rows.map(|row| {
                let own = &bytes[ends.range(row)];
                let at = kept.len() as u32;
                if own.len() > INLINE_MAX {
                    kept.extend_from_slice(own);
                }
                view_of(own, at)
            });
            return Self { views, bytes: Some(kept) };
        };
        let start = ends.start(from);
        let views = rows.map(|row| {
            let range = ends.range(row);
            let at = range.start - start;
            view_of(&bytes[range], at as u32)
        });
        Self { views, bytes: Some(bytes[start..ends.start(to)].to_vec()) }
    }

    /// Texts that are written in symbols.
    pub(crate) fn from_symbols(
        ends: Ends<'_>,
        codes: &[u8],
        symbols: &Symbols<'_>,
        rows: Rows<'_>,
    ) -> Self {
        let (mut text, writer) = (Vec::new(), symbols.writer());
        if let Rows::Stretch(from, to) = rows {
            // A code stands for about three bytes.
            text.reserve((ends.start(to) - ends.start(from)) * 4);
        }
        let views = rows.map(|row| {
            let at = text.len();
            writer.append(&codes[ends.range(row)], &mut text);
            let view = view_of(&text[at..], at as u32);
            if text.len() - at <= INLINE_MAX {
                text.truncate(at);
            }
            view
        });
        Self { views, bytes: Some(text) }
    }
}

/// The view of a text that, if it is long, begins at this place of the buffer.
///
/// Short text is loaded as two numbers, which overlap where it has not the length of both, and
/// agree there: a copy of as many bytes as there are would be a call.
pub(crate) fn view_of(text: &[u8], at: u32) -> u128 {
    let len = text.len();
    let head = match len {
        0 => 0,
        1..4 => {
            let byte = |at: usize| u64::from(text[at]) << (8 * at);
            u128::from(byte(0) | byte(len / 2) | byte(len - 1))
        }
        4..8 => u128::from(word(text, 0) | word(text, len - 4) << (8 * (len - 4))),
        8..=INLINE_MAX => {
            let low = word(text, 0) | word(text, 4) << 32;
            let high = word(text, len - 4) >> (8 * (INLINE_MAX - len));
            u128::from(low) | u128::from(high) << 64
        }
        _ => u128::from(word(text, 0)) | u128::from(at) << 64,
    };
    len as u128 | head << 32
}

/// The view of a short text that lies in a row from `start` on. Where enough bytes follow they are
/// loaded with it and taken away again, without a branch by its length.
#[inline]
pub(crate) fn inline_view(row: &[u8], start: usize, len: usize) -> u128 {
    let Some(bytes) = row[start..].first_chunk::<INLINE_LOAD>() else {
        return view_of(&row[start..start + len], 0);
    };
    let bytes = u128::from_le_bytes(*bytes) & ((1 << (8 * len)) - 1);
    len as u128 | bytes << 32
}

/// Bytes that are loaded for a short text.
const INLINE_LOAD: usize = 16;

/// The number in four bytes of a text.
#[inline]
fn word(text: &[u8], at: usize) -> u64 {
    let bytes = text[at..].first_chunk().copied().unwrap_or_default();
    u64::from(u32::from_le_bytes(bytes))
}
