//! The least and the greatest number of each 2,048 rows of a column: zones (small materialized
//! aggregates; Moerkotte, VLDB 1998).
//!
//! A column has them where they tell its rows apart, that is where zones cover half of its range or
//! less on average: times of rows that came one after the other, keys in their order. They lie as
//! pairs, of offsets as u32, of plain numbers as these.

use remanent_schema::ColumnType;

use super::block::BlockColumn;
use super::encode::EncodedColumn;
use super::head::{HeadRef, OFFSETS, PLAIN};
use super::kind::{Kind, read_integer};
use super::view::FrozenColumn;

/// Rows of a zone.
pub(crate) const ZONE_ROWS: usize = 2048;

/// The least and the greatest number of each 2,048 rows of a frozen column.
///
/// Rows that are null or not there count for nothing, or for the least number of the column.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, Piece, Zones, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
/// let rows = (0..10_000_i64).map(|i| [Some(Value::I64(5000 + i))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let zones = rows.column(table.column("a")?)?.zones().expect("they ascend");
/// assert_eq!((zones.len(), Zones::ROWS), (5, 2048));
/// assert_eq!(zones.get(1), (5000 + 2048, 5000 + 4095));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Zones<'t> {
    pairs: &'t [u8],
    /// Bytes of a number.
    size: usize,
    signed: bool,
    /// What the numbers are added to.
    base: i128,
}

impl<'t> Zones<'t> {
    /// Rows of a zone; the last has what is left.
    pub const ROWS: usize = ZONE_ROWS;

    /// Those of a column, if it has any.
    #[inline]
    pub(super) fn of(column: &BlockColumn<'t>, column_type: &ColumnType) -> Option<Self> {
        let pairs = column.zone_pairs();
        let kind = || Kind::of(column_type);
        (!pairs.is_empty()).then(|| Self::new(pairs, column.head, kind()))
    }

    /// Those in these bytes, of a column of whole numbers.
    pub(crate) fn new(pairs: &'t [u8], head: HeadRef<'_>, kind: Kind) -> Self {
        let size = head.value_size() as usize;
        let are_offsets = head.encoding() == OFFSETS;
        let base = head.zone().filter(|_| are_offsets).map_or(0, |(least, _)| least);
        let signed = !are_offsets && matches!(kind, Kind::Integer { signed: true, .. });
        Self { pairs, size, signed, base }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pairs.len() / (2 * self.size)
    }

    /// Whether there is none; never.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The least and the greatest number of a zone.
    ///
    /// # Panics
    /// If there is no such zone.
    #[inline]
    pub fn get(&self, zone: usize) -> (i128, i128) {
        let at = |i: usize| read_integer(&self.pairs[i * self.size..][..self.size], self.signed);
        (self.base.wrapping_add(at(2 * zone)), self.base.wrapping_add(at(2 * zone + 1)))
    }
}

/// The zones of a column as they lie, and the bytes of each number; `None` if it is of no whole
/// numbers that are kept so, or they would not help.
pub(crate) fn of_column(column: &EncodedColumn, kind: Kind) -> Option<(Vec<u8>, usize)> {
    /// Signed numbers have the order of unsigned ones with this bit changed.
    const SIGN: u64 = 1 << 63;
    let Kind::Integer { signed, .. } = kind else { return None };
    let (least, greatest) = column.head.zone?;
    let data = column.data.as_slice();
    let range = u64::try_from(greatest.checked_sub(least)?).ok()?;
    let (zones, size) = match (column.head.encoding, column.head.width) {
        (OFFSETS, 2) => {
            let offsets = data.as_chunks().0;
            (narrow(offsets.chunks(ZONE_ROWS), range, |it| u16::from_le_bytes(*it).into())?, 4)
        }
        (OFFSETS, 3) => {
            let (low, high) = FrozenColumn::offset_parts(data);
            let parts = low.chunks(ZONE_ROWS).zip(high.chunks(ZONE_ROWS));
            let parts = parts.map(|(low, high)| low.iter().zip(high));
            let offset = |(low, high): (&[u8; 2], &u8)| {
                u64::from(u16::from_le_bytes(*low)) | u64::from(*high) << 16
            };
            (narrow(parts, range, offset)?, 4)
        }
        (OFFSETS, 4) => {
            let offsets = data.as_chunks().0;
            (narrow(offsets.chunks(ZONE_ROWS), range, |it| u32::from_le_bytes(*it).into())?, 4)
        }
        (PLAIN, 8) => {
            let flip = if signed { SIGN } else { 0 };
            let numbers = data.as_chunks().0.chunks(ZONE_ROWS);
            let mut zones = narrow(numbers, range, |it| u64::from_le_bytes(*it) ^ flip)?;
            zones.iter_mut().flatten().for_each(|number| *number ^= flip);
            (zones, 8)
        }
        _ => return None,
    };
    let numbers = zones.as_flattened().iter();
    Some((numbers.flat_map(|number| number.to_le_bytes().into_iter().take(size)).collect(), size))
}

/// The least and the greatest number of each zone, if all together cover half of the range or less
/// on average, and there is more than one.
fn narrow<Z: IntoIterator>(
    zones: impl ExactSizeIterator<Item = Z>,
    range: u64,
    number: impl Fn(Z::Item) -> u64,
) -> Option<Vec<[u64; 2]>> {
    let most = u128::from(range) * zones.len() as u128 / 2;
    let (mut narrow, mut covered) = (Vec::with_capacity(zones.len()), 0_u128);
    for zone in zones {
        let ends = zone.into_iter().map(&number);
        let [least, greatest] =
            ends.fold([u64::MAX, 0], |[least, greatest], it| [least.min(it), greatest.max(it)]);
        covered += u128::from(greatest - least);
        // Most columns are known to be in no order after half of their rows.
        if covered > most {
            return None;
        }
        narrow.push([least, greatest]);
    }
    (narrow.len() > 1).then_some(narrow)
}
