//! Frozen columns into arrays of Arrow: whole stretches of rows, or the rows of a list.
//!
//! Numbers are widened from their offsets in one loop; text becomes views into bytes that are
//! copied once for a segment's dictionary, and once for each batch of a heap, or written out of the
//! symbols that they are kept in. An array may outlive the transaction, so nothing in it leads into
//! the database.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes as dt;
use remanent_engine::schema::{ColumnType, Value};
use remanent_engine::{Encoding, Ends, FrozenColumn, Symbols};

use crate::error::{Error, Result};
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Which rows of a segment are meant.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'r> {
    /// From the first up to the second.
    Stretch(usize, usize),
    /// These.
    List(&'r [u32]),
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Stretch(from, to) => to - from,
            Self::List(rows) => rows.len(),
        }
    }

    /// What `value` answers for the entry of each row in an array that has one for all rows.
    #[inline]
    fn gather<E: Copy, T>(self, entries: &[E], value: impl Fn(E) -> T) -> Vec<T> {
        match self {
            // Without a check for each row, so that several are converted at once.
            Self::Stretch(from, to) => {
                entries[from..to].iter().map(|&entry| value(entry)).collect()
            }
            Self::List(rows) => rows.iter().map(|&row| value(entries[row as usize])).collect(),
        }
    }

    /// What `value` answers for each row.
    #[inline]
    fn map<T>(self, mut value: impl FnMut(usize) -> T) -> Vec<T> {
        match self {
            Self::Stretch(from, to) => (from..to).map(value).collect(),
            Self::List(rows) => rows.iter().map(|&row| value(row as usize)).collect(),
        }
    }
}

/// Views of a dictionary's texts, by their codes.
pub(crate) struct Dictionary {
    views: Vec<u128>,
    text: Buffer,
}

/// The views of a column's dictionary, if it is one of text.
pub(crate) fn dictionary(column: &FrozenColumn<'_>) -> Option<Dictionary> {
    let Encoding::Dictionary { values, .. } = column.encoding() else { return None };
    if !is_text(column.column_type()) {
        return None;
    }
    let mut text = Vec::new();
    let views = (0..values.len() as u32).map(|code| {
        let bytes = values.bytes(code);
        let at = text.len() as u32;
        text.extend_from_slice(bytes);
        make_view(bytes, 0, at)
    });
    let views = views.collect();
    Some(Dictionary { views, text: Buffer::from_vec(text) })
}

fn is_text(column: &ColumnType) -> bool {
    matches!(column, ColumnType::String { .. } | ColumnType::Char(_))
}

/// The array of these rows of a column.
///
/// # Errors
/// A fault of the caller: an encoding that the type does not have.
pub(crate) fn array(
    column: &FrozenColumn<'_>,
    sql_type: &SqlType,
    dictionary: Option<&Dictionary>,
    rows: Rows<'_>,
) -> Result<ArrayRef> {
    let nulls = nulls_of(column, rows);
    match column.encoding() {
        Encoding::Offsets { min, width, bytes } => {
            let to = Numbers { min, sql_type, nulls };
            match width {
                1 => to.of(Each(bytes, u32::from), rows),
                2 => to.of(Each(bytes.as_chunks().0, |two| u16::from_le_bytes(two).into()), rows),
                3 => to.of(Parts::of(bytes), rows),
                _ => to.of(Each(bytes.as_chunks().0, u32::from_le_bytes), rows),
            }
        }
        Encoding::Dictionary { code_width, codes, .. } if dictionary.is_some() => {
            let Some(Dictionary { views, text }) = dictionary else {
                return Err(Error::internal("a dictionary without its views"));
            };
            let views = match code_width {
                1 => rows.gather(codes, |code| views[usize::from(code)]),
                2 => rows
                    .gather(codes.as_chunks().0, |two| views[usize::from(u16::from_le_bytes(two))]),
                _ => rows
                    .gather(codes.as_chunks().0, |four| views[u32::from_le_bytes(four) as usize]),
            };
            text_array(views, text.clone(), nulls)
        }
        Encoding::Strings { ends, bytes } if is_text(column.column_type()) => {
            let (text, views) = heap(ends, bytes, rows);
            text_array(views, text, nulls)
        }
        Encoding::Fsst { ends, codes, symbols } if is_text(column.column_type()) => {
            let (text, views) = from_symbols(ends, codes, &symbols, rows);
            text_array(views, text, nulls)
        }
        Encoding::Plain { width: 8, bytes } if is_long(sql_type) => {
            let words = rows.gather(bytes.as_chunks().0, i64::from_le_bytes);
            longs(words, sql_type, nulls)
        }
        _ => {
            let mut room = Vec::new();
            let values = rows.map(|row| Datum::from_value(column.value(row, &mut room), sql_type));
            array_of(&values, sql_type)
        }
    }
}

fn is_long(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::BigInt
            | SqlType::Double
            | SqlType::Timestamp
            | SqlType::TimestampTz
            | SqlType::Time
            | SqlType::Numeric { precision: ..=18, .. }
    )
}

fn longs(words: Vec<i64>, sql_type: &SqlType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match sql_type {
        SqlType::BigInt => Arc::new(Int64Array::new(words.into(), nulls)),
        SqlType::Double => {
            let floats: Vec<f64> =
                words.into_iter().map(|word| f64::from_bits(word as u64)).collect();
            Arc::new(Float64Array::new(floats.into(), nulls))
        }
        SqlType::Time => Arc::new(Time64MicrosecondArray::new(words.into(), nulls)),
        SqlType::Numeric { .. } => {
            let wide: Vec<i128> = words.into_iter().map(i128::from).collect();
            decimals(wide, sql_type, nulls)
        }
        _ => {
            let array = TimestampMicrosecondArray::new(words.into(), nulls);
            Arc::new(array.with_data_type(sql_type.to_arrow()))
        }
    })
}

fn decimals(wide: Vec<i128>, sql_type: &SqlType, nulls: Option<NullBuffer>) -> ArrayRef {
    let array = Decimal128Array::new(wide.into(), nulls);
    Arc::new(array.with_data_type(sql_type.to_arrow()))
}

/// Numbers that are kept as offsets, one for each row of a segment.
pub(crate) trait Offsets: Copy {
    /// What `value` answers for the offset of each row.
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T>;
}

/// Entries, and how one of them is read.
#[derive(Clone, Copy)]
struct Each<'e, E, F>(&'e [E], F);

impl<E: Copy, F: Fn(E) -> u32 + Copy> Offsets for Each<'_, E, F> {
    #[inline]
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T> {
        rows.gather(self.0, |entry| value((self.1)(entry)))
    }
}

/// The parts of offsets of three bytes.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'e> {
    low: &'e [[u8; 2]],
    high: &'e [u8],
}

impl<'e> Parts<'e> {
    pub(crate) fn of(bytes: &'e [u8]) -> Self {
        let (low, high) = FrozenColumn::offset_parts(bytes);
        Self { low, high }
    }

    /// The offsets of so many rows from one on.
    #[inline]
    pub(crate) fn stretch(self, from: usize, len: usize) -> impl Iterator<Item = u32> {
        let parts = self.low[from..from + len].iter().zip(&self.high[from..from + len]);
        parts.map(|(low, high)| Self::offset(*low, *high))
    }

    #[inline]
    fn offset(low: [u8; 2], high: u8) -> u32 {
        u32::from(u16::from_le_bytes(low)) | u32::from(high) << 16
    }
}

impl Offsets for Parts<'_> {
    #[inline]
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T> {
        match rows {
            Rows::Stretch(from, to) => self.stretch(from, to - from).map(value).collect(),
            Rows::List(rows) => {
                let offset = |row: usize| Self::offset(self.low[row], self.high[row]);
                rows.iter().map(|&row| value(offset(row as usize))).collect()
            }
        }
    }
}

/// What numbers become that are kept as what they are more than the least.
struct Numbers<'t> {
    min: i128,
    sql_type: &'t SqlType,
    nulls: Option<NullBuffer>,
}

impl Numbers<'_> {
    /// The array of these rows.
    #[inline]
    fn of(self, offsets: impl Offsets, rows: Rows<'_>) -> Result<ArrayRef> {
        let Self { min, sql_type, nulls } = self;
        macro_rules! primitive {
            ($type:ty, $native:ty) => {{
                let min = min as $native;
                let values: Vec<$native> =
                    offsets.gather(rows, |offset| min.wrapping_add(offset as $native));
                Arc::new(PrimitiveArray::<$type>::new(values.into(), nulls)) as ArrayRef
            }};
        }
        Ok(match sql_type {
            SqlType::Boolean => {
                let truths = offsets.gather(rows, |offset| min + i128::from(offset) != 0);
                Arc::new(BooleanArray::new(BooleanBuffer::from(truths), nulls))
            }
            SqlType::TinyInt => primitive!(dt::Int8Type, i8),
            SqlType::SmallInt => primitive!(dt::Int16Type, i16),
            SqlType::Integer => primitive!(dt::Int32Type, i32),
            SqlType::BigInt => primitive!(dt::Int64Type, i64),
            SqlType::UTinyInt => primitive!(dt::UInt8Type, u8),
            SqlType::USmallInt => primitive!(dt::UInt16Type, u16),
            SqlType::UInteger => primitive!(dt::UInt32Type, u32),
            SqlType::UBigInt => primitive!(dt::UInt64Type, u64),
            SqlType::Date => primitive!(dt::Date32Type, i32),
            SqlType::Time => primitive!(dt::Time64MicrosecondType, i64),
            SqlType::Timestamp | SqlType::TimestampTz => {
                let min = min as i64;
                let add = |offset| min.wrapping_add(i64::from(offset));
                longs(offsets.gather(rows, add), sql_type, nulls)?
            }
            SqlType::Numeric { .. } => {
                // In 8 bytes as long as it can be: the wider addition costs twice as much.
                let values: Vec<i128> = match i64::try_from(min) {
                    Ok(min) => {
                        offsets.gather(rows, |offset| i128::from(min.wrapping_add(offset.into())))
                    }
                    Err(_) => offsets.gather(rows, |offset| min + i128::from(offset)),
                };
                decimals(values, sql_type, nulls)
            }
            other => return Err(Error::internal(format!("offsets for a column of type {other}"))),
        })
    }
}

/// Views of texts that lie behind one another, and the bytes they lead into.
fn heap(ends: Ends<'_>, bytes: &[u8], rows: Rows<'_>) -> (Buffer, Vec<u128>) {
    match rows {
        Rows::Stretch(from, to) => {
            let start = ends.start(from);
            let text = Buffer::from(&bytes[start..ends.start(to)]);
            let views = rows.map(|row| {
                let range = ends.range(row);
                let at = range.start - start;
                make_view(&bytes[range], 0, at as u32)
            });
            (text, views)
        }
        Rows::List(_) => {
            let mut text = Vec::new();
            let views = rows.map(|row| {
                let own = &bytes[ends.range(row)];
                let at = text.len() as u32;
                // What is short stands in the view itself.
                if own.len() > 12 {
                    text.extend_from_slice(own);
                }
                make_view(own, 0, at)
            });
            (Buffer::from_vec(text), views)
        }
    }
}

/// Views of texts that are written in symbols, and the bytes they lead into.
fn from_symbols(
    ends: Ends<'_>,
    codes: &[u8],
    symbols: &Symbols<'_>,
    rows: Rows<'_>,
) -> (Buffer, Vec<u128>) {
    let (mut text, writer) = (Vec::new(), symbols.writer());
    if let Rows::Stretch(from, to) = rows {
        // A code stands for about three bytes.
        text.reserve((ends.start(to) - ends.start(from)) * 4);
    }
    let views = rows.map(|row| {
        let at = text.len();
        writer.append(&codes[ends.range(row)], &mut text);
        let view = make_view(&text[at..], 0, at as u32);
        // What is short stands in the view itself.
        if text.len() - at <= 12 {
            text.truncate(at);
        }
        view
    });
    (Buffer::from_vec(text), views)
}

fn text_array(views: Vec<u128>, text: Buffer, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    // SAFETY: each view was made of the bytes that it leads to, whole values of a column of text,
    // which the engine has checked to be UTF-8 when they came in.
    let array = unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), [text], nulls) };
    Ok(Arc::new(array))
}

fn nulls_of(column: &FrozenColumn<'_>, rows: Rows<'_>) -> Option<NullBuffer> {
    let bits = column.nulls()?;
    let valid = rows.map(|row| bits[row / 64] >> (row % 64) & 1 == 0);
    Some(NullBuffer::new(BooleanBuffer::from(valid)))
}

/// The one value of a column that has no other, as an array of one.
///
/// # Errors
/// A value that is not of the type.
pub(crate) fn single(value: Value<'_>, sql_type: &SqlType) -> Result<ArrayRef> {
    array_of(&[Datum::from_value(value, sql_type)], sql_type)
}

/// The values of a dictionary, as an array.
///
/// # Errors
/// A fault in the values.
pub(crate) fn dictionary_values(
    values: &remanent_engine::DictionaryValues<'_>,
    sql_type: &SqlType,
) -> Result<ArrayRef> {
    let data: Vec<Datum> = (0..values.len() as u32)
        .map(|code| Datum::from_value(values.get(code), sql_type))
        .collect();
    array_of(&data, sql_type)
}

/// So many numbers from `first` on, as an array; those that the type cannot have are others.
///
/// # Errors
/// A type that has no numbers.
pub(crate) fn consecutive(first: i128, count: usize, sql_type: &SqlType) -> Result<ArrayRef> {
    let offsets: Vec<u32> = (0..count as u32).collect();
    let to = Numbers { min: first, sql_type, nulls: None };
    to.of(Each(&offsets, |offset| offset), Rows::Stretch(0, count))
}
