//! Rows of a stage that nobody gathers are an error, and never an end: an answer would lack them.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::Schema;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::empty::EmptyExec;
use futures::StreamExt;
use remanent_sql::{SqlDatabase, Stage, TaskRunner, Workers};

use super::Replicas;
use crate::group::{ByteStream, Connect, Group, cannot};

#[derive(Debug)]
struct Alone;

impl Group for Alone {
    fn term(&self) -> u64 {
        1
    }

    fn own(&self) -> String {
        "127.0.0.1:1".to_owned()
    }

    fn others(&self) -> Vec<String> {
        vec!["127.0.0.1:2".to_owned(), "127.0.0.1:3".to_owned()]
    }
}

#[async_trait]
impl Connect for Alone {
    async fn connect(&self, _: &str) -> io::Result<Box<dyn ByteStream>> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one")
}

/// Whether what comes of a stage is one error, and then an end.
fn fails_once(replicas: &Replicas) -> bool {
    let plan = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
    let stage = Stage { plan, functions: Vec::new(), tasks: 3, segments: 3, timestamp: 0 };
    let come: Vec<_> = runtime().block_on(replicas.run(stage).collect());
    let come: Vec<_> =
        come.into_iter().filter(|it| !matches!(it, Ok(it) if it.num_rows() == 0)).collect();
    matches!(come.as_slice(), [Err(_)])
}

#[test]
fn rows_that_nobody_gathers_are_an_error() {
    let db = SqlDatabase::in_memory().expect("a database");
    let runner = Arc::new(TaskRunner::new(&db));
    let threads = runtime();
    let handle = threads.handle().clone();
    let replicas = Replicas::new(runner, Arc::new(Alone), Arc::new(Alone), handle, 1);
    assert_eq!(replicas.tasks(), 3);
    // A replica that cannot be reached, and is left alone for a while.
    assert!(fails_once(&replicas));
    assert!(replicas.tasks() < 3);
    assert!(fails_once(&replicas) && fails_once(&replicas));
    assert_eq!(replicas.tasks(), 1);
    // Threads that are gone.
    drop(threads);
    assert!(fails_once(&replicas));
}

/// What a query is refused for is not the replicas' fault; what one of them says of itself is.
#[test]
fn only_those_are_left_alone_that_cannot_take_part() {
    let db = SqlDatabase::in_memory().expect("a database");
    let runner = Arc::new(TaskRunner::new(&db));
    let threads = runtime();
    let handle = threads.handle().clone();
    let replicas = Replicas::new(runner, Arc::new(Alone), Arc::new(Alone), handle, 1);
    let leave_alone = |text: String| {
        replicas.shared.leave_alone(&DataFusionError::Execution(text));
        replicas.shared.others()
    };
    assert_eq!(leave_alone("division by zero".to_owned()).len(), 2);
    assert_eq!(leave_alone(format!("{}: elsewhere", cannot("127.0.0.1:1"))).len(), 2);
    assert_eq!(leave_alone(format!("{}: too late", cannot("127.0.0.1:3"))), ["127.0.0.1:2"]);
}
