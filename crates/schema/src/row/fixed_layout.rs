//! Where each leaf lies in a row's fixed part, computed at compile time or at run time alike.
//!
//! One const function decides: leaves in groups of alignment 8, 4, 2, 1, in declared order within
//! a group, then the null bitmap. A variable leaf has a 4-byte slot here that holds the *end* of
//! its bytes, counted from the row's start; its bytes begin where the previous variable leaf's
//! end, the first at `fixed_size`. Since every size is a multiple of its alignment there is no
//! padding: each byte of the fixed part belongs to one leaf or to the bitmap.
//!
//! Derived code evaluates this in constants; `RowLayout` evaluates it for schemas made at run time.

/// The null bit of a leaf that is never NULL.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let layout = fixed_layout(&[LeafShape::fixed(1, 1), LeafShape::fixed(1, 1).nullable()]);
/// assert_eq!(layout.null_bits, [NO_NULL_BIT, 0]);
/// ```
pub const NO_NULL_BIT: u16 = u16::MAX;

/// The start slot of the first variable leaf, and of every fixed leaf.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::VARIABLE]);
/// assert_eq!(layout.starts, [NO_START, layout.offsets[0]]);
/// ```
pub const NO_START: u32 = u32::MAX;

/// The properties of a leaf that the layout needs.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let layout = fixed_layout(&[LeafShape::fixed(2, 2), LeafShape::VARIABLE.nullable()]);
/// // The 4-byte slot comes first; then the number, then a byte of null bits.
/// assert_eq!(layout.offsets, [4, 0]);
/// assert_eq!(layout.fixed_size, 4 + 2 + 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafShape {
    /// Bytes in the fixed part; ignored for variable leaves.
    pub size: u32,
    /// 1, 2, 4 or 8, and a divisor of `size`; ignored for variable leaves.
    pub align: u32,
    /// Whether the leaf has a bit in the null bitmap.
    pub nullable: bool,
    /// Whether the leaf's bytes are in the variable part.
    pub variable: bool,
}

impl LeafShape {
    /// A leaf of `size` bytes in the fixed part, never NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::fixed(1, 1), LeafShape::fixed(4, 4)]);
    /// assert_eq!(layout.offsets, [4, 0]);
    /// ```
    pub const fn fixed(size: u32, align: u32) -> LeafShape {
        LeafShape { size, align, nullable: false, variable: false }
    }

    /// A leaf in the variable part, never NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::VARIABLE]);
    /// assert_eq!(layout.fixed_size, 4);
    /// ```
    pub const VARIABLE: LeafShape =
        LeafShape { size: 4, align: 4, nullable: false, variable: true };

    /// The leaf that says whether a nullable struct is there: a null bit and nothing else.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::PRESENCE, LeafShape::fixed(4, 4)]);
    /// assert_eq!((layout.null_offset, layout.fixed_size), (4, 5));
    /// assert_eq!(layout.null_bits, [0, NO_NULL_BIT]);
    /// ```
    pub const PRESENCE: LeafShape =
        LeafShape { size: 0, align: 1, nullable: true, variable: false };

    /// The same leaf, allowed to be NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::fixed(4, 4), LeafShape::fixed(4, 4).nullable()]);
    /// assert_eq!(layout.null_bits, [NO_NULL_BIT, 0]);
    /// ```
    pub const fn nullable(self) -> LeafShape {
        LeafShape { nullable: true, ..self }
    }

    /// Copies `from` into `to` at `at`, for joining the leaves of fields in constants.
    ///
    /// # Panics
    /// If `to` is too short; in a constant, at compile time.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// const POINT: [LeafShape; 2] = [LeafShape::fixed(8, 8); 2];
    /// const LEAVES: [LeafShape; 3] = {
    ///     let mut leaves = [LeafShape::fixed(4, 4); 3];
    ///     LeafShape::copy_into(&POINT, &mut leaves, 1);
    ///     leaves
    /// };
    /// assert_eq!(fixed_layout(&LEAVES).offsets, [16, 0, 8]);
    /// ```
    pub const fn copy_into(from: &[LeafShape], to: &mut [LeafShape], at: usize) {
        let mut index = 0;
        while index < from.len() {
            to[at + index] = from[index];
            index += 1;
        }
    }
}

/// The offsets of `N` leaves.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let layout: FixedLayout<2> = fixed_layout(&[LeafShape::VARIABLE, LeafShape::VARIABLE]);
/// assert_eq!(layout.offsets, [0, 4]);
/// // The second one's bytes begin where the first one's end.
/// assert_eq!(layout.starts, [NO_START, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedLayout<const N: usize> {
    /// Each leaf's place in bytes from the row's start; of a variable leaf, its end slot.
    pub offsets: [u32; N],
    /// Of a variable leaf, the slot that holds where its bytes begin, or [`NO_START`].
    pub starts: [u32; N],
    /// Each leaf's bit in the null bitmap, or [`NO_NULL_BIT`].
    pub null_bits: [u16; N],
    /// Offset of the null bitmap.
    pub null_offset: u32,
    /// Offset of the variable part.
    pub fixed_size: u32,
}

impl<const N: usize> FixedLayout<N> {
    /// The layout without its length in the type.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::fixed(4, 4), LeafShape::fixed(8, 8)]);
    /// assert_eq!(layout.slots().offsets, [8, 0]);
    /// assert_eq!(layout.slots().fixed_size, 12);
    /// ```
    pub const fn slots(&self) -> Slots<'_> {
        Slots {
            offsets: &self.offsets,
            starts: &self.starts,
            null_bits: &self.null_bits,
            null_offset: self.null_offset,
            fixed_size: self.fixed_size,
        }
    }
}

/// A [`FixedLayout`] of any number of leaves, borrowed.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// fn leaves(slots: Slots<'_>) -> usize {
///     slots.offsets.len()
/// }
/// let layout = fixed_layout(&[LeafShape::fixed(4, 4), LeafShape::VARIABLE]);
/// assert_eq!(leaves(layout.slots()), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slots<'s> {
    /// See [`FixedLayout::offsets`].
    pub offsets: &'s [u32],
    /// See [`FixedLayout::starts`].
    pub starts: &'s [u32],
    /// See [`FixedLayout::null_bits`].
    pub null_bits: &'s [u16],
    /// See [`FixedLayout::null_offset`].
    pub null_offset: u32,
    /// See [`FixedLayout::fixed_size`].
    pub fixed_size: u32,
}

/// Lays out `leaves`, given in declared order.
///
/// # Panics
/// If the fixed part would not fit 32 bits or there are 65,535 nullable leaves or more; in a
/// constant, at compile time.
///
/// # Examples
/// ```
/// use remanent_schema::{LeafShape, fixed_layout};
/// const LAYOUT: remanent_schema::FixedLayout<3> = fixed_layout(&[
///     LeafShape::fixed(1, 1),
///     LeafShape::VARIABLE.nullable(),
///     LeafShape::fixed(8, 8),
/// ]);
/// assert_eq!(LAYOUT.offsets, [12, 8, 0]);
/// assert_eq!((LAYOUT.null_offset, LAYOUT.fixed_size), (13, 14));
/// ```
pub const fn fixed_layout<const N: usize>(leaves: &[LeafShape; N]) -> FixedLayout<N> {
    let mut layout = FixedLayout {
        offsets: [0; N],
        starts: [NO_START; N],
        null_bits: [NO_NULL_BIT; N],
        null_offset: 0,
        fixed_size: 0,
    };
    let (null_offset, fixed_size) =
        lay_out(leaves, &mut layout.offsets, &mut layout.starts, &mut layout.null_bits);
    layout.null_offset = null_offset;
    layout.fixed_size = fixed_size;
    layout
}

/// Fills three slices as long as `leaves`; gives the null bitmap's offset and the fixed size.
pub(crate) const fn lay_out(
    leaves: &[LeafShape],
    offsets: &mut [u32],
    starts: &mut [u32],
    null_bits: &mut [u16],
) -> (u32, u32) {
    let mut end = 0u32;
    let mut align = 8;
    while align > 0 {
        let mut leaf = 0;
        while leaf < leaves.len() {
            let shape = if leaves[leaf].variable { LeafShape::VARIABLE } else { leaves[leaf] };
            if shape.align == align {
                assert!(shape.size.is_multiple_of(align), "a leaf's size divides by its alignment");
                offsets[leaf] = end;
                end = match end.checked_add(shape.size) {
                    Some(end) => end,
                    None => panic!("the fixed part of a row is too long"),
                };
            }
            leaf += 1;
        }
        align /= 2;
    }
    let mut start = NO_START;
    let mut bits = 0u16;
    let mut leaf = 0;
    while leaf < leaves.len() {
        starts[leaf] = NO_START;
        if leaves[leaf].variable {
            starts[leaf] = start;
            start = offsets[leaf];
        }
        null_bits[leaf] = NO_NULL_BIT;
        if leaves[leaf].nullable {
            null_bits[leaf] = bits;
            bits += 1;
        }
        leaf += 1;
    }
    (end, end + bits.div_ceil(8) as u32)
}

#[cfg(test)]
mod tests;
