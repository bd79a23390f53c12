//! A server that is killed while something is defined opens again, with all of it or nothing, and
//! with every row that was acknowledged to a client is there.
//!
//! REMANENT_KILLS says how often; three times otherwise.
#![cfg(feature = "sql")]

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use program::Folder;
use tokio_postgres::{Client, NoTls};

/// A server over a folder, killed with the guard.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start(path: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
        command.args(["serve", path, "--listen", "127.0.0.1:0", "--trust"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("ready for connections at ")?.trim().to_owned();
            address.rsplit_once(':')?.1.parse().ok()
        });
        let port = ready.expect("the server does not start");
        Self { child, port }
    }

    async fn client(&self) -> Client {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.port).user("anybody");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One after the other, again and again: each changes the table or its like.
const DEFINITIONS: [&str; 8] = [
    "alter table t add column d text default 'd'",
    "create index t_b on t (b)",
    "alter table t drop column d",
    "create table copy as select id, b from t where id <= 500",
    "drop index t_b",
    "begin; alter table t rename to u; create table gone (a int); alter table u rename to t; \
     drop table gone; commit",
    "alter table t alter column b type varchar(50)",
    "begin; drop table copy; alter table t alter column b type text; commit",
];

async fn number(client: &Client, query: &str) -> i64 {
    let row = client.query_one(query, &[]).await;
    row.unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
}

/// Defines and inserts until the server is gone; the last number that was acknowledged.
async fn work(served: &Served, from: i64) -> i64 {
    let (definer, writer) = (served.client().await, served.client().await);
    let acknowledged = AtomicI64::new(from);
    let define = async {
        loop {
            for text in DEFINITIONS {
                if definer.batch_execute(text).await.is_err() {
                    if definer.is_closed() {
                        return;
                    }
                    // What is there already, or not any more, after the last kill.
                    let _ = definer.batch_execute("rollback").await;
                }
            }
        }
    };
    let write = async {
        for next in from + 1.. {
            let insert = format!("insert into t (id, b) values ({next}, 'b{next}')");
            while writer.batch_execute(&insert).await.is_err() {
                if writer.is_closed() {
                    return;
                }
                tokio::task::yield_now().await;
            }
            acknowledged.store(next, Ordering::SeqCst);
        }
    };
    tokio::join!(define, write);
    acknowledged.load(Ordering::SeqCst)
}

/// That the table is whole: every row that was acknowledged, each way to find one.
async fn judge(served: &Served, acknowledged: i64) -> i64 {
    let client = served.client().await;
    let count = number(&client, "select count(*) from t").await;
    let last = number(&client, "select max(id)::bigint from t").await;
    assert!(last >= acknowledged, "{last} after {acknowledged} was acknowledged");
    assert_eq!(count, last, "rows are missing");
    let sum = number(&client, "select count(*) from t where b = 'b' || id").await;
    assert_eq!(sum, count, "rows are damaged");
    assert_eq!(number(&client, "select count(*) from t where id = 7").await, 1);
    assert_eq!(number(&client, "select count(*) from pg_class where relname = 'gone'").await, 0);
    let copies = number(&client, "select count(*) from pg_class where relname = 'copy'").await;
    if copies == 1 {
        assert_eq!(number(&client, "select count(*) from copy").await, 500);
    }
    client
        .batch_execute("create table later (a serial primary key); drop table later")
        .await
        .unwrap();
    last
}

#[test]
fn a_server_killed_in_definitions_has_all_or_nothing() {
    let times = std::env::var("REMANENT_KILLS").ok().and_then(|text| text.parse().ok());
    let folder = Folder::new("killed");
    let path = folder.path("data");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut served = Served::start(&path);
    let mut acknowledged = runtime.block_on(async {
        let client = served.client().await;
        let made = "create table t (id int primary key, b text); \
             insert into t select i, 'b' || i from generate_series(1, 2000) g(i)";
        client.batch_execute(made).await.unwrap();
        2000
    });
    for round in 0..times.unwrap_or(3_u64) {
        let wait = Duration::from_millis(150 + round * 97 % 400);
        acknowledged = std::thread::scope(|scope| {
            let working = &served;
            let from = acknowledged;
            let id = working.child.id().to_string();
            scope.spawn(move || {
                std::thread::sleep(wait);
                assert!(Command::new("kill").args(["-9", &id]).status().unwrap().success());
            });
            runtime.block_on(work(working, from))
        });
        served = Served::start(&path);
        acknowledged = runtime.block_on(judge(&served, acknowledged));
    }
}
