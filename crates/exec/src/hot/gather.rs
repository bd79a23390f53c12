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
        let values = empty(&place.column_type)?;
        Some(Self { place, values, valid: Vec::new() })
    }

    /// Adds the rows that are left of a tile.
    ///
    /// # Panics
    /// If its rows are of another layout.
    pub fn extend(&mut self, tile: &RowTile<'_, '_>) {
        let Self { place, values, valid } = self;
        if let Some(null) = place.null {
            valid.extend(tile.bytes().map(|row| !null.is_set(row)));
        }
        let offset = place.offset;
        macro_rules! numbers {
            ($values:ident, $native:ty) => {
                $values.extend(tile.bytes().map(|row| <$native>::from_le_bytes(entry(row, offset))))
            };
        }
        match values {
            Vector::Bool(values) => values.extend(tile.bytes().map(|row| row[offset] != 0)),
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
                let number = |row| i128::from(i64::from_le_bytes(entry(row, offset)));
                values.extend(tile.bytes().map(number));
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

    /// The values; none are left.
    pub fn take(&mut self) -> Decoded<'static> {
        let next = empty(&self.place.column_type).unwrap_or(Vector::Values(Vec::new()));
        let values = std::mem::replace(&mut self.values, next);
        let valid = std::mem::take(&mut self.valid);
        Decoded { values, valid: valid.contains(&false).then_some(valid) }
    }
}

/// A vector for a type without values; `None` if these would lead into the rows.
fn empty(column_type: &ColumnType) -> Option<Vector<'static>> {
    Some(match column_type {
        ColumnType::Bool => Vector::Bool(Vec::new()),
        ColumnType::I8 => Vector::I8(Vec::new()),
        ColumnType::I16 => Vector::I16(Vec::new()),
        ColumnType::I32 | ColumnType::Date => Vector::I32(Vec::new()),
        ColumnType::I64 | ColumnType::Time | ColumnType::Timestamp => Vector::I64(Vec::new()),
        ColumnType::U8 => Vector::U8(Vec::new()),
        ColumnType::U16 => Vector::U16(Vec::new()),
        ColumnType::U32 => Vector::U32(Vec::new()),
        ColumnType::U64 => Vector::U64(Vec::new()),
        ColumnType::F32 => Vector::F32(Vec::new()),
        ColumnType::F64 => Vector::F64(Vec::new()),
        ColumnType::Decimal { .. } => Vector::I128(Vec::new()),
        ColumnType::Char(_) | ColumnType::String { .. } => {
            Vector::Text(TextViews::from_texts(std::iter::empty()))
        }
        _ => return None,
    })
}
