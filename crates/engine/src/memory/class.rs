//! Size classes: which block sizes a 16 KiB page is cut into.
//!
//! Each class is the largest multiple of 16 bytes of which n fit in a page, so the tail of a page
//! is never more than n * 16 bytes; neighbours are at most about 14 % apart (above 2 KiB: one
//! block more or less a page), which bounds what a block wastes. Sizes above the largest class are
//! runs of whole pages.

/// Bytes of a page.
pub(crate) const PAGE_SIZE: usize = 1 << PAGE_SHIFT;
/// log2 of the bytes of a page.
pub(crate) const PAGE_SHIFT: u32 = 14;
/// Every block starts at a multiple of this.
pub(crate) const GRANULE: usize = 16;
/// Number of size classes.
pub(crate) const CLASSES: usize = SIZES.len();
/// The largest block cut from a page; anything longer is a run of pages.
pub(crate) const BLOCK_SIZE_MAX: usize = SIZES[CLASSES - 1] as usize;

const SIZES: [u16; 49] = [
    32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416,
    448, 480, 512, 544, 576, 624, 672, 704, 736, 768, 816, 848, 896, 960, 1024, 1088, 1168, 1248,
    1360, 1488, 1632, 1808, 2048, 2336, 2720, 3264, 4096, 5456, 8192,
];

const CLASS_OF_GRANULES: [u8; BLOCK_SIZE_MAX / GRANULE + 1] = class_of_granules();

/// The class whose blocks hold `size` bytes; `None` if that takes whole pages.
#[inline]
pub(crate) fn class_of(size: usize) -> Option<usize> {
    CLASS_OF_GRANULES.get(size.div_ceil(GRANULE)).map(|&class| class as usize)
}

/// Bytes of a block of `class`.
#[inline]
pub(crate) fn size_of_class(class: usize) -> usize {
    SIZES[class] as usize
}

/// Blocks in a page of `class`.
#[inline]
pub(crate) fn blocks_per_page(class: usize) -> usize {
    PAGE_SIZE / size_of_class(class)
}

/// Bytes that an allocation of `size` occupies.
#[inline]
pub(crate) fn occupied(size: usize) -> usize {
    match class_of(size) {
        Some(class) => size_of_class(class),
        None => size.next_multiple_of(PAGE_SIZE),
    }
}

const fn class_of_granules() -> [u8; BLOCK_SIZE_MAX / GRANULE + 1] {
    let mut table = [0; BLOCK_SIZE_MAX / GRANULE + 1];
    let mut class = 0;
    let mut granules = 0;
    while granules < table.len() {
        if granules * GRANULE > SIZES[class] as usize {
            class += 1;
        }
        table[granules] = class as u8;
        granules += 1;
    }
    table
}

const _: () = {
    let mut class = 0;
    while class < CLASSES {
        assert!((SIZES[class] as usize).is_multiple_of(GRANULE));
        assert!(class == 0 || SIZES[class] > SIZES[class - 1]);
        class += 1;
    }
    assert!(BLOCK_SIZE_MAX * 2 == PAGE_SIZE);
};

#[cfg(test)]
mod tests;
