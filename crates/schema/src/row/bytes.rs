//! The bytes of a row that are known to be what they are read as.
//!
//! Checking text for UTF-8 on each read is a third of a keyed read of 500 bytes (`lab sensors`,
//! read: 135 ns against 119). Bytes that an encoder of this crate wrote
//! need no check when they are read by the same layout: this type says so. Whoever has bytes from
//! elsewhere checks them once.

use std::ops::Deref;

use crate::row::layout::RowLayout;

/// A row's bytes, written by an encoder for the layout that reads them.
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
/// // SAFETY: the row was encoded with this layout.
/// let bytes = unsafe { RowBytes::trusted(&row) };
/// assert_eq!(layout.get_str(&bytes, 1), Some("Ulm"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RowBytes<'r>(&'r [u8]);

impl<'r> RowBytes<'r> {
    /// Bytes that need no check.
    ///
    /// # Safety
    /// The bytes must have been written by an encoder for the very columns as which they are read,
    /// or have passed [`RowLayout::is_well_formed`] for them.
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
    /// // SAFETY: checked on the line above.
    /// let bytes = unsafe { RowBytes::trusted(&row) };
    /// assert_eq!(layout.get::<u32>(&bytes, 0), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub unsafe fn trusted(bytes: &'r [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, if they are well formed for `layout`; to be read by that layout only.
    pub(crate) fn checked(layout: &RowLayout, bytes: &'r [u8]) -> Option<Self> {
        layout.is_well_formed(bytes).then_some(Self(bytes))
    }

    /// Bytes that a test wrote field by field, without a schema to check them against.
    #[cfg(test)]
    pub(crate) fn written_by_test(bytes: &'r [u8]) -> Self {
        Self(bytes)
    }

    /// All of the row.
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
    /// // SAFETY: the row was encoded with this layout.
    /// let bytes = unsafe { RowBytes::trusted(&row) };
    /// assert_eq!(bytes.bytes(), row);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn bytes(self) -> &'r [u8] {
        self.0
    }

    /// A part of the row as text; `part` lies in these bytes, where the layout has text.
    #[inline]
    pub(crate) fn text(self, part: &'r [u8]) -> &'r str {
        debug_assert!(std::str::from_utf8(part).is_ok());
        // SAFETY: the row was encoded for, or checked against, the columns it is read as, and for
        // those this part is text.
        unsafe { std::str::from_utf8_unchecked(part) }
    }
}

impl Deref for RowBytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0
    }
}
