//! This database: rows as they are inserted, or frozen into columns.
//!
//! Tables have the primary keys of the specification, whose indexes are filled while loading.
//! Files are read as the DataFusion contender reads them, and inserted batch by batch through a
//! session; freezing is part of loading.

use std::fs::File;
use std::sync::Arc;

use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::record_batch::RecordBatch;
use lab_harness::Outcome;
use remanent_engine::{Database, Options};
use remanent_sql::{Session, SqlDatabase, Statement};
use tokio::runtime::Runtime;

use super::Engine;
use crate::data::Data;
use crate::schema::{TABLES, Table, Type};

const BATCH_ROWS: usize = 8_192;

/// Batches after which full segments are frozen.
const FREEZE_EVERY: usize = 32;

/// The budget: as much as the machine is likely to have.
const BUDGET: u64 = 16 << 30;

struct Remanent {
    runtime: Runtime,
    session: Session,
    frozen: bool,
}

pub(super) fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Rows as they are inserted.
pub(super) fn hot() -> Outcome<Box<dyn Engine>> {
    open(false)
}

/// Frozen columns.
pub(super) fn frozen() -> Outcome<Box<dyn Engine>> {
    open(true)
}

fn open(frozen: bool) -> Outcome<Box<dyn Engine>> {
    let engine = Arc::new(Database::open(Options::new().budget(BUDGET))?);
    let session = SqlDatabase::new(engine)?.session();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    Ok(Box::new(Remanent { runtime, session, frozen }))
}

impl Engine for Remanent {
    fn load(&mut self, data: &Data) -> Outcome<()> {
        for table in TABLES {
            self.session.execute(&create(table))?;
            let schema = table.arrow();
            let file = File::open(data.file(table.name))?;
            let reader = ReaderBuilder::new(schema)
                .with_delimiter(b'|')
                .with_batch_size(BATCH_ROWS)
                .build(file)?;
            for (place, batch) in reader.enumerate() {
                self.session.insert_batch(table.name, &batch?)?;
                // Full segments are frozen as they come, so that rows need little room.
                if self.frozen && place % FREEZE_EVERY == FREEZE_EVERY - 1 {
                    self.session.execute(&format!("vacuum {}", table.name))?;
                }
            }
            if self.frozen {
                self.session.execute(&format!("vacuum full {}", table.name))?;
            }
        }
        let columns = self.session.database().engine().memory().columns;
        match (columns > 0) == self.frozen {
            true => Ok(()),
            false => Err(format!("{columns} bytes of columns, frozen: {}", self.frozen).into()),
        }
    }

    fn query(&mut self, text: &str) -> Outcome<Vec<RecordBatch>> {
        let (runtime, session) = (&self.runtime, &mut self.session);
        let mut batches = Vec::new();
        for statement in Statement::parse_all(text)? {
            runtime.block_on(async {
                let outcome = session.run(&statement, &[]).await?;
                if let Some(mut rows) = outcome.rows {
                    while let Some(batch) = rows.next_batch().await? {
                        batches.push(batch);
                    }
                }
                Ok::<(), remanent_sql::Error>(())
            })?;
        }
        Ok(batches)
    }

    fn explain(&mut self, text: &str) -> Outcome<String> {
        let answer = self.session.query(&format!("explain {text}"), &[])?;
        let lines = answer.rows.iter().filter_map(|row| row.first()?.to_text());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// The statement that makes a table.
fn create(table: &Table) -> String {
    let columns = table.columns.iter().map(|(name, of)| {
        let of = match of {
            Type::Key => "bigint".to_owned(),
            Type::Integer => "integer".to_owned(),
            Type::Decimal => "numeric(15,2)".to_owned(),
            Type::Date => "date".to_owned(),
            // Blanks at the end would be kept: the files have none.
            Type::Char(length) | Type::Varchar(length) => format!("varchar({length})"),
        };
        format!("{name} {of} not null")
    });
    let columns: Vec<String> = columns.collect();
    let first = table.columns[0].0;
    let key = match table.name {
        "partsupp" => "ps_partkey, ps_suppkey",
        "lineitem" => "l_orderkey, l_linenumber",
        _ => first,
    };
    format!("create table {} ({}, primary key ({key}))", table.name, columns.join(", "))
}
