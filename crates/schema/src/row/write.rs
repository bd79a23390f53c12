//! Writing rows: encoding values, and making a new row from an old one and some changes.
//!
//! The caller asks for the length first, provides exactly that many bytes, and has them filled
//! entirely: equal values make equal rows. NULL is written as zeros in a fixed place and as
//! nothing in the variable part. Nothing here touches the heap unless there is an error to name.
//!
//! A nullable struct is there if its presence leaf is given as true, or is not given and some leaf
//! under it is given a value; if it is not there, all leaves under it are NULL, whatever is given.

use crate::error::{Fault, RowError};
use crate::row::layout::{Leaf, ROW_LEN_MAX, RowLayout};
use crate::values::column_type::ColumnType;
use crate::values::fixed_value::{member_count, write_elements, write_fixed};
use crate::values::value::Value;

impl RowLayout {
    /// The length in bytes of the row that [`encode`](RowLayout::encode) makes of `values`.
    ///
    /// # Errors
    /// A variable value of the wrong type or too long; a row over [`ROW_LEN_MAX`]; more values
    /// than leaves.
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
    /// let values = [Some(Value::U32(7)), Some("Ulm".into()), None];
    /// assert_eq!(layout.encoded_len(&values)?, layout.fixed_size() + 3);
    /// let wrong = layout.encoded_len(&[Some(Value::U32(7)), Some(Value::U32(8))]);
    /// assert!(matches!(wrong, Err(RowError::WrongType { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encoded_len(&self, values: &[Option<Value<'_>>]) -> Result<usize, RowError> {
        self.check_count(values.len())?;
        self.measure(&Given { values })
    }

    /// Writes a row and gives its length. `values` are by leaf; where there is none, or the slice
    /// is shorter, the leaf's default is written, or else NULL.
    ///
    /// # Errors
    /// As [`encoded_len`](RowLayout::encoded_len); also a value that the leaf does not accept,
    /// NULL where it is not allowed, and an output that is too small.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{ColumnType, RowError, RowLayout, TableSchema, Value};
    /// let schema = TableSchema::new("T").column("a", ColumnType::U8).build()?;
    /// let layout = RowLayout::new(&schema);
    /// let mut row = [0; 1];
    /// assert_eq!(layout.encode(&[Some(Value::I64(200))], &mut row)?, 1);
    /// let refused = layout.encode(&[Some(Value::I64(256))], &mut row);
    /// assert_eq!(refused, Err(RowError::ValueOutOfRange { column: "a".into() }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, values: &[Option<Value<'_>>], out: &mut [u8]) -> Result<usize, RowError> {
        self.check_count(values.len())?;
        if self.has_presence() {
            self.write(&Given { values }, out)
        } else {
            self.write_plain(values, out)
        }
    }

    /// The length of the row that [`update`](RowLayout::update) makes.
    ///
    /// # Errors
    /// As [`encoded_len`](RowLayout::encoded_len); also a change to a leaf that does not exist.
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
    /// let changes = [(1, Value::from("Ulm an der Donau"))];
    /// let len = layout.updated_len(&row, &changes)?;
    /// assert_eq!(len, row.len() + " an der Donau".len());
    /// let unknown = layout.updated_len(&row, &[(3, Value::Null)]);
    /// assert_eq!(unknown, Err(RowError::UnknownColumn { column: "3".into() }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn updated_len(
        &self,
        old_row: &[u8],
        changes: &[(usize, Value<'_>)],
    ) -> Result<usize, RowError> {
        self.check_changes(changes)?;
        if self.needs_rewrite(changes) {
            return self.measure(&Changed { layout: self, old_row, changes });
        }
        if !self.any_variable(changes) {
            return Ok(old_row.len());
        }
        let mut len = self.fixed_size();
        for leaf in self.variable() {
            let index = *leaf as usize;
            let leaf = &self.leaves()[index];
            len += match change_of(changes, index) {
                Some(value) => variable_len(leaf, &value)?,
                None => self.leaf_bytes(old_row, leaf).len(),
            };
        }
        check_row_len(len)
    }

    /// Writes the row that `old_row` becomes by `changes`, pairs of leaf and value, of which the
    /// last one counts; gives the new row's length.
    ///
    /// # Errors
    /// As [`encode`](RowLayout::encode); also a change to a leaf that does not exist.
    ///
    /// # Panics
    /// If `old_row` is not a row of this layout.
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
    /// let changes = [(1, Value::from("Bonn")), (2, Value::U32(336_000))];
    /// let mut new_row = vec![0; layout.updated_len(&row, &changes)?];
    /// layout.update(&row, &changes, &mut new_row)?;
    /// assert_eq!(layout.get_str(&new_row, 1), Some("Bonn"));
    /// assert_eq!(layout.get::<u32>(&new_row, 2), Some(336_000));
    /// // What is not changed is as it was.
    /// assert_eq!(layout.get::<u32>(&new_row, 0), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(
        &self,
        old_row: &[u8],
        changes: &[(usize, Value<'_>)],
        out: &mut [u8],
    ) -> Result<usize, RowError> {
        self.check_changes(changes)?;
        if self.needs_rewrite(changes) {
            return self.write(&Changed { layout: self, old_row, changes }, out);
        }
        let variable_changes = self.any_variable(changes);
        let copied = if variable_changes { self.fixed_size() } else { old_row.len() };
        check_room(copied, out)?;
        out[..copied].copy_from_slice(&old_row[..copied]);
        for (index, value) in changes {
            let leaf = &self.leaves()[*index];
            if leaf.variable_index.is_none() {
                self.write_leaf(leaf, value, out, 0)?;
            }
        }
        if !variable_changes {
            return Ok(copied);
        }
        let mut end = copied;
        for leaf in self.variable() {
            let index = *leaf as usize;
            let leaf = &self.leaves()[index];
            end = match change_of(changes, index) {
                Some(value) => self.write_leaf(leaf, &value, out, end)?,
                None => {
                    let bytes = self.leaf_bytes(old_row, leaf);
                    put_variable(leaf, bytes.len(), out, end, |place| {
                        place.copy_from_slice(bytes);
                        Ok(())
                    })?
                }
            };
        }
        check_row_len(end)
    }

    fn measure<'v>(&'v self, source: &impl Source<'v>) -> Result<usize, RowError> {
        let mut len = self.fixed_size();
        if self.has_presence() {
            let mut absent_until = 0;
            for (index, leaf) in self.leaves().iter().enumerate() {
                let value = self.resolve(source, index, &mut absent_until)?;
                if leaf.variable_index.is_some() {
                    len = len.saturating_add(variable_len(leaf, &value)?);
                }
            }
        } else {
            for leaf in self.variable() {
                let leaf_index = *leaf as usize;
                let value = self.resolve(source, leaf_index, &mut 0)?;
                len = len.saturating_add(variable_len(&self.leaves()[leaf_index], &value)?);
            }
        }
        check_row_len(len)
    }

    /// `write` for values by leaf when no leaf's presence hangs on another's value.
    fn write_plain(&self, values: &[Option<Value<'_>>], out: &mut [u8]) -> Result<usize, RowError> {
        check_room(self.fixed_size(), out)?;
        out[self.null_offset()..self.fixed_size()].fill(0);
        let mut end = self.fixed_size();
        for (index, leaf) in self.leaves().iter().enumerate() {
            end = match values.get(index) {
                Some(Some(value)) => self.write_leaf(leaf, value, out, end)?,
                _ => self.write_leaf(leaf, &leaf.default_value(), out, end)?,
            };
        }
        check_row_len(end)
    }

    fn write<'v>(&'v self, source: &impl Source<'v>, out: &mut [u8]) -> Result<usize, RowError> {
        check_room(self.fixed_size(), out)?;
        out[self.null_offset()..self.fixed_size()].fill(0);
        let mut end = self.fixed_size();
        let mut absent_until = 0;
        for (index, leaf) in self.leaves().iter().enumerate() {
            let value = self.resolve(source, index, &mut absent_until)?;
            end = if index < absent_until {
                self.write_null(leaf, out, end)?
            } else {
                self.write_leaf(leaf, &value, out, end)?
            };
        }
        check_row_len(end)
    }

    /// The value of leaf `index` to write, after presence and defaults. Leaves are asked for in
    /// order; `absent_until` carries how far an absent struct reaches.
    #[inline]
    fn resolve<'v>(
        &'v self,
        source: &impl Source<'v>,
        index: usize,
        absent_until: &mut usize,
    ) -> Result<Value<'v>, RowError> {
        if index < *absent_until {
            return Ok(Value::Null);
        }
        let leaf = &self.leaves()[index];
        let given = source.given(index);
        if !leaf.is_presence() {
            return Ok(given.unwrap_or_else(|| leaf.default_value()));
        }
        let span = index + 1..leaf.span_end as usize;
        let present = match given {
            None => span.clone().any(|under| source.given(under).is_some_and(|v| !v.is_null())),
            Some(Value::Bool(present)) => present,
            Some(Value::Null) => false,
            Some(other) => {
                return Err(Fault::WrongType { found: other.kind_name() }.at(&leaf.path, &"Struct"));
            }
        };
        if present {
            return Ok(Value::Bool(true));
        }
        *absent_until = span.end;
        Ok(Value::Null)
    }

    /// Writes one leaf and gives where the variable part ends afterwards.
    #[inline]
    pub(crate) fn write_leaf(
        &self,
        leaf: &Leaf,
        value: &Value<'_>,
        out: &mut [u8],
        end: usize,
    ) -> Result<usize, RowError> {
        if value.is_null() {
            if !leaf.own_nullable {
                return Err(RowError::NullInNotNull { column: leaf.path.as_str().into() });
            }
            return self.write_null(leaf, out, end);
        }
        if leaf.own_nullable {
            let (byte, mask) = self.null_place(leaf);
            out[byte] &= !mask;
        }
        if leaf.variable_index.is_some() {
            let len = variable_len(leaf, value)?;
            return put_variable(leaf, len, out, end, |place| write_variable(leaf, value, place));
        }
        if !leaf.is_presence() {
            let place = &mut out[leaf.offset as usize..][..leaf.size as usize];
            write_fixed(&leaf.column_type, value, place)
                .map_err(|fault| fault.at(&leaf.path, &leaf.column_type))?;
        }
        Ok(end)
    }

    fn write_null(&self, leaf: &Leaf, out: &mut [u8], end: usize) -> Result<usize, RowError> {
        let (byte, mask) = self.null_place(leaf);
        out[byte] |= mask;
        if leaf.variable_index.is_some() {
            return put_variable(leaf, 0, out, end, |_| Ok(()));
        }
        out[leaf.offset as usize..][..leaf.size as usize].fill(0);
        Ok(end)
    }

    #[inline]
    pub(crate) fn null_place(&self, leaf: &Leaf) -> (usize, u8) {
        (self.null_offset() + usize::from(leaf.null_bit / 8), 1 << (leaf.null_bit % 8))
    }

    fn check_count(&self, found: usize) -> Result<(), RowError> {
        let expected = self.leaves().len();
        if found > expected { Err(RowError::TooManyValues { expected, found }) } else { Ok(()) }
    }

    fn check_changes(&self, changes: &[(usize, Value<'_>)]) -> Result<(), RowError> {
        match changes.iter().find(|(leaf, _)| *leaf >= self.leaves().len()) {
            Some((leaf, _)) => Err(RowError::UnknownColumn { column: leaf.to_string().into() }),
            None => Ok(()),
        }
    }

    /// Whether a change is to a nullable struct, so that it may reach beyond its own leaf.
    fn needs_rewrite(&self, changes: &[(usize, Value<'_>)]) -> bool {
        self.has_presence()
            && changes.iter().any(|(leaf, _)| {
                let leaf = &self.leaves()[*leaf];
                leaf.in_nullable || leaf.is_presence()
            })
    }

    fn any_variable(&self, changes: &[(usize, Value<'_>)]) -> bool {
        changes.iter().any(|(leaf, _)| self.leaves()[*leaf].variable_index.is_some())
    }
}

/// A source of a row's values.
trait Source<'v> {
    /// The value given for a leaf, if one is.
    fn given(&self, leaf: usize) -> Option<Value<'v>>;
}

/// Values by leaf.
struct Given<'s, 'v> {
    values: &'s [Option<Value<'v>>],
}

impl<'v> Source<'v> for Given<'_, 'v> {
    #[inline]
    fn given(&self, leaf: usize) -> Option<Value<'v>> {
        self.values.get(leaf).copied().flatten()
    }
}

/// An old row and changes to it.
struct Changed<'s, 'v> {
    layout: &'v RowLayout,
    old_row: &'v [u8],
    changes: &'s [(usize, Value<'v>)],
}

impl<'v> Source<'v> for Changed<'_, 'v> {
    fn given(&self, index: usize) -> Option<Value<'v>> {
        let leaf = &self.layout.leaves()[index];
        change_of(self.changes, index).or_else(|| {
            // What an absent struct holds counts as not given: it may be about to appear.
            let value = self.layout.read_value(self.old_row, index);
            let absent = value.is_null() && (leaf.is_presence() || leaf.in_nullable);
            if absent && self.is_under_absent(index) { None } else { Some(value) }
        })
    }
}

impl Changed<'_, '_> {
    /// Whether this leaf is, or is under, a nullable struct that the old row does not have.
    fn is_under_absent(&self, index: usize) -> bool {
        self.layout.leaves()[..=index].iter().enumerate().any(|(at, leaf)| {
            leaf.is_presence()
                && index < leaf.span_end as usize
                && self.layout.is_null(self.old_row, at)
        })
    }
}

/// The last change to a leaf.
#[inline]
fn change_of<'v>(changes: &[(usize, Value<'v>)], leaf: usize) -> Option<Value<'v>> {
    changes.iter().rev().find(|(changed, _)| *changed == leaf).map(|(_, value)| *value)
}

/// The bytes that `value` needs in the variable part.
#[inline]
pub(crate) fn variable_len(leaf: &Leaf, value: &Value<'_>) -> Result<usize, RowError> {
    let (len, size, max) = match (&leaf.column_type, value) {
        (_, Value::Null) => return Ok(0),
        (ColumnType::String { max }, Value::String(text)) => (text.len(), 1, *max),
        (ColumnType::Blob { max }, Value::Bytes(bytes)) => (bytes.len(), 1, *max),
        (ColumnType::Vector { element, max }, composite) => {
            let count =
                member_count(composite).map_err(|fault| fault.at(&leaf.path, &leaf.column_type))?;
            (count, element.fixed_size() as usize, *max)
        }
        (_, other) => {
            let fault = Fault::WrongType { found: other.kind_name() };
            return Err(fault.at(&leaf.path, &leaf.column_type));
        }
    };
    let max = max.map_or(ROW_LEN_MAX, |max| max as usize);
    if len > max {
        return Err(Fault::TooLong { len, max }.at(&leaf.path, &leaf.column_type));
    }
    Ok(len.saturating_mul(size))
}

pub(crate) fn write_variable(
    leaf: &Leaf,
    value: &Value<'_>,
    place: &mut [u8],
) -> Result<(), RowError> {
    match (&leaf.column_type, value) {
        (_, Value::String(text)) => place.copy_from_slice(text.as_bytes()),
        (ColumnType::Blob { .. }, Value::Bytes(bytes)) => place.copy_from_slice(bytes),
        (ColumnType::Vector { element, .. }, composite) => {
            write_elements(element, None, composite, place)
                .map_err(|fault| fault.at(&leaf.path, &leaf.column_type))?;
        }
        // `variable_len` has refused every other pair.
        _ => {}
    }
    Ok(())
}

/// Fills `len` bytes from `end` and records the new end, which it gives.
#[inline]
fn put_variable(
    leaf: &Leaf,
    len: usize,
    out: &mut [u8],
    end: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), RowError>,
) -> Result<usize, RowError> {
    let new_end = check_row_len(end.saturating_add(len))?;
    check_room(new_end, out)?;
    fill(&mut out[end..new_end])?;
    out[leaf.offset as usize..][..4].copy_from_slice(&(new_end as u32).to_le_bytes());
    Ok(new_end)
}

pub(crate) fn check_row_len(len: usize) -> Result<usize, RowError> {
    if len > ROW_LEN_MAX { Err(RowError::RowTooLong { len }) } else { Ok(len) }
}

fn check_room(needed: usize, out: &[u8]) -> Result<(), RowError> {
    let found = out.len();
    if found < needed { Err(RowError::BufferTooSmall { needed, found }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
