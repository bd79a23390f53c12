//! A value as it stands in a table: its lines, and the places that they take.
//!
//! Nothing that a terminal would take for a command is left in it.

use std::fmt::Write;

use remanent_sql::{Datum, SqlType};
use unicode_width::UnicodeWidthStr;

/// Where a tab leads to.
const TAB_PLACES: usize = 8;

/// A value as text.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) lines: Vec<String>,
}

impl Cell {
    pub(super) fn new(text: &str) -> Self {
        Self { lines: text.split('\n').map(shown).collect() }
    }

    pub(super) fn of(datum: &Datum, null: &str) -> Self {
        match datum {
            Datum::Null => Self::new(null),
            Datum::Bool(truth) => Self::new(if *truth { "t" } else { "f" }),
            Datum::Text(text) => Self::new(text),
            other => Self::new(&other.to_string()),
        }
    }

    /// The places that the widest line takes.
    pub(super) fn width(&self) -> usize {
        self.lines.iter().map(|line| line.width()).max().unwrap_or(0)
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + size_of::<String>()).sum()
    }
}

/// Whether values stand at the right.
pub(super) fn is_number(sql_type: &SqlType) -> bool {
    use SqlType as T;
    matches!(
        sql_type,
        T::TinyInt
            | T::SmallInt
            | T::Integer
            | T::BigInt
            | T::UTinyInt
            | T::USmallInt
            | T::UInteger
            | T::UBigInt
            | T::Real
            | T::Double
            | T::Numeric { .. }
    )
}

/// Appends a line with blanks around it.
pub(super) fn pad(out: &mut Vec<u8>, line: &str, left: usize, right: usize) {
    out.resize(out.len() + left, b' ');
    out.extend_from_slice(line.as_bytes());
    out.resize(out.len() + right, b' ');
}

fn shown(line: &str) -> String {
    if !line.contains(char::is_control) {
        return line.to_owned();
    }
    let mut shown = String::with_capacity(line.len() + 8);
    for c in line.chars() {
        match c {
            '\t' => {
                let places = TAB_PLACES - shown.width() % TAB_PLACES;
                shown.extend(std::iter::repeat_n(' ', places));
            }
            '\r' => shown.push_str("\\r"),
            c if c.is_control() => {
                // Text takes all that is written to it.
                let _ = write!(shown, "\\x{:02X}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}
