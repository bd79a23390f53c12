//! Rows as objects of JSON, as PostgreSQL's `row_to_json` writes them.
//!
//! Numbers, truth and NULL are JSON's own; moments are as ISO 8601 has them; lists are arrays, and
//! what is JSON already stands as it is. All else is text.

use std::fmt::Write;

use crate::values::datum::Datum;

/// Appends an object; `is_json` says of each value whether it is JSON already.
pub(crate) fn write_object<'a>(
    out: &mut String,
    pairs: impl Iterator<Item = (&'a str, &'a Datum)>,
    is_json: &[bool],
) {
    out.push('{');
    for (place, (name, datum)) in pairs.enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_text(out, name);
        out.push(':');
        match datum {
            Datum::Text(text) if is_json.get(place) == Some(&true) => out.push_str(text),
            datum => write_datum(out, datum),
        }
    }
    out.push('}');
}

fn write_datum(out: &mut String, datum: &Datum) {
    match datum {
        Datum::Null => out.push_str("null"),
        Datum::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(..) => write_plain(out, datum),
        Datum::Real(number) if number.is_finite() => write_plain(out, datum),
        Datum::Double(number) if number.is_finite() => write_plain(out, datum),
        Datum::Timestamp(_) | Datum::TimestampTz(_) => {
            let text = datum.to_string().replacen(' ', "T", 1);
            let minutes = if matches!(datum, Datum::TimestampTz(_)) { ":00" } else { "" };
            write_text(out, &(text + minutes));
        }
        Datum::List(elements) => {
            out.push('[');
            for (place, element) in elements.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_datum(out, element);
            }
            out.push(']');
        }
        Datum::Text(text) => write_text(out, text),
        other => write_text(out, &other.to_string()),
    }
}

fn write_plain(out: &mut String, datum: &Datum) {
    // Writing to text does not fail.
    let _ = write!(out, "{datum}");
}

fn write_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests;
