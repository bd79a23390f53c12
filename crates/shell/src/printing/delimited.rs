//! Values with something between them: CSV as COPY writes it, and bars.
//!
//! Nothing is held: each row is written when it comes.

use std::sync::Arc;

use remanent_sql::{CopyFormat, Datum, ResultColumn};

use super::{Frame, Layout, Style, count_text};

/// Comma-separated values.
pub(super) struct Csv {
    format: CopyFormat,
    /// The names, until they are written.
    names: Option<Vec<Datum>>,
}

/// Values as they are, with bars between them.
pub(super) struct Unaligned {
    style: Style,
    frame: Frame,
    names: Option<Vec<String>>,
    rows: u64,
}

impl Csv {
    pub(super) fn new(style: &Style, columns: &Arc<[ResultColumn]>) -> Self {
        let names = columns.iter().map(|column| column.name.as_str().into()).collect();
        let format = CopyFormat { null: style.null.clone(), ..CopyFormat::csv() };
        Self { format, names: (!style.rows_only).then_some(names) }
    }

    fn head(&mut self, out: &mut Vec<u8>) {
        if let Some(names) = self.names.take() {
            self.format.write_line(out, &names);
        }
    }
}

impl Layout for Csv {
    fn row(&mut self, out: &mut Vec<u8>, row: &[Datum]) {
        self.head(out);
        self.format.write_line(out, row);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.head(out);
    }
}

impl Unaligned {
    pub(super) fn new(style: &Style, columns: &Arc<[ResultColumn]>, frame: Frame) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let names = (!style.rows_only).then_some(names);
        Self { style: style.clone(), frame, names, rows: 0 }
    }

    fn head(&mut self, out: &mut Vec<u8>) {
        let Some(names) = self.names.take() else { return };
        if let Some(title) = &self.frame.title {
            line(out, title);
        }
        line(out, &names.join(&self.style.separator));
    }
}

impl Layout for Unaligned {
    fn row(&mut self, out: &mut Vec<u8>, row: &[Datum]) {
        self.head(out);
        let text = |datum: &Datum| match datum {
            Datum::Null => self.style.null.clone(),
            Datum::Bool(truth) => if *truth { "t" } else { "f" }.to_owned(),
            other => other.to_string(),
        };
        let texts: Vec<String> = row.iter().map(text).collect();
        line(out, &texts.join(&self.style.separator));
        self.rows += 1;
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.head(out);
        if self.style.rows_only {
            return;
        }
        match &self.frame.footers {
            Some(footers) => footers.iter().for_each(|footer| line(out, footer)),
            None if self.style.footer => line(out, &count_text(self.rows)),
            None => {}
        }
    }
}

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}
