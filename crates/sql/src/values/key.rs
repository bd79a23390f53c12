//! Values as keys of sets and maps: what SQL calls equal is equal, and nothing else is.
//!
//! Numbers of different types, and with other digits shown, are one key if they are one number;
//! NULL is a key of its own, equal to itself alone.

use super::datum::Datum;

/// A value as a key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    Null,
    Bool(bool),
    /// An unscaled integer that does not end in zero, and its digits after the point.
    Exact(i128, u8),
    /// The bits of a number of which there is no exact one.
    Float(u64),
    Date(i32),
    Time(i64),
    Moment(i64),
    Interval(i32, i32, i64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    List(Vec<Key>),
}

impl From<&Datum> for Key {
    fn from(datum: &Datum) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Bool(truth) => Self::Bool(*truth),
            Datum::Int(number) => Self::Exact(i128::from(*number), 0),
            Datum::UInt(number) => Self::Exact(i128::from(*number), 0),
            Datum::Decimal(unscaled, scale) => {
                let (mut unscaled, mut scale) = (*unscaled, *scale);
                while scale > 0 && unscaled % 10 == 0 {
                    (unscaled, scale) = (unscaled / 10, scale - 1);
                }
                Self::Exact(unscaled, scale)
            }
            Datum::Real(number) => Self::of_float(f64::from(*number)),
            Datum::Double(number) => Self::of_float(*number),
            Datum::Date(days) => Self::Date(*days),
            Datum::Time(micros) => Self::Time(*micros),
            Datum::Timestamp(micros) | Datum::TimestampTz(micros) => Self::Moment(*micros),
            Datum::Interval(months, days, nanos) => Self::Interval(*months, *days, *nanos),
            Datum::Text(text) => Self::Text(text.clone()),
            Datum::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Datum::List(elements) => Self::List(elements.iter().map(Self::from).collect()),
        }
    }
}

impl Key {
    /// The key of several values.
    pub(crate) fn of_all(data: &[Datum]) -> Vec<Self> {
        data.iter().map(Self::from).collect()
    }

    fn of_float(number: f64) -> Self {
        let whole = number.trunc();
        if whole == number && whole.abs() < 2_f64.powi(63) {
            return Self::Exact(whole as i128, 0);
        }
        // One NaN for all.
        Self::Float(if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() })
    }
}
