//! The texts of a column's dictionary as views, made once for a segment.
//!
//! Rows of every batch then take their views by their codes; the text itself is copied once, and
//! the caller keeps it for as long as there are views.

use remanent_engine::DictionaryValues;
use remanent_engine::schema::ColumnType;

use crate::rows::Rows;
use crate::text_view::{TextViews, view_of};

/// Views of a dictionary's texts, by their codes.
#[derive(Debug)]
pub struct Dictionary {
    views: Vec<u128>,
}

impl Dictionary {
    /// The views of the values of a column, and the bytes that they lead into, if they are text.
    pub fn of(column: &ColumnType, values: &DictionaryValues<'_>) -> Option<(Self, Vec<u8>)> {
        if !is_text(column) {
            return None;
        }
        let mut text = Vec::new();
        let views = (0..values.len() as u32).map(|code| {
            let bytes = values.bytes(code);
            let at = text.len() as u32;
            text.extend_from_slice(bytes);
            view_of(bytes, at)
        });
        let views = views.collect();
        Some((Self { views }, text))
    }

    /// The texts of rows with these codes.
    pub(crate) fn texts(&self, code_width: usize, codes: &[u8], rows: Rows<'_>) -> TextViews {
        let views = &self.views;
        TextViews::into_dictionary(match code_width {
            1 => rows.gather(codes, |code| views[usize::from(code)]),
            2 => {
                rows.gather(codes.as_chunks().0, |two| views[usize::from(u16::from_le_bytes(two))])
            }
            _ => rows.gather(codes.as_chunks().0, |four| views[u32::from_le_bytes(four) as usize]),
        })
    }
}

/// Whether values of a column are text.
pub(crate) fn is_text(column: &ColumnType) -> bool {
    matches!(column, ColumnType::String { .. } | ColumnType::Char(_))
}
