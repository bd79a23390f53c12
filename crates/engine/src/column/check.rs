//! Whether bytes from outside are a block of a table's columns.
//!
//! What passes reads without panics: every array lies within the block, every code and every end
//! has what it refers to, text is what the column's type says. A block need not be one that the
//! encoder would have chosen.

use remanent_schema::{ColumnType, ROW_LEN_MAX, RowLayout};

use super::ALIGNMENT;
use super::block::{Block, BlockColumn, HEADS_AT};
use super::ends::{Ends, NARROW, WIDE, size_of_ends};
use super::head::{ALL_NULL, CONSTANT, DICTIONARY, FSST, HEAD_SIZE, OFFSETS, PLAIN, STRINGS};
use super::kind::{Kind, read_integer, read_number};
use super::sketch::{DistinctSketch, SKETCH_SIZE};
use super::zones::{ZONE_ROWS, Zones};

/// Rows of a segment at most.
const ROWS_MAX: u32 = 1 << 16;

/// Whether `bytes` are a block of rows with this layout.
pub(crate) fn is_well_formed(bytes: &[u8], layout: &RowLayout) -> bool {
    let columns = layout.leaves().len();
    if bytes.len() < HEADS_AT + columns * HEAD_SIZE {
        return false;
    }
    let block = Block::new(bytes);
    let rows = block.rows();
    if block.columns() != columns || rows == 0 || rows > ROWS_MAX || block.len() != bytes.len() {
        return false;
    }
    if !is_bitmap(block, block.present_at()) {
        return false;
    }
    if !are_sketches(block) {
        return false;
    }
    let live = (0..rows).filter(|&row| block.has(row)).count();
    live == block.live() as usize
        && layout.leaves().iter().enumerate().all(|(i, leaf)| {
            let column = block.column(i);
            is_bitmap(block, column.head.nulls())
                && (leaf.nullable || column.head.nulls() == 0)
                && is_column(&column, &leaf.column_type)
                && has_values(&column, &leaf.column_type)
        })
        && (0..rows).all(|row| !block.has(row) || block.row_len(layout, row) <= ROW_LEN_MAX)
}

/// Whether what is stored are values of the type, and there is no text where there is none.
fn has_values(column: &BlockColumn<'_>, column_type: &ColumnType) -> bool {
    let (head, rows) = (&column.head, column.block.rows() as usize);
    let is_value = |bytes: &[u8]| column_type.is_value(bytes);
    match (Kind::of(column_type), head.encoding()) {
        (Kind::Nothing, _) | (_, ALL_NULL) => true,
        (_, CONSTANT) => is_value(column.text()),
        (Kind::Bytes { .. }, DICTIONARY) => {
            (0..head.value_count() as usize).all(|code| is_value(column.dictionary_text(code)))
        }
        (Kind::Bytes { .. }, FSST) => {
            let mut text = Vec::new();
            column.symbols().is_some_and(|(_, extremes)| {
                is_value(extremes.least) && is_value(extremes.greatest)
            }) && (0..rows).all(|row| {
                text.clear();
                column.append_text_of(row, &mut text);
                is_value(&text) && (text.is_empty() || !column.is_null(row))
            })
        }
        (Kind::Bytes { .. }, _) => (0..rows).all(|row| {
            let text = column.text_of(row);
            is_value(text) && (text.is_empty() || !column.is_null(row))
        }),
        // Any bytes are a number.
        _ if column_type.is_any_bytes() => true,
        (kind, _) => {
            let mut bytes = vec![0; kind.size().unwrap_or(0)];
            (0..rows).filter(|&row| !column.is_null(row)).all(|row| {
                column.write_fixed(row, &mut bytes);
                is_value(&bytes)
            })
        }
    }
}

/// Whether there are no sketches, or one of each column.
fn are_sketches(block: Block<'_>) -> bool {
    let len = block.columns() * SKETCH_SIZE;
    block.sketches_at() == 0
        || is_array(block, block.sketches_at(), len)
            && block
                .part(block.sketches_at(), len)
                .chunks_exact(SKETCH_SIZE)
                .all(|registers| DistinctSketch::of_registers(registers).is_some())
}

/// Whether a column of whole numbers has no zones, or those that its numbers lie in: rows would be
/// missed in others.
fn are_zones(column: &BlockColumn<'_>, kind: Kind) -> bool {
    let (head, block) = (&column.head, column.block);
    if head.values() == 0 {
        return true;
    }
    let (rows, width) = (block.rows() as usize, head.width() as usize);
    let size = if head.encoding() == OFFSETS { 4 } else { 8 };
    let count = rows.div_ceil(ZONE_ROWS);
    let Kind::Integer { signed, .. } = kind else { return false };
    if head.value_size() != size || head.value_count() as usize != count {
        return false;
    }
    if !is_array(block, head.values(), count * 2 * size as usize) {
        return false;
    }
    let base = head.zone().map_or(0, |(least, _)| least);
    let number = |row: usize| match head.encoding() {
        OFFSETS => base.wrapping_add(read_number(column.data(), width, row).into()),
        _ => read_integer(&column.data()[row * width..][..width], signed),
    };
    let zones = Zones::new(column.zone_pairs(), column.head, kind);
    (0..rows).all(|row| {
        let (least, greatest) = zones.get(row / ZONE_ROWS);
        (least..=greatest).contains(&number(row))
    })
}

fn is_bitmap(block: Block<'_>, at: u64) -> bool {
    at == 0 || is_array(block, at, block.bitmap_len())
}

fn is_array(block: Block<'_>, at: u64, len: usize) -> bool {
    let end = usize::try_from(at).ok().and_then(|at| at.checked_add(len));
    let aligned = at.is_multiple_of(ALIGNMENT as u64);
    aligned && at >= HEADS_AT as u64 && end.is_some_and(|end| end <= block.bytes().len())
}

fn is_column(column: &BlockColumn<'_>, column_type: &ColumnType) -> bool {
    let (head, block) = (&column.head, column.block);
    let (kind, rows) = (Kind::of(column_type), block.rows() as usize);
    let width = head.width() as usize;
    let is_code = matches!(width, 1 | 2 | 4);
    let has_text = head.text_len() == 0 || is_array(block, head.text(), head.text_len() as usize);
    let has_data = |width: usize| is_array(block, head.data(), rows * width);
    let zone = is_zone(column, kind);
    has_text
        && zone
        && match (head.encoding(), kind) {
            (ALL_NULL, _) => true,
            (CONSTANT, Kind::Bytes { padded }) => fits(head.text_len() as usize, padded),
            (CONSTANT, kind) => kind.size() == Some(head.text_len() as usize),
            (OFFSETS, Kind::Integer { .. }) => {
                matches!(width, 1..=4)
                    && has_data(width)
                    && head.zone().is_some()
                    && are_zones(column, kind)
            }
            (PLAIN, kind) => {
                let is_there = width > 0 && kind.size() == Some(width) && has_data(width);
                is_there && are_zones(column, kind)
            }
            (STRINGS, Kind::Bytes { padded }) => {
                has_ends(column) && are_ends(column.ends(), rows, head.text_len(), padded)
            }
            (FSST, Kind::Bytes { padded: None }) => {
                has_ends(column)
                    && are_ends(column.ends(), rows, head.text_len(), None)
                    && is_array(block, head.values(), head.value_size() as usize)
                    && matches!(column_type, ColumnType::String { .. })
                    && head.zone().is_some()
                    && column.symbols().is_some_and(|(symbols, _)| {
                        let mut codes = (0..rows).map(|row| column.codes_of(row));
                        symbols.is_well_formed() && codes.all(|codes| symbols.are_codes(codes))
                    })
            }
            (DICTIONARY, kind) => is_code && has_data(width) && is_dictionary(column, kind),
            _ => false,
        }
}

/// A zone of text names rows.
fn is_zone(column: &BlockColumn<'_>, kind: Kind) -> bool {
    let Some((least, greatest)) = column.head.zone() else { return true };
    match kind {
        Kind::Bytes { .. } => {
            let rows = 0..i128::from(column.block.rows());
            rows.contains(&least) && rows.contains(&greatest)
        }
        Kind::Integer { .. } => least <= greatest,
        _ => true,
    }
}

fn is_dictionary(column: &BlockColumn<'_>, kind: Kind) -> bool {
    let (head, block) = (&column.head, column.block);
    let (count, size) = (head.value_count() as usize, head.value_size() as usize);
    let has_values = match kind {
        Kind::Bytes { padded } => {
            size == 0
                && is_array(block, head.values(), count.saturating_add(1).saturating_mul(4))
                && are_ends(Ends::read(column.value_ends(), WIDE), count, head.text_len(), padded)
        }
        kind => {
            size > 0
                && kind.size() == Some(size)
                && is_array(block, head.values(), count.saturating_mul(size))
        }
    };
    let codes = || (0..block.rows() as usize).map(|row| code(column, row));
    has_values && codes().all(|code| code < count)
}

fn code(column: &BlockColumn<'_>, row: usize) -> usize {
    read_number(column.data(), column.head.width() as usize, row) as usize
}

/// Whether there is an array of the ends of each row's text; 0 bytes of an end are 4, as in
/// images up to version 4.
fn has_ends(column: &BlockColumn<'_>) -> bool {
    let (width, rows) = (column.head.width(), column.block.rows() as usize);
    matches!(width, 0 | NARROW | WIDE)
        && is_array(column.block, column.head.data(), size_of_ends(rows, width))
}

/// Whether these are ends in so many bytes that do not decrease.
fn are_ends(ends: Ends<'_>, texts: usize, text_len: u64, padded: Option<usize>) -> bool {
    let mut last = 0;
    ends.start(0) == 0
        && (1..=texts).all(|i| {
            let end = ends.start(i);
            let is_next = end >= last && end as u64 <= text_len;
            let fits = is_next && fits(end - last, padded);
            last = end;
            fits
        })
}

/// Whether so much text fits where it has to lie in a row.
fn fits(len: usize, padded: Option<usize>) -> bool {
    padded.is_none_or(|size| len <= size)
}
