//! Rust types that a field of a record can be, and how each reads and writes its leaves.
//!
//! Derived code gives every field a [`FieldSlot`]: the record's layout, a constant, and the field's
//! first leaf, a constant too. All of it inlines to loads and stores at fixed offsets. The bytes
//! are the ones that `RowLayout` writes for the same schema.
//!
//! Scalars, text, blobs, vectors and structs are [`PlainField`]s; `Option` of one is nullable.

use crate::error::RowError;
use crate::row::bytes::RowBytes;
use crate::row::fixed_layout::{LeafShape, NO_NULL_BIT, NO_START, Slots};
use crate::values::column_type::ColumnType;
use crate::values::fixed_value::head;
use crate::values::scalar::{FixedField, Scalar};
use crate::vector_ref::VectorRef;

/// A type that a field of a record can have: a [`PlainField`], or an `Option` of one.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// assert_eq!(<u32 as Field>::column_type(None), ColumnType::U32);
/// assert_eq!(<&str as Field>::column_type(Some(9)), ColumnType::String { max: Some(9) });
/// assert_eq!(<u32 as Field>::SHAPES, [LeafShape::fixed(4, 4)]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record",
    label = "not a column type",
    note = "use numbers, bool, `&str`, `String`, `&[u8]`, `Vec<u8>`, arrays of scalars, `Date`, \
            `Time`, `Timestamp`, `Decimal`, `CharArray`, `VectorRef`, a struct deriving \
            `RecordStruct`, or an `Option` of one of these"
)]
pub trait Field {
    /// The same type, borrowing from a row for `'t`.
    type At<'t>;
    /// The leaves, in order.
    const SHAPES: &'static [LeafShape];
    /// Whether the column may be NULL.
    const NULLABLE: bool;
    /// Whether the column type has a greatest length.
    const TAKES_MAX: bool;

    /// The column's type; `max` is the greatest length, if the type has one.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(<bool as Field>::column_type(None), ColumnType::Bool);
    /// assert_eq!(<&[u8] as Field>::column_type(Some(9)), ColumnType::Blob { max: Some(9) });
    /// ```
    fn column_type(max: Option<u32>) -> ColumnType;

    /// The bytes this value needs in the variable part.
    ///
    /// # Errors
    /// The value does not fit its column. The path is relative to the field.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(Field::measure(&"Ulm", None)?, 3);
    /// assert_eq!(Field::measure(&7u32, None)?, 0);
    /// let error = Field::measure(&"Ulm", Some(2)).unwrap_err();
    /// assert!(matches!(error, RowError::ValueTooLong { len: 3, max: 2, .. }));
    /// # Ok::<(), remanent_schema::RowError>(())
    /// ```
    fn measure(&self, max: Option<u32>) -> Result<usize, RowError>;

    /// Writes the value's leaves.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
    /// # let slots = layout.slots();
    /// # let first = FieldSlot { slots: &slots, leaf: 0 };
    /// // The layout has a text and a number that may be NULL.
    /// let mut row = [0; 12];
    /// let mut writer = RowWriter::new(&mut row, &slots);
    /// Field::write(&"Ulm", first, &mut writer);
    /// Field::write(&Some(7u32), first.after(1), &mut writer);
    /// assert_eq!(row, [12, 0, 0, 0, 7, 0, 0, 0, 0, b'U', b'l', b'm']);
    /// ```
    fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>);

    /// Writes the leaves as those of an absent struct.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
    /// # let slots = layout.slots();
    /// # let first = FieldSlot { slots: &slots, leaf: 0 };
    /// // The layout has a text and a number that may be NULL.
    /// let mut row = [0xff; 9];
    /// let mut writer = RowWriter::new(&mut row, &slots);
    /// <&str as Field>::write_absent(first, &mut writer);
    /// <u32 as Field>::write_absent(first.after(1), &mut writer);
    /// assert_eq!(row, [9, 0, 0, 0, 0, 0, 0, 0, 0]);
    /// ```
    fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>);

    /// Reads the value's leaves.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
    /// # let slots = layout.slots();
    /// # let first = FieldSlot { slots: &slots, leaf: 0 };
    /// # let mut row = vec![0; slots.fixed_size as usize + 3];
    /// # let mut writer = RowWriter::new(&mut row, &slots);
    /// # Field::write(&"Ulm", first, &mut writer);
    /// # Field::write(&None::<u32>, first.after(1), &mut writer);
    /// // SAFETY: the row was written as a text and a number that may be NULL.
    /// let row = unsafe { RowBytes::trusted(&row) };
    /// assert_eq!(<&str as Field>::read(first, row), "Ulm");
    /// assert_eq!(<Option<u32> as Field>::read(first.after(1), row), None);
    /// ```
    fn read<'t>(slot: FieldSlot<'_>, row: RowBytes<'t>) -> Self::At<'t>;
}

/// A type that a field can have when it is never NULL.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// assert_eq!(<u32 as PlainField>::column_type(None), ColumnType::U32);
/// assert_eq!(<&str as PlainField>::column_type(Some(9)), ColumnType::String { max: Some(9) });
/// assert_eq!(<u32 as PlainField>::SHAPES, [LeafShape::fixed(4, 4)]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record",
    label = "not a column type"
)]
pub trait PlainField {
    /// The same type, borrowing from a row for `'t`.
    type At<'t>;
    /// The leaves, in order.
    const SHAPES: &'static [LeafShape];
    /// The leaves when the column is nullable; a struct has its presence leaf before the others.
    const NULLABLE_SHAPES: &'static [LeafShape];
    /// Whether the column type has a greatest length.
    const TAKES_MAX: bool = false;

    /// The column's type; `max` is the greatest length, if the type has one.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(<bool as PlainField>::column_type(None), ColumnType::Bool);
    /// assert_eq!(<&[u8] as PlainField>::column_type(Some(9)), ColumnType::Blob { max: Some(9) });
    /// ```
    fn column_type(max: Option<u32>) -> ColumnType;

    /// The bytes this value needs in the variable part.
    ///
    /// # Errors
    /// The value does not fit its column. The path is relative to the field.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(PlainField::measure(&"Ulm", None)?, 3);
    /// assert_eq!(PlainField::measure(&7u32, None)?, 0);
    /// let error = PlainField::measure(&"Ulm", Some(2)).unwrap_err();
    /// assert!(matches!(error, RowError::ValueTooLong { len: 3, max: 2, .. }));
    /// # Ok::<(), remanent_schema::RowError>(())
    /// ```
    fn measure(&self, max: Option<u32>) -> Result<usize, RowError>;

    /// Writes the value's leaves, leaving null bits alone.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
    /// # let slots = layout.slots();
    /// # let first = FieldSlot { slots: &slots, leaf: 0 };
    /// // The layout has a text and a number that may be NULL.
    /// let mut row = [0; 12];
    /// let mut writer = RowWriter::new(&mut row, &slots);
    /// PlainField::write(&"Ulm", first, &mut writer);
    /// PlainField::write(&7u32, first.after(1), &mut writer);
    /// assert_eq!(row, [12, 0, 0, 0, 7, 0, 0, 0, 0, b'U', b'l', b'm']);
    /// ```
    fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>);

    /// Writes the leaves of no value: zeros, or nothing; null bits of its own fields only.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
    /// # let slots = layout.slots();
    /// # let first = FieldSlot { slots: &slots, leaf: 0 };
    /// // The layout has a text and a number that may be NULL.
    /// let mut row = [0xff; 9];
    /// let mut writer = RowWriter::new(&mut row, &slots);
    /// <&str as PlainField>::write_absent(first, &mut writer);
    /// <u32 as PlainField>::write_absent(first.after(1), &mut writer);
    /// assert_eq!(row, [9, 0, 0, 0, 0, 0, 0, 0, 0]);
    /// ```
    fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>);

    /// Reads the value's leaves.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
    /// # let slots = layout.slots();
    /// # let first = FieldSlot { slots: &slots, leaf: 0 };
    /// # let mut row = vec![0; slots.fixed_size as usize + 3];
    /// # let mut writer = RowWriter::new(&mut row, &slots);
    /// # Field::write(&"Ulm", first, &mut writer);
    /// # Field::write(&None::<u32>, first.after(1), &mut writer);
    /// // SAFETY: the row was written as a text and a number that may be NULL.
    /// let row = unsafe { RowBytes::trusted(&row) };
    /// assert_eq!(<&str as PlainField>::read(first, row), "Ulm");
    /// ```
    fn read<'t>(slot: FieldSlot<'_>, row: RowBytes<'t>) -> Self::At<'t>;
}

/// The leaves of a field.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let layout = fixed_layout(&[LeafShape::fixed(4, 4), LeafShape::fixed(8, 8)]);
/// let slots = layout.slots();
/// let slot = FieldSlot { slots: &slots, leaf: 1 };
/// // SAFETY: two numbers of these sizes lie here, whatever the bytes.
/// let row = unsafe { RowBytes::trusted(&[5, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]) };
/// assert_eq!(<u64 as Field>::read(slot, row), 5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FieldSlot<'s> {
    /// The record's layout.
    pub slots: &'s Slots<'s>,
    /// The field's first leaf.
    pub leaf: usize,
}

impl<'s> FieldSlot<'s> {
    /// The slot `leaves` further on.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::fixed(4, 4), LeafShape::fixed(8, 8)]);
    /// let slots = layout.slots();
    /// let second = FieldSlot { slots: &slots, leaf: 0 }.after(1);
    /// assert_eq!(slots.offsets[second.leaf], 0);
    /// ```
    #[inline]
    pub const fn after(self, leaves: usize) -> FieldSlot<'s> {
        FieldSlot { slots: self.slots, leaf: self.leaf + leaves }
    }

    #[inline]
    fn offset(self) -> usize {
        self.slots.offsets[self.leaf] as usize
    }

    /// The byte and mask of the leaf's null bit; one that does not exist counts as never set.
    #[inline]
    fn null_bit(self) -> Option<(usize, u8)> {
        let bit = self.slots.null_bits[self.leaf];
        let byte = self.slots.null_offset as usize + usize::from(bit / 8);
        if bit == NO_NULL_BIT { None } else { Some((byte, 1 << (bit % 8))) }
    }

    #[inline]
    fn is_null(self, row: &[u8]) -> bool {
        self.null_bit().is_some_and(|(byte, mask)| row[byte] & mask != 0)
    }

    #[inline]
    fn variable(self, row: &[u8]) -> &[u8] {
        let end = u32::from_le_bytes(head(&row[self.offset()..]));
        let start = match self.slots.starts[self.leaf] {
            NO_START => self.slots.fixed_size,
            slot => u32::from_le_bytes(head(&row[slot as usize..])),
        };
        &row[start as usize..end as usize]
    }
}

/// A row being written: the fixed part anywhere, the variable part in order.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// # let layout = fixed_layout(&[LeafShape::VARIABLE, LeafShape::fixed(4, 4).nullable()]);
/// # let slots = layout.slots();
/// # let first = FieldSlot { slots: &slots, leaf: 0 };
/// # let mut row = vec![0; slots.fixed_size as usize + 3];
/// # let mut writer = RowWriter::new(&mut row, &slots);
/// # Field::write(&"Ulm", first, &mut writer);
/// # Field::write(&None::<u32>, first.after(1), &mut writer);
/// // A text and a number that may be NULL were written: "Ulm" and NULL.
/// let schema = TableSchema::new("City")
///     .column("name", ColumnType::STRING)
///     .nullable_column("people", ColumnType::U32);
/// let layout = RowLayout::new(&schema);
/// assert_eq!(layout.get_str(&row, 0), Some("Ulm"));
/// assert!(layout.is_null(&row, 1));
/// ```
#[derive(Debug)]
pub struct RowWriter<'o> {
    fixed: &'o mut [u8],
    variable: &'o mut [u8],
    /// Bytes of the variable part written so far.
    written: usize,
}

impl<'o> RowWriter<'o> {
    /// Begins a row that fills `out` exactly, with all null bits clear.
    ///
    /// # Panics
    /// If `out` is shorter than the fixed part.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let layout = fixed_layout(&[LeafShape::fixed(4, 4)]);
    /// let slots = layout.slots();
    /// let mut row = [0; 4];
    /// let mut writer = RowWriter::new(&mut row, &slots);
    /// Field::write(&7u32, FieldSlot { slots: &slots, leaf: 0 }, &mut writer);
    /// assert_eq!(row, [7, 0, 0, 0]);
    /// ```
    #[inline]
    pub fn new(out: &'o mut [u8], slots: &Slots<'_>) -> RowWriter<'o> {
        let (fixed, variable) = out.split_at_mut(slots.fixed_size as usize);
        fixed[slots.null_offset as usize..].fill(0);
        RowWriter { fixed, variable, written: 0 }
    }

    #[inline]
    fn set_null(&mut self, slot: FieldSlot<'_>) {
        if let Some((byte, mask)) = slot.null_bit() {
            self.fixed[byte] |= mask;
        }
    }

    #[inline]
    fn fixed(&mut self, slot: FieldSlot<'_>, size: usize) -> &mut [u8] {
        &mut self.fixed[slot.offset()..slot.offset() + size]
    }

    /// The next `len` bytes of the variable part, which become the leaf's.
    #[inline]
    fn variable(&mut self, slot: FieldSlot<'_>, len: usize) -> &mut [u8] {
        let start = self.written;
        self.written += len;
        let end = slot.slots.fixed_size + self.written as u32;
        self.fixed(slot, 4).copy_from_slice(&end.to_le_bytes());
        &mut self.variable[start..start + len]
    }
}

impl<T: PlainField> Field for T {
    type At<'t> = T::At<'t>;
    const SHAPES: &'static [LeafShape] = T::SHAPES;
    const NULLABLE: bool = false;
    const TAKES_MAX: bool = T::TAKES_MAX;

    fn column_type(max: Option<u32>) -> ColumnType {
        T::column_type(max)
    }

    #[inline]
    fn measure(&self, max: Option<u32>) -> Result<usize, RowError> {
        self.measure(max)
    }

    #[inline]
    fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        self.write(slot, row);
    }

    #[inline]
    fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        T::write_absent(slot, row);
    }

    #[inline]
    fn read<'t>(slot: FieldSlot<'_>, row: RowBytes<'t>) -> T::At<'t> {
        T::read(slot, row)
    }
}

impl<T: PlainField> Field for Option<T> {
    type At<'t> = Option<T::At<'t>>;
    const SHAPES: &'static [LeafShape] = T::NULLABLE_SHAPES;
    const NULLABLE: bool = true;
    const TAKES_MAX: bool = T::TAKES_MAX;

    fn column_type(max: Option<u32>) -> ColumnType {
        T::column_type(max)
    }

    #[inline]
    fn measure(&self, max: Option<u32>) -> Result<usize, RowError> {
        self.as_ref().map_or(Ok(0), |value| value.measure(max))
    }

    #[inline]
    fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        match self {
            Some(value) => value.write(slot.after(presence::<T>()), row),
            None => Self::write_absent(slot, row),
        }
    }

    #[inline]
    fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        row.set_null(slot);
        T::write_absent(slot.after(presence::<T>()), row);
    }

    #[inline]
    fn read<'t>(slot: FieldSlot<'_>, row: RowBytes<'t>) -> Option<T::At<'t>> {
        if slot.is_null(&row) { None } else { Some(T::read(slot.after(presence::<T>()), row)) }
    }
}

/// How many leaves precede a nullable value's own: a struct has a presence leaf, others none.
const fn presence<T: PlainField>() -> usize {
    T::NULLABLE_SHAPES.len() - T::SHAPES.len()
}

impl<T: FixedField> PlainField for T {
    type At<'t> = T;
    const SHAPES: &'static [LeafShape] = &[LeafShape::fixed(T::SIZE as u32, T::ALIGN)];
    const NULLABLE_SHAPES: &'static [LeafShape] =
        &[LeafShape::fixed(T::SIZE as u32, T::ALIGN).nullable()];

    fn column_type(_: Option<u32>) -> ColumnType {
        T::column_type()
    }

    #[inline]
    fn measure(&self, _: Option<u32>) -> Result<usize, RowError> {
        self.check()?;
        Ok(0)
    }

    #[inline]
    fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        FixedField::write(*self, row.fixed(slot, T::SIZE));
    }

    #[inline]
    fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        row.fixed(slot, T::SIZE).fill(0);
    }

    #[inline]
    fn read(slot: FieldSlot<'_>, row: RowBytes<'_>) -> T {
        T::read(&row[slot.offset()..slot.offset() + T::SIZE])
    }
}

macro_rules! variable_field {
    (($($lifetime:lifetime)?) $field:ty, $at:ty, $column_type:ident, $read:path) => {
        impl $(<$lifetime>)? PlainField for $field {
            type At<'t> = $at;
            const SHAPES: &'static [LeafShape] = &[LeafShape::VARIABLE];
            const NULLABLE_SHAPES: &'static [LeafShape] = &[LeafShape::VARIABLE.nullable()];
            const TAKES_MAX: bool = true;

            fn column_type(max: Option<u32>) -> ColumnType {
                ColumnType::$column_type { max }
            }

            #[inline]
            fn measure(&self, max: Option<u32>) -> Result<usize, RowError> {
                check_max(self.len(), max)
            }

            #[inline]
            fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
                let bytes: &[u8] = self.as_ref();
                row.variable(slot, bytes.len()).copy_from_slice(bytes);
            }

            #[inline]
            fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
                row.variable(slot, 0);
            }

            #[inline]
            fn read<'t>(slot: FieldSlot<'_>, row: RowBytes<'t>) -> Self::At<'t> {
                $read(row, slot.variable(row.bytes()))
            }
        }
    };
}

variable_field!(('a) &'a str, &'t str, String, RowBytes::text);
variable_field!(() String, String, String, owned_text);
variable_field!(('a) &'a [u8], &'t [u8], Blob, blob);
variable_field!(() Vec<u8>, Vec<u8>, Blob, owned_blob);

impl<T: Scalar + 'static> PlainField for VectorRef<'_, T> {
    type At<'t> = VectorRef<'t, T>;
    const SHAPES: &'static [LeafShape] = &[LeafShape::VARIABLE];
    const NULLABLE_SHAPES: &'static [LeafShape] = &[LeafShape::VARIABLE.nullable()];
    const TAKES_MAX: bool = true;

    fn column_type(max: Option<u32>) -> ColumnType {
        ColumnType::Vector { element: Box::new(T::column_type()), max }
    }

    #[inline]
    fn measure(&self, max: Option<u32>) -> Result<usize, RowError> {
        self.iter().try_for_each(|element| element.check())?;
        Ok(check_max(self.len(), max)? * T::SIZE)
    }

    #[inline]
    fn write(&self, slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        self.write_packed(row.variable(slot, self.len() * T::SIZE));
    }

    #[inline]
    fn write_absent(slot: FieldSlot<'_>, row: &mut RowWriter<'_>) {
        row.variable(slot, 0);
    }

    #[inline]
    fn read<'t>(slot: FieldSlot<'_>, row: RowBytes<'t>) -> VectorRef<'t, T> {
        VectorRef::from_packed(slot.variable(row.bytes()))
    }
}

fn owned_text<'t>(row: RowBytes<'t>, part: &'t [u8]) -> String {
    row.text(part).to_owned()
}

#[inline]
fn blob<'t>(_: RowBytes<'t>, part: &'t [u8]) -> &'t [u8] {
    part
}

fn owned_blob(_: RowBytes<'_>, part: &[u8]) -> Vec<u8> {
    part.to_vec()
}

#[inline]
fn check_max(len: usize, max: Option<u32>) -> Result<usize, RowError> {
    match max {
        Some(max) if len > max as usize => Err(too_long(len, max as usize)),
        _ => Ok(len),
    }
}

#[cold]
fn too_long(len: usize, max: usize) -> RowError {
    RowError::ValueTooLong { column: "".into(), len, max }
}

#[cfg(test)]
mod tests;
