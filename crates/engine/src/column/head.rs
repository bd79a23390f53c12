//! What a column says of itself: 96 bytes at the front of its segment's block.
//!
//! All numbers are little-endian and all offsets from the block's start. The fields stand in the
//! order of [`ColumnHead`]: six of 4 bytes, the fifth being flags, five of 8 bytes, two of 16.

/// No row has a value.
pub(crate) const ALL_NULL: u32 = 0;
/// All rows that have a value have the same; it lies where text lies.
pub(crate) const CONSTANT: u32 = 1;
/// Frame of reference: unsigned differences from the zone's least value; of three bytes, the lower
/// two of all rows lie before the third of each.
pub(crate) const OFFSETS: u32 = 2;
/// The values, one behind the other.
pub(crate) const PLAIN: u32 = 3;
/// Codes, which index a sorted array of values.
pub(crate) const DICTIONARY: u32 = 4;
/// Plain strings: the offsets at which values end in the bytes behind each other, beginning with 0
/// (`ends.rs`).
pub(crate) const STRINGS: u32 = 5;
/// As plain strings, of FSST codes; the symbols lie where the values of a dictionary do.
pub(crate) const FSST: u32 = 6;

/// Bytes of a head.
pub(crate) const HEAD_SIZE: usize = 96;

const ZONE: u32 = 1;

/// A column's head, taken apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct ColumnHead {
    /// One of the tags above.
    pub(crate) encoding: u32,
    /// Bytes of an offset, of a code, of a plain value, or of an end of a text; of the last,
    /// 0 are 4.
    pub(crate) width: u32,
    /// Of a dictionary: bytes of a value; 0 if they differ in length. Of FSST: bytes of the symbol
    /// table. Of offsets and plain numbers: bytes of a number of a zone.
    pub(crate) value_size: u32,
    /// Of a dictionary: how many values. Of FSST: how many symbols. Of offsets and plain numbers:
    /// how many zones.
    pub(crate) value_count: u32,
    /// The number of null rows.
    pub(crate) null_count: u32,
    /// Offset of the null bitmap, a bit for each row; 0 if none is null.
    pub(crate) nulls: u64,
    /// Offset of the array that has one entry for each row; 0 if there is none.
    pub(crate) data: u64,
    /// Of a dictionary: offset of its values, or of their ends. Of FSST: of the
    /// symbol table. Of offsets and plain numbers: of their zones; 0 if they have none.
    pub(crate) values: u64,
    /// Offset and length of the bytes of text and of a constant.
    pub(crate) text: u64,
    pub(crate) text_len: u64,
    /// The least and greatest integer, or the bits of floats, or the rows that have the least and
    /// the greatest text; a flag says whether there are any.
    pub(crate) zone: Option<(i128, i128)>,
}

impl ColumnHead {
    /// The head's bytes.
    pub(crate) fn to_bytes(self) -> [u8; HEAD_SIZE] {
        let mut bytes = [0; HEAD_SIZE];
        let zone = if self.zone.is_some() { ZONE } else { 0 };
        let small =
            [self.encoding, self.width, self.value_size, self.value_count, zone, self.null_count];
        for (field, number) in bytes[..24].chunks_exact_mut(4).zip(small) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let large = [self.nulls, self.data, self.values, self.text, self.text_len];
        for (field, number) in bytes[24..64].chunks_exact_mut(8).zip(large) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let (least, greatest) = self.zone.unwrap_or((0, 0));
        bytes[64..80].copy_from_slice(&least.to_le_bytes());
        bytes[80..].copy_from_slice(&greatest.to_le_bytes());
        bytes
    }
}

/// A head where it lies: each field is read when it is asked for. See [`ColumnHead`].
#[derive(Clone, Copy)]
pub(crate) struct HeadRef<'b>(&'b [u8; HEAD_SIZE]);

impl<'b> HeadRef<'b> {
    /// The head in these bytes.
    #[inline]
    pub(crate) fn new(bytes: &'b [u8; HEAD_SIZE]) -> Self {
        Self(bytes)
    }

    #[inline]
    pub(crate) fn encoding(self) -> u32 {
        self.small(0)
    }

    #[inline]
    pub(crate) fn width(self) -> u32 {
        self.small(4)
    }

    #[inline]
    pub(crate) fn value_size(self) -> u32 {
        self.small(8)
    }

    #[inline]
    pub(crate) fn value_count(self) -> u32 {
        self.small(12)
    }

    #[inline]
    pub(crate) fn null_count(self) -> u32 {
        self.small(20)
    }

    #[inline]
    pub(crate) fn nulls(self) -> u64 {
        self.large(24)
    }

    #[inline]
    pub(crate) fn data(self) -> u64 {
        self.large(32)
    }

    #[inline]
    pub(crate) fn values(self) -> u64 {
        self.large(40)
    }

    #[inline]
    pub(crate) fn text(self) -> u64 {
        self.large(48)
    }

    #[inline]
    pub(crate) fn text_len(self) -> u64 {
        self.large(56)
    }

    #[inline]
    pub(crate) fn zone(self) -> Option<(i128, i128)> {
        let wide = |at| self.number::<16>(at).map_or(0, i128::from_le_bytes);
        (self.small(16) & ZONE != 0).then(|| (wide(64), wide(80)))
    }

    #[inline]
    fn small(self, at: usize) -> u32 {
        self.number::<4>(at).map_or(0, u32::from_le_bytes)
    }

    #[inline]
    fn large(self, at: usize) -> u64 {
        self.number::<8>(at).map_or(0, u64::from_le_bytes)
    }

    #[inline]
    fn number<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied()
    }
}
