//! Rows as a table, as psql draws it, and as Markdown has it.
//!
//! Numbers stand at the right, all else at the left; a value of several lines is continued below,
//! which a plus sign says.

use super::cell::{Cell, pad};
use super::held::Column;

/// The places that a table takes.
pub(super) fn width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width + 3).sum::<usize>().saturating_sub(1)
}

/// The names, and the line below them.
pub(super) fn head(out: &mut Vec<u8>, columns: &[Column]) {
    let names: Vec<&Cell> = columns.iter().map(|column| &column.name).collect();
    lines(out, columns, &names, true);
    for (place, column) in columns.iter().enumerate() {
        out.extend_from_slice(if place > 0 { b"+" } else { b"" });
        out.resize(out.len() + column.width + 2, b'-');
    }
    out.push(b'\n');
}

/// A row.
pub(super) fn row(out: &mut Vec<u8>, columns: &[Column], row: &[Cell]) {
    let cells: Vec<&Cell> = row.iter().collect();
    lines(out, columns, &cells, false);
}

/// The names and the line below them, which says what stands at the right.
pub(super) fn markdown_head(out: &mut Vec<u8>, columns: &[Column]) {
    let names: Vec<Cell> = columns.iter().map(|column| column.name.clone()).collect();
    markdown_row(out, &names);
    for column in columns {
        out.extend_from_slice(if column.is_number { b"|---:" } else { b"|---" });
    }
    out.extend_from_slice(b"|\n");
}

/// A row of Markdown.
pub(super) fn markdown_row(out: &mut Vec<u8>, row: &[Cell]) {
    for cell in row {
        let text = cell.lines.join("<br>").replace('|', "\\|");
        out.extend_from_slice(b"| ");
        out.extend_from_slice(text.as_bytes());
        out.push(b' ');
    }
    out.extend_from_slice(b"|\n");
}

fn lines(out: &mut Vec<u8>, columns: &[Column], cells: &[&Cell], is_head: bool) {
    let count = cells.iter().map(|cell| cell.lines.len()).max().unwrap_or(1);
    for number in 0..count {
        for (place, (column, cell)) in columns.iter().zip(cells).enumerate() {
            out.extend_from_slice(if place > 0 { b"|" } else { b"" });
            let line = cell.lines.get(number).map_or("", String::as_str);
            let room = column.width.saturating_sub(unicode_width::UnicodeWidthStr::width(line));
            let goes_on = number + 1 < cell.lines.len();
            let is_last = place + 1 == columns.len();
            let (left, right) = match (is_head, column.is_number) {
                (true, _) => (room / 2, room - room / 2),
                (false, true) => (room, 0),
                (false, false) if is_last && !goes_on => (0, 0),
                (false, false) => (0, room),
            };
            pad(out, line, left + 1, right);
            match (goes_on, is_last && !is_head) {
                (true, _) => out.push(b'+'),
                (false, true) => {}
                (false, false) => out.push(b' '),
            }
        }
        out.push(b'\n');
    }
}
