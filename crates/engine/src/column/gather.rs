//! Integers out of rows: all such columns at once, a few hundred rows at a time, so that a row is
//! still in the processor's cache when its next column is read.
//!
//! A number is in 8 bytes whatever its column's size, so a column of unsigned 8 or of 16 bytes is
//! not gathered here.

use remanent_schema::{Leaf, RowLayout};

use super::kind::Kind;

/// Rows that are gone through at a time.
const TILE: usize = 256;

/// The numbers of each leaf, one for each row and 0 for a row that is not there; none of a leaf
/// that is not gathered.
pub(crate) fn gather(layout: &RowLayout, rows: &[Option<&[u8]>]) -> Vec<Vec<i64>> {
    let leaves = layout.leaves();
    let mut numbers: Vec<Vec<i64>> = leaves
        .iter()
        .map(|leaf| Vec::with_capacity(if is_narrow(leaf) { rows.len() } else { 0 }))
        .collect();
    for tile in rows.chunks(TILE) {
        for (leaf, numbers) in leaves.iter().zip(&mut numbers) {
            let Kind::Integer { size, signed } = Kind::of(&leaf.column_type) else { continue };
            let at = leaf.offset as usize;
            match (size, signed) {
                (1, true) => add(numbers, tile, at, |[byte]| i64::from(byte as i8)),
                (1, false) => add(numbers, tile, at, |[byte]| i64::from(byte)),
                (2, true) => add(numbers, tile, at, |it| i64::from(i16::from_le_bytes(it))),
                (2, false) => add(numbers, tile, at, |it| i64::from(u16::from_le_bytes(it))),
                (4, true) => add(numbers, tile, at, |it| i64::from(i32::from_le_bytes(it))),
                (4, false) => add(numbers, tile, at, |it| i64::from(u32::from_le_bytes(it))),
                (8, true) => add(numbers, tile, at, i64::from_le_bytes),
                _ => {}
            }
        }
    }
    numbers
}

/// Whether every value of a leaf is an integer that 8 signed bytes hold.
pub(crate) fn is_narrow(leaf: &Leaf) -> bool {
    match Kind::of(&leaf.column_type) {
        Kind::Integer { size, signed } => size < 8 || size == 8 && signed,
        _ => false,
    }
}

#[inline]
fn add<const N: usize>(
    numbers: &mut Vec<i64>,
    tile: &[Option<&[u8]>],
    at: usize,
    number: impl Fn([u8; N]) -> i64,
) {
    numbers.extend(tile.iter().map(|row| {
        let bytes = row.and_then(|row| row.get(at..)).and_then(|rest| rest.first_chunk::<N>());
        bytes.map_or(0, |bytes| number(*bytes))
    }));
}
