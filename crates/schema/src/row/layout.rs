//! How a table's rows lie in bytes: the schema compiled into leaves.
//!
//! Columns become leaves in declared order; a struct column becomes its fields' leaves, with paths
//! such as `thing.a`. A nullable struct adds, before them, a *presence* leaf of its own path that
//! has a null bit and no bytes: when it is NULL, so are all leaves under it. Every leaf that can
//! be NULL has exactly one bit to look at. Offsets come from `fixed_layout`, as in derived code.
//!
//! Reading rows is in `row_read`, writing them in `row_write`.

use std::collections::HashMap;

use crate::definition::table_schema::TableSchema;
use crate::row::edit::blank_of;
use crate::row::fixed_layout::{LeafShape, NO_NULL_BIT, NO_START, lay_out};
use crate::values::column_type::{Column, ColumnType};
use crate::values::default_value::DefaultValue;
use crate::values::value::Value;

/// The longest row, in bytes.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let huge = ColumnType::Array { element: Box::new(ColumnType::U8), count: u32::MAX };
/// let refused = TableSchema::new("T").column("huge", huge).build();
/// assert!(matches!(refused, Err(SchemaError::RowTooLong { len }) if len > ROW_LEN_MAX as u64));
/// ```
pub const ROW_LEN_MAX: usize = (1 << 29) - 1;

/// A table's row layout. Leaves are numbered from 0 in declared order.
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
/// assert!(row.len() > layout.fixed_size());
/// assert_eq!(layout.get::<u32>(&row, 0), Some(7));
/// let name = layout.leaf_by_path("name").expect("it is a column");
/// assert_eq!(layout.get_str(&row, name), Some("Ulm"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowLayout {
    leaves: Vec<Leaf>,
    /// Leaf numbers of the variable leaves, in order.
    variable: Vec<u32>,
    by_path: HashMap<String, u32>,
    has_presence: bool,
    null_offset: u32,
    fixed_size: u32,
    /// The row to which no leaf was given.
    blank: Vec<u8>,
}

/// A part of a row that has a value of its own.
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
/// let people = &layout.leaves()[2];
/// assert_eq!((people.path.as_str(), people.nullable), ("people", true));
/// assert_eq!(people.column_type, ColumnType::U32);
/// assert_eq!(layout.leaves()[1].variable_index, Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The column's name, or for a struct's fields a dotted path.
    pub path: String,
    /// The type. A presence leaf has the type of its struct.
    pub column_type: ColumnType,
    /// Whether it can read as NULL: by its own declaration or through an enclosing struct.
    pub nullable: bool,
    /// Where its bytes are, or of a variable leaf its end slot, from the row's start.
    pub offset: u32,
    /// The bit of the null bitmap that says it is NULL, or [`NO_NULL_BIT`].
    pub null_bit: u16,
    /// Which of the variable leaves it is, counted from 0.
    pub variable_index: Option<u32>,
    /// Its value when a row is written without it.
    pub default: Option<DefaultValue>,
    /// Bytes in the fixed part: 0 for presence leaves, 4 for the end slot of a variable leaf.
    pub(crate) size: u32,
    /// The slot that says where a variable leaf's bytes begin, or [`NO_START`].
    pub(crate) start: u32,
    /// Whether any bytes of its size are a value, and nothing else changes with it.
    pub(crate) is_plain: bool,
    /// Whether it was itself declared nullable.
    pub(crate) own_nullable: bool,
    /// Of a presence leaf, the number after the last leaf under it; otherwise its own number + 1.
    pub(crate) span_end: u32,
    /// Whether an enclosing struct is nullable.
    pub(crate) in_nullable: bool,
}

impl Leaf {
    /// Whether this leaf only says whether a nullable struct is there.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let thing = ColumnType::Struct(vec![Column::new("a", ColumnType::U8)]);
    /// let layout = RowLayout::new(&TableSchema::new("T").nullable_column("thing", thing));
    /// let leaves = layout.leaves().iter().map(|leaf| (leaf.path.as_str(), leaf.is_presence()));
    /// assert_eq!(leaves.collect::<Vec<_>>(), [("thing", true), ("thing.a", false)]);
    /// ```
    #[inline]
    pub fn is_presence(&self) -> bool {
        matches!(self.column_type, ColumnType::Struct(_))
    }

    /// The value written when none is given.
    #[inline]
    pub(crate) fn default_value(&self) -> Value<'_> {
        self.default.as_ref().map_or(Value::Null, DefaultValue::as_value)
    }
}

impl RowLayout {
    /// Compiles the layout of a schema.
    ///
    /// # Panics
    /// If the schema is one that [`TableSchema::validate`] refuses, it may.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{ColumnType, RowLayout, TableSchema, Value};
    /// let schema = TableSchema::new("Measure")
    ///     .column("sensor_id", ColumnType::U32)
    ///     .nullable_column("note", ColumnType::STRING)
    ///     .build()?;
    /// let layout = RowLayout::new(&schema);
    /// let values = [Some(Value::from(7u32)), Some(Value::from("cold"))];
    /// let mut row = vec![0; layout.encoded_len(&values)?];
    /// layout.encode(&values, &mut row)?;
    /// assert_eq!(layout.read_value(&row, 1), Value::String("cold"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(schema: &TableSchema) -> RowLayout {
        let mut leaves = Vec::new();
        for column in &schema.columns {
            push_leaves(&mut leaves, "", column, false);
        }
        let shapes: Vec<LeafShape> = leaves.iter().map(shape_of).collect();
        let (mut offsets, mut starts) = (vec![0; leaves.len()], vec![0; leaves.len()]);
        let mut null_bits = vec![0; leaves.len()];
        let (null_offset, fixed_size) = lay_out(&shapes, &mut offsets, &mut starts, &mut null_bits);
        let mut variable = Vec::new();
        // The presence leaves that the current leaf is under: null bit and end of span.
        let mut presences: Vec<(u16, u32)> = Vec::new();
        for (index, leaf) in leaves.iter_mut().enumerate() {
            presences.retain(|(_, span_end)| (index as u32) < *span_end);
            leaf.offset = offsets[index];
            leaf.start = starts[index];
            leaf.null_bit = match (leaf.own_nullable, presences.last()) {
                (false, Some((bit, _))) => *bit,
                _ => null_bits[index],
            };
            leaf.nullable = leaf.null_bit != NO_NULL_BIT;
            leaf.is_plain = !leaf.nullable && leaf.column_type.is_any_bytes();
            if leaf.is_presence() {
                presences.push((leaf.null_bit, leaf.span_end));
            }
            if shapes[index].variable {
                leaf.variable_index = Some(variable.len() as u32);
                variable.push(index as u32);
            }
        }
        let by_path = (0..).zip(&leaves).map(|(index, leaf)| (leaf.path.clone(), index)).collect();
        let has_presence = leaves.iter().any(Leaf::is_presence);
        let mut layout = RowLayout {
            leaves,
            variable,
            by_path,
            has_presence,
            null_offset,
            fixed_size,
            blank: Vec::new(),
        };
        layout.blank = blank_of(&layout);
        layout
    }

    /// The leaves, in declared order.
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
    /// let paths: Vec<_> = layout.leaves().iter().map(|leaf| leaf.path.as_str()).collect();
    /// assert_eq!(paths, ["id", "name", "people"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The bytes of the fixed part, null bitmap included: the length of the shortest row.
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
    /// // Two numbers, the end of the name, and a byte with the null bit.
    /// assert_eq!(layout.fixed_size(), 4 + 4 + 4 + 1);
    /// assert_eq!(row.len(), layout.fixed_size() + "Ulm".len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn fixed_size(&self) -> usize {
        self.fixed_size as usize
    }

    /// Offset of the null bitmap; it ends with the fixed part.
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
    /// assert_eq!(layout.null_offset(), layout.fixed_size() - 1);
    /// // `people` is NULL, and the only column that can be.
    /// assert_eq!(row[layout.null_offset()], 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn null_offset(&self) -> usize {
        self.null_offset as usize
    }

    /// Whether every row has the length [`fixed_size`](RowLayout::fixed_size).
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
    /// assert!(!layout.is_fixed());
    /// let point = TableSchema::new("P").column("x", ColumnType::F64).column("y", ColumnType::F64);
    /// assert!(RowLayout::new(&point).is_fixed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn is_fixed(&self) -> bool {
        self.variable.is_empty()
    }

    /// The number of the leaf with this dotted path.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let thing = ColumnType::Struct(vec![Column::new("a", ColumnType::U8)]);
    /// let schema = TableSchema::new("T").column("id", ColumnType::U32).column("thing", thing);
    /// let layout = RowLayout::new(&schema);
    /// assert_eq!(layout.leaf_by_path("thing.a"), Some(1));
    /// assert_eq!(layout.leaf_by_path("thing"), None);
    /// ```
    pub fn leaf_by_path(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).map(|leaf| *leaf as usize)
    }

    /// The variable leaves' numbers, in the order of their bytes.
    pub(crate) fn variable(&self) -> &[u32] {
        &self.variable
    }

    /// Whether there are nullable structs.
    pub(crate) fn blank(&self) -> &[u8] {
        &self.blank
    }

    pub(crate) fn has_presence(&self) -> bool {
        self.has_presence
    }
}

/// The bytes that the fixed parts of a schema's rows would have, without compiling the layout.
pub(crate) fn fixed_len(columns: &[Column]) -> u64 {
    let mut leaves = Vec::new();
    columns.iter().for_each(|column| push_leaves(&mut leaves, "", column, false));
    let bits = leaves.iter().filter(|leaf| leaf.own_nullable).count() as u64;
    let size = |leaf: &Leaf| match leaf.column_type.is_variable() {
        true => 4,
        false if leaf.is_presence() => 0,
        false => leaf.column_type.fixed_size(),
    };
    leaves.iter().map(size).fold(bits.div_ceil(8), u64::saturating_add)
}

fn push_leaves(leaves: &mut Vec<Leaf>, prefix: &str, column: &Column, in_nullable: bool) {
    let path = match prefix {
        "" => column.name.clone(),
        _ => format!("{prefix}.{}", column.name),
    };
    let index = leaves.len();
    let leaf = Leaf {
        path,
        column_type: column.column_type.clone(),
        nullable: false,
        offset: 0,
        null_bit: NO_NULL_BIT,
        variable_index: None,
        default: column.default.clone(),
        size: match &column.column_type {
            ColumnType::Struct(_) => 0,
            variable if variable.is_variable() => 4,
            fixed => fixed.fixed_size() as u32,
        },
        start: NO_START,
        is_plain: false,
        own_nullable: column.nullable,
        span_end: index as u32 + 1,
        in_nullable,
    };
    let ColumnType::Struct(fields) = &column.column_type else {
        leaves.push(leaf);
        return;
    };
    let prefix = leaf.path.clone();
    if column.nullable {
        leaves.push(leaf);
    }
    for field in fields {
        push_leaves(leaves, &prefix, field, in_nullable || column.nullable);
    }
    if column.nullable {
        leaves[index].span_end = leaves.len() as u32;
    }
}

fn shape_of(leaf: &Leaf) -> LeafShape {
    let shape = if leaf.is_presence() {
        LeafShape::PRESENCE
    } else if leaf.column_type.is_variable() {
        LeafShape::VARIABLE
    } else {
        LeafShape::fixed(leaf.size, leaf.column_type.alignment())
    };
    LeafShape { nullable: leaf.own_nullable, ..shape }
}

#[cfg(test)]
mod tests;
