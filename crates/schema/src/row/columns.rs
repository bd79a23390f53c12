//! Writing many rows out of columns: what is known of a whole column is found out once.
//!
//! The rows are those that [`RowLayout::encode`] makes of the same values. Numbers that lie side by
//! side in the columns' own types are copied without being inspected one by one, but for decimals,
//! whose range is checked ahead; whatever else there is goes the way of single values.

use crate::error::RowError;
use crate::row::layout::{Leaf, RowLayout};
use crate::row::write::{check_row_len, variable_len};
use crate::values::column_type::ColumnType;
use crate::values::value::Value;

/// The values of a leaf column for many rows, by their numbers.
#[derive(Clone, Copy)]
pub enum ColumnValues<'a> {
    /// Of [`ColumnType::I32`] or [`ColumnType::Date`].
    I32(&'a [i32]),
    /// Of [`ColumnType::I64`], [`ColumnType::Time`] or [`ColumnType::Timestamp`].
    I64(&'a [i64]),
    /// Of [`ColumnType::Decimal`]: unscaled numbers.
    Decimal(&'a [i128]),
    /// Of [`ColumnType::String`], without null.
    Text(&'a dyn Fn(usize) -> &'a str),
    /// Whatever a row's value may be; `None` takes the default or null.
    Any(&'a dyn Fn(usize) -> Option<Value<'a>>),
}

impl<'a> ColumnValues<'a> {
    /// The value of a row, for a leaf of this type; `None` takes the default or null.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let days = ColumnValues::I32(&[1, 2]);
    /// assert_eq!(days.value(1, &ColumnType::Date), Some(Value::Date(2)));
    /// ```
    pub fn value(&self, row: usize, column_type: &ColumnType) -> Option<Value<'a>> {
        Some(match (*self, column_type) {
            (ColumnValues::I32(numbers), ColumnType::Date) => Value::Date(numbers[row]),
            (ColumnValues::I32(numbers), _) => Value::I32(numbers[row]),
            (ColumnValues::I64(numbers), ColumnType::Time) => Value::Time(numbers[row]),
            (ColumnValues::I64(numbers), ColumnType::Timestamp) => Value::Timestamp(numbers[row]),
            (ColumnValues::I64(numbers), _) => Value::I64(numbers[row]),
            (ColumnValues::Decimal(numbers), _) => Value::Decimal(numbers[row]),
            (ColumnValues::Text(text), _) => Value::String(text(row)),
            (ColumnValues::Any(value), _) => return value(row),
        })
    }
}

/// Rows of a layout out of columns.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let schema = TableSchema::new("City")
///     .column("name", ColumnType::STRING)
///     .column("people", ColumnType::I32)
///     .build()?;
/// let layout = RowLayout::new(&schema);
/// let name = |row| ["Bonn", "Ulm"][row];
/// let columns = [ColumnValues::Text(&name), ColumnValues::I32(&[336_000, 126_000])];
/// let rows = ColumnRows::new(&layout, &columns, 2).expect("such columns lie in such rows");
/// let mut row = vec![0; rows.encoded_len(1)?];
/// rows.encode(1, &mut row)?;
/// assert_eq!(layout.get_str(&row, 0), Some("Ulm"));
/// assert_eq!(layout.get::<i32>(&row, 1), Some(126_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ColumnRows<'l, 'a> {
    layout: &'l RowLayout,
    columns: Vec<(&'l Leaf, Column<'a>)>,
}

enum Column<'a> {
    Four(&'a [i32]),
    Eight(&'a [i64]),
    /// Decimals that have all been found to be in range, in 8 bytes.
    Narrow(&'a [i128]),
    Text(&'a dyn Fn(usize) -> &'a str),
    Single(&'a dyn Fn(usize) -> Option<Value<'a>>),
}

impl<'l, 'a> ColumnRows<'l, 'a> {
    /// Rows with these columns, one for each leaf, which have so many values; `None` if they have
    /// fewer or are of other types, a decimal is out of range, or there are structs that can be
    /// absent: then the rows are to be written one by one.
    pub fn new(
        layout: &'l RowLayout,
        columns: &[ColumnValues<'a>],
        rows: usize,
    ) -> Option<ColumnRows<'l, 'a>> {
        if layout.has_presence() || columns.len() != layout.leaves().len() {
            return None;
        }
        let each = layout.leaves().iter().zip(columns);
        let columns = each.map(|(leaf, values)| Some((leaf, column(leaf, values, rows)?)));
        Some(ColumnRows { layout, columns: columns.collect::<Option<Vec<_>>>()? })
    }

    /// Bytes of a row.
    ///
    /// # Errors
    /// As [`RowLayout::encoded_len`].
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn encoded_len(&self, row: usize) -> Result<usize, RowError> {
        let mut len = self.layout.fixed_size();
        for (leaf, column) in &self.columns {
            if leaf.variable_index.is_some() {
                len = len.saturating_add(match column {
                    Column::Text(text) => variable_len(leaf, &Value::String(text(row)))?,
                    Column::Single(value) => {
                        let value = value(row).unwrap_or_else(|| leaf.default_value());
                        variable_len(leaf, &value)?
                    }
                    _ => 0,
                });
            }
        }
        check_row_len(len)
    }

    /// Writes a row into exactly its bytes.
    ///
    /// # Errors
    /// As [`RowLayout::encode`].
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn encode(&self, row: usize, out: &mut [u8]) -> Result<usize, RowError> {
        let layout = self.layout;
        out[layout.null_offset()..layout.fixed_size()].fill(0);
        let mut end = layout.fixed_size();
        for (leaf, column) in &self.columns {
            let at = leaf.offset as usize;
            match column {
                Column::Four(numbers) => put(out, at, numbers[row].to_le_bytes()),
                Column::Eight(numbers) => put(out, at, numbers[row].to_le_bytes()),
                Column::Narrow(numbers) => put(out, at, (numbers[row] as i64).to_le_bytes()),
                Column::Text(text) => {
                    let text = text(row).as_bytes();
                    let from = end;
                    end += text.len();
                    out[from..end].copy_from_slice(text);
                    put(out, at, (end as u32).to_le_bytes());
                }
                Column::Single(value) => {
                    let value = value(row).unwrap_or_else(|| leaf.default_value());
                    end = layout.write_leaf(leaf, &value, out, end)?;
                }
            }
        }
        Ok(end)
    }
}

/// The column, if it is of the leaf's type.
fn column<'a>(leaf: &Leaf, values: &ColumnValues<'a>, rows: usize) -> Option<Column<'a>> {
    use ColumnType as Type;
    let (column, count) = match (*values, &leaf.column_type) {
        (ColumnValues::I32(numbers), Type::I32 | Type::Date) => {
            (Column::Four(numbers), numbers.len())
        }
        (ColumnValues::I64(numbers), Type::I64 | Type::Time | Type::Timestamp) => {
            (Column::Eight(numbers), numbers.len())
        }
        (ColumnValues::Decimal(numbers), &Type::Decimal { precision: precision @ 0..=18, .. }) => {
            let limit = 10_i128.pow(precision.into());
            let fits = numbers.iter().all(|number| -limit < *number && *number < limit);
            (Column::Narrow(numbers), if fits { numbers.len() } else { 0 })
        }
        (ColumnValues::Text(text), Type::String { .. }) => (Column::Text(text), rows),
        (ColumnValues::Any(value), _) => (Column::Single(value), rows),
        _ => return None,
    };
    (count >= rows).then_some(column)
}

#[inline]
fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    out[at..at + N].copy_from_slice(&bytes);
}
