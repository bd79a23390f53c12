//! Where a column lies in the bytes of a row, as a layout has it.
//!
//! It is found out once for a scan; reading is a load at an offset then. Bytes are those of rows of
//! the layout: others end in a panic or in values that mean nothing.

use remanent_engine::schema::{ColumnType, NO_NULL_BIT, RowLayout};

/// Where a column lies in the bytes of a row.
///
/// # Examples
/// See [`TextPattern`](crate::TextPattern).
#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) column_type: ColumnType,
    /// Of numbers, where they begin.
    pub(crate) offset: usize,
    /// What says that the row has no value.
    pub(crate) null: Option<NullBit>,
    span: Span,
}

/// A bit that is set in rows that have no value of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullBit {
    offset: usize,
    mask: u8,
}

/// Where the bytes of a text begin and end.
#[derive(Clone, Copy, Debug)]
enum Span {
    /// In a place of so many bytes, of which the last ones may be zeros that do not belong to it.
    Padded(usize),
    /// From this byte of every row on, up to where the row says.
    From(usize),
    /// From where the row says in this place.
    Behind(usize),
}

impl Place {
    /// Where a leaf of the layout lies; `None` if there is no such leaf.
    pub(crate) fn of(layout: &RowLayout, leaf: usize) -> Option<Self> {
        let at = layout.leaves().get(leaf)?;
        let ends = |index: u32| {
            let mut leaves = layout.leaves().iter();
            leaves.find(|leaf| leaf.variable_index == Some(index)).map(|leaf| leaf.offset as usize)
        };
        let span = match at.variable_index {
            None => Span::Padded(at.column_type.fixed_size() as usize),
            Some(0) => Span::From(layout.fixed_size()),
            Some(index) => Span::Behind(ends(index - 1)?),
        };
        let null = (at.null_bit != NO_NULL_BIT).then(|| NullBit {
            offset: layout.null_offset() + usize::from(at.null_bit / 8),
            mask: 1 << (at.null_bit % 8),
        });
        let (column_type, offset) = (at.column_type.clone(), at.offset as usize);
        Some(Self { column_type, offset, null, span })
    }

    /// Whether it is one of text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.column_type, ColumnType::Char(_) | ColumnType::String { .. })
    }

    /// Where the text of a row begins and ends in its bytes.
    #[inline]
    pub(crate) fn span(&self, row: &[u8]) -> (usize, usize) {
        match self.span {
            Span::Padded(size) => {
                let bytes = &row[self.offset..][..size];
                let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                (self.offset, self.offset + len)
            }
            Span::From(start) => (start, end_at(row, self.offset)),
            Span::Behind(before) => (end_at(row, before), end_at(row, self.offset)),
        }
    }

    /// The text of a row; empty if it has none.
    #[inline]
    pub(crate) fn text<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        let (start, end) = self.span(row);
        &row[start..end]
    }
}

impl NullBit {
    /// Whether a row has no value.
    #[inline]
    pub(crate) fn is_set(self, row: &[u8]) -> bool {
        row[self.offset] & self.mask != 0
    }
}

#[inline]
fn end_at(row: &[u8], offset: usize) -> usize {
    u32::from_le_bytes(entry(row, offset)) as usize
}

/// So many bytes of a row.
#[inline]
pub(crate) fn entry<const SIZE: usize>(row: &[u8], offset: usize) -> [u8; SIZE] {
    let mut entry = [0; SIZE];
    entry.copy_from_slice(&row[offset..][..SIZE]);
    entry
}

/// A number as it lies in rows.
pub(crate) trait Number: Copy + Ord {
    /// The least, and the greatest.
    const ENDS: (i128, i128);

    /// The number at an offset.
    fn read(row: &[u8], offset: usize) -> Self;

    /// A number between the ends.
    fn of(number: i128) -> Self;

    /// Its lower 8 bytes, with as many bits of its sign as are missing.
    fn low_word(self) -> u64;
}

macro_rules! number {
    ($($native:ty),+) => {
        $(impl Number for $native {
            const ENDS: (i128, i128) = (<$native>::MIN as i128, <$native>::MAX as i128);

            #[inline]
            fn read(row: &[u8], offset: usize) -> Self {
                Self::from_le_bytes(entry(row, offset))
            }

            #[inline]
            fn of(number: i128) -> Self {
                number as Self
            }

            #[inline]
            fn low_word(self) -> u64 {
                self as u64
            }
        })+
    };
}

number!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

/// Evaluates an expression with the native type of a column's whole numbers or unscaled decimals as
/// `$number`; `$else` for columns of anything else.
macro_rules! with_number {
    ($place:expr, $number:ident => $then:expr, else $else:expr) => {{
        use remanent_engine::schema::ColumnType as T;
        macro_rules! with {
            ($native:ty) => {{
                type $number = $native;
                $then
            }};
        }
        match &$place.column_type {
            T::I8 => with!(i8),
            T::I16 => with!(i16),
            T::I32 | T::Date => with!(i32),
            T::I64 | T::Time | T::Timestamp => with!(i64),
            T::U8 => with!(u8),
            T::U16 => with!(u16),
            T::U32 => with!(u32),
            T::U64 => with!(u64),
            T::Decimal { .. } if $place.column_type.fixed_size() == 8 => with!(i64),
            T::Decimal { .. } => with!(i128),
            _ => $else,
        }
    }};
}

pub(crate) use with_number;
