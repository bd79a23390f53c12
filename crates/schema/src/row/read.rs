//! Reading rows: a leaf's bytes, its value, typed getters, and the check of rows from outside.
//!
//! A read never panics on a row that `encode`, `update` or a derived `Record` of the same layout
//! wrote, and never touches the heap. Rows that come from elsewhere (a file, the network, another
//! process) are put through `is_well_formed` once; what passes reads without panics too.

use crate::row::fixed_layout::{NO_NULL_BIT, NO_START};
use crate::row::layout::{Leaf, ROW_LEN_MAX, RowLayout};
use crate::values::column_type::ColumnType;
use crate::values::elements::Elements;
use crate::values::fixed_value::{head, read_fixed, strip_nul, utf8};
use crate::values::scalar::Scalar;
use crate::values::value::Value;

impl RowLayout {
    /// Whether a leaf of `row` is NULL.
    ///
    /// # Panics
    /// If there is no such leaf, or the row is not of this layout; so do all reads here.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("City")
    /// #     .column("id", ColumnType::U32)
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["id"])
    /// #     .ordered_index("name", ["name", "id"])
    /// #     .build()?;
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::U32(7)), Some("Ulm".into()), None];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// assert!(layout.is_null(&row, 2));
    /// assert!(!layout.is_null(&row, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn is_null(&self, row: &[u8], leaf: usize) -> bool {
        self.leaf_is_null(row, &self.leaves()[leaf])
    }

    /// The value of a leaf; of a presence leaf, true or NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("City")
    /// #     .column("id", ColumnType::U32)
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["id"])
    /// #     .ordered_index("name", ["name", "id"])
    /// #     .build()?;
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::U32(7)), Some("Ulm".into()), None];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// assert_eq!(layout.read_value(&row, 0), Value::U32(7));
    /// assert_eq!(layout.read_value(&row, 1), Value::String("Ulm"));
    /// assert!(layout.read_value(&row, 2).is_null());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn read_value<'a>(&'a self, row: &'a [u8], leaf: usize) -> Value<'a> {
        let leaf = &self.leaves()[leaf];
        if self.leaf_is_null(row, leaf) {
            return Value::Null;
        }
        leaf.column_type.value_of(self.leaf_bytes(row, leaf))
    }

    /// The scalar in a leaf, or `None` if it is NULL or the leaf has another type than `T`'s.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{ColumnType, RowLayout, TableSchema, Value};
    /// let schema = TableSchema::new("T").column("a", ColumnType::U32).build()?;
    /// let layout = RowLayout::new(&schema);
    /// let mut row = [0; 4];
    /// layout.encode(&[Some(Value::U32(7))], &mut row)?;
    /// assert_eq!(layout.get::<u32>(&row, 0), Some(7));
    /// assert_eq!(layout.get::<i64>(&row, 0), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get<T: Scalar>(&self, row: &[u8], leaf: usize) -> Option<T> {
        let leaf = &self.leaves()[leaf];
        if self.leaf_is_null(row, leaf) || !T::is_of(&leaf.column_type) {
            return None;
        }
        Some(T::read(&row[leaf.offset as usize..][..T::SIZE]))
    }

    /// The text of a String or Char leaf, or `None` if it is NULL or of another type.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("City")
    /// #     .column("id", ColumnType::U32)
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["id"])
    /// #     .ordered_index("name", ["name", "id"])
    /// #     .build()?;
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::U32(7)), Some("Ulm".into()), None];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// assert_eq!(layout.get_str(&row, 1), Some("Ulm"));
    /// assert_eq!(layout.get_str(&row, 0), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get_str<'r>(&self, row: &'r [u8], leaf: usize) -> Option<&'r str> {
        let leaf = &self.leaves()[leaf];
        if self.leaf_is_null(row, leaf) {
            return None;
        }
        match leaf.column_type {
            ColumnType::String { .. } => Some(utf8(self.leaf_bytes(row, leaf))),
            ColumnType::Char(_) => Some(utf8(strip_nul(self.leaf_bytes(row, leaf)))),
            _ => None,
        }
    }

    /// The stored bytes of a leaf of any type, or `None` if it is NULL: padded for Char,
    /// little-endian for numbers, unaligned.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("City")
    /// #     .column("id", ColumnType::U32)
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["id"])
    /// #     .ordered_index("name", ["name", "id"])
    /// #     .build()?;
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::U32(7)), Some("Ulm".into()), None];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// assert_eq!(layout.get_bytes(&row, 0), Some(&[7, 0, 0, 0][..]));
    /// assert_eq!(layout.get_bytes(&row, 1), Some(&b"Ulm"[..]));
    /// assert_eq!(layout.get_bytes(&row, 2), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get_bytes<'r>(&self, row: &'r [u8], leaf: usize) -> Option<&'r [u8]> {
        let leaf = &self.leaves()[leaf];
        if self.leaf_is_null(row, leaf) { None } else { Some(self.leaf_bytes(row, leaf)) }
    }

    /// Whether bytes from outside are a row of this layout, so that no read of them panics.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("City")
    /// #     .column("id", ColumnType::U32)
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["id"])
    /// #     .ordered_index("name", ["name", "id"])
    /// #     .build()?;
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::U32(7)), Some("Ulm".into()), None];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// assert!(layout.is_well_formed(&row));
    /// assert!(!layout.is_well_formed(&row[..row.len() - 1]));
    /// // The name is no longer UTF-8.
    /// *row.last_mut().expect("it has bytes") = 0xff;
    /// assert!(!layout.is_well_formed(&row));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_well_formed(&self, row: &[u8]) -> bool {
        if row.len() < self.fixed_size() || row.len() > ROW_LEN_MAX {
            return false;
        }
        let mut end = self.fixed_size() as u32;
        for leaf in self.variable() {
            let next =
                u32::from_le_bytes(head(&row[self.leaves()[*leaf as usize].offset as usize..]));
            if next < end || next as usize > row.len() {
                return false;
            }
            end = next;
        }
        end as usize == row.len()
            && self
                .leaves()
                .iter()
                .all(|leaf| is_content(&leaf.column_type, self.leaf_bytes(row, leaf)))
    }

    #[inline]
    pub(crate) fn leaf_is_null(&self, row: &[u8], leaf: &Leaf) -> bool {
        leaf.null_bit != NO_NULL_BIT && {
            let byte = row[self.null_offset() + usize::from(leaf.null_bit / 8)];
            byte >> (leaf.null_bit % 8) & 1 == 1
        }
    }

    /// The bytes of a leaf, NULL or not; of NULL, zeros or nothing.
    #[inline]
    pub(crate) fn leaf_bytes<'r>(&self, row: &'r [u8], leaf: &Leaf) -> &'r [u8] {
        let offset = leaf.offset as usize;
        if leaf.variable_index.is_none() {
            return &row[offset..offset + leaf.size as usize];
        }
        let end = u32::from_le_bytes(head(&row[offset..]));
        let start = match leaf.start {
            NO_START => self.fixed_size() as u32,
            slot => u32::from_le_bytes(head(&row[slot as usize..])),
        };
        &row[start as usize..end as usize]
    }
}

impl ColumnType {
    /// Whether bytes of the right length are a value of this type: text is UTF-8, a truth is 0 or
    /// 1, a vector has whole elements.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(ColumnType::STRING.is_value(b"Ulm") && !ColumnType::STRING.is_value(&[0xff]));
    /// assert!(ColumnType::Bool.is_value(&[1]) && !ColumnType::Bool.is_value(&[2]));
    /// ```
    pub fn is_value(&self, bytes: &[u8]) -> bool {
        is_content(self, bytes)
    }

    /// The value whose bytes these are, as they lie in a row: of a fixed type exactly its size, of
    /// Char with or without what it is padded with. Of a struct in a row of its own, that it is
    /// there: true.
    ///
    /// # Panics
    /// If there are too few bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(ColumnType::U16.value_of(&[1, 2]), Value::U16(0x0201));
    /// assert_eq!(ColumnType::Char(5).value_of(b"Ulm"), Value::String("Ulm"));
    /// assert_eq!(ColumnType::STRING.value_of(b"Ulm"), Value::String("Ulm"));
    /// ```
    #[inline]
    pub fn value_of<'a>(&'a self, bytes: &'a [u8]) -> Value<'a> {
        match self {
            ColumnType::Struct(_) => Value::Bool(true),
            ColumnType::String { .. } => Value::String(utf8(bytes)),
            ColumnType::Blob { .. } => Value::Bytes(bytes),
            vector @ ColumnType::Vector { .. } => Value::Elements(Elements::new(bytes, vector)),
            fixed => read_fixed(fixed, bytes),
        }
    }
}

/// Whether bytes of the right place can be read as this type.
pub(crate) fn is_content(column_type: &ColumnType, bytes: &[u8]) -> bool {
    match column_type {
        ColumnType::String { .. } => std::str::from_utf8(bytes).is_ok(),
        ColumnType::Char(_) => std::str::from_utf8(strip_nul(bytes)).is_ok(),
        ColumnType::Bool => bytes[0] <= 1,
        ColumnType::Vector { element, .. } => {
            let size = element.fixed_size() as usize;
            bytes.len().is_multiple_of(size)
                && (is_any_content(element)
                    || bytes.chunks_exact(size).all(|place| is_content(element, place)))
        }
        ColumnType::Array { element, .. } => {
            let size = element.fixed_size() as usize;
            is_any_content(element)
                || bytes.chunks_exact(size).all(|place| is_content(element, place))
        }
        // A presence leaf has no bytes.
        ColumnType::Struct(_) if bytes.is_empty() => true,
        ColumnType::Struct(fields) => {
            crate::values::column_type::struct_offsets(fields).all(|(field, offset)| {
                let size = field.column_type.fixed_size() as usize;
                is_content(&field.column_type, &bytes[offset as usize..][..size])
            })
        }
        _ => true,
    }
}

/// Whether any bytes can be read as this type.
fn is_any_content(column_type: &ColumnType) -> bool {
    !matches!(
        column_type,
        ColumnType::Char(_) | ColumnType::Bool | ColumnType::Array { .. } | ColumnType::Struct(_)
    )
}

#[cfg(test)]
mod tests;
