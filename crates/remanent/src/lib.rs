//! Remanent: an open-source main-memory database that applications link in.
//!
//! Rows are read by pointer, changes are transactions, and everything the database holds counts
//! against one memory budget. A record is a Rust struct; its indexes are named in an attribute, and
//! each gets a key type of its own:
//!
//! ```
//! use remanent::{Database, Options, Record};
//!
//! #[derive(Record, Debug, PartialEq)]
//! #[record(primary_key(sensor_id, timestamp))]
//! struct Measure<'a> {
//!     sensor_id: u32,
//!     timestamp: u32,
//!     spectra: &'a str,
//! }
//!
//! let db = Database::open(Options::new())?;
//! let measures = db.create_table_of::<Measure>()?;
//! db.write(|tx| {
//!     tx.insert(&measures, &Measure { sensor_id: 1, timestamp: 10, spectra: "0.1 0.7 0.2" })
//! })?;
//! db.read(|tx| {
//!     let found = tx.get(&measures, &MeasurePrimary { sensor_id: 1, timestamp: 10 })?;
//!     assert_eq!(found.map(|measure| measure.spectra), Some("0.1 0.7 0.2"));
//!     Ok(())
//! })?;
//! # Ok::<(), remanent::Error>(())
//! ```
//!
//! The same rows can be read and written through run-time handles: [`Table`], [`ColumnHandle`] and
//! [`IndexHandle`]. This crate only gathers: the engine is `remanent-engine`, types and layouts are
//! `remanent-schema` (here [`schema`]), the derive macros are `remanent-derive`, and
//! `remanent-compression` has the library for columns in files.

pub use remanent_compression::Lz4;
pub use remanent_derive::{Record, RecordStruct};
pub use remanent_engine::*;
pub use remanent_schema as schema;
pub use remanent_schema::{Key, Record, RecordStruct};

/// The README's example, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The example of the page on network sets.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/network-sets.md")]
struct NetworkSets;

/// The example of the page on durability.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/durability.md")]
struct Durable;

/// The examples of the page on getting started.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start.md")]
struct Start;

/// The examples of the page with recipes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recipes.md")]
struct Recipes;

/// The examples of the page for who comes from another database.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from.md")]
struct ComingFrom;

/// The numbers of the page on limits.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/limits.md")]
struct Limits;

/// The examples of the page on tuning.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tuning.md")]
struct Tuning;
