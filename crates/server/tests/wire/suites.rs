//! Every suite of `tests/sql` over the wire, as text: the files, and the answers, that the SQL
//! layer has in process. So what a client is shown of a value is what a session shows.

use std::path::PathBuf;
use std::sync::Arc;

use crate::harness::Running;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, SimpleQueryMessage};

struct OverTheWire {
    client: Client,
    runtime: Arc<Runtime>,
}

/// An error as its message alone, which is what the suites look at.
#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl From<tokio_postgres::Error> for Refused {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(error.as_db_error().map_or_else(|| error.to_string(), |db| db.message().to_owned()))
    }
}

impl DB for OverTheWire {
    type Error = Refused;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Refused> {
        let messages = self.runtime.block_on(self.client.simple_query(sql))?;
        let mut output = DBOutput::StatementComplete(0);
        for message in messages {
            match message {
                // Of several statements, the last one counts.
                SimpleQueryMessage::RowDescription(columns) => {
                    let types = columns.iter().map(|_| DefaultColumnType::Any).collect();
                    output = DBOutput::Rows { types, rows: Vec::new() };
                }
                SimpleQueryMessage::Row(row) => {
                    let shown = (0..row.len()).map(|place| shown(row.get(place))).collect();
                    if let DBOutput::Rows { rows, .. } = &mut output {
                        rows.push(shown);
                    }
                }
                SimpleQueryMessage::CommandComplete(count) => {
                    if let DBOutput::StatementComplete(changed) = &mut output {
                        *changed = count;
                    }
                }
                _ => {}
            }
        }
        Ok(output)
    }
}

fn shown(value: Option<&str>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.to_owned(),
    }
}

#[test]
fn all_suites_give_their_answers_over_the_wire() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let entries = std::fs::read_dir(folder).expect("the suites are there");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    assert!(files.len() >= 10, "only {} suites were found", files.len());
    let runtime = Arc::new(Runtime::new().expect("a runtime"));
    let mut failures = Vec::new();
    for file in files {
        let running = Running::trusting();
        let mut runner = Runner::new(|| {
            // The name that a session in process has.
            let client = runtime.block_on(running.client_as("remanent"));
            let client = client.expect("it is let in");
            let runtime = Arc::clone(&runtime);
            async move { Ok(OverTheWire { client, runtime }) }
        });
        if let Err(error) = runner.run_file(&file) {
            failures.push(format!("{}: {error}", file.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
