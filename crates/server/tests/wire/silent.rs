//! Clients that connect and say nothing, or little and slowly, without any password: they keep
//! nobody out and nothing for long.

use std::time::{Duration, Instant};

use crate::harness::Running;
use crate::raw::{Raw, message, soon, startup, state};
use remanent_sql::SqlDatabase;

/// Until when the server ends a connection, by reading from it.
fn ends_within(raw: &mut Raw, limit: Duration) -> Option<String> {
    raw.socket.set_read_timeout(Some(limit)).unwrap();
    let mut all = Vec::new();
    loop {
        match raw.next() {
            Ok(received) => all.push(received),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
            Err(_) => return Some(state(&all)),
        }
    }
}

fn make_role(database: &std::sync::Arc<SqlDatabase>, text: &str) {
    database.session().execute(text).unwrap();
}

#[test]
fn silent_sockets_keep_nobody_out() {
    let running = Running::start(|options| options.trust(true).connections_max(4));
    // More than all places that there are, of all kinds.
    let silent: Vec<Raw> = (0..400).map(|_| Raw::silent(running.port)).collect();
    for _ in 0..3 {
        let mut raw = Raw::ready(running.port, "tester");
        assert_eq!(raw.query("select 1").unwrap(), "");
    }
    drop(silent);
}

#[test]
fn a_request_to_cancel_gets_through_when_all_places_are_taken() {
    let running = Running::start(|options| options.trust(true).connections_max(2));
    let mut busy = Raw::silent(running.port);
    busy.send(&startup("tester"));
    let received = busy.answer().unwrap();
    let key = received.iter().find(|received| received.kind == b'K').unwrap().body.clone();
    let _second = Raw::ready(running.port, "tester");
    let _silent: Vec<Raw> = (0..200).map(|_| Raw::silent(running.port)).collect();
    let text = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b \
                where a.value + b.value < 0\0";
    busy.send(&message(b'Q', text.as_bytes()));
    std::thread::sleep(Duration::from_millis(300));
    let mut request = [0, 0, 0, 16, 4, 210, 22, 46].to_vec();
    request.extend(key);
    let mut cancels = Raw::silent(running.port);
    cancels.send(&request);
    assert_eq!(state(&busy.answer().unwrap()), "57014");
}

#[test]
fn the_start_has_one_time_for_all_its_messages() {
    let running =
        Running::start(|options| options.startup_timeout(Duration::from_millis(600)).trust(true));
    let began = Instant::now();
    let mut raw = Raw::silent(running.port);
    let mut trickles = Raw::silent(running.port);
    // A request for TLS is answered, and may be made again and again.
    for byte in startup("tester").iter().take(12) {
        raw.send(&[0, 0, 0, 8, 4, 210, 22, 47]);
        trickles.send(&[*byte]);
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut letters = Vec::new();
    raw.socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let ended = std::io::Read::read_to_end(&mut raw.socket, &mut letters);
    assert!(ended.is_ok() || letters.len() < 12, "{ended:?}, {letters:?}");
    assert!(letters.len() < 12, "each message had its own time: {letters:?}");
    assert!(ends_within(&mut trickles, Duration::from_secs(5)).is_some());
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_message_that_trickles_ends_its_connection() {
    let running =
        Running::start(|options| options.stall_timeout(Duration::from_millis(500)).trust(true));
    let mut raw = Raw::ready(running.port, "tester");
    let began = Instant::now();
    let query = message(b'Q', b"select 1234567890123456789012345678901234567890\0");
    for byte in &query[..query.len() - 1] {
        raw.send(&[*byte]);
        std::thread::sleep(Duration::from_millis(50));
        if began.elapsed() > Duration::from_millis(1500) {
            break;
        }
    }
    assert_eq!(ends_within(&mut raw, Duration::from_secs(5)).as_deref(), Some("08P01"));
    // Between messages a client may take its time.
    let mut patient = Raw::ready(running.port, "tester");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(patient.query("select 1").unwrap(), "");
}

#[test]
fn the_last_places_are_for_superusers() {
    let running = Running::start(|options| {
        options.trust(true).connections_max(4).superuser_reserved(2).startup_timeout(LONG)
    });
    make_role(&running.database, "create role ann login; create role boss login superuser");
    let ann: Vec<Raw> = (0..2).map(|_| Raw::ready(running.port, "ann")).collect();
    let mut third = Raw::silent(running.port);
    third.send(&startup("ann"));
    assert_eq!(state(&third.answer().unwrap()), "53300");
    let mut boss = Raw::ready(running.port, "boss");
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ann'";
    assert_eq!(boss.query(end).unwrap(), "");
    soon("a place that is free", || {
        let mut again = Raw::silent(running.port);
        again.send(&startup("ann"));
        again.answer().is_ok_and(|received| state(&received).is_empty())
    });
    drop(ann);
}

const LONG: Duration = Duration::from_secs(600);
