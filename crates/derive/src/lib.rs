//! `#[derive(Record)]` and `#[derive(RecordStruct)]`: rows and parts of rows as Rust structs.
//!
//! Derived code writes the same bytes as the run-time layout of the same schema, with every offset
//! a constant, and has one key struct for each index. It holds no logic of its own: it strings
//! together the `Field` and `KeyValue` implementations of the schema crate, in declared order.
//!
//! In reading order: `attributes` parses `#[record(..)]`, `model` is the struct as understood,
//! `leaves` makes the constants and bodies that records and structs have in common.

mod attributes;
mod crate_path;
mod field_type;
mod key_impl;
mod leaves;
mod model;
mod record_impl;
mod struct_impl;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a row of a table, and gives each of its indexes a key struct.
///
/// On the struct, `#[record(..)]` takes:
/// - `name = "Measure"`: the table's name; without it, the struct's.
/// - `primary_key(a, b)`: the primary key. Its index is named `primary`.
/// - `index(name(a, b desc))`, `unique_index(..)`, `hash_index(..)`, `unique_hash_index(..)`.
///   A part is a field, or of a struct field `thing.a`, and may be followed by `asc` or `desc`.
/// - `storage = paged`: columns of frozen rows may leave memory; `storage = memory` is the default.
/// - `crate = "path"`: where the schema crate is, if it is not found by itself.
///
/// On a field it takes:
/// - `name = "..."`: the column's name; without it, the field's.
/// - `default = 5`: what the column holds when a row is written without it.
/// - `max = 100`: the greatest length of a string or blob in bytes, of a vector in elements.
/// - `binary`: makes `[u8; N]` a Binary column instead of an array.
///
/// The key of index `sensors` of `Measure` is a struct `MeasureSensors` whose fields are the
/// parts; a nested part's field is `thing_a`. Strings are `&str` in keys.
///
/// # Examples
/// ```
/// use remanent_derive::Record;
/// use remanent_schema::{Key, KeyBuffer, Record, Timestamp};
///
/// #[derive(Record, Debug, PartialEq)]
/// #[record(primary_key(sensor_id, timestamp), index(newest(timestamp desc)))]
/// struct Measure<'a> {
///     sensor_id: u32,
///     timestamp: Timestamp,
///     value: f64,
///     #[record(max = 100)]
///     note: Option<&'a str>,
/// }
///
/// let measure = Measure { sensor_id: 7, timestamp: Timestamp(1), value: 0.5, note: Some("cold") };
/// let mut row = vec![0; measure.encoded_len()?];
/// measure.encode(&mut row);
/// assert_eq!(Measure::decode_checked(&row), Some(measure));
///
/// let mut key = KeyBuffer::new();
/// MeasurePrimary { sensor_id: 7, timestamp: Timestamp(1) }.encode(&mut key)?;
/// assert_eq!(key.as_slice(), [0, 0, 0, 7, 0x80, 0, 0, 0, 0, 0, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A field that is no column type is refused where it stands:
/// ```compile_fail
/// # use remanent_derive::Record;
/// #[derive(Record)]
/// struct Wrong {
///     shared: std::rc::Rc<u32>,
/// }
/// ```
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record_impl::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct a column of a record: its fields become columns named `thing.a`.
///
/// Fields take the same attributes as those of a record. The struct may stand in a record, in
/// another such struct, and in an `Option` of either.
///
/// # Examples
/// ```
/// use remanent_derive::{Record, RecordStruct};
/// use remanent_schema::Record;
///
/// #[derive(RecordStruct)]
/// struct Position {
///     latitude: f64,
///     longitude: f64,
/// }
///
/// #[derive(Record)]
/// #[record(primary_key(id), index(latitudes(position.latitude)))]
/// struct Sensor {
///     id: u32,
///     position: Option<Position>,
/// }
///
/// assert_eq!(Sensor::schema().indexes[1].parts[0].column, "position.latitude");
/// let nowhere = SensorLatitudes { position_latitude: None };
/// # let _ = nowhere;
/// ```
#[proc_macro_derive(RecordStruct, attributes(record))]
pub fn derive_record_struct(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    struct_impl::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
