//! The anomalies of Hermitage (github.com/ept/hermitage, Martin Kleppmann, 2014) in two sessions
//! over the wire, each serializable: none of them shows.
//!
//! A case is a list of steps, `session: statement`. Afterwards either some transaction was refused
//! with 40001, or what the case says holds of the rows.

use crate::harness::{Running, state};
use tokio_postgres::Client;

struct Case {
    name: &'static str,
    steps: &'static [(usize, &'static str)],
    /// A condition on the rows that holds if no anomaly showed, unless somebody was refused.
    holds: &'static str,
}

const CASES: [Case; 7] = [
    Case {
        name: "G0, dirty write",
        steps: &[
            (0, "update test set value = 11 where id = 1"),
            (1, "update test set value = 12 where id = 1"),
            (0, "update test set value = 21 where id = 2"),
            (0, "commit"),
            (1, "update test set value = 22 where id = 2"),
            (1, "commit"),
        ],
        holds: "select (select value from test where id = 1) + 10 = \
                (select value from test where id = 2)",
    },
    Case {
        name: "G1a, aborted read",
        steps: &[
            (0, "update test set value = 101 where id = 1"),
            (1, "insert into seen select 1, value from test where id = 1"),
            (0, "rollback"),
            (1, "commit"),
        ],
        holds: "select count(*) = 0 from seen where value = 101",
    },
    Case {
        name: "G1b, intermediate read",
        steps: &[
            (0, "update test set value = 101 where id = 1"),
            (1, "insert into seen select 1, value from test where id = 1"),
            (0, "update test set value = 11 where id = 1"),
            (0, "commit"),
            (1, "commit"),
        ],
        holds: "select count(*) = 0 from seen where value = 101",
    },
    Case {
        name: "PMP, predicate many preceders",
        steps: &[
            (0, "insert into seen select 1, count(*) from test where value = 30"),
            (1, "insert into test values (3, 30)"),
            (1, "commit"),
            (0, "insert into seen select 2, count(*) from test where value % 3 = 0"),
            (0, "commit"),
        ],
        holds: "select count(*) = 0 from seen where value <> 0",
    },
    Case {
        name: "P4, lost update",
        steps: &[
            (0, "insert into seen select 1, value from test where id = 1"),
            (1, "insert into seen select 2, value from test where id = 1"),
            (0, "update test set value = value + 1 where id = 1"),
            (1, "update test set value = value + 1 where id = 1"),
            (0, "commit"),
            (1, "commit"),
        ],
        holds: "select value = 12 from test where id = 1",
    },
    Case {
        name: "G-single, read skew",
        steps: &[
            (0, "insert into seen select 1, value from test where id = 1"),
            (1, "update test set value = 12 where id = 1"),
            (1, "update test set value = 18 where id = 2"),
            (1, "commit"),
            (0, "insert into seen select 2, value from test where id = 2"),
            (0, "commit"),
        ],
        holds: "select count(*) = 0 from seen where value = 18",
    },
    Case {
        name: "G2-item, write skew",
        steps: &[
            (0, "insert into seen select 1, sum(value) from test"),
            (1, "insert into seen select 2, sum(value) from test"),
            (0, "update test set value = 11 where id = 1"),
            (1, "update test set value = 21 where id = 2"),
            (0, "commit"),
            (1, "commit"),
        ],
        holds: "select false",
    },
];

/// Runs a statement of a session that has not been refused yet; whether it is refused now.
async fn step(client: &Client, text: &str) -> bool {
    match client.batch_execute(text).await {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(state(&error), "40001", "{text}: {error}");
            client.batch_execute("rollback").await.unwrap();
            true
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_anomaly_shows_over_the_wire() {
    for case in CASES {
        let running = Running::trusting();
        let clients = [running.client().await, running.client().await];
        let made = "create table test (id int primary key, value int); \
                    create table seen (id int primary key, value bigint); \
                    insert into test values (1, 10), (2, 20)";
        clients[0].batch_execute(made).await.unwrap();
        let mut refused = [false; 2];
        for client in &clients {
            client.batch_execute("begin isolation level serializable").await.unwrap();
        }
        for (session, text) in case.steps {
            if !refused[*session] {
                refused[*session] = step(&clients[*session], text).await;
            }
        }
        assert!(refused != [true; 2], "{}: both were refused", case.name);
        let held = clients[0].query_one(case.holds, &[]).await.unwrap().get::<_, bool>(0);
        assert!(held || refused != [false; 2], "{}", case.name);
    }
}
