//! Values on the wire: numbers of types, and the formats text and binary.
//!
//! Text is what the SQL layer writes and reads itself; binary formats are here, big-endian, with
//! days and times counted from 2000 as PostgreSQL does.

pub(crate) mod binary_rows;
pub(crate) mod decimal;
pub(crate) mod oid;
pub(crate) mod reading;
pub(crate) mod writing;

#[cfg(test)]
mod tests;

/// Days from 1970 to 2000.
const EPOCH_DAYS: i32 = 10_957;
/// Microseconds from 1970 to 2000.
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    /// The format of a place, by codes that are none, one for all, or one for each.
    pub(crate) fn of(codes: &[u16], place: usize) -> Self {
        let code = match codes {
            [all] => Some(all),
            each => each.get(place),
        };
        if code == Some(&1) { Self::Binary } else { Self::Text }
    }

    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}
