//! Where the texts of a column end, each in the bytes of all behind one another.
//!
//! In lines of 64 bytes, which are what a processor fetches: four bytes say where the line's first
//! text begins, and two bytes for each of 30 ends how far beyond that it lies. So a text's bounds
//! take two bytes and a little, and one miss. Columns with longer texts have four bytes for each.

use std::ops::Range;

use super::kind::{read_half, read_word};
use crate::memory::aligned::as_u32s;

/// Bytes of a line, and ends that it has.
const LINE: usize = 64;
const ENDS_PER_LINE: usize = 30;

/// Bytes of an end, in lines and otherwise.
pub(crate) const NARROW: u32 = 2;
pub(crate) const WIDE: u32 = 4;

const _: () = assert!(size_of::<u32>() + ENDS_PER_LINE * NARROW as usize == LINE);

/// Where each of the texts of a column begins and ends among the bytes of all.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Encoding, Options, Piece, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("name", ColumnType::STRING))?;
/// let name = table.column("name")?;
/// let names: Vec<_> = (0..1000).map(|i| format!("name {i}")).collect();
/// db.write(|tx| tx.insert_all_values(&table, names.iter().map(|it| [Some(it.as_str().into())])))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let column = rows.column(name)?;
/// let Encoding::Strings { ends, bytes } = column.encoding() else { unreachable!() };
/// assert_eq!(ends.range(1), 6..12);
/// assert_eq!(&bytes[ends.range(999)], b"name 999");
/// assert_eq!((ends.start(0), ends.start(1000)), (0, bytes.len()));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Ends<'t>(EndsArray<'t>);

#[derive(Clone, Copy)]
enum EndsArray<'t> {
    Narrow(&'t [[u8; LINE]]),
    Wide(&'t [u32]),
}

impl<'t> Ends<'t> {
    /// The ends in an array that [`encode_ends`] wrote, or `check.rs` has passed.
    #[inline]
    pub(crate) fn read(bytes: &'t [u8], width: u32) -> Self {
        match width {
            NARROW => Self(EndsArray::Narrow(bytes.as_chunks().0)),
            _ => Self(EndsArray::Wide(as_u32s(bytes))),
        }
    }

    /// The range of a text in the bytes.
    ///
    /// # Panics
    /// If there is no such text.
    #[inline]
    pub fn range(&self, text: usize) -> Range<usize> {
        self.start(text)..self.start(text + 1)
    }

    /// Where a text begins; for the number of texts, where the last one ends.
    ///
    /// # Panics
    /// If the number is greater.
    #[inline]
    pub fn start(&self, text: usize) -> usize {
        match self.0 {
            EndsArray::Narrow(lines) => {
                let line = &lines[text / ENDS_PER_LINE];
                let beyond = read_half(line, size_of::<u32>() + text % ENDS_PER_LINE * 2);
                read_word(line, 0) as usize + usize::from(beyond)
            }
            EndsArray::Wide(ends) => ends[text] as usize,
        }
    }
}

impl std::fmt::Debug for Ends<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.0 {
            EndsArray::Narrow(_) => "two bytes each",
            EndsArray::Wide(_) => "four bytes each",
        };
        f.debug_tuple("Ends").field(&name).finish()
    }
}

/// Bytes of the array for so many texts.
pub(crate) fn size_of_ends(texts: usize, width: u32) -> usize {
    match width {
        NARROW => (texts + 1).div_ceil(ENDS_PER_LINE) * LINE,
        _ => (texts + 1) * WIDE as usize,
    }
}

/// Where the part of that array begins that has the bounds of a text.
#[inline]
pub(crate) fn offset_of(text: usize, width: u32) -> usize {
    match width {
        NARROW => text / ENDS_PER_LINE * LINE,
        _ => text * WIDE as usize,
    }
}

/// The array for these ends, which begin with 0 and do not decrease, and bytes of an end.
pub(crate) fn encode_ends(ends: &[u32]) -> (Vec<u8>, u32) {
    let is_narrow = |line: &[u32]| line[line.len() - 1] - line[0] <= u16::MAX.into();
    if !ends.chunks(ENDS_PER_LINE).all(is_narrow) {
        return (ends.iter().flat_map(|end| end.to_le_bytes()).collect(), WIDE);
    }
    let mut bytes = vec![0; ends.len().div_ceil(ENDS_PER_LINE) * LINE];
    for (line, ends) in bytes.as_chunks_mut::<LINE>().0.iter_mut().zip(ends.chunks(ENDS_PER_LINE)) {
        let (first, beyond) = line.split_at_mut(size_of::<u32>());
        first.copy_from_slice(&ends[0].to_le_bytes());
        for (half, end) in beyond.as_chunks_mut().0.iter_mut().zip(ends) {
            *half = ((end - ends[0]) as u16).to_le_bytes();
        }
    }
    (bytes, NARROW)
}
