//! Encoded columns into plain vectors: whole stretches of rows, or the rows of a list.
//!
//! Numbers are widened from their offsets in one loop; text becomes views into bytes that are
//! copied once for a segment's dictionary, and once for each batch of strings, or written out of
//! the symbols that they are kept in. Numbers and text do not lead into the database, so that what
//! is made of them may outlive the transaction.

use remanent_engine::schema::{ColumnType, Value};
use remanent_engine::{DictionaryValues, Encoding, FrozenColumn};

use crate::encodings::dictionary::{Dictionary, is_text};
use crate::encodings::offsets::{Entries, Offsets, with_offsets};
use crate::rows::Rows;
use crate::text_view::TextViews;
use crate::vector::{Decoded, Vector};

/// The values of these rows of a column; `dictionary` is that of the column, if it has one of text.
///
/// # Panics
/// If there is no such row, or the dictionary is another column's.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, Piece, schema::*};
/// use remanent_exec::{Rows, Vector, decode};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
/// let rows = (0..1000_i64).map(|i| [Some(Value::I64(i * 7))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let decoded = decode(&rows.column(table.column("a")?)?, None, Rows::List(&[3, 999]));
/// let Vector::I64(numbers) = decoded.values else { unreachable!("the type says it") };
/// assert_eq!((numbers, decoded.valid), (vec![21, 6993], None));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub fn decode<'t>(
    column: &FrozenColumn<'t>,
    dictionary: Option<&Dictionary>,
    rows: Rows<'_>,
) -> Decoded<'t> {
    match values_of(column, dictionary, rows) {
        Some(values) => Decoded { values, valid: valid_of(column, rows) },
        None => from_values(column.column_type(), one_by_one(column, rows)),
    }
}

/// The values of rows, if their encoding has a loop of its own for the type.
fn values_of(
    column: &FrozenColumn<'_>,
    dictionary: Option<&Dictionary>,
    rows: Rows<'_>,
) -> Option<Vector<'static>> {
    let column_type = column.column_type();
    match column.encoding() {
        Encoding::Offsets { min, width, bytes } => {
            with_offsets!(bytes, width, |offsets| from_offsets(min, column_type, offsets, rows))
        }
        Encoding::Plain { width, bytes } => from_plain(column_type, width, bytes, rows),
        Encoding::Dictionary { code_width, codes, .. } => {
            let texts = dictionary.map(|dictionary| dictionary.texts(code_width, codes, rows));
            texts.map(Vector::Text)
        }
        Encoding::Strings { ends, bytes } if is_text(column_type) => {
            Some(Vector::Text(TextViews::from_strings(ends, bytes, rows)))
        }
        Encoding::Fsst { ends, codes, symbols } => {
            Some(Vector::Text(TextViews::from_symbols(ends, codes, &symbols, rows)))
        }
        _ => None,
    }
}

/// Numbers that are so much more than the least; `None` for types that are not kept so.
#[inline]
fn from_offsets(
    min: i128,
    column_type: &ColumnType,
    offsets: impl Offsets,
    rows: Rows<'_>,
) -> Option<Vector<'static>> {
    macro_rules! numbers {
        ($variant:ident, $native:ty) => {{
            let min = min as $native;
            Vector::$variant(offsets.gather(rows, |offset| min.wrapping_add(offset as $native)))
        }};
    }
    Some(match column_type {
        ColumnType::Bool => {
            Vector::Bool(offsets.gather(rows, |offset| min + i128::from(offset) != 0))
        }
        ColumnType::I8 => numbers!(I8, i8),
        ColumnType::I16 => numbers!(I16, i16),
        ColumnType::I32 | ColumnType::Date => numbers!(I32, i32),
        ColumnType::I64 | ColumnType::Time | ColumnType::Timestamp => numbers!(I64, i64),
        ColumnType::U8 => numbers!(U8, u8),
        ColumnType::U16 => numbers!(U16, u16),
        ColumnType::U32 => numbers!(U32, u32),
        ColumnType::U64 => numbers!(U64, u64),
        ColumnType::Decimal { .. } => Vector::I128(match i64::try_from(min) {
            // In 8 bytes as long as it can be: the wider addition costs twice as much.
            Ok(min) if min <= i64::MAX - i64::from(u32::MAX) => {
                offsets.gather(rows, |offset| i128::from(min + i64::from(offset)))
            }
            _ => offsets.gather(rows, |offset| min + i128::from(offset)),
        }),
        _ => return None,
    })
}

/// Numbers as they lie in rows; `None` for types and widths that have no loop of their own.
fn from_plain(
    column_type: &ColumnType,
    width: usize,
    bytes: &[u8],
    rows: Rows<'_>,
) -> Option<Vector<'static>> {
    Some(match (column_type, width) {
        (ColumnType::I64 | ColumnType::Time | ColumnType::Timestamp, 8) => {
            Vector::I64(rows.gather(bytes.as_chunks().0, i64::from_le_bytes))
        }
        (ColumnType::U64, 8) => Vector::U64(rows.gather(bytes.as_chunks().0, u64::from_le_bytes)),
        (ColumnType::F32, 4) => Vector::F32(rows.gather(bytes.as_chunks().0, f32::from_le_bytes)),
        (ColumnType::F64, 8) => Vector::F64(rows.gather(bytes.as_chunks().0, f64::from_le_bytes)),
        (ColumnType::Decimal { .. }, 8) => {
            let number = |eight| i128::from(i64::from_le_bytes(eight));
            Vector::I128(rows.gather(bytes.as_chunks().0, number))
        }
        (ColumnType::Decimal { .. }, 16) => {
            Vector::I128(rows.gather(bytes.as_chunks().0, i128::from_le_bytes))
        }
        _ => return None,
    })
}

/// The value of each row, of whatever encoding but text in symbols, which has a loop of its own.
fn one_by_one<'t>(column: &FrozenColumn<'t>, rows: Rows<'_>) -> Vec<Value<'t>> {
    let (nulls, column_type) = (column.nulls(), column.column_type());
    let encoding = column.encoding();
    rows.map(|row| {
        if nulls.is_some_and(|nulls| nulls[row / 64] >> (row % 64) & 1 == 1) {
            return Value::Null;
        }
        match encoding {
            // A struct that is there has no bytes.
            Encoding::Constant(Value::Null) if matches!(column_type, ColumnType::Struct(_)) => {
                Value::Bool(true)
            }
            Encoding::Constant(value) => value,
            Encoding::Dictionary { code_width, codes, values } => {
                values.get(code_of(codes, code_width, row))
            }
            Encoding::Plain { width, bytes } => {
                column_type.value_of(&bytes[row * width..][..width])
            }
            Encoding::Strings { ends, bytes } => column_type.value_of(&bytes[ends.range(row)]),
            _ => Value::Null,
        }
    })
}

/// The code of a row.
fn code_of(codes: &[u8], width: usize, row: usize) -> u32 {
    let mut code = [0; 4];
    code[..width].copy_from_slice(&codes[row * width..][..width]);
    u32::from_le_bytes(code)
}

/// Values that are of one type, or null, as a vector.
pub(crate) fn from_values<'t>(column_type: &ColumnType, values: Vec<Value<'t>>) -> Decoded<'t> {
    let has_null = values.iter().any(Value::is_null);
    let valid = has_null.then(|| values.iter().map(|value| !value.is_null()).collect());
    macro_rules! vector {
        ($variant:ident, $($kind:ident)|+) => {
            Vector::$variant(values.iter().map(|value| match value {
                $(Value::$kind(value) => *value,)+
                _ => Default::default(),
            }).collect())
        };
    }
    let values = match column_type {
        ColumnType::Bool => vector!(Bool, Bool),
        ColumnType::I8 => vector!(I8, I8),
        ColumnType::I16 => vector!(I16, I16),
        ColumnType::I32 | ColumnType::Date => vector!(I32, I32 | Date),
        ColumnType::I64 | ColumnType::Time | ColumnType::Timestamp => {
            vector!(I64, I64 | Time | Timestamp)
        }
        ColumnType::U8 => vector!(U8, U8),
        ColumnType::U16 => vector!(U16, U16),
        ColumnType::U32 => vector!(U32, U32),
        ColumnType::U64 => vector!(U64, U64),
        ColumnType::F32 => vector!(F32, F32),
        ColumnType::F64 => vector!(F64, F64),
        ColumnType::Decimal { .. } => vector!(I128, Decimal),
        ColumnType::Char(_) | ColumnType::String { .. } => {
            let texts = values.iter().map(|value| value.as_str().unwrap_or_default().as_bytes());
            Vector::Text(TextViews::from_texts(texts))
        }
        _ => Vector::Values(values),
    };
    Decoded { values, valid }
}

/// The values of a dictionary, in the order of their codes.
pub(crate) fn dictionary_values<'t>(
    column_type: &ColumnType,
    values: &DictionaryValues<'t>,
) -> Decoded<'t> {
    let values = (0..values.len() as u32).map(|code| values.get(code)).collect();
    from_values(column_type, values)
}

/// So many numbers from `first` on, as a column of this type has them; those that it cannot have
/// are others. `None` for a type that has no whole numbers.
///
/// # Examples
/// ```
/// use remanent_exec::{Vector, consecutive};
/// use remanent_engine::schema::ColumnType;
/// let Some(Vector::U8(numbers)) = consecutive(254, 3, &ColumnType::U8) else { unreachable!() };
/// assert_eq!(numbers, [254, 255, 0]);
/// assert!(consecutive(0, 3, &ColumnType::F64).is_none());
/// ```
pub fn consecutive(first: i128, count: usize, column_type: &ColumnType) -> Option<Vector<'static>> {
    let numbers: Vec<u32> = (0..count as u32).collect();
    let offsets = Entries { entries: &numbers, read: |offset| offset };
    from_offsets(first, column_type, offsets, Rows::Stretch(0, count))
}

/// For each row whether it has a value; `None` if all have.
fn valid_of(column: &FrozenColumn<'_>, rows: Rows<'_>) -> Option<Vec<bool>> {
    let bits = column.nulls()?;
    Some(rows.map(|row| bits[row / 64] >> (row % 64) & 1 == 0))
}
