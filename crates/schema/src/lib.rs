//! What a table is: column types, values, row layout, key bytes and records.
//!
//! A [`TableSchema`] is checked once, then compiled into a [`RowLayout`] (how a row lies in bytes)
//! and one [`KeyPlan`] for each index (how a row's key becomes bytes whose order is the key order).
//! Structs deriving `Record` get the same bytes with every offset known at compile time.
//!
//! What always holds: std only, no unsafe code, no heap on the paths that read and write rows.
//! The three formats are written down in `FORMAT.md` beside this crate. Where rows are kept, and
//! who may see them, is the engine's business.

mod column_type;
mod default_value;
mod elements;
mod error;
mod field;
mod fixed_layout;
mod fixed_value;
mod key_buffer;
mod key_codec;
mod key_field;
mod key_hash;
mod key_plan;
mod record;
mod row_bytes;
mod row_columns;
mod row_edit;
mod row_layout;
mod row_read;
mod row_write;
mod scalar;
mod schema_bytes;
mod set_schema;
mod table_schema;
mod validate;
mod value;
mod vector_ref;

pub use column_type::{Column, ColumnType};
pub use default_value::DefaultValue;
pub use elements::Elements;
pub use error::{KeyError, KeyTooLong, RowError, SchemaError};
pub use field::{Field, Place, PlainField, RowWriter};
pub use fixed_layout::{FixedLayout, LeafShape, NO_NULL_BIT, NO_START, Slots, fixed_layout};
pub use key_buffer::{KEY_LEN_MAX, KeyBuffer};
pub use key_field::KeyValue;
pub use key_hash::hash_key;
pub use key_plan::KeyPlan;
pub use record::{Key, OrNull, Record, RecordStruct, StructField};
pub use row_bytes::RowBytes;
pub use row_columns::{ColumnRows, ColumnValues};
pub use row_layout::{Leaf, ROW_LEN_MAX, RowLayout};
pub use scalar::{
    BinaryArray, CharArray, Date, Decimal, FixedField, Scalar, TextTooLong, Time, Timestamp,
};
pub use set_schema::{SetMember, SetOrder, SetSchema};
pub use table_schema::{IndexKind, IndexSchema, KeyPart, TableSchema};
pub use validate::{
    COLUMN_COUNT_MAX, INDEX_COUNT_MAX, LEAF_COUNT_MAX, NAME_LEN_MAX, NESTING_MAX, TEXT_SIZE_MAX,
};
pub use value::Value;
pub use vector_ref::{VectorIter, VectorRef};
