//! Choosing an encoding for a column's values, and encoding them.
//!
//! One pass finds what the values have in common, a second writes them. The choice goes by size:
//! the narrowest offsets; a dictionary of fixed values where it takes less than half of that, so
//! that what can be computed with is not hidden behind codes for little; one of text where it takes
//! less than the text. Rows without a value are filled with what costs nothing: a number that
//! is there, the first code, no text.

use std::cmp::Ordering;

use super::dictionary::{Distinct, SAMPLE, SAMPLE_DISTINCT_MAX};
use super::ends;
use super::head::{ALL_NULL, CONSTANT, ColumnHead, DICTIONARY, OFFSETS, PLAIN, STRINGS};
use super::kind::{Kind, read_float, read_integer};
use super::sketch::{self, DistinctSketch};
use super::zones;

/// Text of one column that a block can hold.
const TEXT_MAX: usize = 1 << 30;

/// A column's values: for each row its bytes as they lie in rows, Char without its padding, and
/// `None` for a row that is null or not there.
pub(crate) type Values<'v> = [Option<&'v [u8]>];

/// An encoded column. Offsets in its head are not set yet.
#[derive(Debug)]
pub(crate) struct EncodedColumn {
    pub(crate) head: ColumnHead,
    /// A bit for each row that is null; empty if none is.
    pub(crate) nulls: Vec<u64>,
    pub(crate) data: Vec<u8>,
    pub(crate) values: Vec<u8>,
    pub(crate) text: Vec<u8>,
    /// About how many different values it has, if it has rows enough.
    pub(crate) sketch: Option<Box<DistinctSketch>>,
}

/// Encodes a column whose null rows are marked in `nulls`; `None` if it has more than 1 GiB of
/// text.
pub(crate) fn encode(kind: Kind, values: &Values<'_>, nulls: Vec<u64>) -> Option<EncodedColumn> {
    let null_count = nulls.iter().map(|word| word.count_ones()).sum();
    let nulls = if null_count == 0 { Vec::new() } else { nulls };
    let mut column = match kind {
        Kind::Integer { size, signed } => encode_integers(values, size, signed),
        Kind::Float { size } => encode_floats(values, size),
        Kind::Fixed { size } => encode_fixed(values, size),
        Kind::Bytes { .. } => encode_text(values)?,
        Kind::Nothing => EncodedColumn::of(ALL_NULL),
    };
    column.head.null_count = null_count;
    column.nulls = nulls;
    column.describe(values, kind, values.len());
    Some(column)
}

/// Encodes a column of integers that 8 bytes hold, as [`encode`] does. Of `values`, which is empty
/// if no row lacks one, only that a row has none is of interest: its number is changed.
pub(crate) fn encode_narrow(
    numbers: &mut [i64],
    values: &Values<'_>,
    nulls: Vec<u64>,
    kind: Kind,
) -> EncodedColumn {
    let null_count = nulls.iter().map(|word| word.count_ones()).sum();
    let has_value = |i: usize| values.get(i).is_none_or(Option::is_some);
    let some = numbers.iter().enumerate().filter(|(i, _)| has_value(*i)).map(|(_, &it)| it);
    let zone = match values.is_empty() {
        true => extremes(numbers.iter().copied()),
        false => extremes(some),
    };
    let mut column = match zone {
        None => EncodedColumn::of(ALL_NULL),
        Some((least, greatest)) => {
            // A row without a value has that of the row before, which keeps its zone narrow.
            let first = numbers.iter().zip(values).find(|(_, value)| value.is_some());
            let mut last = first.map_or(least, |(number, _)| *number);
            for (number, value) in numbers.iter_mut().zip(values) {
                match value {
                    Some(_) => last = *number,
                    None => *number = last,
                }
            }
            encode_between(numbers, values, least, greatest, kind)
        }
    };
    column.head.null_count = null_count;
    column.nulls = if null_count == 0 { Vec::new() } else { nulls };
    column.describe(values, kind, numbers.len());
    column
}

/// The least and the greatest of some numbers, if there are any.
fn extremes(numbers: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let (least, greatest) = numbers
        .fold((i64::MAX, i64::MIN), |(least, greatest), it| (least.min(it), greatest.max(it)));
    (least <= greatest).then_some((least, greatest))
}

/// Encodes numbers, the least and greatest of which are given.
fn encode_between(
    numbers: &[i64],
    values: &Values<'_>,
    least: i64,
    greatest: i64,
    kind: Kind,
) -> EncodedColumn {
    let Kind::Integer { size, signed } = kind else { return EncodedColumn::of(ALL_NULL) };
    let zone = Some((i128::from(least), i128::from(greatest)));
    if least == greatest {
        return EncodedColumn::constant(&least.to_le_bytes()[..size], zone);
    }
    let range = greatest.abs_diff(least);
    let width = [1, 2, 3, 4].into_iter().find(|width| range < 1 << (8 * width));
    let width = width.filter(|&width| width <= size);
    let other = width.unwrap_or(size);
    let bytes = || numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(size));
    if other >= 3 && has_few_values(numbers, distinct_max(numbers.len(), other, size)) {
        let bytes: Vec<u8> = bytes().collect();
        let mut own: Vec<Option<&[u8]>> = bytes.chunks_exact(size).map(Some).collect();
        for (own, value) in own.iter_mut().zip(values) {
            *own = own.filter(|_| value.is_some());
        }
        let order = |a: &[u8], b: &[u8]| read_integer(a, signed).cmp(&read_integer(b, signed));
        if let Some(mut column) = fixed_dictionary(&own, size, other, order) {
            column.head.zone = zone;
            return column;
        }
    }
    let Some(width) = width else {
        let mut column = EncodedColumn::of(PLAIN);
        column.head.width = size as u32;
        column.head.zone = zone;
        column.data = bytes().collect();
        return column;
    };
    let mut column = EncodedColumn::of(OFFSETS);
    column.head.width = width as u32;
    column.head.zone = zone;
    let offsets = numbers.iter().map(|number| number.wrapping_sub(least) as u32);
    column.data = match width {
        1 => offsets.map(|offset| offset as u8).collect(),
        _ => {
            let mut data = vec![0; numbers.len() * width];
            put_numbers(&mut data, width, offsets);
            data
        }
    };
    column
}

impl EncodedColumn {
    fn of(encoding: u32) -> Self {
        Self {
            head: ColumnHead { encoding, ..ColumnHead::default() },
            nulls: Vec::new(),
            data: Vec::new(),
            values: Vec::new(),
            text: Vec::new(),
            sketch: None,
        }
    }

    /// Adds what planning and conditions want to know of it: a sketch and zones.
    fn describe(&mut self, values: &Values<'_>, kind: Kind, rows: usize) {
        if let Some((zones, size)) = zones::of_column(self, kind) {
            self.head.value_size = size as u32;
            self.head.value_count = (zones.len() / (2 * size)) as u32;
            self.values = zones;
        }
        let has_sketch = rows >= sketch::ROWS_MIN;
        self.sketch = has_sketch.then(|| Box::new(DistinctSketch::of_column(self, values, kind)));
    }

    fn constant(value: &[u8], zone: Option<(i128, i128)>) -> Self {
        let mut column = Self::of(CONSTANT);
        column.text = value.to_vec();
        column.head.zone = zone;
        column
    }

    fn plain(values: &Values<'_>, size: usize) -> Self {
        let mut column = Self::of(PLAIN);
        column.head.width = size as u32;
        column.data = vec![0; values.len() * size];
        let first = values.iter().flatten().next();
        let mut last = first.copied().unwrap_or_default();
        for (place, value) in column.data.chunks_exact_mut(size).zip(values) {
            last = value.unwrap_or(last);
            place[..last.len()].copy_from_slice(last);
        }
        column
    }

    /// A dictionary, whose values are sorted; of values that have one size.
    fn dictionary(distinct: &Distinct<'_>, size: usize) -> Self {
        let mut column = Self::codes(distinct);
        column.head.value_size = size as u32;
        column.values = distinct.values.concat();
        column
    }

    fn codes(distinct: &Distinct<'_>) -> Self {
        let width = distinct.code_width();
        let mut column = Self::of(DICTIONARY);
        column.head.width = width as u32;
        column.head.value_count = distinct.values.len() as u32;
        column.data = vec![0; distinct.codes.len() * width];
        put_numbers(&mut column.data, width, distinct.codes.iter().copied());
        column
    }
}

fn encode_integers(values: &Values<'_>, size: usize, signed: bool) -> EncodedColumn {
    let numbers = || values.iter().map(|value| value.map(|bytes| read_integer(bytes, signed)));
    let mut zone = (i128::MAX, i128::MIN);
    for number in numbers().flatten() {
        zone = (zone.0.min(number), zone.1.max(number));
    }
    let Some(first) = values.iter().flatten().next() else { return EncodedColumn::of(ALL_NULL) };
    if zone.0 == zone.1 {
        return EncodedColumn::constant(first, Some(zone));
    }
    // The difference of two 16-byte numbers can be too large for one.
    let range = zone.1.checked_sub(zone.0).unwrap_or(i128::MAX);
    let width = [1, 2, 3, 4].into_iter().find(|width| range < 1 << (8 * width));
    let width = width.filter(|&width| width <= size);
    if let Some(mut column) = fixed_dictionary(values, size, width.unwrap_or(size), |a, b| {
        read_integer(a, signed).cmp(&read_integer(b, signed))
    }) {
        column.head.zone = Some(zone);
        return column;
    }
    let mut column = match width {
        None => EncodedColumn::plain(values, size),
        Some(width) => {
            let mut column = EncodedColumn::of(OFFSETS);
            column.head.width = width as u32;
            column.data = vec![0; values.len() * width];
            let mut last = numbers().flatten().next().unwrap_or(zone.0);
            let offsets = numbers().map(|number| {
                last = number.unwrap_or(last);
                (last - zone.0) as u32
            });
            put_numbers(&mut column.data, width, offsets);
            column
        }
    };
    column.head.zone = Some(zone);
    column
}

fn encode_floats(values: &Values<'_>, size: usize) -> EncodedColumn {
    let Some(first) = values.iter().flatten().next() else { return EncodedColumn::of(ALL_NULL) };
    let zone = float_zone(values);
    if values.iter().flatten().all(|value| value == first) {
        return EncodedColumn::constant(first, zone);
    }
    let compare = |a: &[u8], b: &[u8]| read_float(a).total_cmp(&read_float(b));
    let dictionary = fixed_dictionary(values, size, size, compare);
    let mut column = dictionary.unwrap_or_else(|| EncodedColumn::plain(values, size));
    column.head.zone = zone;
    column
}

/// The bits of the least and the greatest float; `None` if there is one that is no number.
fn float_zone(values: &Values<'_>) -> Option<(i128, i128)> {
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    for number in values.iter().flatten().map(|value| read_float(value)) {
        if number.is_nan() {
            return None;
        }
        (least, greatest) = (least.min(number), greatest.max(number));
    }
    Some((i128::from(least.to_bits()), i128::from(greatest.to_bits())))
}

fn encode_fixed(values: &Values<'_>, size: usize) -> EncodedColumn {
    let Some(first) = values.iter().flatten().next() else { return EncodedColumn::of(ALL_NULL) };
    if values.iter().flatten().all(|value| value == first) {
        return EncodedColumn::constant(first, None);
    }
    let dictionary = fixed_dictionary(values, size, size, <[u8]>::cmp);
    dictionary.unwrap_or_else(|| EncodedColumn::plain(values, size))
}

/// Whether a dictionary of at most so many values is not out of the question.
fn has_few_values(numbers: &[i64], most: usize) -> bool {
    let mut sample = numbers[..numbers.len().min(SAMPLE)].to_vec();
    sample.sort_unstable();
    sample.dedup();
    sample.len() <= most.min(SAMPLE_DISTINCT_MAX)
}

/// How many values of `size` bytes a dictionary may have that takes less than half of `width` bytes
/// a row: as many as codes of one byte can tell apart, or more if it pays with codes of two.
fn distinct_max(rows: usize, width: usize, size: usize) -> usize {
    ((rows * width / 2).saturating_sub(rows * 2) / size).max(256)
}

/// A dictionary of values that have one size, if it takes less than half of `width` bytes a row.
fn fixed_dictionary(
    values: &Values<'_>,
    size: usize,
    width: usize,
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Option<EncodedColumn> {
    if width < 3 {
        return None;
    }
    let other = values.len() * width;
    let mut distinct = Distinct::find(values, distinct_max(values.len(), width, size))?;
    let own = values.len() * distinct.code_width() + distinct.values.len() * size;
    if own * 2 >= other {
        return None;
    }
    distinct.sort_by(compare);
    Some(EncodedColumn::dictionary(&distinct, size))
}

fn encode_text(values: &Values<'_>) -> Option<EncodedColumn> {
    let Some(first) = values.iter().flatten().next() else {
        return Some(EncodedColumn::of(ALL_NULL));
    };
    if values.iter().flatten().all(|value| value == first) {
        return Some(EncodedColumn::constant(first, Some(rows_of_extremes(values))));
    }
    let total: usize = values.iter().flatten().map(|value| value.len()).sum();
    let strings_size = total + ends::size_of_ends(values.len(), ends::NARROW);
    if let Some(mut distinct) = Distinct::find(values, values.len() / 2) {
        let ends = ends::size_of_ends(distinct.values.len(), ends::WIDE);
        let own = values.len() * distinct.code_width() + ends + distinct.bytes();
        if own < strings_size {
            distinct.sort_by(<[u8]>::cmp);
            return text_dictionary(values, &distinct);
        }
    }
    let mut column = EncodedColumn::of(STRINGS);
    column.head.zone = Some(rows_of_extremes(values));
    let all = values.iter().map(|value| value.unwrap_or_default());
    let (ends, text) = put_text(all, values.len(), total)?;
    (column.data, column.head.width) = ends::encode_ends(&ends);
    column.text = text;
    Some(column)
}

fn text_dictionary(values: &Values<'_>, distinct: &Distinct<'_>) -> Option<EncodedColumn> {
    let mut column = EncodedColumn::codes(distinct);
    let all = distinct.values.iter().copied();
    let (ends, text) = put_text(all, distinct.values.len(), distinct.bytes())?;
    column.values = ends.into_iter().flat_map(u32::to_le_bytes).collect();
    column.text = text;
    // The values are sorted.
    let row_of = |code: usize| {
        let has = |(value, &own): (&Option<&[u8]>, &u32)| value.is_some() && own as usize == code;
        values.iter().zip(&distinct.codes).position(has).unwrap_or(0) as i128
    };
    column.head.zone = Some((row_of(0), row_of(distinct.values.len() - 1)));
    Some(column)
}

/// Rows that have the least and the greatest text; there is one that has any.
fn rows_of_extremes(values: &Values<'_>) -> (i128, i128) {
    let mut rows = values.iter().enumerate().filter_map(|(row, value)| Some((row, (*value)?)));
    let Some((row, first)) = rows.next() else { return (0, 0) };
    let mut least = (row, head_of(first), first);
    let mut greatest = least;
    for (row, text) in rows {
        // Most texts differ from both in their first bytes.
        let head = head_of(text);
        if head < least.1 || head == least.1 && text < least.2 {
            least = (row, head, text);
        }
        if head > greatest.1 || head == greatest.1 && text > greatest.2 {
            greatest = (row, head, text);
        }
    }
    (least.0 as i128, greatest.0 as i128)
}

/// The first bytes of a text as a number in the order of texts.
#[inline]
fn head_of(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            text.iter().zip([56, 48, 40, 32, 24, 16, 8, 0]).map(|(&b, at)| u64::from(b) << at).sum()
        }
    }
}

/// Writes the offsets at which texts end, behind a 0, and the texts.
fn put_text<'v>(
    all: impl Iterator<Item = &'v [u8]>,
    count: usize,
    total: usize,
) -> Option<(Vec<u32>, Vec<u8>)> {
    if total > TEXT_MAX {
        return None;
    }
    let (mut ends, mut text) = (Vec::with_capacity(count + 1), Vec::with_capacity(total));
    ends.push(0);
    for value in all {
        text.extend_from_slice(value);
        ends.push(text.len() as u32);
    }
    Some((ends, text))
}

fn put_numbers(out: &mut [u8], width: usize, numbers: impl Iterator<Item = u32>) {
    match width {
        1 => out.iter_mut().zip(numbers).for_each(|(place, number)| *place = number as u8),
        2 => (out.chunks_exact_mut(2).zip(numbers))
            .for_each(|(place, number)| place.copy_from_slice(&(number as u16).to_le_bytes())),
        3 => {
            let (low, high) = out.split_at_mut(out.len() / 3 * 2);
            let places = low.as_chunks_mut().0.iter_mut().zip(high);
            places.zip(numbers).for_each(|((low, high), number)| {
                (*low, *high) = ((number as u16).to_le_bytes(), (number >> 16) as u8);
            });
        }
        _ => (out.chunks_exact_mut(4).zip(numbers))
            .for_each(|(place, number)| place.copy_from_slice(&number.to_le_bytes())),
    }
}
