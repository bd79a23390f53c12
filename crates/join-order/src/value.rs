//! Values as points on a line, so that the share of a range can be measured.
//!
//! What always holds: of two values of one type, the smaller one never lies beyond the other.
//! Texts lie where their first six bytes put them.

use datafusion::common::ScalarValue;

const DAY: f64 = 86_400.0;

/// Where a value lies; `None` for NULL and for types without an order that matters here.
pub(super) fn point(value: &ScalarValue) -> Option<f64> {
    use ScalarValue as V;
    match value {
        V::Boolean(value) => value.map(|value| f64::from(u8::from(value))),
        V::Int8(value) => value.map(f64::from),
        V::Int16(value) => value.map(f64::from),
        V::Int32(value) => value.map(f64::from),
        V::Int64(value) => value.map(|value| value as f64),
        V::UInt8(value) => value.map(f64::from),
        V::UInt16(value) => value.map(f64::from),
        V::UInt32(value) => value.map(f64::from),
        V::UInt64(value) => value.map(|value| value as f64),
        V::Float32(value) => value.map(f64::from),
        V::Float64(value) => *value,
        V::Decimal32(value, _, scale) => value.map(|value| f64::from(value) / power(*scale)),
        V::Decimal64(value, _, scale) => value.map(|value| value as f64 / power(*scale)),
        V::Decimal128(value, _, scale) => value.map(|value| value as f64 / power(*scale)),
        V::Date32(value) => value.map(|days| f64::from(days) * DAY),
        V::Date64(value) => value.map(|value| value as f64 / 1e3),
        V::TimestampSecond(value, _) => value.map(|value| value as f64),
        V::TimestampMillisecond(value, _) => value.map(|value| value as f64 / 1e3),
        V::TimestampMicrosecond(value, _) => value.map(|value| value as f64 / 1e6),
        V::TimestampNanosecond(value, _) => value.map(|value| value as f64 / 1e9),
        V::Utf8(value) | V::LargeUtf8(value) | V::Utf8View(value) => {
            value.as_ref().map(|text| leading(text.as_bytes()))
        }
        V::Binary(value) | V::LargeBinary(value) | V::BinaryView(value) => {
            value.as_ref().map(|bytes| leading(bytes))
        }
        V::Dictionary(_, value) => point(value),
        _ => None,
    }
}

/// Six bytes are what a double holds exactly.
fn leading(bytes: &[u8]) -> f64 {
    (0..6).fold(0.0, |sum, at| sum * 256.0 + f64::from(bytes.get(at).copied().unwrap_or(0)))
}

fn power(scale: i8) -> f64 {
    10f64.powi(i32::from(scale))
}
