//! lpad and rpad, whose results can be far larger than what they are given.
//!
//! How large a value will be is known before it is made, and asked for then; whether to stop is
//! checked while it is made.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use crate::error::Result;
use crate::limits::cancel::Cancel;

/// Bytes that are written between two looks at whether to stop.
const PIECE_BYTES: usize = 1 << 20;

/// The functions.
pub(crate) fn functions() -> [Arc<ScalarUDF>; 2] {
    [Side::Left, Side::Right].map(|side| Arc::new(ScalarUDF::from(Pad::new(side))))
}

/// Where the filling goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    Left,
    Right,
}

/// A function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Pad {
    side: Side,
    signature: Signature,
}

/// What becomes of one text: so many of its first bytes, and so many bytes of filling.
#[derive(Clone, Copy, Default)]
struct Parts {
    kept: usize,
    filled: usize,
}

impl Pad {
    fn new(side: Side) -> Self {
        use DataType::{Int64, Utf8View};
        let two = TypeSignature::Exact(vec![Utf8View, Int64]);
        let three = TypeSignature::Exact(vec![Utf8View, Int64, Utf8View]);
        let signature = Signature::one_of(vec![two, three], Volatility::Immutable);
        Self { side, signature }
    }

    fn padded(&self, texts: &ArrayRef, lengths: &ArrayRef, fills: &ArrayRef) -> Result<ArrayRef> {
        let texts = cast(texts, &DataType::Utf8View)?;
        let fills = cast(fills, &DataType::Utf8View)?;
        let lengths = cast(lengths, &DataType::Int64)?;
        let (texts, fills) = (texts.as_string_view(), fills.as_string_view());
        let lengths = lengths.as_primitive::<Int64Type>();
        let row = |row: usize| {
            let is_null = texts.is_null(row) || lengths.is_null(row) || fills.is_null(row);
            (!is_null).then(|| (texts.value(row), lengths.value(row), fills.value(row)))
        };
        let (mut bytes, mut largest) = (0_usize, 0);
        let mut parts = Vec::with_capacity(texts.len());
        for row in (0..texts.len()).map(row) {
            let of = row.map_or_else(Parts::default, |(text, length, fill)| {
                Parts::of(text, usize::try_from(length).unwrap_or(0), fill)
            });
            parts.push(of);
            let size = of.kept.saturating_add(of.filled);
            (bytes, largest) = (bytes.saturating_add(size), size.max(largest));
        }
        Cancel::check_values(bytes, largest)?;
        let mut built = StringViewBuilder::with_capacity(texts.len());
        let mut value = String::new();
        for (number, parts) in parts.into_iter().enumerate() {
            let Some((text, _, fill)) = row(number) else {
                built.append_null();
                continue;
            };
            let kept = &text[..parts.kept];
            value.clear();
            value.reserve(parts.kept + parts.filled);
            if self.side == Side::Right {
                value.push_str(kept);
            }
            write_filling(&mut value, fill, parts.filled)?;
            if self.side == Side::Left {
                value.push_str(kept);
            }
            built.append_value(&value);
        }
        Ok(Arc::new(built.finish()))
    }
}

impl Parts {
    /// For a text that is to have so many letters.
    fn of(text: &str, letters: usize, fill: &str) -> Self {
        let cut = text.char_indices().nth(letters).map(|(at, _)| at);
        if let Some(kept) = cut {
            return Self { kept, filled: 0 };
        }
        if fill.is_empty() {
            return Self { kept: text.len(), filled: 0 };
        }
        let missing = letters - text.chars().count();
        let in_fill = fill.chars().count();
        let rest = fill.char_indices().nth(missing % in_fill).map_or(0, |(at, _)| at);
        let filled = (missing / in_fill).saturating_mul(fill.len()).saturating_add(rest);
        Self { kept: text.len(), filled }
    }
}

/// Writes a text over and over, up to so many bytes, which end with one of its letters.
fn write_filling(value: &mut String, fill: &str, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let piece = fill.repeat((PIECE_BYTES / fill.len()).clamp(1, bytes.div_ceil(fill.len())));
    let mut left = bytes;
    while left > 0 {
        Cancel::check_current()?;
        let part = &piece[..left.min(piece.len())];
        value.push_str(part);
        left -= part.len();
    }
    Ok(())
}

impl ScalarUDFImpl for Pad {
    fn name(&self) -> &str {
        match self.side {
            Side::Left => "lpad",
            Side::Right => "rpad",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows));
        let mut arrays = arrays.collect::<PlanResult<Vec<_>>>()?;
        if arrays.len() == 2 {
            let space = ColumnarValue::Scalar(datafusion::common::ScalarValue::from(" "));
            arrays.push(space.to_array(rows)?);
        }
        let padded = self.padded(&arrays[0], &arrays[1], &arrays[2])?;
        Ok(match is_scalar {
            true => {
                ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&padded, 0)?)
            }
            false => ColumnarValue::Array(padded),
        })
    }
}
