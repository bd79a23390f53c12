//! A client that says whatever a test wants, byte by byte, and reads what is answered.
//!
//! It trusts nothing of what it sends and everything that it reads: an answer that is no message
//! fails the test.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection without any client's library around it.
pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
}

/// A message of the server.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

/// The bytes of a message.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// The bytes by which a connection begins.
pub(crate) fn startup(user: &str) -> Vec<u8> {
    let body = format!("\0\x03\0\0user\0{user}\0application_name\0raw\0\0");
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend(body.as_bytes());
    bytes
}

impl Raw {
    /// A connection that has said nothing.
    pub(crate) fn silent(port: u16) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { socket }
    }

    /// A connection of a user who is trusted, ready for a statement.
    pub(crate) fn ready(port: u16, user: &str) -> Self {
        let mut raw = Self::silent(port);
        raw.send(&startup(user));
        let received = raw.answer().expect("it is let in");
        assert_eq!(received.last().unwrap().kind, b'Z', "{received:?}");
        raw
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // Whoever ended the connection says so in its answer.
        let _ = self.socket.write_all(bytes);
    }

    /// The next message; an error at the end of the connection.
    pub(crate) fn next(&mut self) -> io::Result<Received> {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.socket.read_exact(&mut body)?;
        Ok(Received { kind: head[0], body })
    }

    /// All messages up to the next one that says that the server waits, or to the end.
    pub(crate) fn answer(&mut self) -> io::Result<Vec<Received>> {
        let mut all = Vec::new();
        loop {
            match self.next() {
                Ok(received) => all.push(received),
                // The last words of a connection that ends.
                Err(_) if all.last().is_some_and(|received| received.kind == b'E') => {
                    return Ok(all);
                }
                Err(error) => return Err(error),
            }
            if matches!(all.last(), Some(Received { kind: b'Z' | b'G', .. })) {
                return Ok(all);
            }
        }
    }

    /// The state of the error that a statement as text ends with; nothing if it has none.
    pub(crate) fn query(&mut self, text: &str) -> io::Result<String> {
        let mut body = text.as_bytes().to_vec();
        body.push(0);
        self.send(&message(b'Q', &body));
        Ok(state(&self.answer()?))
    }
}

/// The state of the last error of an answer.
pub(crate) fn state(answer: &[Received]) -> String {
    let error = answer.iter().rev().find(|received| received.kind == b'E');
    let fields = error.map(|received| String::from_utf8_lossy(&received.body).into_owned());
    let fields = fields.unwrap_or_default();
    let state = fields.split('\0').find_map(|field| field.strip_prefix('C'));
    state.unwrap_or_default().to_owned()
}

/// Waits until something holds.
pub(crate) fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not happen within ten seconds");
}
