//! Rows that are held until the widths of their columns are known.
//!
//! Of a long result the first rows decide: what comes later is written at once, and where it is
//! wider it pushes its line to the right.

use std::sync::Arc;

use remanent_sql::{Datum, ResultColumn};
use unicode_width::UnicodeWidthStr;

use super::cell::{Cell, is_number};
use super::{Expanded, Frame, Layout, Style, count_text, table, vertical};
use crate::options::Format;

/// How many rows, or bytes of them, decide on widths.
const HELD_ROWS: usize = 10_000;
const HELD_BYTES: usize = 16 << 20;

/// A row as text.
pub(super) type Row = Vec<Cell>;

/// A column as it is written.
pub(super) struct Column {
    pub(super) name: Cell,
    pub(super) is_number: bool,
    pub(super) width: usize,
}

/// Rows that are held, or were.
pub(super) struct Held {
    style: Style,
    frame: Frame,
    /// The places of the screen.
    screen: Option<usize>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    bytes: usize,
    /// Rows that have been written.
    written: u64,
    shape: Option<Shape>,
}

/// What is written, once it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Table,
    Vertical,
    Markdown,
}

impl Held {
    pub(super) fn new(
        style: &Style,
        columns: &Arc<[ResultColumn]>,
        frame: Frame,
        screen: Option<usize>,
    ) -> Self {
        let column = |column: &ResultColumn| {
            let name = Cell::new(&column.name);
            Column { width: name.width(), name, is_number: is_number(&column.sql_type) }
        };
        let columns = columns.iter().map(column).collect();
        let style = style.clone();
        Self { style, frame, screen, columns, rows: Vec::new(), bytes: 0, written: 0, shape: None }
    }

    fn decide(&mut self, out: &mut Vec<u8>) -> Shape {
        if let Some(shape) = self.shape {
            return shape;
        }
        for row in &self.rows {
            for (column, cell) in self.columns.iter_mut().zip(row) {
                column.width = column.width.max(cell.width());
            }
        }
        let width = table::width(&self.columns);
        let is_wide = self.screen.is_some_and(|screen| width > screen);
        let shape = match (self.style.format, self.style.expanded) {
            (Format::Markdown, _) => Shape::Markdown,
            (Format::Vertical, _) | (_, Expanded::On) => Shape::Vertical,
            (_, Expanded::Auto) if is_wide => Shape::Vertical,
            _ => Shape::Table,
        };
        self.shape = Some(shape);
        if let Some(title) = &self.frame.title
            && !self.style.rows_only
        {
            let is_table = shape == Shape::Table;
            let left = if is_table { width.saturating_sub(title.width()) / 2 } else { 0 };
            super::cell::pad(out, title, left, 0);
            out.push(b'\n');
        }
        if !self.style.rows_only {
            match shape {
                Shape::Table => table::head(out, &self.columns),
                Shape::Markdown => table::markdown_head(out, &self.columns),
                Shape::Vertical => {}
            }
        }
        shape
    }

    fn write_held(&mut self, out: &mut Vec<u8>) {
        let shape = self.decide(out);
        for row in std::mem::take(&mut self.rows) {
            self.written += 1;
            match shape {
                Shape::Table => table::row(out, &self.columns, &row),
                Shape::Markdown => table::markdown_row(out, &row),
                Shape::Vertical => {
                    if self.style.rows_only && self.written > 1 {
                        out.push(b'\n');
                    }
                    let number = (!self.style.rows_only).then_some(self.written);
                    vertical::row(out, &self.columns, &row, number);
                }
            }
        }
        self.bytes = 0;
    }
}

impl Layout for Held {
    fn row(&mut self, out: &mut Vec<u8>, row: &[Datum]) {
        let row: Row = row.iter().map(|datum| Cell::of(datum, &self.style.null)).collect();
        self.bytes += row.iter().map(Cell::bytes).sum::<usize>();
        self.rows.push(row);
        let is_full = self.rows.len() >= HELD_ROWS || self.bytes >= HELD_BYTES;
        if self.shape.is_some() || is_full {
            self.write_held(out);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.write_held(out);
        if self.style.rows_only {
            return;
        }
        let shape = self.decide(out);
        match &self.frame.footers {
            Some(footers) => footers.iter().for_each(|line| {
                out.extend_from_slice(line.as_bytes());
                out.push(b'\n');
            }),
            None if shape == Shape::Markdown || !self.style.footer => {}
            None if shape == Shape::Vertical && self.written > 0 => {}
            None => {
                out.extend_from_slice(count_text(self.written).as_bytes());
                out.push(b'\n');
            }
        }
        if shape != Shape::Markdown {
            out.push(b'\n');
        }
    }
}
