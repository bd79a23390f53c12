//! Rights over the wire: text and messages, descriptions, COPY, cursors, and many who give and take
//! rights at once.

use std::sync::Arc;

use futures::SinkExt;
use remanent_sql::SqlDatabase;
use tokio_postgres::Client;

use crate::harness::{Running, state};

/// Not on a runtime of its own within this one.
async fn run(database: &Arc<SqlDatabase>, text: &'static str) {
    let mut session = database.session();
    let done = tokio::task::spawn_blocking(move || session.execute(text).map(drop)).await.unwrap();
    done.unwrap_or_else(|error| panic!("{text}: {error}"));
}

async fn running() -> Running {
    let running = Running::start(|options| options);
    let text = "create table secret (a int primary key, word text); \
         insert into secret values (1, 'hidden'); create table own (a int primary key, word text); \
         create view shown as select * from secret; create sequence numbers; \
         create role ann password 'secret'; create role ben password 'secret'; \
         grant select, insert, update, delete on own to ann";
    run(&running.database, text).await;
    running
}

fn refused<T>(done: Result<T, tokio_postgres::Error>, text: &str) {
    let error = done.map(drop).expect_err(text);
    assert_eq!(state(&error), "42501", "{text}: {error:?}");
    let said = format!("{:?}", error.as_db_error().unwrap());
    assert!(!said.contains("hidden") && !said.contains("word"), "{text}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_text_nor_messages_nor_descriptions_tell_of_a_forbidden_table() {
    let running = running().await;
    let ann = running.client_as("ann").await.unwrap();
    for text in [
        "select * from secret",
        "select * from secret where a = 1",
        "select word from shown",
        "insert into secret values (2, 'x')",
        "update secret set word = 'x' where a = 1",
        "delete from secret where a = 1",
        "insert into own select * from secret",
        "insert into own values (1, (select word from secret))",
        "insert into own values (1, 'x') returning (select word from secret)",
        "update own set word = (select word from secret)",
        "explain select * from secret",
        "explain analyze delete from secret",
        "prepare p as select * from secret",
        "create table public.mine as select * from secret",
        "grant select on secret to ann",
        "drop table secret",
        "truncate secret",
        "analyze secret",
        "vacuum secret",
        "select 1; select * from secret",
        "begin; insert into own values (9, 'x'); select * from secret",
    ] {
        refused(ann.batch_execute(text).await, text);
        ann.batch_execute("rollback").await.unwrap();
        if !text.contains(';')
            && let Ok(prepared) = ann.prepare(text).await
        {
            assert!(prepared.columns().is_empty(), "{text}");
            refused(ann.query(&prepared, &[]).await, text);
        }
    }
    for text in [
        "select * from secret where a = $1",
        "select word from shown where a = $1",
        "update secret set word = 'x' where a = $1 returning word",
    ] {
        refused(ann.prepare(text).await, text);
    }
    ann.batch_execute("prepare p(text) as select $1").await.unwrap();
    refused(ann.query("execute p((select word from secret))", &[]).await, "execute");
    refused(ann.query("select nextval('numbers')", &[]).await, "nextval");
    refused(ann.query("select setval('numbers', 9)", &[]).await, "setval");
    assert!(ann.query("select * from own", &[]).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_cursors_are_checked() {
    let running = running().await;
    let ann = running.client_as("ann").await.unwrap();
    for text in [
        "copy secret to stdout",
        "copy (select word from secret) to stdout",
        "copy shown to stdout (format binary)",
    ] {
        refused(ann.copy_out(text).await.map(drop), text);
    }
    for text in ["copy secret from stdin", "copy secret (a) from stdin (format binary)"] {
        // The client takes no other statement after a copy that did not begin.
        let ann = running.client_as("ann").await.unwrap();
        refused(ann.copy_in::<_, bytes::Bytes>(text).await.map(drop), text);
    }
    let sink = ann.copy_in("copy own from stdin").await.unwrap();
    futures::pin_mut!(sink);
    sink.send(bytes::Bytes::from_static(b"1\tx\n")).await.unwrap();
    assert_eq!(sink.finish().await.unwrap(), 1);
    for text in [
        "copy secret to '/tmp/x' (format parquet)",
        "copy own from '/etc/passwd'",
        "copy own to '/tmp/x' with (format parquet)",
        "copy own to program 'cat'",
        "copy (delete from secret returning word) to stdout",
    ] {
        let error = ann.batch_execute(text).await.unwrap_err();
        assert!(["42501", "0A000"].contains(&state(&error)), "{text}: {error:?}");
    }
    for text in [
        "begin; declare c cursor for select * from secret",
        "declare c cursor with hold for select * from shown",
    ] {
        refused(ann.batch_execute(text).await, text);
        ann.batch_execute("rollback").await.unwrap();
    }
    // One that was opened goes on with what it saw, and is opened no more.
    ann.batch_execute("begin; declare c cursor for select * from own").await.unwrap();
    assert_eq!(ann.query("fetch 1 from c", &[]).await.unwrap().len(), 1);
    ann.batch_execute("rollback").await.unwrap();
    run(&running.database, "revoke select on own from ann").await;
    refused(ann.batch_execute("begin; declare c cursor for select * from own").await, "declare");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_prepared_is_checked_whenever_it_runs() {
    let running = running().await;
    let ann = running.client_as("ann").await.unwrap();
    let texts = [
        "select word from own where a = $1",
        "select word, a + $1 from own",
        "delete from own where a = $1",
        "update own set word = 'x' where a = $1",
    ];
    for change in [
        "revoke all on own from ann",
        "alter table own rename to moved; create table own (a int primary key, word text)",
        "drop table own; create table own (a int primary key, word text)",
        "drop role ann; create role ann password 'secret'; grant all on own to ann",
    ] {
        let mut prepared = Vec::new();
        for text in texts {
            let statement = ann.prepare(text).await.unwrap();
            ann.query(&statement, &[&1_i32]).await.unwrap();
            prepared.push(statement);
        }
        run(&running.database, change).await;
        for (text, statement) in texts.iter().zip(&prepared) {
            refused(ann.query(statement, &[&1_i32]).await, text);
            refused(ann.batch_execute(&text.replace("$1", "1")).await, text);
        }
        if !change.starts_with("drop role") {
            run(&running.database, "grant select, insert, update, delete on own to ann").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_given_and_taken_by_many_at_once_are_all_given_and_taken() {
    let running = running().await;
    run(&running.database, "create role boss superuser password 'secret'").await;
    let boss = running.client_as("boss").await.unwrap();
    let names: Vec<String> = (0..160).map(|number| format!("t{number}")).collect();
    for name in &names {
        boss.batch_execute(&format!("create table {name} (a int)")).await.unwrap();
    }
    let ben = running.client_as("ben").await.unwrap();
    for (verb, link, wanted) in [("grant", "to", 160), ("revoke", "from", 0)] {
        let mut sessions = Vec::new();
        for part in names.chunks(40) {
            let client = running.client_as("boss").await.unwrap();
            let part = part.to_vec();
            sessions.push(tokio::spawn(async move {
                for name in part {
                    let text = format!("{verb} select on {name} {link} ben");
                    client.batch_execute(&text).await.unwrap();
                }
            }));
        }
        for session in sessions {
            session.await.unwrap();
        }
        assert_eq!(readable(&ben, &names).await, wanted, "{verb}");
    }
}

async fn readable(client: &Client, names: &[String]) -> usize {
    let mut readable = 0;
    for name in names {
        match client.query(&format!("select * from {name}"), &[]).await {
            Ok(_) => readable += 1,
            Err(error) => assert_eq!(state(&error), "42501"),
        }
    }
    readable
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_role_was_dropped_goes_on_with_nothing() {
    let running = running().await;
    run(&running.database, "grant all on secret to public").await;
    let ann = running.client_as("ann").await.unwrap();
    ann.batch_execute("select * from secret; begin; insert into secret values (2, 'x')")
        .await
        .unwrap();
    ann.batch_execute("rollback; begin isolation level repeatable read read only").await.unwrap();
    ann.query("select * from secret", &[]).await.unwrap();
    run(&running.database, "drop role ann").await;
    refused(ann.query("select * from secret", &[]).await, "select");
    ann.batch_execute("rollback").await.unwrap();
    for text in ["select * from secret where a = 1", "insert into secret values (3, 'x')"] {
        refused(ann.batch_execute(text).await, text);
    }
    assert_eq!(state(&running.client_as("ann").await.map(drop).unwrap_err()), "28P01");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_connection_brings_makes_it_nobody_else() {
    let running = running().await;
    run(&running.database, "create role boss superuser password 'secret'").await;
    for options in [
        "-c session_authorization=boss",
        "-c role=boss",
        "-c is_superuser=on",
        "--is_superuser=on --session_authorization=boss",
    ] {
        let mut config: tokio_postgres::Config = running.settings("ann").parse().unwrap();
        config.options(options);
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let said = client.query_one("select current_user, current_setting('is_superuser')", &[]);
        let said = said.await.unwrap();
        assert_eq!((said.get::<_, &str>(0), said.get::<_, &str>(1)), ("ann", "off"), "{options}");
        refused(client.batch_execute("select * from secret").await, options);
    }
}
