//! Rows as lists of values, one below the other, as psql draws them.
//!
//! The widths are those that the rows held first have needed.

use unicode_width::UnicodeWidthStr;

use super::cell::{Cell, pad};
use super::held::Column;

/// A row with its number.
pub(super) fn row(out: &mut Vec<u8>, columns: &[Column], row: &[Cell], number: Option<u64>) {
    let name_width = columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
    if let Some(number) = number {
        rule(out, number, name_width, columns);
    }
    for (column, cell) in columns.iter().zip(row) {
        let count = cell.lines.len().max(column.name.lines.len());
        for line in 0..count {
            let name = column.name.lines.get(line).map_or("", String::as_str);
            pad(out, name, 0, name_width - name.width().min(name_width));
            let continues = line + 1 < column.name.lines.len();
            out.extend_from_slice(if continues { b"+| " } else { b" | " });
            let text = cell.lines.get(line).map_or("", String::as_str);
            let goes_on = line + 1 < cell.lines.len();
            let width = columns.iter().map(|column| column.width).max().unwrap_or(0);
            let room = if goes_on { width.saturating_sub(text.width()) } else { 0 };
            pad(out, text, 0, room);
            out.extend_from_slice(if goes_on { b"+\n" } else { b"\n" });
        }
    }
}

/// The line above a row: its number, and a crossing where names and values meet.
fn rule(out: &mut Vec<u8>, number: u64, names: usize, columns: &[Column]) {
    let mut line = format!("-[ RECORD {number} ]");
    let values = columns.iter().map(|column| column.width).max().unwrap_or(0);
    let whole = names + 3 + values;
    while line.len() < whole {
        line.push(if line.len() == names + 1 { '+' } else { '-' });
    }
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}
