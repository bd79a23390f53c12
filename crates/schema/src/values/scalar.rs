//! Rust types that a column of fixed size can be: numbers, dates, short text, arrays of such.
//!
//! Each knows its column type and its little-endian bytes, which are the ones that the run-time
//! layout writes. Reading takes any bytes of the right length; whether a value fits its column
//! (digits of a decimal) is checked before it is written.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use crate::error::RowError;
use crate::values::column_type::{ColumnType, decimal_size};
use crate::values::fixed_value::{decimal_fits, head, read_decimal, strip_nul, utf8};

/// A type whose values all have the same number of bytes.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// fn bytes_of<T: FixedField>(value: T) -> Vec<u8> {
///     let mut bytes = vec![0; T::SIZE];
///     value.write(&mut bytes);
///     bytes
/// }
/// assert_eq!(bytes_of(258u16), [2, 1]);
/// assert_eq!(bytes_of([1u8, 2, 3]), [1, 2, 3]);
/// // Ten thousand has five digits.
/// assert!(Decimal::<4, 2>(10_000).check().is_err());
/// ```
pub trait FixedField: Copy {
    /// Bytes in a row.
    const SIZE: usize;
    /// Alignment in the fixed part: 1, 2, 4 or 8.
    const ALIGN: u32;

    /// The type of a column holding this.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{ColumnType, Decimal, FixedField};
    /// let price = <Decimal<12, 2> as FixedField>::column_type();
    /// assert_eq!(price, ColumnType::Decimal { precision: 12, scale: 2 });
    /// ```
    fn column_type() -> ColumnType;

    /// Reads a value from the first [`SIZE`](FixedField::SIZE) bytes.
    ///
    /// # Panics
    /// If there are fewer.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::FixedField;
    /// assert_eq!(<u16 as FixedField>::read(&[2, 1, 99]), 0x0102);
    /// assert_eq!(<[u8; 2] as FixedField>::read(&[2, 1]), [2, 1]);
    /// ```
    fn read(bytes: &[u8]) -> Self;

    /// Writes the value to the first [`SIZE`](FixedField::SIZE) bytes.
    ///
    /// # Panics
    /// If there are fewer.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{FixedField, Timestamp};
    /// let mut place = [0; 8];
    /// FixedField::write(Timestamp(-1), &mut place);
    /// assert_eq!(place, [0xff; 8]);
    /// ```
    fn write(self, out: &mut [u8]);

    /// Checks that the column can hold the value.
    ///
    /// # Errors
    /// [`RowError::ValueOutOfRange`], with an empty path.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{Decimal, FixedField};
    /// assert!(Decimal::<4, 2>(9_999).check().is_ok());
    /// assert!(Decimal::<4, 2>(10_000).check().is_err());
    /// ```
    #[inline]
    fn check(&self) -> Result<(), RowError> {
        Ok(())
    }
}

/// A fixed type without parts: allowed in vectors and, by [`KeyValue`](crate::KeyValue), in keys.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// assert!(u32::is_of(&ColumnType::U32));
/// assert!(!u32::is_of(&ColumnType::I32));
/// assert!(Decimal::<12, 2>::is_of(&ColumnType::Decimal { precision: 12, scale: 2 }));
/// ```
pub trait Scalar: FixedField {
    /// Whether a column of this type holds such values.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{CharArray, ColumnType, Scalar};
    /// assert!(CharArray::<3>::is_of(&ColumnType::Char(3)));
    /// assert!(!CharArray::<3>::is_of(&ColumnType::Char(4)));
    /// ```
    fn is_of(column_type: &ColumnType) -> bool;
}

/// A calendar day: days since 1970-01-01.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let day = Date(20_000);
/// assert!(day < Date(day.0 + 1));
/// assert_eq!(Value::from(day), Value::Date(20_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A time of day: microseconds since midnight.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let noon = Time(12 * 3_600_000_000);
/// assert!(Time::default() < noon);
/// assert_eq!(Value::from(noon), Value::Time(43_200_000_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A point in time: microseconds since 1970-01-01 00:00 UTC.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let start = Timestamp(1_700_000_000_000_000);
/// let end = Timestamp(start.0 + 250);
/// assert!(start < end);
/// assert_eq!(Value::from(start), Value::Timestamp(start.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// An exact number of `P` digits, `S` of them after the point, as its unscaled integer.
///
/// # Examples
/// ```
/// use remanent_schema::Decimal;
/// let price = Decimal::<12, 2>(1999);
/// assert_eq!(price.to_string(), "19.99");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal<const P: u8, const S: u8>(pub i128);

/// Exactly `N` bytes.
///
/// # Examples
/// ```
/// use remanent_schema::{BinaryArray, ColumnType, FixedField};
/// let token = BinaryArray([0xab; 16]);
/// let mut place = [0; 16];
/// token.write(&mut place);
/// assert_eq!(<BinaryArray<16> as FixedField>::read(&place), token);
/// assert_eq!(<BinaryArray<16> as FixedField>::column_type(), ColumnType::Binary(16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BinaryArray<const N: usize>(pub [u8; N]);

/// UTF-8 text of at most `N` bytes, held in place and padded with NUL.
///
/// # Examples
/// ```
/// use remanent_schema::CharArray;
/// let code = CharArray::<3>::new("EUR")?;
/// assert_eq!(&*code, "EUR");
/// assert!(CharArray::<3>::new("EURO").is_err());
/// # Ok::<(), remanent_schema::TextTooLong>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CharArray<const N: usize> {
    bytes: [u8; N],
}

/// A text does not fit a [`CharArray`].
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let error = CharArray::<3>::new("EURO").unwrap_err();
/// assert_eq!((error.len, error.max), (4, 3));
/// assert_eq!(error.to_string(), "the text has 4 bytes, the most is 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextTooLong {
    /// The text's length in bytes.
    pub len: usize,
    /// The most allowed.
    pub max: usize,
}

impl<const N: usize> CharArray<N> {
    /// The text, without trailing NULs.
    ///
    /// # Errors
    /// [`TextTooLong`] if it has more than `N` bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let code = CharArray::<3>::new("DE")?;
    /// assert_eq!(code.to_string(), "DE");
    /// assert_eq!(CharArray::<3>::new("EURO"), Err(TextTooLong { len: 4, max: 3 }));
    /// # Ok::<(), remanent_schema::TextTooLong>(())
    /// ```
    pub fn new(text: &str) -> Result<CharArray<N>, TextTooLong> {
        let content = strip_nul(text.as_bytes());
        let mut bytes = [0; N];
        let place =
            bytes.get_mut(..content.len()).ok_or(TextTooLong { len: content.len(), max: N })?;
        place.copy_from_slice(content);
        Ok(CharArray { bytes })
    }

    /// The text.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let code: CharArray<8> = "DE".parse()?;
    /// // The padding is no part of it.
    /// assert_eq!(code.as_str(), "DE");
    /// assert_eq!(CharArray::<8>::default().as_str(), "");
    /// # Ok::<(), remanent_schema::TextTooLong>(())
    /// ```
    #[inline]
    pub fn as_str(&self) -> &str {
        utf8(strip_nul(&self.bytes))
    }
}

impl<const N: usize> Deref for CharArray<N> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Default for CharArray<N> {
    fn default() -> CharArray<N> {
        CharArray { bytes: [0; N] }
    }
}

impl<const N: usize> TryFrom<&str> for CharArray<N> {
    type Error = TextTooLong;

    fn try_from(text: &str) -> Result<CharArray<N>, TextTooLong> {
        CharArray::new(text)
    }
}

impl<const N: usize> FromStr for CharArray<N> {
    type Err = TextTooLong;

    fn from_str(text: &str) -> Result<CharArray<N>, TextTooLong> {
        CharArray::new(text)
    }
}

impl<const N: usize> fmt::Debug for CharArray<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Display for CharArray<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Display for TextTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the text has {} bytes, the most is {}", self.len, self.max)
    }
}

impl std::error::Error for TextTooLong {}

impl<const P: u8, const S: u8> fmt::Display for Decimal<P, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let digits = format!("{:0width$}", self.0.unsigned_abs(), width = usize::from(S) + 1);
        match digits.split_at(digits.len() - usize::from(S)) {
            (whole, "") => write!(f, "{sign}{whole}"),
            (whole, fraction) => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

macro_rules! number_fields {
    ($($number:ident => $column_type:ident),* $(,)?) => {$(
        impl FixedField for $number {
            const SIZE: usize = size_of::<$number>();
            const ALIGN: u32 = size_of::<$number>() as u32;

            fn column_type() -> ColumnType {
                ColumnType::$column_type
            }

            #[inline]
            fn read(bytes: &[u8]) -> $number {
                $number::from_le_bytes(head(bytes))
            }

            #[inline]
            fn write(self, out: &mut [u8]) {
                out[..Self::SIZE].copy_from_slice(&self.to_le_bytes());
            }
        }

        impl Scalar for $number {
            #[inline]
            fn is_of(column_type: &ColumnType) -> bool {
                matches!(column_type, ColumnType::$column_type)
            }
        }
    )*};
}

number_fields! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64,
}

macro_rules! counted_fields {
    ($($name:ident($count:ident)),* $(,)?) => {$(
        impl FixedField for $name {
            const SIZE: usize = $count::SIZE;
            const ALIGN: u32 = $count::ALIGN;

            fn column_type() -> ColumnType {
                ColumnType::$name
            }

            #[inline]
            fn read(bytes: &[u8]) -> $name {
                $name($count::read(bytes))
            }

            #[inline]
            fn write(self, out: &mut [u8]) {
                self.0.write(out);
            }
        }

        impl Scalar for $name {
            #[inline]
            fn is_of(column_type: &ColumnType) -> bool {
                matches!(column_type, ColumnType::$name)
            }
        }
    )*};
}

counted_fields! { Date(i32), Time(i64), Timestamp(i64) }

impl FixedField for bool {
    const SIZE: usize = 1;
    const ALIGN: u32 = 1;

    fn column_type() -> ColumnType {
        ColumnType::Bool
    }

    #[inline]
    fn read(bytes: &[u8]) -> bool {
        bytes[0] != 0
    }

    #[inline]
    fn write(self, out: &mut [u8]) {
        out[0] = u8::from(self);
    }
}

impl Scalar for bool {
    #[inline]
    fn is_of(column_type: &ColumnType) -> bool {
        matches!(column_type, ColumnType::Bool)
    }
}

impl<const P: u8, const S: u8> FixedField for Decimal<P, S> {
    const SIZE: usize = {
        assert!(P >= 1 && P <= 38 && S <= P, "a decimal has 1 to 38 digits");
        decimal_size(P)
    };
    const ALIGN: u32 = 8;

    fn column_type() -> ColumnType {
        ColumnType::Decimal { precision: P, scale: S }
    }

    #[inline]
    fn read(bytes: &[u8]) -> Decimal<P, S> {
        Decimal(read_decimal(P, bytes))
    }

    #[inline]
    fn write(self, out: &mut [u8]) {
        out[..Self::SIZE].copy_from_slice(&self.0.to_le_bytes()[..Self::SIZE]);
    }

    #[inline]
    fn check(&self) -> Result<(), RowError> {
        if decimal_fits(P, self.0) { Ok(()) } else { Err(out_of_range()) }
    }
}

impl<const P: u8, const S: u8> Scalar for Decimal<P, S> {
    #[inline]
    fn is_of(column_type: &ColumnType) -> bool {
        *column_type == Self::column_type()
    }
}

impl<const N: usize> FixedField for CharArray<N> {
    const SIZE: usize = {
        assert!(N >= 1 && N <= 65_535, "a char array has 1 to 65,535 bytes");
        N
    };
    const ALIGN: u32 = 1;

    fn column_type() -> ColumnType {
        ColumnType::Char(N as u32)
    }

    #[inline]
    fn read(bytes: &[u8]) -> CharArray<N> {
        CharArray { bytes: head(bytes) }
    }

    #[inline]
    fn write(self, out: &mut [u8]) {
        out[..N].copy_from_slice(&self.bytes);
    }
}

impl<const N: usize> Scalar for CharArray<N> {
    #[inline]
    fn is_of(column_type: &ColumnType) -> bool {
        matches!(column_type, ColumnType::Char(size) if *size as usize == N)
    }
}

impl<const N: usize> FixedField for BinaryArray<N> {
    const SIZE: usize = {
        assert!(N >= 1 && N <= 65_535, "a binary array has 1 to 65,535 bytes");
        N
    };
    const ALIGN: u32 = 1;

    fn column_type() -> ColumnType {
        ColumnType::Binary(N as u32)
    }

    #[inline]
    fn read(bytes: &[u8]) -> BinaryArray<N> {
        BinaryArray(head(bytes))
    }

    #[inline]
    fn write(self, out: &mut [u8]) {
        out[..N].copy_from_slice(&self.0);
    }
}

impl<const N: usize> Scalar for BinaryArray<N> {
    #[inline]
    fn is_of(column_type: &ColumnType) -> bool {
        matches!(column_type, ColumnType::Binary(size) if *size as usize == N)
    }
}

impl<T: FixedField, const N: usize> FixedField for [T; N] {
    const SIZE: usize = {
        assert!(N >= 1, "an array has at least one element");
        T::SIZE * N
    };
    const ALIGN: u32 = T::ALIGN;

    fn column_type() -> ColumnType {
        ColumnType::Array { element: Box::new(T::column_type()), count: N as u32 }
    }

    #[inline]
    fn read(bytes: &[u8]) -> [T; N] {
        let bytes = &bytes[..Self::SIZE];
        std::array::from_fn(|index| T::read(&bytes[index * T::SIZE..]))
    }

    #[inline]
    fn write(self, out: &mut [u8]) {
        for (element, place) in self.into_iter().zip(out.chunks_exact_mut(T::SIZE)) {
            element.write(place);
        }
    }

    #[inline]
    fn check(&self) -> Result<(), RowError> {
        self.iter().try_for_each(T::check)
    }
}

#[cold]
fn out_of_range() -> RowError {
    RowError::ValueOutOfRange { column: "".into() }
}

#[cfg(test)]
mod tests;
