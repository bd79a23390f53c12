//! Who is let in, how many, and how a server ends.

use std::sync::Arc;

use crate::harness::{Running, state};
use remanent_server::{Options, Server};
use remanent_sql::SqlDatabase;
use tokio_postgres::NoTls;

#[tokio::test(flavor = "multi_thread")]
async fn a_password_lets_in_and_a_wrong_one_does_not() {
    let running = Running::start(|options| options);
    let mut session = running.database.session();
    let text = "create role ann password 'secret'; create user ben password 'other'; \
                create table t (a int primary key); grant select on t to ann";
    // Not on a runtime of its own within this one.
    std::thread::spawn(move || session.execute(text).unwrap()).join().unwrap();
    let ann = running.client_as("ann").await.unwrap();
    ann.query("select * from t", &[]).await.unwrap();
    let refused = ann.execute("insert into t values (1)", &[]).await.unwrap_err();
    assert_eq!(state(&refused), "42501");
    let refused = ann.batch_execute("create role eve superuser").await.unwrap_err();
    assert_eq!(state(&refused), "42501");
    for user in ["ben", "nobody"] {
        let refused = running.client_as(user).await.map(drop).unwrap_err();
        assert_eq!(state(&refused), "28P01", "{user}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_a_password_is_proved_as_well() {
    let (running, tls) = Running::over_tls();
    let mut session = running.database.session();
    let text = "create role ann password 'secret'";
    std::thread::spawn(move || session.execute(text).unwrap()).join().unwrap();
    let settings = running.tls_settings("ann");
    let (client, connection) = tokio_postgres::connect(&settings, tls).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(client.query_one("select 41 + 1", &[]).await.unwrap().get::<_, i32>(0), 42);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_refused_until_another_goes() {
    let running = Running::start(|options| options.trust(true).connections_max(2));
    let first = running.client().await;
    let _second = running.client().await;
    let refused = running.client_as("third").await.map(drop).unwrap_err();
    assert_eq!(state(&refused), "53300");
    drop(first);
    for _ in 0..100 {
        if running.client_as("third").await.is_ok() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the place of a connection that went was not given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_says_so_and_takes_back_what_is_open() {
    let mut running = Running::trusting();
    let (client, connection) =
        tokio_postgres::connect(&running.settings("tester"), NoTls).await.unwrap();
    let ended = tokio::spawn(connection);
    client.batch_execute("create table t (a int primary key)").await.unwrap();
    client.batch_execute("begin; insert into t values (1)").await.unwrap();
    let server = running.server.take().unwrap();
    tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    let error = ended.await.unwrap().unwrap_err();
    assert_eq!(state(&error), "57P01");
    let mut session = running.database.session();
    let count = std::thread::spawn(move || session.query("select count(*) from t", &[]).unwrap());
    assert_eq!(count.join().unwrap().rows[0][0].as_i64(), Some(0));
}

#[test]
fn other_machines_are_let_in_over_tls_with_passwords_alone() {
    let database = SqlDatabase::in_memory().unwrap();
    let refusal = |options: Options| {
        Server::start(Arc::clone(&database), options.listen("0.0.0.0:0")).map(drop).unwrap_err()
    };
    assert!(refusal(Options::new()).contains("no TLS"));
    assert!(refusal(Options::new().trust(true)).contains("--trust"));
}
