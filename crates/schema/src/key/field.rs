//! Rust types that a part of a derived key can be.
//!
//! The bytes are the ones that `KeyPlan` makes for a column of the type; here the type is known,
//! so an integer part is a byte swap and a store.

use crate::error::KeyTooLong;
use crate::key::buffer::KeyBuffer;
use crate::key::codec::{
    KeySink, NULL_MARK, VALUE_MARK, ordered_f32, ordered_f64, put_mark, put_text,
};
use crate::values::fixed_value::strip_nul;
use crate::values::scalar::{BinaryArray, CharArray, Date, Decimal, Time, Timestamp};

/// A value that can be a part of a key.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let mut key = KeyBuffer::new();
/// 7u16.encode_part(false, &mut key)?;
/// 7u16.encode_part(true, &mut key)?;
/// assert_eq!(key.as_slice(), [0, 7, 0xff, 0xf8]);
/// # Ok::<(), remanent_schema::KeyTooLong>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a part of a key",
    note = "arrays, vectors and structs have no order; of a struct, name a field: `thing.a`"
)]
pub trait KeyValue {
    /// Appends the part.
    ///
    /// # Errors
    /// [`KeyTooLong`] if it does not fit.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let (mut one, mut two) = (KeyBuffer::new(), KeyBuffer::new());
    /// "a".encode_part(true, &mut one)?;
    /// "b".encode_part(true, &mut two)?;
    /// assert!(one.as_slice() > two.as_slice());
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong>;
}

macro_rules! integer_parts {
    ($($number:ident ^ $mask:expr),* $(,)?) => {$(
        impl KeyValue for $number {
            #[inline]
            fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
                let mask = if descending { !$mask } else { $mask };
                out.put((*self ^ mask).to_be_bytes())
            }
        }
    )*};
}

integer_parts! {
    u8 ^ 0, u16 ^ 0, u32 ^ 0, u64 ^ 0,
    i8 ^ i8::MIN, i16 ^ i16::MIN, i32 ^ i32::MIN, i64 ^ i64::MIN,
}

macro_rules! mapped_parts {
    ($($part:ty => |$value:ident| $mapped:expr),* $(,)?) => {$(
        impl KeyValue for $part {
            #[inline]
            fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
                let $value = self;
                $mapped.encode_part(descending, out)
            }
        }
    )*};
}

mapped_parts! {
    bool => |truth| u8::from(*truth),
    f32 => |number| ordered_f32(*number),
    f64 => |number| ordered_f64(*number),
    Date => |date| date.0,
    Time => |time| time.0,
    Timestamp => |timestamp| timestamp.0,
    String => |text| text.as_str(),
    Vec<u8> => |bytes| bytes.as_slice(),
}

impl<const P: u8, const S: u8> KeyValue for Decimal<P, S> {
    /// A decimal of more digits than its column has is a key like no row's: as much as fits.
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        if P <= 18 {
            let limit = i128::from(i64::MAX);
            return (self.0.clamp(-limit, limit) as i64).encode_part(descending, out);
        }
        let mask = if descending { i128::MAX } else { i128::MIN };
        out.put((self.0 ^ mask).to_be_bytes())
    }
}

impl KeyValue for &[u8] {
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        put_text(self, descending, out)
    }
}

impl KeyValue for &str {
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        put_text(self.as_bytes(), descending, out)
    }
}

impl<const N: usize> KeyValue for CharArray<N> {
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        put_text(strip_nul(self.as_bytes()), descending, out)
    }
}

impl<const N: usize> KeyValue for BinaryArray<N> {
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        out.put_slice(&self.0, descending)
    }
}

impl<const N: usize> KeyValue for [u8; N] {
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        out.put_slice(self, descending)
    }
}

impl<T: KeyValue> KeyValue for Option<T> {
    #[inline]
    fn encode_part(&self, descending: bool, out: &mut KeyBuffer) -> Result<(), KeyTooLong> {
        match self {
            None => put_mark(NULL_MARK, descending, out),
            Some(value) => {
                put_mark(VALUE_MARK, descending, out)?;
                value.encode_part(descending, out)
            }
        }
    }
}

#[cfg(test)]
mod tests;
