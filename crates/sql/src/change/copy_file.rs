//! COPY between a table and a file of columns: Parquet, or Arrow's own format.
//!
//! Columns of a file meet those of the table by their names, whatever their order; those that the
//! file lacks get their defaults. A file is written beside its place and put there when it is
//! whole, so what is at a place is never half a file.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::BatchCoalescer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc;
use datafusion::sql::sqlparser::ast;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use remanent_engine::SEGMENT_ROWS;

use super::apply::Storage;
use super::copy::CopyIn;
use crate::change::copy;
use crate::context::StatementContext;
use crate::context::runner::Tries;
use crate::copy::{Columnar, Copy};
use crate::error::{Error, Result, SqlState};
use crate::result::answer::{Outcome, Tag};
use crate::scan::BATCH_ROWS;
use crate::statement::Statement;

/// What the first bytes of a file of Arrow are; a stream of its batches begins otherwise.
const ARROW_FILE: &[u8] = b"ARROW1";

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send>;

/// COPY with a file.
///
/// # Errors
/// A file that cannot be read or written, or is none of the format; as INSERT or the query.
pub(crate) async fn copy_file(
    context: &mut StatementContext,
    statement: &ast::Statement,
) -> Result<Outcome> {
    context.access(&context.catalog()).superuser()?;
    let statement = Statement::part(statement.clone());
    let copy = statement.copy()?;
    let (Some(path), Some(format)) = (copy.file.as_deref(), copy.format.columnar) else {
        return Err(Error::unsupported("COPY with a file of text here")
            .hint("Use FORMAT parquet or arrow, or \\copy of the shell, or COPY FROM STDIN."));
    };
    let path = Path::new(path);
    if copy.to_caller {
        return write_file(context, &copy, path, format).await;
    }
    let mut tries = Tries::default();
    loop {
        match read_once(context, &copy, path, format).await {
            Err(error)
                if context.block.is_none() && context.runs_again_alone(&error, &mut tries)? =>
            {
                tokio::task::yield_now().await;
            }
            ended => return ended,
        }
    }
}

async fn read_once(
    context: &mut StatementContext,
    copy: &Copy,
    path: &Path,
    format: Columnar,
) -> Result<Outcome> {
    let (schema, batches) = open(path, format).map_err(|error| of_file(error, path))?;
    let mut into = copy::copy_in(context, copy)?;
    match read_file(context, &mut into, &schema, batches, path).await {
        Ok(()) => copy::copy_done(context, into),
        Err(error) => {
            copy::copy_undo(context, into, &error)?;
            Err(error)
        }
    }
}

async fn read_file(
    context: &mut StatementContext,
    into: &mut CopyIn,
    schema: &SchemaRef,
    batches: Batches,
    path: &Path,
) -> Result<()> {
    let order = into.meet(schema)?;
    let rows = match into.storage() {
        Storage::Hot => BATCH_ROWS,
        Storage::Frozen => SEGMENT_ROWS,
    };
    // Batches of a file may be smaller or larger.
    let mut gathered = BatchCoalescer::new(Arc::new(schema.project(&order)?), rows);
    for batch in batches {
        let batch = batch.map_err(|error| of_file(error.into(), path))?;
        gathered.push_batch(batch.project(&order)?)?;
        while let Some(batch) = gathered.next_completed_batch() {
            copy::copy_in_batch(context, into, &batch).await?;
        }
    }
    gathered.finish_buffered_batch()?;
    while let Some(batch) = gathered.next_completed_batch() {
        copy::copy_in_batch(context, into, &batch).await?;
    }
    Ok(())
}

async fn write_file(
    context: &mut StatementContext,
    copy: &Copy,
    path: &Path,
    format: Columnar,
) -> Result<Outcome> {
    let query = copy.query()?;
    let outcome = super::run_or_select(context, &query.ast).await?;
    let Some(mut rows) = outcome.rows else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY needs a query that has rows"));
    };
    let beside = beside(path);
    let mut count = 0;
    let written = async {
        let schema = rows.schema();
        let mut writer = Writer::create(&beside, format, Arc::clone(&schema))?;
        while let Some(batch) = rows.next_batch().await? {
            context.check_cancelled()?;
            let columns = batch.columns().to_vec();
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
            count += batch.num_rows() as u64;
        }
        writer.finish()?;
        Ok::<(), Error>(std::fs::rename(&beside, path)?)
    };
    if let Err(error) = written.await {
        // Nobody else knows of it.
        let _ = std::fs::remove_file(&beside);
        return Err(of_file(error, path));
    }
    Ok(Outcome::done(Tag::counted("COPY", count)))
}

/// The file's columns, and its rows.
fn open(path: &Path, format: Columnar) -> Result<(SchemaRef, Batches)> {
    let mut file = File::open(path)?;
    Ok(match format {
        Columnar::Parquet => {
            let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
            let schema = Arc::clone(reader.schema());
            (schema, Box::new(reader.with_batch_size(BATCH_ROWS).build()?))
        }
        Columnar::Arrow => {
            let mut first = [0; ARROW_FILE.len()];
            let is_file = file.read_exact(&mut first).is_ok() && first == ARROW_FILE;
            file.rewind()?;
            let file = std::io::BufReader::new(file);
            if is_file {
                let reader = ipc::reader::FileReader::try_new(file, None)?;
                (reader.schema(), Box::new(reader))
            } else {
                let reader = ipc::reader::StreamReader::try_new(file, None)?;
                (reader.schema(), Box::new(reader))
            }
        }
    })
}

/// Where a file is written until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn of_file(error: Error, path: &Path) -> Error {
    error.detail(format!("in the file {}", path.display()))
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) if inner.is::<std::io::Error>() => {
                Self::new(SqlState::IO_ERROR, inner.to_string())
            }
            other => Self::new(SqlState::BAD_COPY, other.to_string()),
        }
    }
}

enum Writer {
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<ipc::writer::FileWriter<std::io::BufWriter<File>>>),
}

impl Writer {
    fn create(path: &Path, format: Columnar, schema: SchemaRef) -> Result<Self> {
        let file = File::create(path)?;
        Ok(match format {
            Columnar::Parquet => Self::Parquet(Box::new(ArrowWriter::try_new(file, schema, None)?)),
            Columnar::Arrow => {
                Self::Arrow(Box::new(ipc::writer::FileWriter::try_new_buffered(file, &schema)?))
            }
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::Arrow(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Parquet(writer) => drop(writer.close()?),
            Self::Arrow(mut writer) => writer.finish()?,
        }
        Ok(())
    }
}
