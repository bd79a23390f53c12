//! An exporter: what a database says of itself, for whoever watches it from outside.
//!
//! A program that wants to be watched starts an [`Exporter`] beside its database. That is one
//! thread of its own, which answers `GET /metrics` over a Unix socket in the database's folder or
//! over TCP, with the text that Prometheus reads. `remanent top` reads it too. A program that has
//! an HTTP server answers with [`prometheus_text`], or with an [`Exposition`], instead.
//!
//! Everything is asked of the database when a request comes: nothing is gathered in between, and
//! while nobody asks, nothing is done. What tables take is found by going through them, so that is
//! kept for a while and shown with its age.
//!
//! ```
//! use remanent_engine::{Database, Options, schema::*};
//! let db = Database::open(Options::new())?;
//! db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
//! let text = remanent_exporter::prometheus_text(&db);
//! assert!(text.contains("\nremanent_table_rows{table=\"T\"} 0\n"));
//! # Ok::<(), remanent_engine::Error>(())
//! ```

mod connection;
mod exporter;
mod exposition;
mod families;
mod listener;
mod metrics;
mod request;
mod server;

/// The example of the page on observing.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/observing.md")]
struct Observing;

pub use exporter::Exporter;
pub use exposition::{Exposition, prometheus_text};
pub use listener::{Listen, SOCKET_NAME};
