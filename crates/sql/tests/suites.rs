//! Every suite in `tests/sql`, in process: statements with the answers that they have to give.
//!
//! A suite is a file in the format of SQLite's corpus (sqllogictest). Each runs on a database of
//! its own; named connections are sessions of it. A query is asked twice, the second time of a plan
//! that is known if it is one that is kept, and has to give the same rows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use remanent_sql::{Answer, Datum, Error, Session, SqlDatabase, SqlType};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};

struct InProcess(Session);

impl DB for InProcess {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let mut answers = self.0.execute(sql)?;
        let Some(Answer { columns, rows, tag }) = answers.pop() else {
            return Ok(DBOutput::StatementComplete(0));
        };
        if is_the_same_twice(sql) {
            let again = self.0.execute(sql)?.pop().map(|answer| (answer.columns, answer.rows));
            assert_eq!(again, Some((Arc::clone(&columns), rows.clone())), "twice: {sql}");
        }
        if columns.is_empty() {
            return Ok(DBOutput::StatementComplete(tag.rows.unwrap_or(0)));
        }
        let types = columns.iter().map(|column| kind(&column.sql_type)).collect();
        let rows = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
        Ok(DBOutput::Rows { types, rows })
    }
}

/// Whether a text is a query that changes nothing and answers the same again.
fn is_the_same_twice(sql: &str) -> bool {
    let text = sql.to_lowercase();
    let is_query = ["select", "with", "values"].iter().any(|word| text.starts_with(word));
    let differs = ["random", "uuid", "val(", "insert", "update", "delete", "merge", "clock", "now"];
    is_query && !text.contains(';') && !differs.iter().any(|word| text.contains(word))
}

fn kind(sql_type: &SqlType) -> DefaultColumnType {
    match sql_type {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => {
            DefaultColumnType::Integer
        }
        SqlType::Real | SqlType::Double | SqlType::Numeric { .. } => {
            DefaultColumnType::FloatingPoint
        }
        _ => DefaultColumnType::Text,
    }
}

fn shown(datum: &Datum) -> String {
    match datum.to_text() {
        None => "NULL".to_owned(),
        Some(text) if text.is_empty() => "(empty)".to_owned(),
        Some(text) => text,
    }
}

fn suites() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let entries = std::fs::read_dir(folder).expect("the suites are there");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    files
}

/// What is wrong with a suite.
fn failure(file: &Path) -> Option<String> {
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut runner = Runner::new(move || {
        let session = database.session();
        async move { Ok(InProcess(session)) }
    });
    let error = runner.run_file(file).err()?;
    Some(format!("{}: {error}", file.display()))
}

#[test]
fn all_suites_give_their_answers() {
    let files = suites();
    assert!(files.len() >= 10, "only {} suites were found", files.len());
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                    failures.lock().expect("no suite panics").extend(failure(file));
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no suite panics");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
