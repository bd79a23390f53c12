//! Vectors whose elements differ in length, packed in a blob: of text, and of structs.
//!
//! The format is in `FORMAT.md`: a count, the end of each element, the elements. A struct is an
//! element that is packed again, one element for each field. An empty blob is a vector without
//! elements and an empty element a struct whose fields are all zero or empty; fields beyond the
//! last that was put are so too. Bytes that are not in the format read as no elements.

use super::status::{MCO_E_ILLEGAL_PARAM, MCO_E_TOO_LONG, Outcome};

/// A packed vector.
pub(super) struct Packed<'a> {
    ends: &'a [u8],
    elements: &'a [u8],
}

impl<'a> Packed<'a> {
    /// The vector in a blob.
    pub(super) fn of(blob: &'a [u8]) -> Self {
        Self::checked(blob).unwrap_or(Self { ends: &[], elements: &[] })
    }

    fn checked(blob: &'a [u8]) -> Option<Self> {
        let (count, rest) = blob.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (ends, elements) = rest.split_at_checked(count.checked_mul(4)?)?;
        let packed = Self { ends, elements };
        let mut before = 0;
        for index in 0..count {
            let end = packed.end(index);
            if end < before || end > elements.len() {
                return None;
            }
            before = end;
        }
        (before == elements.len()).then_some(packed)
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len() / 4
    }

    /// An element.
    pub(super) fn get(&self, index: usize) -> Outcome<&'a [u8]> {
        if index >= self.count() {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        let start = if index == 0 { 0 } else { self.end(index - 1) };
        Ok(&self.elements[start..self.end(index)])
    }

    /// A vector of empty elements, as a blob.
    pub(super) fn empty(count: usize) -> Outcome<Vec<u8>> {
        if count > u32::MAX as usize / 16 {
            return Err(MCO_E_TOO_LONG);
        }
        build(std::iter::repeat_n(&[][..], count))
    }

    /// This vector with another element, as a blob.
    pub(super) fn with(&self, index: usize, element: &[u8]) -> Outcome<Vec<u8>> {
        self.get(index)?;
        build(
            (0..self.count())
                .map(|at| if at == index { element } else { self.get(at).unwrap_or_default() }),
        )
    }

    /// As `with`, after making the vector long enough.
    pub(super) fn with_field(&self, field: usize, content: &[u8]) -> Outcome<Vec<u8>> {
        let count = self.count().max(field + 1);
        build((0..count).map(
            |at| {
                if at == field { content } else { self.get(at).unwrap_or_default() }
            },
        ))
    }

    /// This vector without some elements, as a blob.
    pub(super) fn without(&self, index: usize, count: usize) -> Outcome<Vec<u8>> {
        if index + count > self.count() {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        let kept = (0..self.count()).filter(|at| !(index..index + count).contains(at));
        build(kept.map(|at| self.get(at).unwrap_or_default()))
    }

    fn end(&self, index: usize) -> usize {
        let bytes = self.ends.get(index * 4..index * 4 + 4).and_then(|end| end.first_chunk());
        bytes.map_or(0, |end| u32::from_le_bytes(*end) as usize)
    }
}

fn build<'a>(elements: impl Iterator<Item = &'a [u8]> + Clone) -> Outcome<Vec<u8>> {
    let count = elements.clone().count();
    let len: usize = elements.clone().map(<[u8]>::len).sum();
    let whole = u32::try_from(4 + count * 4 + len).map_err(|_| MCO_E_TOO_LONG)?;
    let mut blob = Vec::with_capacity(whole as usize);
    blob.extend_from_slice(&(count as u32).to_le_bytes());
    let mut end = 0;
    for element in elements.clone() {
        end += element.len() as u32;
        blob.extend_from_slice(&end.to_le_bytes());
    }
    elements.for_each(|element| blob.extend_from_slice(element));
    Ok(blob)
}

#[cfg(test)]
mod tests;
