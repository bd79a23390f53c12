//! How large what functions give will be.
//!
//! Of most, it is no more than a few times what they are given. The others say how often they
//! repeat what; of these each row is checked.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

/// What values take, in bytes.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// All together.
    pub(crate) total: usize,
    /// The largest.
    pub(crate) largest: usize,
}

/// How often what is given may be there in what comes out, where nothing more is known.
const FACTOR: usize = 4;
/// What a value takes beside its bytes.
pub(crate) const VALUE_BYTES: usize = 32;
/// A number or a moment as text, at most.
const NUMBER_TEXT: usize = 64;

/// What a function of this name gives at most for these arguments of so many rows.
pub(crate) fn size_of(name: &str, args: &[ColumnarValue], rows: usize) -> Size {
    let is_scalar = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = if is_scalar { 1 } else { rows };
    let grows = Growth::of(name);
    if grows == Growth::Little {
        let bound = args.iter().map(|arg| quick_size(arg, rows)).fold(0, usize::saturating_add);
        if bound <= super::SMALL_BYTES {
            let bound = bound * FACTOR + rows * VALUE_BYTES;
            return Size { total: bound, largest: bound };
        }
    }
    let sizes: Vec<Sizes> = args.iter().map(Sizes::of).collect();
    let mut size = Size::default();
    for row in 0..rows {
        let of_row = grows.bytes(&Row { args, sizes: &sizes, row }).saturating_add(VALUE_BYTES);
        size.total = size.total.saturating_add(of_row);
        size.largest = size.largest.max(of_row);
    }
    size
}

/// No less than an argument takes, found quickly.
fn quick_size(arg: &ColumnarValue, rows: usize) -> usize {
    match arg {
        ColumnarValue::Array(array) => array.get_buffer_memory_size(),
        ColumnarValue::Scalar(scalar) => scalar_size(scalar).saturating_mul(rows),
    }
}

/// How a function makes more of what it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// A few times as much.
    Little,
    /// The first, as often as the second says.
    Repeated,
    /// The first, and so many elements as the second says, of which one may be the third.
    Resized,
    /// A number for each step from the first to the second.
    Series,
    /// The third instead of each second in the first.
    Replaced,
    /// The third instead of each match in the first, parts of which it may have in it.
    RegexReplaced,
    /// The parts of a match.
    RegexMatched,
    /// The first between all others.
    Joined,
    /// The elements of the first with the second between them.
    Written,
    /// A value for each letter.
    Letters,
    /// A number, found in time by the square of the longest.
    Compared,
}

impl Growth {
    fn of(name: &str) -> Self {
        match name {
            "repeat" | "array_repeat" | "list_repeat" => Self::Repeated,
            "array_resize" | "list_resize" => Self::Resized,
            "generate_series" | "range" | "gen_series" => Self::Series,
            "replace" => Self::Replaced,
            "regexp_replace" => Self::RegexReplaced,
            "regexp_match" => Self::RegexMatched,
            "concat_ws" => Self::Joined,
            "array_to_string" | "array_join" | "list_join" | "list_to_string" => Self::Written,
            "string_to_array" | "string_to_list" => Self::Letters,
            "levenshtein" => Self::Compared,
            _ => Self::Little,
        }
    }

    fn bytes(self, row: &Row<'_>) -> usize {
        let size = |arg| row.size(arg);
        match self {
            Self::Little => row.all().saturating_mul(FACTOR),
            Self::Repeated => {
                // The element comes first; each has at least its place in the list.
                row.count(1).saturating_mul(size(0).max(1))
            }
            Self::Resized => {
                let wanted = row.count(1);
                let each = size(2).max(VALUE_BYTES);
                size(0).saturating_add(wanted.saturating_mul(each))
            }
            Self::Series => row.steps().saturating_mul(16),
            Self::Replaced => {
                let (text, from, to) = (size(0), size(1), size(2));
                let times = text.checked_div(from).unwrap_or(text + 1);
                text.saturating_add(times.saturating_mul(to.saturating_sub(from)))
            }
            Self::RegexReplaced => {
                let (text, to) = (size(0), size(2));
                let all = row.args.len() > 3;
                let times = if all { text + 1 } else { 1 };
                let parts = row.letters_in(2, '\\').saturating_mul(text);
                text.saturating_add(times.saturating_mul(to)).saturating_add(parts)
            }
            Self::RegexMatched => (row.letters_in(1, '(') + 1).saturating_mul(size(0)),
            Self::Joined => {
                let between = row.args.len().saturating_mul(size(0));
                row.all().saturating_add(between)
            }
            Self::Written => {
                let each = size(1).saturating_add(size(2)).saturating_add(NUMBER_TEXT);
                let elements = size(0) / row.element_size(0) + 1;
                size(0).saturating_add(elements.saturating_mul(each))
            }
            Self::Compared => size(0).max(size(1)),
            Self::Letters => size(0).saturating_mul(VALUE_BYTES),
        }
    }
}

/// The arguments in one row.
struct Row<'a> {
    args: &'a [ColumnarValue],
    sizes: &'a [Sizes],
    row: usize,
}

impl Row<'_> {
    fn size(&self, arg: usize) -> usize {
        self.sizes.get(arg).map_or(0, |sizes| sizes.at(self.row))
    }

    fn all(&self) -> usize {
        (0..self.args.len()).map(|arg| self.size(arg)).fold(0, usize::saturating_add)
    }

    fn scalar(&self, arg: usize) -> Option<ScalarValue> {
        match self.args.get(arg)? {
            ColumnarValue::Scalar(scalar) => Some(scalar.clone()),
            ColumnarValue::Array(array) => ScalarValue::try_from_array(array, self.row).ok(),
        }
    }

    fn number(&self, arg: usize) -> Option<i64> {
        if let Some(ColumnarValue::Array(array)) = self.args.get(arg)
            && let Some(numbers) = array.as_primitive_opt::<Int64Type>()
        {
            return numbers.is_valid(self.row).then(|| numbers.value(self.row));
        }
        match self.scalar(arg)?.cast_to(&DataType::Int64).ok()? {
            ScalarValue::Int64(number) => number,
            _ => None,
        }
    }

    /// How often, or how many; nothing below zero.
    fn count(&self, arg: usize) -> usize {
        usize::try_from(self.number(arg).unwrap_or(0)).unwrap_or(0)
    }

    /// How many steps a series has: from the first argument to the second, by the third; of one
    /// argument, from zero.
    fn steps(&self) -> usize {
        let is_number =
            |arg: usize| self.scalar(arg).is_some_and(|scalar| scalar.data_type().is_integer());
        let by = |low: i64, high: i64, step: i64| {
            let distance = i128::from(high) - i128::from(low);
            let steps = distance.checked_div(i128::from(step)).unwrap_or(0) + 1;
            usize::try_from(steps.max(0)).unwrap_or(usize::MAX)
        };
        if self.args.len() == 1 {
            return by(0, self.number(0).unwrap_or(0), 1);
        }
        let step = if self.args.len() > 2 { self.scalar(2) } else { None };
        if is_number(0) {
            let (low, high) = (self.number(0).unwrap_or(0), self.number(1).unwrap_or(0));
            return by(low, high, self.number(2).unwrap_or(1));
        }
        // Moments, in microseconds, by an interval whose months are not shorter than 28 days.
        let moment = |arg: usize| {
            let to = DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, None);
            let moment = self.scalar(arg)?.cast_to(&to).ok()?.cast_to(&DataType::Int64).ok()?;
            match moment {
                ScalarValue::Int64(moment) => moment,
                _ => None,
            }
        };
        let day = 86_400_000_000_i64;
        let step = match step {
            Some(ScalarValue::IntervalMonthDayNano(Some(step))) => {
                let days = i64::from(step.months) * 28 + i64::from(step.days);
                days.saturating_mul(day).saturating_add(step.nanoseconds / 1000)
            }
            _ => day,
        };
        by(moment(0).unwrap_or(0), moment(1).unwrap_or(0), step)
    }

    /// How often a letter is in a text.
    fn letters_in(&self, arg: usize, letter: char) -> usize {
        let scalar = self.scalar(arg);
        let text = scalar.as_ref().and_then(|scalar| scalar.try_as_str().flatten());
        text.map_or(0, |text| text.matches(letter).count())
    }

    /// What one element of a list takes.
    fn element_size(&self, arg: usize) -> usize {
        let data_type = self.args.get(arg).map(ColumnarValue::data_type);
        match data_type {
            Some(DataType::List(field) | DataType::LargeList(field)) => {
                field.data_type().primitive_width().unwrap_or(1).max(1)
            }
            _ => 1,
        }
    }
}

/// The bytes of an argument in each row.
enum Sizes {
    All(usize),
    Each(Vec<usize>),
}

impl Sizes {
    fn of(arg: &ColumnarValue) -> Self {
        match arg {
            ColumnarValue::Scalar(scalar) => Self::All(scalar_size(scalar)),
            ColumnarValue::Array(array) => array_sizes(array),
        }
    }

    fn at(&self, row: usize) -> usize {
        match self {
            Self::All(size) => *size,
            Self::Each(sizes) => sizes.get(row).copied().unwrap_or(0),
        }
    }
}

pub(crate) fn scalar_size(scalar: &ScalarValue) -> usize {
    match scalar {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.as_ref().map_or(0, String::len)
        }
        ScalarValue::Binary(bytes)
        | ScalarValue::LargeBinary(bytes)
        | ScalarValue::BinaryView(bytes) => bytes.as_ref().map_or(0, Vec::len),
        ScalarValue::List(list) => list.get_array_memory_size(),
        ScalarValue::LargeList(list) => list.get_array_memory_size(),
        ScalarValue::Struct(row) => row.get_array_memory_size(),
        _ => 16,
    }
}

/// The bytes of the largest value of a column.
pub(crate) fn largest_of(array: &ArrayRef) -> usize {
    match array_sizes(array) {
        Sizes::All(size) => size,
        Sizes::Each(sizes) => sizes.into_iter().max().unwrap_or(0),
    }
}

fn array_sizes(array: &ArrayRef) -> Sizes {
    let rows = 0..array.len();
    match array.data_type() {
        DataType::Utf8View => Sizes::Each(
            array.as_string_view().views().iter().map(|view| *view as u32 as usize).collect(),
        ),
        DataType::BinaryView => Sizes::Each(
            array.as_binary_view().views().iter().map(|view| *view as u32 as usize).collect(),
        ),
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            Sizes::Each(rows.map(|row| texts.value_length(row) as usize).collect())
        }
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            Sizes::Each(rows.map(|row| texts.value_length(row) as usize).collect())
        }
        DataType::Binary => {
            let bytes = array.as_binary::<i32>();
            Sizes::Each(rows.map(|row| bytes.value_length(row) as usize).collect())
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let values = lists.values();
            let each = values.to_data().get_slice_memory_size().unwrap_or(0) / values.len().max(1);
            let each = each.max(1) + 1;
            Sizes::Each(rows.map(|row| lists.value_length(row) as usize * each).collect())
        }
        fixed => match fixed.primitive_width() {
            Some(width) => Sizes::All(width),
            None => {
                let data = array.to_data();
                Sizes::All(data.get_slice_memory_size().unwrap_or(0) / array.len().max(1) + 1)
            }
        },
    }
}
