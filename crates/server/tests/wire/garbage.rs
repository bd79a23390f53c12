//! Whatever a client sends, the server stays and answers the next one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::harness::Running;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const STARTUP: &[u8] = b"\0\0\0\x15\0\x03\0\0user\0tester\0\0";

/// Sends bytes and reads until the server ends the connection or has no more to say.
fn send(port: u16, bytes: &[u8]) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // It may have ended the connection already.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let _ = socket.read_to_end(&mut Vec::new());
}

/// Whether a client that speaks the protocol is answered.
fn answers(port: u16) -> bool {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(STARTUP).unwrap();
    socket.write_all(b"Q\0\0\0\x0dselect 1\0X\0\0\0\x04").unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    answer.windows(8).any(|bytes| bytes == b"SELECT 1")
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(b"QPBDECHSXpdcfZ\0\xff".to_vec());
    let length = prop_oneof![
        8 => Just(None),
        1 => any::<u32>().prop_map(Some),
        1 => prop::sample::select(vec![0, 1, 3, 4, 5, u32::MAX, i32::MAX as u32]).prop_map(Some),
    ];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"\0select $1\0\0\0".to_vec()),
        Just(b"\0\0\0\0\0\x01\0\0\0\x011\0\0".to_vec()),
        Just(b"\0\0\0\0\0".to_vec()),
        Just(b"copy t from stdin\0".to_vec()),
        Just(b"S\0".to_vec()),
        Just(b"P\0".to_vec()),
    ];
    (kind, length, body).prop_map(|(kind, length, body)| {
        let length = length.unwrap_or(body.len() as u32 + 4);
        let mut frame = vec![kind];
        frame.extend(length.to_be_bytes());
        frame.extend(body);
        frame
    })
}

#[test]
fn garbage_ends_its_own_connection_alone() {
    let running = Running::trusting();
    running.database.session().execute("create table t (a int primary key)").unwrap();
    let port = running.port;
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let input = (any::<bool>(), prop::collection::vec(frame(), 0..6), 0_usize..20);
    let ran = TestRunner::new(config).run(&input, |(starts, frames, cut)| {
        let mut bytes = if starts { STARTUP.to_vec() } else { Vec::new() };
        frames.iter().for_each(|frame| bytes.extend(frame));
        bytes.truncate(bytes.len().saturating_sub(cut));
        send(port, &bytes);
        Ok(())
    });
    ran.unwrap();
    assert!(answers(port));
}

#[test]
fn lengths_that_lie_take_no_memory() {
    let running = Running::trusting();
    for length in [0x0fff_ffff_u32, 0x7fff_ffff, u32::MAX] {
        let mut bytes = STARTUP.to_vec();
        bytes.push(b'Q');
        bytes.extend(length.to_be_bytes());
        bytes.extend(b"select");
        send(running.port, &bytes);
    }
    send(running.port, b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03");
    assert!(answers(running.port));
}
