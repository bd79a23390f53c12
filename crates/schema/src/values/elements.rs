//! The elements of an array, a vector, or a struct inside an array, read in place.
//!
//! A view holds the bytes in the row and the container's type, and decodes an element when it is
//! asked for. Elements need not be aligned, and are never NULL.

use std::fmt;

use crate::values::column_type::{ColumnType, struct_offsets};
use crate::values::fixed_value::read_fixed;
use crate::values::value::Value;

/// A lazy view of composite bytes in a row.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// # let element = Box::new(ColumnType::U16);
/// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
/// # let layout = RowLayout::new(&schema);
/// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
/// # let mut row = vec![0; layout.encoded_len(&values)?];
/// # layout.encode(&values, &mut row)?;
/// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
/// // `elements` is what a row has in a column of type Vector(U16).
/// assert_eq!(elements.get(1), Some(Value::U16(2)));
/// assert_eq!(elements.iter().filter_map(|value| value.as_integer()).sum::<i128>(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    /// The container's type: Array, Vector or Struct.
    container: &'a ColumnType,
}

impl<'a> Elements<'a> {
    /// A view of `bytes` as what `container` says: an Array, a Vector or a Struct.
    pub(crate) fn new(bytes: &'a [u8], container: &'a ColumnType) -> Elements<'a> {
        Elements { bytes, container }
    }

    /// The number of elements, or of fields.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let element = Box::new(ColumnType::U16);
    /// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
    /// // `elements` is what a row has in a column of type Vector(U16).
    /// assert_eq!(elements.len(), 3);
    /// assert_eq!(elements.as_bytes().len(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        match self.container {
            ColumnType::Array { count, .. } => *count as usize,
            ColumnType::Vector { element, .. } => self.bytes.len() / stride(element),
            ColumnType::Struct(fields) => fields.len(),
            _ => 0,
        }
    }

    /// Whether there are no elements.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let element = Box::new(ColumnType::U16);
    /// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
    /// // `elements` is what a row has in a column of type Vector(U16).
    /// assert!(!elements.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element or field at `index`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let element = Box::new(ColumnType::U16);
    /// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
    /// // `elements` is what a row has in a column of type Vector(U16).
    /// assert_eq!(elements.get(0), Some(Value::U16(1)));
    /// assert_eq!(elements.get(3), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self.container {
            ColumnType::Array { element, .. } | ColumnType::Vector { element, .. } => {
                let size = stride(element);
                let start = index.checked_mul(size)?;
                let bytes = self.bytes.get(start..start.checked_add(size)?)?;
                Some(read_fixed(element, bytes))
            }
            ColumnType::Struct(fields) => {
                let (field, offset) = struct_offsets(fields).nth(index)?;
                let end = offset + field.column_type.fixed_size();
                let bytes = self.bytes.get(offset as usize..end as usize)?;
                Some(read_fixed(&field.column_type, bytes))
            }
            _ => None,
        }
    }

    /// The elements in order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let element = Box::new(ColumnType::U16);
    /// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
    /// // `elements` is what a row has in a column of type Vector(U16).
    /// let numbers: Vec<i128> = elements.iter().filter_map(|value| value.as_integer()).collect();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let this = *self;
        (0..this.len()).map_while(move |index| this.get(index))
    }

    /// The raw little-endian bytes, without alignment.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let element = Box::new(ColumnType::U16);
    /// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
    /// // `elements` is what a row has in a column of type Vector(U16).
    /// assert_eq!(elements.as_bytes(), [1, 0, 2, 0, 3, 0]);
    /// assert_eq!(VectorRef::<u16>::from_packed(elements.as_bytes()).get(2), Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The type of the whole: Array, Vector or Struct.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let element = Box::new(ColumnType::U16);
    /// # let schema = TableSchema::new("T").column("v", ColumnType::Vector { element, max: None });
    /// # let layout = RowLayout::new(&schema);
    /// # let values = [Some(Value::List(&[Value::U16(1), Value::U16(2), Value::U16(3)]))];
    /// # let mut row = vec![0; layout.encoded_len(&values)?];
    /// # layout.encode(&values, &mut row)?;
    /// # let Value::Elements(elements) = layout.read_value(&row, 0) else { panic!("a vector") };
    /// // `elements` is what a row has in a column of type Vector(U16).
    /// assert_eq!(elements.container_type().to_string(), "Vector(U16)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn container_type(&self) -> &'a ColumnType {
        self.container
    }
}

impl fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The distance between elements; at least 1, so that no type can divide by zero.
fn stride(element: &ColumnType) -> usize {
    (element.fixed_size() as usize).max(1)
}

#[cfg(test)]
mod tests;
