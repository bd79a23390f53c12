//! A column of hot rows as a vector, of the rows that are left of one tile after the other.
//!
//! One loop for each type; text is copied behind that of other rows, or stands in its view.

use remanent_engine::schema::{ColumnType, RowLayout};

use crate::row_bytes::place::{Place, entry};
use crate::row_bytes::tile::RowTile;
use crate::text_view::TextViews;
use crate::vector::{Decoded, Vector};

/// Values of a column, of more and more rows.
///
/// # Examples
/// See [`RowFilter`](crate::RowFilter).
#[derive(Debug)]
pub struct GatheredColumn {
    place: Place,
    values: Vector<'static>,
    /// Whether each row has a value; of a column that can be null.
    valid: Vec<bool>,
}

impl GatheredColumn {
    /// A leaf of the layout, of no rows; `None` if it has neither numbers, truths nor text.
    pub fn new(layout: &RowLayout, leaf: usize) -> Option<Self> {
        let place = Place::of(layout, leaf)?;
        let values = with_room(&place.column_type, 0, 0)?;
        Some(Self { place, values, valid: Vec::new() })
    }

    /// Adds the rows that are left of a tile.
    ///
    /// # Panics
    /// If its rows are of another layout.
    pub fn extend(&mut self, tile: &RowTile<'_, '_>) {
        let Self { place, values, valid } = self;
        if let Some(null) = place.null {
            tile.append(valid, |row| !null.is_set(row));
        }
        let offset = place.offset;
        macro_rules! numbers {
            ($values:ident, $native:ty) => {
                tile.append($values, |row| <$native>::from_le_bytes(entry(row, offset)))
            };
        }
        match values {
            Vector::Bool(values) => tile.append(values, |row| row[offset] != 0),
            Vector::I8(values) => numbers!(values, i8),
            Vector::I16(values) => numbers!(values, i16),
            Vector::I32(values) => numbers!(values, i32),
            Vector::I64(values) => numbers!(values, i64),
            Vector::U8(values) => numbers!(values, u8),
            Vector::U16(values) => numbers!(values, u16),
            Vector::U32(values) => numbers!(values, u32),
            Vector::U64(values) => numbers!(values, u64),
            Vector::F32(values) => numbers!(values, f32),
            Vector::F64(values) => numbers!(values, f64),
            Vector::I128(values) if place.column_type.fixed_size() == 8 => {
                tile.append(values, |row| i64::from_le_bytes(entry(row, offset)).into());
            }
            Vector::I128(values) => numbers!(values, i128),
            Vector::Text(texts) => {
                let spans = tile.bytes().map(|row| {
                    let (start, end) = place.span(row);
                    (row, start, end)
                });
                texts.append(spans);
            }
            Vector::Values(_) => {}
        }
    }

    /// Bytes of text that its views lead into.
    pub fn text_bytes(&self) -> usize {
        match &self.values {
            Vector::Text(texts) => texts.own_bytes(),
            _ => 0,
        }
    }

    /// The values; none are left, and there is room for as many.
    pub fn take(&mut self) -> Decoded<'static> {
        // The next batch may end with some rows more.
        let [rows, text_bytes] = [self.values.len(), self.text_bytes()].map(|it| it + it / 8);
        let next = with_room(&self.place.column_type, rows, text_bytes);
        let values =
            std::mem::replace(&mut self.values, next.unwrap_or(Vector::Values(Vec::new())));
        let valid = std::mem::take(&mut self.valid);
        Decoded { values, valid: valid.contains(&false).then_some(valid) }
    }
}

/// A vector for a type without values, and with room for some; `None` if these would lead into the
/// rows.
fn with_room(column_type: &ColumnType, rows: usize, text_bytes: usize) -> Option<Vector<'static>> {
    Some(match column_type {
        ColumnType::Bool => Vector::Bool(Vec::with_capacity(rows)),
        ColumnType::I8 => Vector::I8(Vec::with_capacity(rows)),
        ColumnType::I16 => Vector::I16(Vec::with_capacity(rows)),
        ColumnType::I32 | ColumnType::Date => Vector::I32(Vec::with_capacity(rows)),
        ColumnType::I64 | ColumnType::Time | ColumnType::Timestamp => {
            Vector::I64(Vec::with_capacity(rows))
        }
        ColumnType::U8 => Vector::U8(Vec::with_capacity(rows)),
        ColumnType::U16 => Vector::U16(Vec::with_capacity(rows)),
        ColumnType::U32 => Vector::U32(Vec::with_capacity(rows)),
        ColumnType::U64 => Vector::U64(Vec::with_capacity(rows)),
        ColumnType::F32 => Vector::F32(Vec::with_capacity(rows)),
        ColumnType::F64 => Vector::F64(Vec::with_capacity(rows)),
        ColumnType::Decimal { .. } => Vector::I128(Vec::with_capacity(rows)),
        ColumnType::Char(_) | ColumnType::String { .. } => {
            Vector::Text(TextViews::with_room(rows, text_bytes))
        }
        _ => return None,
    })
}
