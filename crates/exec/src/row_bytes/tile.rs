//! Some hot rows, and which of them are left.
//!
//! Rows of a tile are so few that their bytes stay in the processor's second cache from one
//! predicate to the next. Predicates write the places of the rows that they leave over those that
//! they were given, without a branch that depends on a row.

use remanent_engine::Row;

use super::place::{NullBit, Place};
use crate::rows::TILE_ROWS;

/// Bytes of the rows of a tile, at most, unless it has one row alone: texts of a batch of tiles
/// are found by 32 bits.
const TILE_BYTES: usize = 64 << 20;

/// Some rows, and which of them are left.
///
/// # Examples
/// See [`RowFilter`](crate::RowFilter).
#[derive(Debug)]
pub struct RowTile<'t, 'r> {
    rows: &'t [Row<'r>],
    /// Places of those that are left, in ascending order; each is less than the number of rows.
    left: Vec<u16>,
}

impl<'t, 'r> RowTile<'t, 'r> {
    /// Rows in tiles, all of them left.
    pub fn of(rows: &'t [Row<'r>]) -> impl Iterator<Item = Self> {
        let mut rest = rows;
        std::iter::from_fn(move || {
            let most = rest.len().min(TILE_ROWS);
            let mut bytes = 0_usize;
            let fits = rest[..most].iter().take_while(|row| {
                bytes += row.bytes().len();
                bytes <= TILE_BYTES
            });
            let count = fits.count().max(1).min(most);
            let (rows, others) = rest.split_at(count);
            rest = others;
            (count > 0).then(|| Self { rows, left: (0..count as u16).collect() })
        })
    }

    /// How many rows are left.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The rows that are left.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'r>> + use<'_, 't, 'r> {
        self.left.iter().map(|at| self.rows[usize::from(*at)])
    }

    /// The bytes of those that are left.
    #[inline]
    pub(crate) fn bytes(&self) -> impl ExactSizeIterator<Item = &'r [u8]> + use<'_, 't, 'r> {
        self.left.iter().map(|at| self.rows[usize::from(*at)].bytes())
    }

    /// Appends what is read of the bytes of each row that is left.
    #[inline]
    pub(crate) fn append<T>(&self, values: &mut Vec<T>, read: impl Fn(&'r [u8]) -> T) {
        match self.left.len() == self.rows.len() {
            true => values.extend(self.rows.iter().map(|row| read(row.bytes()))),
            false => values.extend(self.bytes().map(read)),
        }
    }

    /// Leaves the rows whose bytes meet a condition.
    #[inline]
    pub(crate) fn keep(&mut self, meets: impl Fn(&[u8]) -> bool) {
        let mut kept = 0;
        for i in 0..self.left.len() {
            let at = self.left[i];
            self.left[kept] = at;
            kept += usize::from(meets(self.rows[usize::from(at)].bytes()));
        }
        self.left.truncate(kept);
    }

    /// Leaves the rows that have a value.
    pub(crate) fn keep_present(&mut self, null: Option<NullBit>) {
        if let Some(null) = null {
            self.keep(|row| !null.is_set(row));
        }
    }

    /// Leaves the rows whose texts, of which none is null, meet a condition.
    #[inline]
    pub(crate) fn keep_texts(&mut self, place: &Place, meets: impl Fn(&[u8]) -> bool) {
        self.keep(|row| meets(place.text(row)));
    }
}
