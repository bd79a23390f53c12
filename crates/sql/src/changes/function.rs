//! `remanent_changes(lsn)`: the change feed as a table of a statement.
//!
//! Its rows are read from the log while the statement asks for them, and end where nothing else was
//! committed. It shows all tables, so it is for superusers.

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
use datafusion::scalar::ScalarValue;

use super::feed::{Change, ChangeFeed, ChangeKind, integer};
use crate::catalog::table::type_metadata;
use crate::context::StatementContext;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// What the function is called.
pub(crate) const CHANGES: &str = "remanent_changes";

/// Rows of a batch, and bytes of text after which one is given as it is.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

const COLUMNS: [(&str, SqlType); 9] = [
    ("lsn", SqlType::BigInt),
    ("position", SqlType::BigInt),
    ("number", SqlType::BigInt),
    ("kind", SqlType::Text),
    ("table_schema", SqlType::Text),
    ("table_name", SqlType::Text),
    ("old_row", SqlType::Json),
    ("new_row", SqlType::Json),
    ("definition", SqlType::Text),
];

/// The changes from a position on, as what stands in a FROM clause.
///
/// # Errors
/// `NO_PRIVILEGE` for who is no superuser, `UNKNOWN_FUNCTION` for other arguments.
pub(crate) fn source(context: &StatementContext, args: &[Expr]) -> Result<Arc<dyn TableSource>> {
    if !context.is_superuser() {
        let text = format!("permission denied for function {CHANGES}");
        let error = Error::new(SqlState::NO_PRIVILEGE, text);
        return Err(error.hint("It shows changes of all tables, so it is for superusers."));
    }
    let lsn = match args {
        [Expr::Literal(ScalarValue::Int64(Some(lsn)), _)] => u64::try_from(*lsn).ok(),
        [Expr::Literal(ScalarValue::Int32(Some(lsn)), _)] => u64::try_from(*lsn).ok(),
        _ => None,
    };
    let Some(lsn) = lsn else {
        let text = format!("function {CHANGES} takes a position of the log");
        let error = Error::new(SqlState::UNKNOWN_FUNCTION, text);
        let hint = "0 is where the log begins; each row has the position behind its commit.";
        return Err(error.hint(hint));
    };
    let fields = COLUMNS.iter().map(|(name, sql_type)| {
        Field::new(*name, sql_type.to_arrow(), true).with_metadata(type_metadata(sql_type))
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let database = Arc::clone(&context.database);
    let changes = ChangesFrom { database, schema: Arc::clone(&schema), lsn };
    let table = StreamingTable::try_new(schema, vec![Arc::new(changes)])?;
    Ok(provider_as_source(Arc::new(table)))
}

/// The rows, to be read.
struct ChangesFrom {
    database: Arc<SqlDatabase>,
    schema: SchemaRef,
    lsn: u64,
}

impl fmt::Debug for ChangesFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "changes from {} on", self.lsn)
    }
}

impl PartitionStream for ChangesFrom {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, lsn) = (Arc::clone(&self.schema), self.lsn);
        let mut reading = Reading::Begin(Arc::clone(&self.database));
        let batches = std::iter::from_fn({
            let schema = Arc::clone(&schema);
            move || reading.next(lsn, &schema).map_err(Into::into).transpose()
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// How far the rows were read.
enum Reading {
    Begin(Arc<SqlDatabase>),
    On(Box<ChangeFeed>),
    End,
}

impl Reading {
    fn next(&mut self, lsn: u64, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        let mut feed = match std::mem::replace(self, Self::End) {
            // Whoever asks again and again finds out at once that nothing is new.
            Self::Begin(database) if database.has_no_change_since(lsn)? => return Ok(None),
            Self::Begin(database) => Box::new(database.change_feed(lsn)?),
            Self::On(feed) => feed,
            Self::End => return Ok(None),
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut has_more = true;
        while rows.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            Cancel::check_current()?;
            let Some(change) = feed.next_change()? else {
                has_more = false;
                break;
            };
            rows.push(row_of(&change, &mut bytes));
        }
        if has_more {
            *self = Self::On(feed);
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let arrays = COLUMNS.iter().enumerate().map(|(place, (_, sql_type))| {
            let column: Vec<Datum> = rows.iter().map(|row| row[place].clone()).collect();
            array_of(&column, sql_type)
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok(Some(RecordBatch::try_new(Arc::clone(schema), arrays)?))
    }
}

fn row_of(change: &Change, bytes: &mut usize) -> [Datum; COLUMNS.len()] {
    let kind = &change.kind;
    let (schema, table, words) = match (kind.table(), kind) {
        (Some(table), _) => (Some(&table.schema), Some(&table.name), None),
        (None, ChangeKind::Definition { schema, table, words }) => {
            (Some(schema), Some(table), Some(words))
        }
        (None, _) => (None, None, None),
    };
    let text = |text: Option<&String>| Datum::from(text.map(String::as_str));
    let mut row = |row: Option<&[Datum]>| {
        let json = kind.table().zip(row).map(|(table, row)| table.to_json(row));
        *bytes += json.as_ref().map_or(0, String::len);
        Datum::from(json)
    };
    [
        integer(change.lsn),
        integer(change.position),
        integer(change.number),
        kind.word().into(),
        text(schema),
        text(table),
        row(kind.row_before()),
        row(kind.row_after()),
        text(words),
    ]
}
