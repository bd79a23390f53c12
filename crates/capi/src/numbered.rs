//! A list whose places have numbers, which C holds, and are used again.
//!
//! What is taken out leaves its place to what comes next, so that a transaction that opens and
//! closes one after the other does not grow. A number also says for the how manyth time its place
//! is used: that of something that is gone is told from all others. A place whose numbers are used
//! up stays empty.

/// A list; numbers have `BITS` bits, and their lowest `PLACE_BITS` are one more than the place.
pub(crate) struct Numbered<T, const PLACE_BITS: u32, const BITS: u32> {
    places: Vec<(u64, Option<T>)>,
    /// Places that are empty and have numbers left.
    free: Vec<u32>,
}

impl<T, const PLACE_BITS: u32, const BITS: u32> Numbered<T, PLACE_BITS, BITS> {
    const MASK: u64 = (1 << PLACE_BITS) - 1;

    /// Puts it into a place and gives its number, which is never 0; `None` if there are too many.
    #[inline]
    pub(crate) fn add(&mut self, value: T) -> Option<u64> {
        if let Some(place) = self.free.pop() {
            let (number, empty) = &mut self.places[place as usize];
            *empty = Some(value);
            return Some(*number);
        }
        let number = self.places.len() as u64 + 1;
        if number > Self::MASK {
            return None;
        }
        self.places.push((number, Some(value)));
        Some(number)
    }

    /// What has this number.
    #[inline]
    pub(crate) fn get(&mut self, number: u64) -> Option<&mut T> {
        let place = (number & Self::MASK) as usize;
        match self.places.get_mut(place.wrapping_sub(1)) {
            Some((here, value)) if *here == number => value.as_mut(),
            _ => None,
        }
    }

    /// Takes out what has this number.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let place = ((number & Self::MASK) as usize).wrapping_sub(1);
        let (here, value) = self.places.get_mut(place).filter(|(here, _)| *here == number)?;
        let value = value.take()?;
        let next = here.checked_add(1 << PLACE_BITS);
        if let Some(next) = next.filter(|next| *next <= u64::MAX >> (64 - BITS)) {
            *here = next;
            self.free.push(place as u32);
        }
        Some(value)
    }

    /// Takes everything out; numbers begin anew.
    #[inline]
    pub(crate) fn clear(&mut self, mut take: impl FnMut(T)) {
        while let Some((_, value)) = self.places.pop() {
            value.into_iter().for_each(&mut take);
        }
        self.free.clear();
    }
}

impl<T, const PLACE_BITS: u32, const BITS: u32> Default for Numbered<T, PLACE_BITS, BITS> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
