//! A vector column's value: a slice to be written, or the packed elements of a row, read in place.
//!
//! Elements in a row are little-endian and not aligned, so a row gives elements by value and never
//! as a slice. Both forms compare equal when their elements do.

use std::fmt;
use std::marker::PhantomData;

use crate::values::scalar::Scalar;

/// Any number of scalars, borrowed from the program or from a row.
///
/// # Examples
/// ```
/// use remanent_schema::VectorRef;
/// let samples = VectorRef::from(&[1.5f32, 2.5][..]);
/// assert_eq!(samples.get(1), Some(2.5));
/// assert_eq!(samples.iter().sum::<f32>(), 4.0);
/// ```
#[derive(Clone, Copy)]
pub struct VectorRef<'a, T> {
    source: Source<'a, T>,
}

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Slice(&'a [T]),
    /// A whole number of elements.
    Packed(&'a [u8], PhantomData<T>),
}

impl<'a, T: Scalar> VectorRef<'a, T> {
    /// The elements in the bytes of a row; bytes after the last whole element are not inspected.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let samples = VectorRef::<u16>::from_packed(&[1, 0, 2, 1, 9]);
    /// assert_eq!(samples.to_vec(), [1, 0x0102]);
    /// assert_eq!(samples, VectorRef::from(&[1, 258]));
    /// ```
    #[inline]
    pub fn from_packed(bytes: &'a [u8]) -> VectorRef<'a, T> {
        let len = bytes.len() / T::SIZE * T::SIZE;
        VectorRef { source: Source::Packed(&bytes[..len], PhantomData) }
    }

    /// The number of elements.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(VectorRef::from(&[0.5, 1.5]).len(), 2);
    /// assert_eq!(VectorRef::<u32>::from_packed(&[0; 12]).len(), 3);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        match self.source {
            Source::Slice(elements) => elements.len(),
            Source::Packed(bytes, _) => bytes.len() / T::SIZE,
        }
    }

    /// Whether there are no elements.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(VectorRef::<f32>::default().is_empty());
    /// assert!(!VectorRef::from(&[0.5]).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let samples = VectorRef::from(&[10, 20, 30]);
    /// assert_eq!(samples.get(2), Some(30));
    /// assert_eq!(samples.get(3), None);
    /// ```
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        match self.source {
            Source::Slice(elements) => elements.get(index).copied(),
            Source::Packed(bytes, _) => {
                let start = index.checked_mul(T::SIZE)?;
                Some(T::read(bytes.get(start..start.checked_add(T::SIZE)?)?))
            }
        }
    }

    /// The elements in order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let samples = VectorRef::from(&[1.0, 4.0, 2.0]);
    /// assert_eq!(samples.iter().fold(0.0, f64::max), 4.0);
    /// assert_eq!(samples.iter().len(), 3);
    /// ```
    #[inline]
    pub fn iter(&self) -> VectorIter<'a, T> {
        VectorIter { vector: *self, next: 0 }
    }

    /// The elements, copied.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let packed = [7, 0, 8, 0];
    /// let mut numbers = VectorRef::<u16>::from_packed(&packed).to_vec();
    /// numbers.push(9);
    /// assert_eq!(numbers, [7, 8, 9]);
    /// ```
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }

    /// Writes the packed elements to `out`, which has `len * SIZE` bytes.
    #[inline]
    pub(crate) fn write_packed(&self, out: &mut [u8]) {
        match self.source {
            Source::Packed(bytes, _) => out.copy_from_slice(bytes),
            Source::Slice(elements) => {
                for (element, place) in elements.iter().zip(out.chunks_exact_mut(T::SIZE)) {
                    element.write(place);
                }
            }
        }
    }
}

/// The elements of a [`VectorRef`], in order.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let samples = VectorRef::from(&[10, 20, 30]);
/// let mut iter = samples.iter();
/// assert_eq!(iter.next(), Some(10));
/// assert_eq!(iter.len(), 2);
/// assert_eq!(iter.collect::<Vec<i32>>(), [20, 30]);
/// ```
#[derive(Clone)]
pub struct VectorIter<'a, T> {
    vector: VectorRef<'a, T>,
    next: usize,
}

impl<T: Scalar> Iterator for VectorIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let element = self.vector.get(self.next)?;
        self.next += 1;
        Some(element)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.vector.len() - self.next;
        (left, Some(left))
    }
}

impl<T: Scalar> ExactSizeIterator for VectorIter<'_, T> {}

impl<'a, T: Scalar> IntoIterator for VectorRef<'a, T> {
    type Item = T;
    type IntoIter = VectorIter<'a, T>;

    fn into_iter(self) -> VectorIter<'a, T> {
        self.iter()
    }
}

impl<'a, T> From<&'a [T]> for VectorRef<'a, T> {
    #[inline]
    fn from(elements: &'a [T]) -> VectorRef<'a, T> {
        VectorRef { source: Source::Slice(elements) }
    }
}

impl<'a, T> From<&'a Vec<T>> for VectorRef<'a, T> {
    #[inline]
    fn from(elements: &'a Vec<T>) -> VectorRef<'a, T> {
        VectorRef { source: Source::Slice(elements) }
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for VectorRef<'a, T> {
    #[inline]
    fn from(elements: &'a [T; N]) -> VectorRef<'a, T> {
        VectorRef { source: Source::Slice(elements) }
    }
}

impl<T> Default for VectorRef<'_, T> {
    fn default() -> Self {
        VectorRef { source: Source::Slice(&[]) }
    }
}

impl<T: Scalar + PartialEq> PartialEq for VectorRef<'_, T> {
    fn eq(&self, other: &VectorRef<'_, T>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Scalar + Eq> Eq for VectorRef<'_, T> {}

impl<T: Scalar + fmt::Debug> fmt::Debug for VectorRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
