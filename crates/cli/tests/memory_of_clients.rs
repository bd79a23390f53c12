//! What clients make a server hold, of memory and of files: never more than its budget, and a
//! little for the program and each connection. The server is a process of its own, and the system
//! says how much it took; its allocator gives back at once what is freed, so that this is what was
//! held.
#![cfg(all(feature = "sql", target_os = "linux"))]

#[path = "../../server/tests/wire/raw.rs"]
mod raw;
mod served;

use raw::{Raw, message, soon, state};
use served::Served;

/// Checks that the server held no more than it may, and answers.
fn check(served: &Served, attack: &str, connections: usize) {
    served.check_peak(attack, connections);
    // What the attack held is given back as its connections end.
    soon("an answer that needs memory", || {
        let mut raw = Raw::ready(served.port, "other");
        raw.query(&format!("select length('{}')", "x".repeat(1 << 20))).unwrap().is_empty()
    });
    served.peak();
}

/// A message to bind a value, as text, to a statement.
fn bind(portal: &str, statement: &str, value: &[u8]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    body.extend([0, 0, 0, 1]);
    body.extend((value.len() as u32).to_be_bytes());
    body.extend(value);
    body.extend([0, 0]);
    message(b'B', &body)
}

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

#[test]
fn no_client_takes_more_than_the_budget() {
    let served = Served::start(1024);
    let mut raw = served.client();
    assert_eq!(raw.query("create table t (a text); create table n (a int)").unwrap(), "");
    check(&served, "nothing", 1);
    unfinished(&served);
    copies(&served);
    kept(&served);
    texts(&served);
    rows(&served);
}

#[test]
fn files_that_run_out_keep_nobody_out_for_long() {
    let served = Served::start(48);
    let silent: Vec<Raw> = (0..200).map(|_| Raw::silent(served.port)).collect();
    let mut client = served.client();
    assert_eq!(client.query("select 1").unwrap(), "");
    drop(silent);
    let mut other = served.client();
    assert_eq!(other.query("select 1").unwrap(), "");
}

/// Messages that announce much, of which much comes and never the end.
fn unfinished(served: &Served) {
    let mut clients: Vec<Raw> = (0..6).map(|_| served.client()).collect();
    let piece = vec![b'x'; 1 << 20];
    for client in &mut clients {
        client.send(b"Q");
        client.send(&(200_u32 << 20).to_be_bytes());
    }
    for _ in 0..40 {
        clients.iter_mut().for_each(|client| client.send(&piece));
    }
    let mut other = served.client();
    assert_eq!(other.query("select 1").unwrap(), "");
    // One that was refused is passed over, and the session goes on.
    let mut whole = served.client();
    let (length, mut body) = ((200 << 20) + 4_u32, vec![b' '; 200 << 20]);
    *body.last_mut().unwrap() = 0;
    whole.send(&[b"Q", &length.to_be_bytes()[..]].concat());
    whole.send(&body);
    assert_eq!(state(&whole.answer().unwrap()), "53200");
    assert_eq!(whole.query("select 1").unwrap(), "");
    drop(clients);
    check(served, "unfinished messages", 8);
}

/// Copies with a value that does not end, in each format.
fn copies(served: &Served) {
    let mut header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    // One value of 192 MiB.
    header.extend([0, 1, 0x0c, 0, 0, 0]);
    for (format, begins) in [("binary", &header[..]), ("text", b"x"), ("csv", b"\"x")] {
        let mut client = served.client();
        client.query(&format!("copy t from stdin (format {format})")).unwrap();
        client.send(&message(b'd', begins));
        let piece = message(b'd', &vec![b'x'; 4 << 20]);
        for _ in 0..40 {
            client.send(&piece);
        }
        client.send(&message(b'c', b""));
        let found = state(&client.answer().unwrap());
        assert!(["53200", "54000"].contains(&found.as_str()), "{format}: {found}");
        assert_eq!(client.query("select 1").unwrap(), "");
        check(served, &format!("a copy as {format}"), 1);
    }
}

/// Statements, portals, cursors and settings without end.
fn kept(served: &Served) {
    let mut client = served.client();
    let text = format!("select {} $1::text", "1 + 1, ".repeat(1000));
    let mut refused = String::new();
    for name in 0..200 {
        client.send(&[parse(&format!("s{name}"), &text), sync()].concat());
        refused = state(&client.answer().unwrap());
        if !refused.is_empty() {
            break;
        }
    }
    assert!(["53200", "54000"].contains(&refused.as_str()), "statements: {refused}");
    drop(client);
    check(served, "statements", 1);

    let mut client = served.client();
    client.query("prepare begun as select 1").unwrap();
    let text = format!("prepare NAME as select {} 1", "1 + 1, ".repeat(1000));
    let refused = (0..200).map(|name| client.query(&text.replace("NAME", &format!("s{name}"))));
    let refused = refused.map(Result::unwrap).find(|state| !state.is_empty()).unwrap_or_default();
    assert!(["53200", "54000"].contains(&refused.as_str()), "PREPARE: {refused}");
    drop(client);
    check(served, "PREPARE", 1);

    let mut client = served.client();
    client.send(&[parse("s", "select $1::text"), sync()].concat());
    assert_eq!(state(&client.answer().unwrap()), "");
    client.query("begin").unwrap();
    let value = vec![b'x'; 4 << 20];
    let refused = (0..100).map(|name| {
        client.send(&[bind(&format!("p{name}"), "s", &value), sync()].concat());
        state(&client.answer().unwrap())
    });
    let refused = refused.filter(|state| !state.is_empty()).last().unwrap_or_default();
    assert!(["53200", "54000"].contains(&refused.as_str()), "portals: {refused}");
    drop(client);
    check(served, "portals", 1);

    let mut client = served.client();
    let declare = "declare NAME cursor with hold for \
                   select repeat('x', 4000) || value from generate_series(1, 3000)";
    let refused = (0..20).map(|name| client.query(&declare.replace("NAME", &format!("c{name}"))));
    let refused = refused.map(Result::unwrap).find(|state| !state.is_empty()).unwrap_or_default();
    assert!(["53200", "54000"].contains(&refused.as_str()), "cursors: {refused}");
    let long = "x".repeat(50_000);
    let refused = (0..9).map(|name| client.query(&format!("set a.s{name} = '{long}'")).unwrap());
    assert_eq!(refused.last().unwrap(), "54000", "settings");
    drop(client);
    check(served, "cursors", 1);
}

/// Texts that become far more than they are.
fn texts(served: &Served) {
    for (what, text) in [
        ("values", format!("insert into n values {}(1)", "(1),".repeat(2_000_000))),
        ("a sum", format!("select {}1", "1+".repeat(4_000_000))),
        ("a list", format!("select 1 where 1 in ({}1)", "1,".repeat(4_000_000))),
        ("hidden", format!("select $$'$$, {}1", "1,".repeat(4_000_000))),
    ] {
        let mut client = served.client();
        let found = client.query(&text).unwrap();
        assert!(["53200", "54000", "54001"].contains(&found.as_str()), "{what}: {found}");
        check(served, what, 1);
    }
}

/// Rows that are long.
fn rows(served: &Served) {
    for (what, text) in [
        ("a long text", "select repeat('x', 10000000)"),
        ("long bytes", "select repeat('x', 5000000)::bytea"),
        ("long rows", "select repeat('x', 1000000) from generate_series(1, 30)"),
        (
            "a copy of them",
            "copy (select repeat('x', 1000000) from generate_series(1, 30)) to stdout",
        ),
    ] {
        let mut client = served.client();
        client.send(&message(b'Q', format!("{text}\0").as_bytes()));
        let received = loop {
            let received = client.next().unwrap();
            if [b'E', b'C'].contains(&received.kind) {
                break received;
            }
        };
        assert_eq!(received.kind, b'C', "{what}: {received:?}");
        check(served, what, 1);
    }
}
