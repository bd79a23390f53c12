//! COPY: rows of the caller into a table, many at a time.
//!
//! A copy is one transaction, or undone as a part of the block that it runs in. Its text comes in
//! pieces that need not end where rows do; at most one batch of rows is held. Where there is room
//! batches are as large as segments, which become columns at once, unless FREEZE is off.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::sql::sqlparser::ast::ObjectName;
use remanent_engine::SEGMENT_ROWS;

use super::apply::Storage;
use super::owed::Owed;
use super::target::Target;
use crate::catalog::privilege::Privilege;
use crate::change::apply;
use crate::change::insert;
use crate::change::owed;
use crate::change::segments;
use crate::change::target;
use crate::context::StatementContext;
use crate::context::runner::{Changing, Tries};
use crate::copy::Copy;
use crate::copy::building::Building;
use crate::copy::reading::{Record, Records};
use crate::error::{Error, Result, SqlState};
use crate::limits::held::Held;
use crate::query::select;
use crate::result::answer::{Outcome, Tag};
use crate::result::rows::ResultColumn;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::text::utf8;

/// Rows, or bytes of them, that are inserted at once.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 4 << 20;

/// Bytes of a row that are not counted while it has not come whole.
const FREE_BYTES: usize = 64 << 10;

/// A COPY into a table that has begun: one transaction, or a part of the block's.
pub struct CopyIn {
    target: Target,
    places: Vec<usize>,
    columns: Arc<[ResultColumn]>,
    /// Whether the statement lists them.
    is_listed: bool,
    /// None once it has failed.
    changing: Option<Changing>,
    count: u64,
    storage: Storage,
    /// What rows refer to that may come with later rows.
    owed: Owed,
    records: Records,
    /// What a row takes that has not come whole.
    held: Held,
    batch: Batch,
}

/// Rows of the caller that were read and not inserted yet.
struct Batch {
    /// Made when the first row comes: until then the columns may change.
    rows: Option<Building>,
    bytes: usize,
    /// How many rows there may be, and how many bytes of them.
    limits: (usize, usize),
    /// More than a small batch, as far as there is room.
    held: Held,
    /// Where the values of a line end.
    ends: Vec<usize>,
    /// The record read last, of which the header is the first.
    line: u64,
    skips_header: bool,
}

impl CopyIn {
    /// What each row has to have.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// Which of a file's columns the copy takes, in its order. Without a list of columns in the
    /// statement, those of the table that the file lacks are left out.
    ///
    /// # Errors
    /// `UNKNOWN_COLUMN`: a column of the list that the file lacks, or of the file that the table
    /// lacks.
    pub(super) fn meet(&mut self, file: &Schema) -> Result<Vec<usize>> {
        let place = |name: &str| {
            let fields = file.fields().iter();
            let exact = fields.clone().position(|field| field.name() == name);
            exact.or_else(|| fields.clone().position(|f| f.name().eq_ignore_ascii_case(name)))
        };
        let found: Vec<Option<usize>> = self.columns.iter().map(|c| place(&c.name)).collect();
        let unknown = |name: &str, who: &str| {
            let text = format!("{who} has no column \"{name}\"");
            Error::new(SqlState::UNKNOWN_COLUMN, text)
        };
        if self.is_listed {
            let missing = self.columns.iter().zip(&found).find(|(_, place)| place.is_none());
            if let Some((column, _)) = missing {
                return Err(unknown(&column.name, "the file"));
            }
        } else {
            let taken = |at: &usize| found.contains(&Some(*at));
            if let Some(extra) = (0..file.fields().len()).find(|at| !taken(at)) {
                return Err(unknown(file.field(extra).name(), &self.target.table.name.to_string()));
            }
        }
        let mut kept = found.iter().map(Option::is_some);
        self.places.retain(|_| kept.next().unwrap_or(false));
        let columns = self.columns.iter().zip(&found).filter(|(_, place)| place.is_some());
        self.columns = columns.map(|(column, _)| column.clone()).collect();
        Ok(found.into_iter().flatten().collect())
    }

    /// What the rows become.
    pub(super) fn storage(&self) -> Storage {
        self.storage
    }

    /// How many rows have been inserted.
    pub fn rows(&self) -> u64 {
        self.count
    }

    /// Reads a piece of the copy's text, which is taken off it, up to as many rows as are
    /// [inserted at once](crate::Session::copy_in_read); whether they are there.
    ///
    /// # Errors
    /// `BAD_COPY`, `BAD_ENCODING`; as a cast of text to what a column is; `OUT_OF_MEMORY`,
    /// `LIMIT_EXCEEDED` for a row that is too long.
    pub fn read(&mut self, piece: &mut &[u8]) -> Result<bool> {
        // Twice, for what is there moves to a larger place.
        let bytes = 2 * (self.records.bytes() + piece.len());
        self.held.resize(if bytes > FREE_BYTES { bytes } else { 0 })?;
        loop {
            match self.records.plain_line(piece, &mut self.batch.ends) {
                Some(line) => self.batch.add_line(line, &self.records, &self.columns)?,
                None => match self.records.next(piece)? {
                    Some(record) => self.batch.add(&record, &self.columns)?,
                    None => return Ok(false),
                },
            }
            if self.batch.is_full() {
                return Ok(true);
            }
        }
    }

    /// Reads the last row, if its line does not end.
    ///
    /// # Errors
    /// As [`CopyIn::read`].
    pub fn read_end(&mut self) -> Result<()> {
        match self.records.end()? {
            Some(record) => self.batch.add(&record, &self.columns),
            None => Ok(()),
        }
    }
}

/// Begins to copy rows into a table.
///
/// # Errors
/// `NO_PRIVILEGE`; tables and columns that are not there; as a transaction that begins.
pub(crate) fn copy_in(context: &mut StatementContext, copy: &Copy) -> Result<CopyIn> {
    context.begin_without_text()?;
    // Definitions wait for whoever writes: the table stays what it is.
    let changing = context.begin_change(&mut Tries::default())?;
    let Some((name, listed)) = copy.table() else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM needs a table"));
    };
    let target = target::target(context, name, None, &[Privilege::Insert])?;
    let mut places = Vec::new();
    for column in listed {
        places.push(target.place(&ObjectName::from(vec![column.clone()]))?);
    }
    if listed.is_empty() {
        let all = target.table.columns.iter().enumerate();
        places = all.filter(|(_, c)| c.generated.is_none()).map(|(place, _)| place).collect();
    }
    let columns = places.iter().map(|&place| ResultColumn {
        name: target.table.columns[place].name.clone(),
        sql_type: target.table.columns[place].sql_type.clone(),
    });
    let (columns, is_listed) = (columns.collect(), !listed.is_empty());
    let records = Records::new(&copy.format);
    let skips_header = copy.format.has_header;
    let storage = if copy.freezes { Storage::Frozen } else { Storage::Hot };
    let limits = copy_limits(context, storage);
    let held = context.database.hold("rows that become columns");
    let ends = Vec::new();
    let batch = Batch { rows: None, bytes: 0, limits, held, ends, line: 0, skips_header };
    let count = 0;
    Ok(CopyIn {
        target,
        places,
        columns,
        is_listed,
        changing: Some(changing),
        count,
        storage,
        owed: owed::owed(context),
        records,
        held: context.database.hold("a row of the copy"),
        batch,
    })
}

/// Inserts the rows that were read.
///
/// # Errors
/// As [`crate::Session::copy_in_rows`].
pub(crate) async fn copy_in_read(context: &mut StatementContext, copy: &mut CopyIn) -> Result<()> {
    let count = copy.batch.rows();
    let Some(rows) = copy.batch.rows.as_mut().filter(|_| count > 0) else {
        return context.check_cancelled();
    };
    let rows = rows.take()?;
    let (first, last) = (copy.batch.line + 1 - count as u64, copy.batch.line);
    copy.batch.bytes = 0;
    let inserted = copy_in_batch(context, copy, &rows).await;
    drop(rows);
    copy.batch.held.resize(0)?;
    copy.batch.limits = copy_limits(context, copy.storage);
    inserted.map_err(|error| match error.detail_text() {
        Some(_) => error,
        None => error.detail(format!("within lines {first} to {last} of the copy")),
    })
}

/// Inserts rows, whose values are cast to what the columns are.
///
/// # Errors
/// As INSERT; the copy is to be [given up](crate::Session::copy_undo) then.
pub(crate) async fn copy_in_rows(
    context: &mut StatementContext,
    copy: &mut CopyIn,
    rows: &[Vec<Datum>],
) -> Result<()> {
    context.check_cancelled()?;
    if rows.is_empty() {
        return Ok(());
    }
    let batch = given(&copy.columns, rows)?;
    copy_in_batch(context, copy, &batch).await
}

/// Inserts the rows of a batch, which has the copy's columns. Where another transaction was
/// first the first batch is inserted again, as an INSERT is; rows before a later one are gone.
///
/// # Errors
/// As INSERT; the copy is to be [given up](crate::Session::copy_undo) then.
pub(super) async fn copy_in_batch(
    context: &mut StatementContext,
    copy: &mut CopyIn,
    batch: &RecordBatch,
) -> Result<()> {
    let mut tries = Tries::default();
    loop {
        context.check_cancelled()?;
        let changing = match copy.changing.take() {
            Some(changing) => changing,
            None => begin_copy_again(context, copy, &mut tries)?,
        };
        let inserted = insert_copied(context, copy, &changing.transaction, batch).await;
        if inserted.is_ok() || copy.count > 0 {
            copy.changing = Some(changing);
            copy.count += batch.num_rows() as u64;
            return inserted;
        }
        context.end_change(changing, inserted, &mut tries)?;
        copy.owed.clear()?;
        tokio::task::yield_now().await;
    }
}

/// The copy's next transaction, in which the table may be no other.
fn begin_copy_again(
    context: &mut StatementContext,
    copy: &CopyIn,
    tries: &mut Tries,
) -> Result<Changing> {
    let changing = context.begin_change(tries)?;
    if copy.target.catalog.version != context.catalog_version() {
        context.give_up_change(&changing)?;
        let text = "another session has defined something while the copy waited";
        return Err(Error::new(SqlState::SERIALIZATION_FAILURE, text));
    }
    Ok(changing)
}

async fn insert_copied(
    context: &mut StatementContext,
    copy: &mut CopyIn,
    transaction: &Arc<Transaction>,
    batch: &RecordBatch,
) -> Result<()> {
    let storage = copy.storage;
    if copy.places.iter().copied().eq(0..copy.target.table.columns.len()) {
        let whole = insert::new_rows(context, &copy.target, batch)?;
        return apply::insert_rows(transaction, &copy.target, &whole, storage, &mut copy.owed);
    }
    let table = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]])?;
    let source = provider_as_source(Arc::new(table));
    let plan = LogicalPlanBuilder::scan("copied", source, None)?.build()?;
    let plan = insert::add_defaults(context, &copy.target, plan, &copy.places)?;
    let mut batches = select::collect_plan(context, &plan, transaction).await?.batches;
    if let (Storage::Frozen, Some(first)) = (storage, batches.first()) {
        batches = vec![concat_batches(&first.schema(), &batches)?];
    }
    for batch in batches {
        let whole = insert::new_rows(context, &copy.target, &batch)?;
        apply::insert_rows(transaction, &copy.target, &whole, storage, &mut copy.owed)?;
    }
    Ok(())
}

/// How many rows, and bytes of them, are inserted at once.
fn copy_limits(context: &StatementContext, storage: Storage) -> (usize, usize) {
    if storage == Storage::Hot {
        return (BATCH_ROWS, BATCH_BYTES);
    }
    (SEGMENT_ROWS, segments::bytes_max(context))
}

/// Ends a copy with its rows.
///
/// # Errors
/// `FOREIGN_KEY_VIOLATION`, after which it is as if it had never begun; as a commit.
pub(crate) fn copy_done(context: &mut StatementContext, mut copy: CopyIn) -> Result<Outcome> {
    if let Some(changing) = &copy.changing {
        let catalog = &copy.target.catalog;
        let resolved = owed::validate(context, &changing.transaction, catalog, &mut copy.owed);
        if let Err(error) = resolved {
            copy_undo(context, copy, &error)?;
            return Err(error);
        }
    }
    let CopyIn { changing, count, .. } = copy;
    if let Some(changing) = changing {
        context.keep_change(changing)?;
    }
    Ok(Outcome::done(Tag::counted("COPY", count)))
}

/// Ends a copy as if it had never begun, because of this error.
///
/// # Errors
/// As the engine.
pub(crate) fn copy_undo(context: &mut StatementContext, copy: CopyIn, cause: &Error) -> Result<()> {
    if let Some(changing) = &copy.changing {
        context.give_up_change(changing)?;
    }
    drop(copy);
    context.failed_with(cause);
    Ok(())
}

impl Batch {
    fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, Building::rows)
    }

    fn is_full(&mut self) -> bool {
        if self.rows() >= self.limits.0 || self.bytes >= self.limits.1 {
            return true;
        }
        // As they came, encoded as rows and as columns.
        let bytes = 3 * self.bytes;
        self.bytes > BATCH_BYTES
            && bytes > self.held.bytes()
            && self.held.resize(bytes.next_multiple_of(BATCH_BYTES)).is_err()
    }

    /// Adds a line that is neither quoted nor escaped, the ends of whose values are known.
    fn add_line(&mut self, line: &[u8], records: &Records, columns: &[ResultColumn]) -> Result<()> {
        if self.begin(self.ends.len(), columns)? {
            return Ok(());
        }
        let line = utf8(line)?;
        self.bytes += line.len() + 16 * columns.len();
        let mut start = 0;
        let values = self.ends.iter().map(|&end| {
            let value = &line[start..end];
            start = end + 1;
            (!records.is_null(value)).then_some(value)
        });
        self.rows.get_or_insert_with(|| Building::new(columns)).add(values)
    }

    fn add(&mut self, record: &Record, columns: &[ResultColumn]) -> Result<()> {
        if self.begin(record.len(), columns)? {
            return Ok(());
        }
        let mut values = Vec::with_capacity(record.len());
        for value in record {
            self.bytes += 16 + value.as_ref().map_or(0, Vec::len);
            values.push(value.as_deref().map(utf8).transpose()?);
        }
        self.rows.get_or_insert_with(|| Building::new(columns)).add(values.into_iter())
    }

    /// Begins with a line of so many values; whether it is the header.
    fn begin(&mut self, values: usize, columns: &[ResultColumn]) -> Result<bool> {
        self.line += 1;
        if std::mem::take(&mut self.skips_header) {
            return Ok(true);
        }
        if values != columns.len() {
            let text = match columns.get(values) {
                Some(missing) => format!("missing data for column \"{}\"", missing.name),
                None => "extra data after last expected column".to_owned(),
            };
            let error = Error::new(SqlState::BAD_COPY, text);
            return Err(error.detail(format!("in line {} of the copy", self.line)));
        }
        Ok(false)
    }
}

/// The rows as a batch.
fn given(columns: &[ResultColumn], rows: &[Vec<Datum>]) -> Result<RecordBatch> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    let mut fields = Vec::with_capacity(columns.len());
    for (place, column) in columns.iter().enumerate() {
        let arrow = column.sql_type.to_arrow();
        let mut scalars = Vec::with_capacity(rows.len());
        for (line, row) in rows.iter().enumerate() {
            let datum = row.get(place).unwrap_or(&Datum::Null).cast(&column.sql_type);
            let scalar = datum.and_then(|datum| {
                let scalar = datum.to_scalar(&column.sql_type)?;
                let same = scalar.data_type() == arrow;
                if same { Ok(scalar) } else { Ok(scalar.cast_to(&arrow)?) }
            });
            scalars.push(scalar.map_err(|error| {
                error.detail(format!("row {} of those read last, column {}", line + 1, column.name))
            })?);
        }
        arrays.push(ScalarValue::iter_to_array(scalars)?);
        fields.push(Field::new(&column.name, arrow, true));
    }
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new(schema, arrays)?)
}
