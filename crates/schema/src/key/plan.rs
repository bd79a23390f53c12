//! The key of an index compiled for a table's rows: one step for each part.
//!
//! A step knows where the part lies in the row and how its bytes are made; encoding a row's key
//! looks nothing up. The same steps encode values given by a caller, a prefix of the parts for
//! range searches, and compare a row with an encoded key without making the row's key.

use std::cmp::Ordering;

use crate::definition::table_schema::IndexSchema;
use crate::error::{Fault, KeyError, SchemaError};
use crate::key::buffer::KeyBuffer;
use crate::key::codec::{
    KeyComparison, KeySink, NULL_MARK, VALUE_MARK, ordered_f32, ordered_f64, put_mark, put_text,
};
use crate::row::fixed_layout::{NO_NULL_BIT, NO_START};
use crate::row::layout::{Leaf, RowLayout};
use crate::values::column_type::ColumnType;
use crate::values::fixed_value::{head, strip_nul, write_fixed};
use crate::values::value::Value;

/// How the keys of one index are made.
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
/// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
/// # let mut key = KeyBuffer::new();
/// // The index is on (name, id).
/// plan.encode_row(&row, &mut key)?;
/// assert!(plan.matches_row(&row, key.as_slice()));
/// plan.encode_values(&["Ulm".into(), Value::U32(8)], &mut key)?;
/// assert!(!plan.matches_row(&row, key.as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyPlan {
    steps: Vec<Step>,
    /// Offset of rows' variable parts.
    fixed_size: u32,
}

/// One part.
#[derive(Clone, Debug)]
struct Step {
    /// What to do with the bytes at `offset`.
    form: Form,
    offset: u32,
    descending: bool,
    /// Whether the part begins with a null mark.
    nullable: bool,
    /// The null bit's mask and byte.
    null_mask: u8,
    null_byte: u32,
    leaf: u32,
    column_type: ColumnType,
    /// Whether any bytes of its size are a value.
    is_any_bytes: bool,
    /// Bytes in a fixed place; 0 for variable types.
    size: u32,
}

/// How a part's bytes come from the row's. Masks hold the flipped sign and the complement.
#[derive(Clone, Copy, Debug)]
enum Form {
    Bytes1 { mask: u8 },
    Bytes2 { mask: u16 },
    Bytes4 { mask: u32 },
    Bytes8 { mask: u64 },
    Bytes16,
    F32 { mask: u32 },
    F64 { mask: u64 },
    Char { size: u32 },
    Binary { size: u32 },
    Text { start: u32 },
}

impl KeyPlan {
    /// Compiles an index of a table with this layout.
    ///
    /// # Errors
    /// [`SchemaError::UnknownKeyColumn`] or [`SchemaError::BadKeyType`] for a part that the rows
    /// do not have or that cannot be a key; never for a validated schema's own layout.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{ColumnType, KeyBuffer, KeyPlan, RowLayout, TableSchema, Value};
    /// let schema = TableSchema::new("T")
    ///     .column("a", ColumnType::I32)
    ///     .column("b", ColumnType::U16)
    ///     .primary_key(["a", "b"])
    ///     .build()?;
    /// let plan = KeyPlan::new(&RowLayout::new(&schema), &schema.indexes[0])?;
    /// let mut key = KeyBuffer::new();
    /// plan.encode_values(&[Value::I32(-1), Value::U16(2)], &mut key)?;
    /// assert_eq!(key.as_slice(), [0x7f, 0xff, 0xff, 0xff, 0, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(layout: &RowLayout, index: &IndexSchema) -> Result<KeyPlan, SchemaError> {
        let mut steps = Vec::with_capacity(index.parts.len());
        for part in &index.parts {
            let (name, column) = (index.name.as_str(), part.column.as_str());
            let leaf = layout.leaf_by_path(column).ok_or_else(|| {
                SchemaError::UnknownKeyColumn { index: name.into(), column: column.into() }
            })?;
            let step = Step::new(layout, leaf, part.descending).ok_or_else(|| {
                SchemaError::BadKeyType { index: name.into(), column: column.into() }
            })?;
            steps.push(step);
        }
        Ok(KeyPlan { steps, fixed_size: layout.fixed_size() as u32 })
    }

    /// The number of parts.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// assert_eq!(plan.parts(), schema.indexes[1].parts.len());
    /// assert_eq!(plan.parts(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn parts(&self) -> usize {
        self.steps.len()
    }

    /// The row's leaves that the parts are, in the key's order.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// // The index is on (name, id).
    /// let paths: Vec<_> = plan.leaves().map(|leaf| layout.leaves()[leaf].path.as_str()).collect();
    /// assert_eq!(paths, ["name", "id"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leaves(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.steps.iter().map(|step| step.leaf as usize)
    }

    /// Whether every key has the same length, and which.
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
    /// let by_id = KeyPlan::new(&layout, &schema.indexes[0])?;
    /// assert_eq!(by_id.fixed_len(), Some(4));
    /// let by_name = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// assert_eq!(by_name.fixed_len(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fixed_len(&self) -> Option<usize> {
        self.steps.iter().try_fold(0, |len, step| {
            let fixed = !matches!(step.form, Form::Text { .. } | Form::Char { .. });
            let size = step.size as usize;
            (fixed && !step.nullable).then_some(len + size)
        })
    }

    /// Whether some part of the row's key is NULL.
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
    /// let by_name = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// assert!(!by_name.has_null(&row));
    /// let by_people = KeyPlan::new(&layout, &IndexSchema::new("people", ["people"]))?;
    /// assert!(by_people.has_null(&row));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn has_null(&self, row: &[u8]) -> bool {
        self.steps.iter().any(|step| step.is_null(row))
    }

    /// Makes `out` the key of a row.
    ///
    /// # Errors
    /// [`KeyError::KeyTooLong`].
    ///
    /// # Panics
    /// If the row is not of the layout; so do all that take a row.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// plan.encode_row(&row, &mut key)?;
    /// let mut same = KeyBuffer::new();
    /// plan.encode_values(&["Ulm".into(), Value::U32(7)], &mut same)?;
    /// assert_eq!(key, same);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn encode_row(&self, row: &[u8], out: &mut KeyBuffer) -> Result<(), KeyError> {
        out.clear();
        for step in &self.steps {
            step.put_row(row, self.fixed_size, out)?;
        }
        Ok(out.check_len()?)
    }

    /// Makes `out` the beginning of a key from values for the first parts, and gives how many
    /// those are. Given all parts it is the key.
    ///
    /// # Errors
    /// [`KeyError::TooManyParts`]; a value that the part's column does not accept; a key that is
    /// too long.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// // The index is on (name, id): a prefix finds all cities of a name.
    /// assert_eq!(plan.encode_values(&["Ulm".into()], &mut key)?, 1);
    /// assert!(plan.row_starts_with(&row, key.as_slice()));
    /// let refused = plan.encode_values(&[Value::U32(7)], &mut key);
    /// assert_eq!(refused, Err(KeyError::WrongKeyShape { part: 0, found: "U32" }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn encode_values(
        &self,
        values: &[Value<'_>],
        out: &mut KeyBuffer,
    ) -> Result<usize, KeyError> {
        out.clear();
        let (expected, found) = (self.steps.len(), values.len());
        if found > expected {
            return Err(KeyError::TooManyParts { expected, found });
        }
        for (part, (step, value)) in self.steps.iter().zip(values).enumerate() {
            step.put_value(part, *value, out)?;
        }
        out.check_len()?;
        Ok(found)
    }

    /// Makes `out` the beginning of a key from the bytes that rows hold for the first parts, which
    /// are numbers other than decimals, or dates and times, of the parts' own sizes; gives how
    /// many those are, `None` if a part is not so.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("T")
    /// #     .column("a", ColumnType::I32)
    /// #     .column("b", ColumnType::U16)
    /// #     .primary_key(["a", "b"])
    /// #     .build()?;
    /// # let plan = KeyPlan::new(&RowLayout::new(&schema), &schema.indexes[0])?;
    /// let (mut key, mut same) = (KeyBuffer::new(), KeyBuffer::new());
    /// let (a, b) = ((-1_i32).to_le_bytes(), 2_u16.to_le_bytes());
    /// assert_eq!(plan.encode_plain(&[&a, &b], &mut key), Some(2));
    /// plan.encode_values(&[Value::I32(-1), Value::U16(2)], &mut same)?;
    /// assert_eq!(key, same);
    /// assert_eq!(plan.encode_plain(&[&a, &a], &mut key), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn encode_plain(&self, parts: &[&[u8]], out: &mut KeyBuffer) -> Option<usize> {
        out.clear();
        if parts.len() > self.steps.len() {
            return None;
        }
        for (step, bytes) in self.steps.iter().zip(parts) {
            if !step.is_any_bytes || bytes.len() != step.size as usize {
                return None;
            }
            if step.nullable {
                put_mark(VALUE_MARK, step.descending, out).ok()?;
            }
            // As in `put_row`.
            match step.form {
                Form::Bytes4 { mask } => {
                    out.put((u32::from_le_bytes(head(bytes)) ^ mask).to_be_bytes())
                }
                Form::Bytes8 { mask } => {
                    out.put((u64::from_le_bytes(head(bytes)) ^ mask).to_be_bytes())
                }
                _ => step.put_fixed(bytes, out),
            }
            .ok()?;
        }
        out.check_len().ok()?;
        Some(parts.len())
    }

    /// Encodes the key of a plan that is one blob and never null; any other plan gives `None`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("T").column("key", ColumnType::BLOB).primary_key(["key"]);
    /// let schema = schema.build()?;
    /// let plan = KeyPlan::new(&RowLayout::new(&schema), &schema.indexes[0])?;
    /// let (mut key, mut same) = (KeyBuffer::new(), KeyBuffer::new());
    /// plan.encode_blob(b"a\0b", &mut key).expect("a blob")?;
    /// plan.encode_values(&[Value::Bytes(b"a\0b")], &mut same)?;
    /// assert_eq!(key, same);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn encode_blob(&self, bytes: &[u8], out: &mut KeyBuffer) -> Option<Result<(), KeyError>> {
        let [step] = self.steps.as_slice() else { return None };
        if step.nullable || !matches!(step.column_type, ColumnType::Blob { .. }) {
            return None;
        }
        out.clear();
        let put = put_text(bytes, step.descending, out).and_then(|()| out.check_len());
        Some(put.map_err(KeyError::from))
    }

    /// The row's key as it is, of a plan that [`KeyPlan::encode_blob`] encodes keys of.
    ///
    /// # Panics
    /// If the plan is of another sort.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("T").column("key", ColumnType::BLOB).primary_key(["key"]);
    /// let schema = schema.build()?;
    /// let layout = RowLayout::new(&schema);
    /// let plan = KeyPlan::new(&layout, &schema.indexes[0])?;
    /// let mut row = [0; 16];
    /// let len = layout.encode(&[Some(Value::Bytes(b"abc"))], &mut row)?;
    /// assert_eq!(plan.blob_of(&row[..len]), b"abc");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn blob_of<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        let [Step { form: Form::Text { start }, offset, .. }] = self.steps.as_slice() else {
            unreachable!("the key of this plan is no blob")
        };
        text_of(row, *offset, *start, self.fixed_size)
    }

    /// Whether `key`, encoded by this plan, is the row's key.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// plan.encode_values(&["Ulm".into(), Value::U32(7)], &mut key)?;
    /// assert!(plan.matches_row(&row, key.as_slice()));
    /// plan.encode_values(&["Ulm".into()], &mut key)?;
    /// assert!(!plan.matches_row(&row, key.as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn matches_row(&self, row: &[u8], key: &[u8]) -> bool {
        self.compare_row(row, key) == Ordering::Equal
    }

    /// Whether `prefix`, encoded by this plan from some first parts, begins the row's key.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// plan.encode_values(&["Ulm".into()], &mut key)?;
    /// assert!(plan.row_starts_with(&row, key.as_slice()));
    /// plan.encode_values(&["Ul".into()], &mut key)?;
    /// assert!(!plan.row_starts_with(&row, key.as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn row_starts_with(&self, row: &[u8], prefix: &[u8]) -> bool {
        let mut comparison = KeyComparison::new(prefix);
        for step in &self.steps {
            if comparison.is_at_end() {
                return true;
            }
            if step.put_row(row, self.fixed_size, &mut comparison).is_err() {
                return false;
            }
        }
        comparison.is_at_end()
    }

    /// How the row's key compares, byte by byte, with `key`: any bytes, such as the end of a range.
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
    /// # let plan = KeyPlan::new(&layout, &schema.indexes[1])?;
    /// # let mut key = KeyBuffer::new();
    /// use std::cmp::Ordering;
    /// plan.encode_values(&["Bonn".into()], &mut key)?;
    /// assert_eq!(plan.compare_row(&row, key.as_slice()), Ordering::Greater);
    /// plan.encode_values(&["Ulm".into(), Value::U32(8)], &mut key)?;
    /// assert_eq!(plan.compare_row(&row, key.as_slice()), Ordering::Less);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn compare_row(&self, row: &[u8], key: &[u8]) -> Ordering {
        let mut comparison = KeyComparison::new(key);
        for step in &self.steps {
            if let Err(order) = step.put_row(row, self.fixed_size, &mut comparison) {
                return order;
            }
        }
        comparison.finish()
    }
}

/// A variable part of a row: where its end stands, and where the end of the part before it.
#[inline]
fn text_of(row: &[u8], offset: u32, start: u32, fixed: u32) -> &[u8] {
    let end = u32::from_le_bytes(head(&row[offset as usize..]));
    let start = match start {
        NO_START => fixed,
        slot => u32::from_le_bytes(head(&row[slot as usize..])),
    };
    &row[start as usize..end as usize]
}

impl Step {
    fn new(layout: &RowLayout, index: usize, descending: bool) -> Option<Step> {
        let leaf = &layout.leaves()[index];
        let (null_byte, null_mask) = match leaf.null_bit {
            NO_NULL_BIT => (0, 0),
            bit => (layout.null_offset() as u32 + u32::from(bit / 8), 1 << (bit % 8)),
        };
        Some(Step {
            form: Form::new(leaf, descending)?,
            offset: leaf.offset,
            descending,
            nullable: leaf.nullable,
            null_mask,
            null_byte,
            leaf: index as u32,
            size: leaf.column_type.fixed_size() as u32,
            is_any_bytes: leaf.column_type.is_any_bytes(),
            column_type: leaf.column_type.clone(),
        })
    }

    fn is_text(&self) -> bool {
        matches!(self.column_type, ColumnType::String { .. })
    }

    #[inline]
    fn is_null(&self, row: &[u8]) -> bool {
        self.nullable && row[self.null_byte as usize] & self.null_mask != 0
    }

    #[inline]
    fn put_row<S: KeySink>(&self, row: &[u8], fixed: u32, sink: &mut S) -> Result<(), S::Stop> {
        if self.nullable {
            if self.is_null(row) {
                return put_mark(NULL_MARK, self.descending, sink);
            }
            put_mark(VALUE_MARK, self.descending, sink)?;
        }
        let place = &row[self.offset as usize..];
        // Most parts are these two: a predicted branch costs less than a jump through a table.
        if let Form::Bytes4 { mask } = self.form {
            return sink.put((u32::from_le_bytes(head(place)) ^ mask).to_be_bytes());
        }
        if let Form::Bytes8 { mask } = self.form {
            return sink.put((u64::from_le_bytes(head(place)) ^ mask).to_be_bytes());
        }
        match self.form {
            Form::Text { start } => {
                put_text(text_of(row, self.offset, start, fixed), self.descending, sink)
            }
            _ => self.put_fixed(place, sink),
        }
    }

    /// A part that is at the beginning of `place`, in the row or anywhere.
    #[inline]
    fn put_fixed<S: KeySink>(&self, place: &[u8], sink: &mut S) -> Result<(), S::Stop> {
        match self.form {
            Form::Bytes1 { mask } => sink.put([place[0] ^ mask]),
            Form::Bytes2 { mask } => {
                sink.put((u16::from_le_bytes(head(place)) ^ mask).to_be_bytes())
            }
            Form::Bytes4 { mask } => {
                sink.put((u32::from_le_bytes(head(place)) ^ mask).to_be_bytes())
            }
            Form::Bytes8 { mask } => {
                sink.put((u64::from_le_bytes(head(place)) ^ mask).to_be_bytes())
            }
            Form::Bytes16 => {
                let mask = if self.descending { i128::MAX } else { i128::MIN };
                sink.put((i128::from_le_bytes(head(place)) ^ mask).to_be_bytes())
            }
            Form::F32 { mask } => {
                sink.put((ordered_f32(f32::from_le_bytes(head(place))) ^ mask).to_be_bytes())
            }
            Form::F64 { mask } => {
                sink.put((ordered_f64(f64::from_le_bytes(head(place))) ^ mask).to_be_bytes())
            }
            Form::Char { size } => {
                put_text(strip_nul(&place[..size as usize]), self.descending, sink)
            }
            Form::Binary { size } => sink.put_slice(&place[..size as usize], self.descending),
            // The text itself, when it is not in a row.
            Form::Text { .. } => put_text(place, self.descending, sink),
        }
    }

    #[inline]
    fn put_value(
        &self,
        part: usize,
        value: Value<'_>,
        out: &mut KeyBuffer,
    ) -> Result<(), KeyError> {
        // The common cases first: a number of the column's own type.
        if !self.nullable {
            match (self.form, &self.column_type, value) {
                (Form::Bytes4 { mask }, ColumnType::U32, Value::U32(number)) => {
                    return Ok(out.put((number ^ mask).to_be_bytes())?);
                }
                (Form::Bytes4 { mask }, ColumnType::I32, Value::I32(number)) => {
                    return Ok(out.put((number as u32 ^ mask).to_be_bytes())?);
                }
                (Form::Bytes8 { mask }, ColumnType::U64, Value::U64(number)) => {
                    return Ok(out.put((number ^ mask).to_be_bytes())?);
                }
                (Form::Bytes8 { mask }, ColumnType::I64, Value::I64(number)) => {
                    return Ok(out.put((number as u64 ^ mask).to_be_bytes())?);
                }
                _ => {}
            }
        }
        self.put_any_value(part, value, out)
    }

    fn put_any_value(
        &self,
        part: usize,
        value: Value<'_>,
        out: &mut KeyBuffer,
    ) -> Result<(), KeyError> {
        if value.is_null() {
            if !self.nullable {
                return Err(KeyError::NullInNotNull { part });
            }
            return Ok(put_mark(NULL_MARK, self.descending, out)?);
        }
        if self.nullable {
            put_mark(VALUE_MARK, self.descending, out)?;
        }
        match (&self.form, value) {
            (Form::Char { .. }, Value::String(text)) => {
                put_text(strip_nul(text.as_bytes()), self.descending, out)?;
            }
            (Form::Text { .. }, Value::String(text)) if self.is_text() => {
                self.put_fixed(text.as_bytes(), out)?;
            }
            (Form::Text { .. }, Value::Bytes(bytes)) if !self.is_text() => {
                self.put_fixed(bytes, out)?;
            }
            (Form::Binary { size }, Value::Bytes(bytes)) if bytes.len() == *size as usize => {
                self.put_fixed(bytes, out)?;
            }
            (Form::Char { .. } | Form::Text { .. } | Form::Binary { .. }, other) => {
                return Err(KeyError::WrongKeyShape { part, found: other.kind_name() });
            }
            (_, number) => {
                let mut place = [0; 16];
                let size = self.size as usize;
                write_fixed(&self.column_type, &number, &mut place[..size]).map_err(|fault| {
                    match fault {
                        Fault::OutOfRange => KeyError::ValueOutOfRange { part },
                        _ => KeyError::WrongKeyShape { part, found: number.kind_name() },
                    }
                })?;
                self.put_fixed(&place, out)?;
            }
        }
        Ok(())
    }
}

impl Form {
    fn new(leaf: &Leaf, descending: bool) -> Option<Form> {
        let flip = if descending { u64::MAX } else { 0 };
        let sign = |bits: u32| flip ^ (1 << (bits - 1));
        Some(match &leaf.column_type {
            ColumnType::U8 | ColumnType::Bool => Form::Bytes1 { mask: flip as u8 },
            ColumnType::I8 => Form::Bytes1 { mask: sign(8) as u8 },
            ColumnType::U16 => Form::Bytes2 { mask: flip as u16 },
            ColumnType::I16 => Form::Bytes2 { mask: sign(16) as u16 },
            ColumnType::U32 => Form::Bytes4 { mask: flip as u32 },
            ColumnType::I32 | ColumnType::Date => Form::Bytes4 { mask: sign(32) as u32 },
            ColumnType::U64 => Form::Bytes8 { mask: flip },
            ColumnType::I64 | ColumnType::Time | ColumnType::Timestamp => {
                Form::Bytes8 { mask: sign(64) }
            }
            ColumnType::Decimal { .. } if leaf.size == 8 => Form::Bytes8 { mask: sign(64) },
            ColumnType::Decimal { .. } => Form::Bytes16,
            ColumnType::F32 => Form::F32 { mask: flip as u32 },
            ColumnType::F64 => Form::F64 { mask: flip },
            ColumnType::Char(size) => Form::Char { size: *size },
            ColumnType::Binary(size) => Form::Binary { size: *size },
            ColumnType::String { .. } | ColumnType::Blob { .. } => Form::Text { start: leaf.start },
            ColumnType::Vector { .. } | ColumnType::Array { .. } | ColumnType::Struct(_) => {
                return None;
            }
        })
    }
}

#[cfg(test)]
mod tests;
