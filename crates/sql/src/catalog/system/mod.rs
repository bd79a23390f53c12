//! Tables that describe the database, made at the moment they are asked for.
//!
//! They are made from the session's snapshot of the catalog, so they agree with what the same
//! statement can name: `information_schema` as the standard has it, and of `pg_catalog` what
//! clients of PostgreSQL ask.

mod absent;
mod activity;
mod functions;
mod information;
mod pg_catalog;
mod pg_objects;
mod rows;
pub(crate) mod spelling;

use std::sync::Arc;

use datafusion::common::Statistics;
use datafusion::datasource::MemTable;
use datafusion::sql::sqlparser::ast;

pub(crate) use functions::functions;
pub(crate) use pg_objects::{class_oid, namespace_oid};

use super::table::Table;
use crate::error::Result;
use crate::query::binder::SystemTables;
use crate::session::statements::Session;

impl SystemTables for Session {
    fn table(&self, schema: &str, name: &str) -> Result<Option<Arc<MemTable>>> {
        let catalog = self.catalog();
        let rows = match schema {
            "information_schema" => information::table(&catalog, name),
            "pg_catalog" => pg_catalog::table(self, &catalog, name),
            _ => None,
        };
        rows.map(rows::Described::into_table).transpose()
    }

    fn rewritten(&self, query: &ast::Query) -> Result<ast::Query> {
        let mut query = query.clone();
        self.rewrite(&mut query)?;
        Ok(query)
    }

    fn statistics(&self, table: &Table) -> Option<Arc<Statistics>> {
        self.database.statistics.of(&self.database.engine, table)
    }
}
