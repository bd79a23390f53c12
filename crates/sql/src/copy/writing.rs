//! Rows into lines.
//!
//! What is written here is read back as the same values, NULL and empty text apart.

use super::CopyFormat;
use crate::values::datum::Datum;

impl CopyFormat {
    /// Appends a row as a line.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::{CopyFormat, Datum};
    /// let mut out = Vec::new();
    /// CopyFormat::csv().write_line(&mut out, &[1.into(), Datum::Null, "a,b".into()]);
    /// assert_eq!(out, b"1,,\"a,b\"\n");
    /// ```
    pub fn write_line(&self, out: &mut Vec<u8>, row: &[Datum]) {
        for (place, datum) in row.iter().enumerate() {
            if place > 0 {
                out.push(self.delimiter);
            }
            match datum {
                Datum::Null => out.extend_from_slice(self.null.as_bytes()),
                Datum::Text(text) => value(out, text, self, row.len()),
                other => value(out, &other.to_string(), self, row.len()),
            }
        }
        out.push(b'\n');
    }
}

fn value(out: &mut Vec<u8>, text: &str, format: &CopyFormat, width: usize) {
    match format.is_csv {
        true => csv(out, text, format, width),
        false => escaped(out, text, format.delimiter),
    }
}

fn escaped(out: &mut Vec<u8>, text: &str, delimiter: u8) {
    for byte in text.bytes() {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            byte if byte == b'\\' || byte == delimiter => byte,
            plain => {
                out.push(plain);
                continue;
            }
        };
        out.push(b'\\');
        out.push(letter);
    }
}

fn csv(out: &mut Vec<u8>, text: &str, format: &CopyFormat, width: usize) {
    let special = |byte: u8| {
        byte == format.delimiter || byte == format.quote || byte == b'\n' || byte == b'\r'
    };
    // Alone in its line, the mark of the end would be taken for one.
    let is_end = width == 1 && text == "\\.";
    if text != format.null && !is_end && !text.bytes().any(special) {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(format.quote);
    for byte in text.bytes() {
        if byte == format.quote || byte == format.escape {
            out.push(format.escape);
        }
        out.push(byte);
    }
    out.push(format.quote);
}
