//! Numbers as bytes and back, as they lie in the memory of this machine.
//!
//! Whoever writes them reads them again: no other machine does, and no other version.

/// A number of a size of its own.
pub(crate) trait Number: Copy {
    /// Its bytes.
    type Bytes: AsRef<[u8]> + for<'b> TryFrom<&'b [u8]>;

    fn to_bytes(self) -> Self::Bytes;
    fn of_bytes(bytes: Self::Bytes) -> Self;
}

macro_rules! number {
    ($($number:ty)*) => {$(
        impl Number for $number {
            type Bytes = [u8; size_of::<Self>()];

            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                self.to_ne_bytes()
            }

            #[inline]
            fn of_bytes(bytes: Self::Bytes) -> Self {
                Self::from_ne_bytes(bytes)
            }
        }
    )*};
}

number!(u64 i64 i128 f64);

/// Puts numbers behind bytes.
pub(crate) fn put<N: Number>(numbers: &[N], into: &mut Vec<u8>) {
    into.reserve(size_of_val(numbers));
    numbers.iter().for_each(|number| into.extend_from_slice(number.to_bytes().as_ref()));
}

/// Takes so many numbers from the beginning of bytes; fewer, if these end before.
pub(crate) fn take<N: Number>(count: usize, from: &mut &[u8]) -> Vec<N> {
    let (numbers, rest) = from.split_at((count * size_of::<N>()).min(from.len()));
    *from = rest;
    let numbers = numbers.chunks_exact(size_of::<N>());
    numbers.filter_map(|bytes| bytes.try_into().ok()).map(N::of_bytes).collect()
}
