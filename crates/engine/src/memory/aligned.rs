//! Bytes of the region as arrays of numbers.
//!
//! The numbers in the region are little-endian, and so is every machine that this runs on: an array
//! of them is a slice of numbers where it begins at a multiple of their size.

const _: () = assert!(cfg!(target_endian = "little"));

/// The 4-byte numbers in these bytes.
///
/// # Panics
/// If they do not begin at a multiple of 4 or are no whole number of numbers.
#[inline]
pub(crate) fn as_u32s(bytes: &[u8]) -> &[u32] {
    // SAFETY: any four bytes are a number.
    let (before, numbers, after) = unsafe { bytes.align_to() };
    assert!(before.is_empty() && after.is_empty(), "an array begins where its numbers can");
    numbers
}

/// As [`as_u32s`], for 8-byte numbers.
///
/// # Panics
/// If they do not begin at a multiple of 8 or are no whole number of numbers.
#[inline]
pub(crate) fn as_u64s(bytes: &[u8]) -> &[u64] {
    // SAFETY: any eight bytes are a number.
    let (before, numbers, after) = unsafe { bytes.align_to() };
    assert!(before.is_empty() && after.is_empty(), "an array begins where its numbers can");
    numbers
}
