//! Tables that describe the database, made at the moment they are asked for.
//!
//! They are made from the session's snapshot of the catalog, so they agree with what the same
//! statement can name: `information_schema` as the standard has it, and of `pg_catalog` what
//! clients of PostgreSQL ask.

mod absent;
mod activity;
pub(crate) mod client_queries;
mod functions;
mod information;
mod pg_catalog;
mod pg_objects;
mod replication;
mod rows;

use std::sync::Arc;

use datafusion::datasource::MemTable;

pub(crate) use functions::functions;
pub(crate) use pg_objects::{class_oid, namespace_oid};

use crate::context::StatementContext;
use crate::error::Result;

/// The rows of a table that describes the database; `None` if there is none of this name.
///
/// # Errors
/// As the engine.
pub(crate) fn table(
    context: &StatementContext,
    schema: &str,
    name: &str,
) -> Result<Option<Arc<MemTable>>> {
    let catalog = context.catalog();
    let rows = match schema {
        "information_schema" => information::table(&catalog, name),
        "pg_catalog" => pg_catalog::table(context, &catalog, name),
        _ => None,
    };
    rows.map(rows::Described::into_table).transpose()
}
