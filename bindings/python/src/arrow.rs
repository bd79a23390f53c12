//! Results as streams of Arrow batches, and what comes as one.
//!
//! Both by Arrow's C interface, in capsules, so that neither side needs the other's library, and
//! nothing is copied.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchReader};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::input::AnyRecordBatch;
use remanent_sql::{Error, Result, ResultColumn, SqlState, SqlType};
use tokio::runtime::Runtime;

use crate::error::InterfaceError;

/// The batches of whatever has Arrow's stream or array: of pyarrow, polars, pandas, DuckDB.
///
/// # Errors
/// `InterfaceError` for what has neither.
pub(crate) fn batches_of(data: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let found: PyResult<AnyRecordBatch> = data.extract();
    match found {
        Ok(found) => found.into_reader(),
        Err(error) => {
            let name = data.get_type().name()?;
            let text = format!("{name} has no Arrow stream (__arrow_c_stream__): {error}");
            Err(InterfaceError::new_err(text))
        }
    }
}

/// The name of a table as it is kept, of one as SQL has it: without quotation marks it is in small
/// letters, with them as it is written.
///
/// # Errors
/// `SYNTAX_ERROR` for what is no name, `FEATURE_NOT_SUPPORTED` for one in another schema.
pub(crate) fn table_name(text: &str) -> Result<String> {
    let syntax = |why: String| Error::new(SqlState::SYNTAX_ERROR, why);
    let dialect = PostgreSqlDialect {};
    let mut parser =
        Parser::new(&dialect).try_with_sql(text).map_err(|error| syntax(error.to_string()))?;
    let name = parser.parse_object_name(false).map_err(|error| syntax(error.to_string()))?;
    if parser.peek_token().token != Token::EOF {
        return Err(syntax(format!("{text:?} is more than the name of a table")));
    }
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    let parts = parts.map(|part| match part.quote_style {
        Some(_) => part.value.clone(),
        None => part.value.to_lowercase(),
    });
    let mut parts: Vec<String> = parts.collect();
    match (parts.pop(), &parts[..]) {
        (Some(table), []) => Ok(table),
        (Some(table), [schema]) if schema == "public" => Ok(table),
        _ => {
            let why = format!("a load into {text}: tables are in the schema public");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, why))
        }
    }
}

/// The statement that makes a table with such columns, unless there is one of that name.
pub(crate) fn create_table(table: &str, schema: &SchemaRef) -> String {
    let columns = schema.fields().iter().map(|field| {
        let sql_type = SqlType::from_arrow(field.data_type());
        let null = if field.is_nullable() { "" } else { " not null" };
        format!("{} {sql_type}{null}", quoted(field.name()))
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    format!("create table if not exists {} ({columns})", quoted(table))
}

/// A name as SQL has it that is taken as it is written.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Where the columns of a table are in batches of this schema.
///
/// # Errors
/// `COLUMN_COUNT` if one of them has no column of a name that the other has.
pub(crate) fn places_of(schema: &SchemaRef, table: &[ResultColumn]) -> Result<Vec<usize>> {
    let names = |names: Vec<&str>| names.join(", ");
    let place = |column: &ResultColumn| schema.index_of(&column.name).ok();
    let places: Option<Vec<usize>> = table.iter().map(place).collect();
    match places {
        Some(places) if places.len() == schema.fields().len() => Ok(places),
        _ => {
            let table = names(table.iter().map(|column| column.name.as_str()).collect());
            let given = names(schema.fields().iter().map(|field| field.name().as_str()).collect());
            let text = "the columns do not have the names of the table's";
            let detail = format!("The table has {table}; what is loaded has {given}.");
            Err(Error::new(SqlState::UNKNOWN_COLUMN, text).detail(detail))
        }
    }
}

/// Batches that are made as they are asked for, in whatever thread asks.
struct Batches<F> {
    schema: SchemaRef,
    next: F,
    runtime: Runtime,
}

/// A stream of them.
///
/// # Errors
/// If the system has nothing left for it.
pub(crate) fn reader(
    schema: SchemaRef,
    next: impl FnMut(&Runtime) -> Result<Option<RecordBatch>> + Send + 'static,
) -> PyResult<PyRecordBatchReader> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    Ok(PyRecordBatchReader::new(Box::new(Batches { schema, next, runtime })))
}

impl<F: FnMut(&Runtime) -> Result<Option<RecordBatch>>> Iterator for Batches<F> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.next)(&self.runtime).transpose()? {
            Ok(batch) => Some(batch.with_schema(Arc::clone(&self.schema))),
            Err(error) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
        }
    }
}

impl<F: FnMut(&Runtime) -> Result<Option<RecordBatch>>> RecordBatchReader for Batches<F> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
