//! `remanent_backup()`: a backup of the database that runs, as a table of a statement.
//!
//! Its rows are pieces of one file, an image of what was committed when the statement began, which
//! is a database of its own in a folder of its own. They are written while the statement asks for
//! them, so that little is in memory, however large the database is; transactions go on meanwhile.
//! `position` says where `bytes` begin; the last row has no bytes, but the file's length and name:
//! without it the backup is not whole. It has all tables, so it is for superusers.

mod pipe;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableSource};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use self::pipe::{Piece, Pieces};
use crate::context::StatementContext;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// What the function is called.
pub(crate) const BACKUP: &str = "remanent_backup";

const COLUMNS: [(&str, SqlType); 3] =
    [("position", SqlType::BigInt), ("bytes", SqlType::Bytea), ("name", SqlType::Text)];

/// The pieces, as what stands in a FROM clause.
///
/// # Errors
/// `NO_PRIVILEGE` for who is no superuser, `UNKNOWN_FUNCTION` for arguments.
pub(crate) fn source(context: &StatementContext, args: &[Expr]) -> Result<Arc<dyn TableSource>> {
    if !context.is_superuser() {
        let text = format!("permission denied for function {BACKUP}");
        let error = Error::new(SqlState::NO_PRIVILEGE, text);
        return Err(error.hint("It gives all tables, so it is for superusers."));
    }
    if !args.is_empty() {
        let text = format!("function {BACKUP} takes no arguments");
        return Err(Error::new(SqlState::UNKNOWN_FUNCTION, text));
    }
    let fields =
        COLUMNS.iter().map(|(name, sql_type)| Field::new(*name, sql_type.to_arrow(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let database = Arc::clone(&context.database);
    let backup = Backup { database, schema: Arc::clone(&schema) };
    let table = StreamingTable::try_new(schema, vec![Arc::new(backup)])?;
    Ok(provider_as_source(Arc::new(table)))
}

/// The backup, to be made.
struct Backup {
    database: Arc<SqlDatabase>,
    schema: SchemaRef,
}

impl fmt::Debug for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a backup")
    }
}

impl PartitionStream for Backup {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, database) = (Arc::clone(&self.schema), Arc::clone(&self.database));
        let mut pieces = None;
        let mut next = move || {
            let pieces: &mut Pieces = match &mut pieces {
                Some(pieces) => pieces,
                None => pieces.insert(Pieces::of(Arc::clone(&database))?),
            };
            pieces.next()
        };
        let batches = std::iter::from_fn({
            let schema = Arc::clone(&schema);
            move || {
                let piece = next().transpose()?;
                Some(piece.and_then(|piece| batch_of(piece, &schema)).map_err(Into::into))
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// A row.
fn batch_of(piece: Piece, schema: &SchemaRef) -> Result<RecordBatch> {
    let (at, bytes, name) = match piece {
        Piece::Bytes { at, bytes } => (at, Datum::Bytes(bytes), Datum::Null),
        Piece::End { length, name } => (length, Datum::Null, name.into()),
    };
    let position = Datum::Int(i64::try_from(at).unwrap_or(i64::MAX));
    let row = [position, bytes, name].into_iter().zip(&COLUMNS);
    let arrays = row.map(|(value, (_, sql_type))| array_of(&[value], sql_type));
    Ok(RecordBatch::try_new(Arc::clone(schema), arrays.collect::<Result<Vec<_>>>()?)?)
}
