//! What a table is: column types, values, row layout, key bytes and records.
//!
//! A [`TableSchema`] is checked once, then compiled into a [`RowLayout`] (how a row lies in bytes)
//! and one [`KeyPlan`] for each index (how a row's key becomes bytes whose order is the key order).
//! Structs deriving `Record` get the same bytes with every offset known at compile time.
//!
//! What always holds: std only, no unsafe code, no heap on the paths that read and write rows.
//! The three formats are written down in `FORMAT.md` beside this crate. Where rows are kept, and
//! who may see them, is the engine's business.

mod values;

mod error;

mod definition;

mod row;

mod key;

mod validate;

mod field;

mod record;

mod vector_ref;

mod schema_bytes;

pub use definition::set_schema::{SetMember, SetOrder, SetSchema};
pub use definition::table_schema::{IndexKind, IndexSchema, KeyPart, TableSchema, TableStorage};
pub use error::{KeyError, KeyTooLong, RowError, SchemaError};
pub use field::{Field, FieldSlot, PlainField, RowWriter};
pub use key::buffer::{KEY_LEN_MAX, KeyBuffer};
pub use key::field::KeyValue;
pub use key::hash::hash_key;
pub use key::plan::KeyPlan;
pub use record::{Key, OrNull, Record, RecordStruct, StructField};
pub use row::bytes::RowBytes;
pub use row::columns::{ColumnRows, ColumnValues};
pub use row::fixed_layout::{FixedLayout, LeafShape, NO_NULL_BIT, NO_START, Slots, fixed_layout};
pub use row::layout::{Leaf, ROW_LEN_MAX, RowLayout};
pub use validate::{
    COLUMN_COUNT_MAX, INDEX_COUNT_MAX, LEAF_COUNT_MAX, NAME_LEN_MAX, NESTING_MAX, TEXT_SIZE_MAX,
};
pub use values::column_type::{Column, ColumnType};
pub use values::default_value::DefaultValue;
pub use values::elements::Elements;
pub use values::scalar::{
    BinaryArray, CharArray, Date, Decimal, FixedField, Scalar, TextTooLong, Time, Timestamp,
};
pub use values::value::Value;
pub use vector_ref::{VectorIter, VectorRef};
