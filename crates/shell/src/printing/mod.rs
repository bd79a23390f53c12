//! Rows as text, in the format that is asked for.
//!
//! Rows are written as they come. Tables and lists of values look at the first of them to find
//! their widths, hold no more than these, and go on with the widths that they found.

mod cell;
mod delimited;
mod held;
mod json;
mod table;
mod vertical;

use std::sync::Arc;

use remanent_sql::{Datum, ResultColumn};

use crate::options::Format;

/// How answers look: what `\pset` sets.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) format: Format,
    pub(crate) expanded: Expanded,
    /// Stands for NULL in tables.
    pub(crate) null: String,
    pub(crate) separator: String,
    /// Only values: no names, no counts.
    pub(crate) rows_only: bool,
    pub(crate) footer: bool,
    pub(crate) pager: bool,
}

/// Whether a table is written as a list of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expanded {
    Off,
    On,
    /// If it is wider than the terminal.
    Auto,
}

/// What a result has beside its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) title: Option<String>,
    /// Lines below the rows, instead of their count.
    pub(crate) footers: Option<Vec<String>>,
}

/// Writes rows one after the other; what is written is put into `out`.
pub(crate) trait Layout {
    fn row(&mut self, out: &mut Vec<u8>, row: &[Datum]);

    /// Writes what is held and what stands below.
    fn end(&mut self, out: &mut Vec<u8>);
}

impl Default for Style {
    fn default() -> Self {
        Self {
            format: Format::default(),
            expanded: Expanded::Off,
            null: String::new(),
            separator: "|".to_owned(),
            rows_only: false,
            footer: true,
            pager: true,
        }
    }
}

impl Style {
    /// What writes rows of these columns, on a screen of this width.
    pub(crate) fn layout(
        &self,
        columns: &Arc<[ResultColumn]>,
        frame: Frame,
        width: Option<usize>,
    ) -> Box<dyn Layout> {
        match self.format {
            Format::Aligned | Format::Vertical | Format::Markdown => {
                Box::new(held::Held::new(self, columns, frame, width))
            }
            Format::Unaligned => Box::new(delimited::Unaligned::new(self, columns, frame)),
            Format::Csv => Box::new(delimited::Csv::new(self, columns)),
            Format::Json => Box::new(json::Json::new(columns, false)),
            Format::JsonLines => Box::new(json::Json::new(columns, true)),
        }
    }
}

/// What stands below so many rows.
fn count_text(rows: u64) -> String {
    if rows == 1 { "(1 row)".to_owned() } else { format!("({rows} rows)") }
}

#[cfg(test)]
mod tests;
