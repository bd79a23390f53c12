//! Editing a row in place: how a row is put together or changed one leaf at a time.
//!
//! The bytes are a valid row of the layout at every moment, from `blank_row` on, and each call
//! changes one leaf or nothing. What a blank row holds is what C programs expect of a new object:
//! defaults where there are any, NULL where that is allowed, zeros and empty text elsewhere. Giving
//! a value to a leaf inside an absent struct makes the struct appear, with its other leaves blank.

use crate::error::{Fault, RowError};
use crate::row::fixed_layout::NO_NULL_BIT;
use crate::row::layout::{Leaf, ROW_LEN_MAX, RowLayout};
use crate::row::read::is_content;
use crate::row::write::{check_row_len, variable_len, write_variable};
use crate::values::column_type::ColumnType;
use crate::values::fixed_value::{decimal_fits, head, read_decimal, write_fixed};
use crate::values::value::Value;

impl RowLayout {
    /// Makes `row` the row to which no leaf was given: defaults, NULL, zeros, empty.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Part")
    ///     .column("number", ColumnType::U32)
    ///     .column("stock", ColumnType::I32)
    ///     .default(5)
    ///     .nullable_column("note", ColumnType::STRING);
    /// let layout = RowLayout::new(&schema.build()?);
    /// let mut row = Vec::new();
    /// layout.blank_row(&mut row);
    /// assert_eq!(layout.get::<u32>(&row, 0), Some(0));
    /// assert_eq!(layout.get::<i32>(&row, 1), Some(5));
    /// assert!(layout.is_null(&row, 2));
    /// # Ok::<(), SchemaError>(())
    /// ```
    #[inline]
    pub fn blank_row(&self, row: &mut Vec<u8>) {
        row.clear();
        row.extend_from_slice(self.blank());
    }

    /// Gives one leaf of a row a value; NULL empties it.
    ///
    /// # Errors
    /// As [`RowLayout::encode`], and `UnknownColumn`; then the row is as it was.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("City")
    ///     .column("name", ColumnType::STRING)
    ///     .column("mayor", ColumnType::STRING)
    ///     .build()?;
    /// let layout = RowLayout::new(&schema);
    /// let mut row = Vec::new();
    /// layout.blank_row(&mut row);
    /// layout.set(&mut row, 1, &"Ansbacher".into())?;
    /// layout.set(&mut row, 0, &"Ulm".into())?;
    /// assert_eq!(layout.get_str(&row, 0), Some("Ulm"));
    /// assert_eq!(layout.get_str(&row, 1), Some("Ansbacher"));
    /// assert!(layout.set(&mut row, 0, &Value::U32(7)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn set(&self, row: &mut Vec<u8>, leaf: usize, value: &Value<'_>) -> Result<(), RowError> {
        let at = self.leaf_to_edit(leaf)?;
        // The common cases first: a number of the column's own type, text that is always there.
        match (&at.column_type, value) {
            (ColumnType::U32, Value::U32(number)) if at.is_plain => {
                return put_number(row, at, number.to_le_bytes());
            }
            (ColumnType::I32, Value::I32(number)) if at.is_plain => {
                return put_number(row, at, number.to_le_bytes());
            }
            (ColumnType::U64, Value::U64(number)) if at.is_plain => {
                return put_number(row, at, number.to_le_bytes());
            }
            (ColumnType::I64, Value::I64(number)) if at.is_plain => {
                return put_number(row, at, number.to_le_bytes());
            }
            (ColumnType::String { max }, Value::String(text)) if !at.nullable => {
                let most = max.map_or(ROW_LEN_MAX, |max| max as usize);
                if text.len() <= most {
                    self.check_replaced(row, at, text.len())?;
                    self.replace(row, at, text.as_bytes());
                    return Ok(());
                }
            }
            _ => {}
        }
        self.set_any(row, leaf, value)
    }

    fn set_any(&self, row: &mut Vec<u8>, leaf: usize, value: &Value<'_>) -> Result<(), RowError> {
        let at = self.leaf_to_edit(leaf)?;
        if value.is_null() {
            return self.set_null(row, leaf, at);
        }
        if at.is_presence() {
            return match value {
                Value::Bool(true) => self.appear(row, leaf),
                Value::Bool(false) => self.set_null(row, leaf, at),
                other => Err(Fault::WrongType { found: other.kind_name() }.at(&at.path, &"Struct")),
            };
        }
        if at.variable_index.is_some() {
            let len = variable_len(at, value)?;
            self.check_replaced(row, at, len)?;
            let elements = self.vector_elements(at, value, len)?;
            self.appear_around(row, leaf, at)?;
            match value {
                Value::String(text) => self.replace(row, at, text.as_bytes()),
                Value::Bytes(bytes) if matches!(at.column_type, ColumnType::Blob { .. }) => {
                    self.replace(row, at, bytes);
                }
                _ => self.replace(row, at, &elements),
            }
        } else {
            let place = at.offset as usize..at.offset as usize + at.size as usize;
            let kept = is_composite(&at.column_type).then(|| row[place.clone()].to_vec());
            if let Err(fault) = write_fixed(&at.column_type, value, &mut row[place.clone()]) {
                if let Some(kept) = kept {
                    row[place].copy_from_slice(&kept);
                }
                return Err(fault.at(&at.path, &at.column_type));
            }
            if at.in_nullable {
                let written = row[place.clone()].to_vec();
                self.appear_around(row, leaf, at)?;
                row[place].copy_from_slice(&written);
            }
        }
        self.clear_null(row, at);
        Ok(())
    }

    /// Gives one leaf of a row its bytes, as they lie in rows: little-endian numbers, an array's
    /// elements one after the other, a vector's elements, text, a blob.
    ///
    /// # Errors
    /// `WrongType` if the length is not the leaf's or the bytes are no value of it (text that is
    /// not UTF-8, a Bool that is neither 0 nor 1), `ValueTooLong`, `RowTooLong`, `UnknownColumn`;
    /// then the row is as it was.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I32).build()?;
    /// let layout = RowLayout::new(&schema);
    /// let mut row = Vec::new();
    /// layout.blank_row(&mut row);
    /// layout.set_raw(&mut row, 0, &(-7_i32).to_le_bytes())?;
    /// assert_eq!(layout.get::<i32>(&row, 0), Some(-7));
    /// assert!(layout.set_raw(&mut row, 0, &[1, 2]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn set_raw(&self, row: &mut Vec<u8>, leaf: usize, bytes: &[u8]) -> Result<(), RowError> {
        let at = self.leaf_to_edit(leaf)?;
        if at.is_plain && bytes.len() == at.size as usize {
            let place = &mut row[at.offset as usize..];
            // A call to copy four bytes costs more than the rest.
            match bytes.len() {
                4 => place[..4].copy_from_slice(&bytes[..4]),
                8 => place[..8].copy_from_slice(&bytes[..8]),
                size => place[..size].copy_from_slice(bytes),
            }
            return Ok(());
        }
        self.set_raw_any(row, leaf, bytes)
    }

    fn set_raw_any(&self, row: &mut Vec<u8>, leaf: usize, bytes: &[u8]) -> Result<(), RowError> {
        let at = self.leaf_to_edit(leaf)?;
        check_raw(at, bytes)?;
        if at.variable_index.is_some() {
            self.check_replaced(row, at, bytes.len())?;
            self.appear_around(row, leaf, at)?;
            self.replace(row, at, bytes);
        } else {
            self.appear_around(row, leaf, at)?;
            row[at.offset as usize..][..at.size as usize].copy_from_slice(bytes);
        }
        self.clear_null(row, at);
        Ok(())
    }

    /// A vector's elements as bytes; nothing for other leaves.
    #[inline]
    fn vector_elements(
        &self,
        at: &Leaf,
        value: &Value<'_>,
        len: usize,
    ) -> Result<Vec<u8>, RowError> {
        let mut elements = Vec::new();
        if matches!(at.column_type, ColumnType::Vector { .. }) {
            elements.resize(len, 0);
            write_variable(at, value, &mut elements)?;
        }
        Ok(elements)
    }

    #[inline]
    fn leaf_to_edit(&self, leaf: usize) -> Result<&Leaf, RowError> {
        match self.leaves().get(leaf) {
            Some(at) => Ok(at),
            None => Err(unknown_leaf(leaf)),
        }
    }

    #[cold]
    fn set_null(&self, row: &mut Vec<u8>, leaf: usize, at: &Leaf) -> Result<(), RowError> {
        if !at.own_nullable {
            return Err(RowError::NullInNotNull { column: at.path.as_str().into() });
        }
        for under in &self.leaves()[leaf..at.span_end as usize] {
            if under.variable_index.is_some() {
                self.replace(row, under, &[]);
            } else {
                row[under.offset as usize..][..under.size as usize].fill(0);
            }
            if under.own_nullable {
                let (byte, mask) = self.null_place(under);
                row[byte] |= mask;
            }
        }
        Ok(())
    }

    /// Makes the structs around a leaf appear that are absent, the outermost first.
    #[inline]
    fn appear_around(&self, row: &mut Vec<u8>, leaf: usize, at: &Leaf) -> Result<(), RowError> {
        if !at.in_nullable {
            return Ok(());
        }
        for (index, around) in self.leaves()[..leaf].iter().enumerate() {
            if around.is_presence() && leaf < around.span_end as usize {
                self.appear(row, index)?;
            }
        }
        Ok(())
    }

    /// Makes a nullable struct appear, its leaves blank, unless it is there.
    fn appear(&self, row: &mut Vec<u8>, presence: usize) -> Result<(), RowError> {
        let at = &self.leaves()[presence];
        if !self.leaf_is_null(row, at) {
            return Ok(());
        }
        self.clear_null(row, at);
        for (leaf, under) in (0..).zip(self.leaves()).take(at.span_end as usize).skip(presence + 1)
        {
            let default = under.default_value();
            if !default.is_null() && !under.is_presence() {
                self.set(row, leaf, &default)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn clear_null(&self, row: &mut [u8], at: &Leaf) {
        if at.own_nullable && at.null_bit != NO_NULL_BIT {
            let (byte, mask) = self.null_place(at);
            row[byte] &= !mask;
        }
    }

    #[inline]
    fn check_replaced(&self, row: &[u8], at: &Leaf, len: usize) -> Result<usize, RowError> {
        let old = self.leaf_bytes(row, at).len();
        check_row_len((row.len() - old).saturating_add(len))
    }

    /// Puts `bytes` in the place of a variable leaf's bytes.
    #[inline]
    fn replace(&self, row: &mut Vec<u8>, at: &Leaf, bytes: &[u8]) {
        let end = self.end_of(row, at);
        if end == row.len() {
            let start = end - self.leaf_bytes(row, at).len();
            row.truncate(start);
            row.extend_from_slice(bytes);
            self.shift_ends(row, at, start + bytes.len(), end);
        } else {
            self.resize(row, at, bytes.len()).copy_from_slice(bytes);
        }
    }

    /// Makes a variable leaf's place `len` bytes long; what is in it afterwards is undecided.
    fn resize<'r>(&self, row: &'r mut Vec<u8>, at: &Leaf, len: usize) -> &'r mut [u8] {
        let end = self.end_of(row, at);
        let start = end - self.leaf_bytes(row, at).len();
        let (new_end, old_len) = (start + len, row.len());
        if new_end > end {
            row.resize(old_len + (new_end - end), 0);
        }
        row.copy_within(end..old_len, new_end);
        row.truncate(old_len - end + new_end);
        self.shift_ends(row, at, new_end, end);
        &mut row[start..new_end]
    }

    fn end_of(&self, row: &[u8], at: &Leaf) -> usize {
        u32::from_le_bytes(head(&row[at.offset as usize..])) as usize
    }

    /// Moves the end of `at` from `old` to `new`, and with it those of the leaves behind it.
    #[inline]
    fn shift_ends(&self, row: &mut [u8], at: &Leaf, new: usize, old: usize) {
        let first = at.variable_index.unwrap_or(0) as usize;
        for leaf in &self.variable()[first..] {
            let place = &mut row[self.leaves()[*leaf as usize].offset as usize..][..4];
            let end = u32::from_le_bytes(head(place)) as usize - old + new;
            place.copy_from_slice(&(end as u32).to_le_bytes());
        }
    }
}

/// The row to which no leaf was given; defaults that do not fit their columns are passed over,
/// since a schema with such is refused elsewhere.
pub(crate) fn blank_of(layout: &RowLayout) -> Vec<u8> {
    let mut row = vec![0; layout.fixed_size()];
    for leaf in layout.variable() {
        let place = &mut row[layout.leaves()[*leaf as usize].offset as usize..][..4];
        place.copy_from_slice(&(layout.fixed_size() as u32).to_le_bytes());
    }
    for leaf in layout.leaves().iter().filter(|leaf| leaf.own_nullable) {
        let (byte, mask) = layout.null_place(leaf);
        row[byte] |= mask;
    }
    for (index, leaf) in layout.leaves().iter().enumerate() {
        if !leaf.in_nullable && !leaf.is_presence() && !leaf.default_value().is_null() {
            let _ = layout.set(&mut row, index, &leaf.default_value());
        }
    }
    row
}

fn check_raw(at: &Leaf, bytes: &[u8]) -> Result<(), RowError> {
    let max = |element: usize, max: Option<u32>| {
        let (len, max) = (bytes.len() / element, max.map_or(usize::MAX, |max| max as usize));
        if len > max { Err(Fault::TooLong { len, max }) } else { Ok(()) }
    };
    let checked = match &at.column_type {
        ColumnType::String { max: most } | ColumnType::Blob { max: most } => max(1, *most),
        ColumnType::Vector { element, max: most } => max(element.fixed_size() as usize, *most),
        ColumnType::Struct(_) => Err(Fault::WrongType { found: "Bytes" }),
        _ if bytes.len() != at.size as usize => Err(Fault::WrongType { found: "Bytes" }),
        ColumnType::Decimal { precision, .. }
            if !decimal_fits(*precision, read_decimal(*precision, bytes)) =>
        {
            Err(Fault::OutOfRange)
        }
        _ => Ok(()),
    };
    let content = || is_content(&at.column_type, bytes);
    let checked = checked.and_then(|()| match content() {
        true => Ok(()),
        false => Err(Fault::WrongType { found: "Bytes" }),
    });
    checked.map_err(|fault| fault.at(&at.path, &at.column_type))
}

#[cold]
fn unknown_leaf(leaf: usize) -> RowError {
    RowError::UnknownColumn { column: leaf.to_string().into() }
}

/// Writes a leaf of which any bytes are a value.
#[inline]
fn put_number<const SIZE: usize>(
    row: &mut [u8],
    at: &Leaf,
    bytes: [u8; SIZE],
) -> Result<(), RowError> {
    row[at.offset as usize..][..SIZE].copy_from_slice(&bytes);
    Ok(())
}

fn is_composite(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Array { .. } | ColumnType::Struct(_))
}

#[cfg(test)]
mod tests;
