//! Rows as JSON: one array of objects, or an object in each line.
//!
//! Numbers are written with all their digits; what JSON has no number for is text.

use std::io::Write;
use std::sync::Arc;

use remanent_sql::{Datum, ResultColumn, SqlType};

use super::Layout;

/// Rows as objects.
pub(super) struct Json {
    /// The names as JSON, with what their values are.
    columns: Vec<(String, SqlType)>,
    in_lines: bool,
    has_rows: bool,
}

impl Json {
    pub(super) fn new(columns: &Arc<[ResultColumn]>, in_lines: bool) -> Self {
        let columns = columns.iter().map(|column| (text(&column.name), column.sql_type.clone()));
        Self { columns: columns.collect(), in_lines, has_rows: false }
    }
}

impl Layout for Json {
    fn row(&mut self, out: &mut Vec<u8>, row: &[Datum]) {
        match (self.in_lines, std::mem::replace(&mut self.has_rows, true)) {
            (true, _) => {}
            (false, false) => out.push(b'['),
            (false, true) => out.extend_from_slice(b",\n"),
        }
        for (place, ((name, sql_type), datum)) in self.columns.iter().zip(row).enumerate() {
            out.push(if place > 0 { b',' } else { b'{' });
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            value(out, datum, sql_type);
        }
        out.extend_from_slice(if self.in_lines { b"}\n" } else { b"}" });
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        match (self.in_lines, self.has_rows) {
            (true, _) => {}
            (false, true) => out.extend_from_slice(b"]\n"),
            (false, false) => out.extend_from_slice(b"[]\n"),
        }
    }
}

fn value(out: &mut Vec<u8>, datum: &Datum, sql_type: &SqlType) {
    // A vector takes all that is written to it.
    let _ = match datum {
        Datum::Null => write!(out, "null"),
        Datum::Bool(truth) => write!(out, "{truth}"),
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(..) => write!(out, "{datum}"),
        Datum::Real(number) if number.is_finite() => write!(out, "{datum}"),
        Datum::Double(number) if number.is_finite() => write!(out, "{datum}"),
        Datum::Text(document) if *sql_type == SqlType::Json && is_json(document) => {
            write!(out, "{document}")
        }
        Datum::List(elements) => {
            let element_type = match sql_type {
                SqlType::Array(element) => element,
                other => other,
            };
            for (place, element) in elements.iter().enumerate() {
                out.push(if place > 0 { b',' } else { b'[' });
                value(out, element, element_type);
            }
            write!(out, "{}", if elements.is_empty() { "[]" } else { "]" })
        }
        other => write!(out, "{}", text(&other.to_string())),
    };
}

/// Whether it can stand as it is in one line.
fn is_json(document: &str) -> bool {
    !document.contains('\n') && serde_json::from_str::<serde_json::Value>(document).is_ok()
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
