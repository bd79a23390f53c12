//! Clients that keep what others need: transactions that stay open, answers that are not read.
//! They are seen, stopped, thrown out by whoever may do that, and by the clock.

use std::time::{Duration, Instant};

use crate::harness::{Running, state as code};
use crate::raw::{Raw, message, soon, state};
use tokio_postgres::Client;

async fn roles(running: &Running) -> Client {
    let boss = running.client().await;
    let text = "create role ann login; create role ben login; create role root login superuser";
    boss.batch_execute(text).await.unwrap();
    boss
}

async fn pid(client: &Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_shown_with_what_they_do() {
    let running = Running::trusting();
    let boss = roles(&running).await;
    let ann = running.client_as("ann").await.unwrap();
    let ben = running.client_as("ben").await.unwrap();
    ann.batch_execute("set application_name = 'till'; begin; select 'secret of ann'")
        .await
        .unwrap();
    let seen = "select usename, application_name, state, query, client_addr, \
                client_port > 0 as port, xact_start is not null as open, \
                backend_start <= query_start and query_start <= state_change as ordered, \
                datname from pg_stat_activity where pid = $1";
    let of = pid(&ben).await;
    let own = ben.query_one(seen, &[&of]).await.unwrap();
    assert_eq!(own.get::<_, &str>("state"), "active");
    assert!(own.get::<_, &str>("query").contains("pg_stat_activity"));
    // Ann's session, to a superuser and to somebody else.
    let of: i32 = boss
        .query_one("select pid from pg_stat_activity where usename = 'ann'", &[])
        .await
        .unwrap()
        .get(0);
    let all = boss.query_one(seen, &[&of]).await.unwrap();
    assert_eq!(all.get::<_, &str>("application_name"), "till");
    assert_eq!(all.get::<_, &str>("state"), "idle in transaction");
    assert!(all.get::<_, &str>("query").contains("secret of ann"));
    assert_eq!(all.get::<_, &str>("client_addr"), "127.0.0.1");
    assert!(all.get::<_, bool>("port") && all.get::<_, bool>("open"));
    assert!(all.get::<_, bool>("ordered"));
    let less = ben.query_one(seen, &[&of]).await.unwrap();
    assert_eq!(less.get::<_, &str>("query"), "<insufficient privilege>");
    assert_eq!(less.get::<_, &str>("usename"), "ann");
    for hidden in ["state", "client_addr"] {
        assert_eq!(less.get::<_, Option<&str>>(hidden), None, "{hidden}");
    }
    ann.batch_execute("commit").await.unwrap();
    assert_eq!(boss.query_one(seen, &[&of]).await.unwrap().get::<_, &str>("state"), "idle");
    drop(ann);
    let gone = "select count(*) from pg_stat_activity where usename = 'ann'";
    for _ in 0..200 {
        if boss.query_one(gone, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("who is gone is still shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_stop_and_end_their_own_sessions_alone() {
    let running = Running::trusting();
    let boss = roles(&running).await;
    let root = running.client_as("root").await.unwrap();
    let (ann, ben) =
        (running.client_as("ann").await.unwrap(), running.client_as("ben").await.unwrap());
    let other_ann = running.client_as("ann").await.unwrap();
    for verb in ["pg_cancel_backend", "pg_terminate_backend"] {
        let call = format!("select {verb}($1)");
        for victim in [&ben, &root, &boss] {
            let victim = pid(victim).await;
            let refused = ann.query_one(&call.replace("$1", &victim.to_string()), &[]).await;
            let refused = refused.unwrap_err();
            assert_eq!(code(&refused), "42501", "{verb}: {refused}");
        }
        let nobody = ann.query_one(&call.replace("$1", "999999"), &[]).await.unwrap();
        assert!(!nobody.get::<_, bool>(0));
        let unknown = ann.query_one(&call.replace("$1", "null"), &[]).await.unwrap();
        assert_eq!(unknown.get::<_, Option<bool>>(0), None);
    }
    // Nobody was ended, and one's own may be.
    for client in [&ben, &root, &boss] {
        pid(client).await;
    }
    let victim = pid(&other_ann).await;
    let end = format!("select pg_terminate_backend({victim})");
    let ended = ann.query_one(&end, &[]).await.unwrap();
    assert!(ended.get::<_, bool>(0));
    for _ in 0..200 {
        if other_ann.is_closed() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the session goes on");
}

#[test]
fn a_session_is_ended_whatever_it_does() {
    let running = Running::trusting();
    let mut boss = Raw::ready(running.port, "boss");
    assert_eq!(boss.query("create table t (a int primary key)").unwrap(), "");
    let runs = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b \
                where a.value + b.value < 0\0";
    for (what, text) in [
        ("waits", "select 1\0"),
        ("keeps a block open", "begin; insert into t values (1)\0"),
        ("has defined", "begin; create table u (a int)\0"),
        ("runs", runs),
        ("copies", "copy t from stdin\0"),
        ("does not read", "select repeat('x', 100000) from generate_series(1, 20000)\0"),
    ] {
        let mut victim = Raw::ready(running.port, "victim");
        victim.send(&message(b'Q', text.as_bytes()));
        if !["runs", "does not read"].contains(&what) {
            victim.answer().unwrap();
        }
        std::thread::sleep(Duration::from_millis(300));
        let end = "select pg_terminate_backend(pid) from pg_stat_activity \
                   where usename = 'victim'";
        assert_eq!(boss.query(end).unwrap(), "", "{what}");
        let gone = "select 1 / count(*) from pg_stat_activity where usename = 'victim'";
        soon(&format!("the end of who {what}"), || boss.query(gone).unwrap() == "22012");
        if what != "does not read" {
            assert_eq!(state(&victim.answer().unwrap()), "57P01", "{what}");
        }
        // What it kept is free.
        assert_eq!(boss.query("create table v (a int); drop table v").unwrap(), "", "{what}");
        assert_eq!(boss.query("select 1 / count(*) from t").unwrap(), "22012", "{what}");
    }
}

#[test]
fn who_does_not_read_is_left_after_a_while() {
    let running =
        Running::start(|options| options.trust(true).stall_timeout(Duration::from_millis(700)));
    let mut other = Raw::ready(running.port, "other");
    assert_eq!(other.query("create table t (a int primary key)").unwrap(), "");
    let mut victim = Raw::ready(running.port, "victim");
    let text = "begin; insert into t values (1); \
                select repeat('x', 100000) from generate_series(1, 20000)\0";
    victim.send(&message(b'Q', text.as_bytes()));
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    // A definition waits for whoever writes.
    assert_eq!(other.query("alter table t add b int").unwrap(), "");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(other.query("select 1 / count(*) from t").unwrap(), "22012");
}

#[test]
fn silence_has_its_limits_by_settings() {
    let running = Running::trusting();
    for (set, text, wanted) in [
        ("idle_in_transaction_session_timeout = 200", "begin", "25P03"),
        ("idle_session_timeout = 200", "select 1", "57P05"),
    ] {
        let mut raw = Raw::ready(running.port, "tester");
        assert_eq!(raw.query(&format!("set {set}")).unwrap(), "");
        assert_eq!(raw.query(text).unwrap(), "");
        // A byte that begins a message is none.
        raw.send(b"Q");
        assert_eq!(state(&raw.answer().unwrap()), wanted);
    }
    // The one for blocks is none outside of them, and the other none within.
    for (set, text) in [
        ("idle_in_transaction_session_timeout = 200", "select 1"),
        ("idle_session_timeout = 200", "begin"),
    ] {
        let mut raw = Raw::ready(running.port, "tester");
        assert_eq!(raw.query(&format!("set {set}; {text}")).unwrap(), "");
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(raw.query("select 1").unwrap(), "");
    }
}
