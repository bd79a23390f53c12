//! A list whose entries have numbers, which C holds, and are used again.
//!
//! What is taken out leaves its index to what comes next, so that a transaction that opens and
//! closes one after the other does not grow. A number also says for the how manyth time its index
//! is used: that of something that is gone is distinguished from all others. A index whose numbers
//! are used up stays empty.

/// A list; numbers have `BITS` bits, and their lowest `INDEX_BITS` are one more than the index.
pub(crate) struct Numbered<T, const INDEX_BITS: u32, const BITS: u32> {
    entries: Vec<(u64, Option<T>)>,
    /// Places that are empty and have numbers left.
    free: Vec<u32>,
}

impl<T, const INDEX_BITS: u32, const BITS: u32> Numbered<T, INDEX_BITS, BITS> {
    const MASK: u64 = (1 << INDEX_BITS) - 1;

    /// Puts it into an entry and gives its number, which is never 0; `None` if there are too many.
    #[inline]
    pub(crate) fn add(&mut self, value: T) -> Option<u64> {
        if let Some(index) = self.free.pop() {
            let (number, empty) = &mut self.entries[index as usize];
            *empty = Some(value);
            return Some(*number);
        }
        let number = self.entries.len() as u64 + 1;
        if number > Self::MASK {
            return None;
        }
        self.entries.push((number, Some(value)));
        Some(number)
    }

    /// The entry with this number.
    #[inline]
    pub(crate) fn get(&mut self, number: u64) -> Option<&mut T> {
        let index = (number & Self::MASK) as usize;
        match self.entries.get_mut(index.wrapping_sub(1)) {
            Some((here, value)) if *here == number => value.as_mut(),
            _ => None,
        }
    }

    /// Takes out what has this number.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let index = ((number & Self::MASK) as usize).wrapping_sub(1);
        let (here, value) = self.entries.get_mut(index).filter(|(here, _)| *here == number)?;
        let value = value.take()?;
        let next = here.checked_add(1 << INDEX_BITS);
        if let Some(next) = next.filter(|next| *next <= u64::MAX >> (64 - BITS)) {
            *here = next;
            self.free.push(index as u32);
        }
        Some(value)
    }

    /// Takes everything out; numbers begin anew.
    #[inline]
    pub(crate) fn clear(&mut self, mut take: impl FnMut(T)) {
        while let Some((_, value)) = self.entries.pop() {
            value.into_iter().for_each(&mut take);
        }
        self.free.clear();
    }
}

impl<T, const INDEX_BITS: u32, const BITS: u32> Default for Numbered<T, INDEX_BITS, BITS> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
