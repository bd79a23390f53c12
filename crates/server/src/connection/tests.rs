//! Faults of the server in the midst of a statement: the session that met one ends, and all that it
//! had is given back.
//!
//! The faults are planted: a text that names one panics where it is met.

#[path = "../../tests/wire/raw.rs"]
mod raw;

use std::sync::Arc;

use raw::{Raw, message, soon, state};
use remanent_sql::SqlDatabase;

use crate::{Options, Server};

/// Connections at a time: fewer than there are faults.
const CONNECTIONS_MAX: usize = 3;

#[test]
fn a_fault_ends_its_session_and_gives_all_back() {
    let database = SqlDatabase::in_memory().unwrap();
    let options = Options::new().listen("127.0.0.1:0").trust(true).superuser_reserved(0);
    let options = options.connections_max(CONNECTIONS_MAX);
    let server = Server::start(Arc::clone(&database), options).unwrap();
    let port = server.addresses()[0].rsplit_once(':').unwrap().1.parse().unwrap();
    let mut other = Raw::ready(port, "other");
    assert_eq!(other.query("create table t (a int primary key)").unwrap(), "");
    // As text, in a message to parse, and in the midst of a message to the client.
    let as_text = message(b'Q', b"a fault\0");
    let parsed = [message(b'P', b"\0a fault\0\0\0"), message(b'S', b"")].concat();
    let sent = message(b'Q', b"select 1; select v from (values ('b'), ('a fault')) w (v)\0");
    for (round, faulty) in [as_text, parsed, sent].iter().cycle().take(12).enumerate() {
        let mut victim = Raw::silent(port);
        soon("a free place", || {
            victim = Raw::silent(port);
            victim.send(&raw::startup("victim"));
            state(&victim.answer().unwrap()).is_empty()
        });
        let keeps = ["begin; insert into t values (1)", "begin; create table u (a int)"];
        assert_eq!(victim.query(keeps[round % 2]).unwrap(), "");
        let prepared = message(b'P', b"kept\0select 1\0\0\0");
        victim.send(&[&prepared[..], faulty].concat());
        let received = victim.answer().unwrap();
        // A row or two may come whole before it, and nothing in pieces.
        let last = if state(&received).is_empty() { victim.answer().unwrap() } else { received };
        assert_eq!(state(&last), "XX000", "{last:?}");
        assert_eq!(last.last().unwrap().kind, b'E', "the session goes on: {last:?}");
        let gone = "select 1 / (count(*) - 1) from pg_stat_activity";
        soon("the end of the session", || other.query(gone).unwrap() == "22012");
        assert_eq!(other.query("create table v (a int); drop table v").unwrap(), "");
        assert_eq!(other.query("select 1 / count(*) from t").unwrap(), "22012");
    }
    drop(other);
    server.stop();
}
