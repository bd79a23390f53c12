//! A connection: one request, one answer, and an end.
//!
//! Nothing here waits: each call does what the other side lets it do. A connection that is not
//! through when its time is up is closed, whatever it has said by then.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::request::{Asked, asked, plain_answer};

/// How long a connection may take in all.
const TIME: Duration = Duration::from_secs(10);

/// A stream of either kind that does not block.
pub(crate) trait Stream: Read + Write + AsFd + Send {
    /// Tells the other side that nothing more comes.
    fn end(&self) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn end(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Stream for UnixStream {
    fn end(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// A connection in one of its three phases.
pub(crate) struct Connection {
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) deadline: Instant,
    phase: Phase,
}

enum Phase {
    /// These bytes of a request were received.
    Asking(Vec<u8>),
    /// So many of these bytes were sent.
    Answering(Vec<u8>, usize),
    /// All is sent. What still comes is read away: to close before that would take the answer back.
    Ending,
}

impl Connection {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, deadline: Instant::now() + TIME, phase: Phase::Asking(Vec::new()) }
    }

    /// What the connection waits for.
    pub(crate) fn interest(&self) -> PollFlags {
        match self.phase {
            Phase::Answering(..) => PollFlags::OUT,
            _ => PollFlags::IN,
        }
    }

    /// Goes on as far as it can; whether the connection goes on. `metrics` makes the answer that
    /// has them, whole or only its head.
    ///
    /// # Errors
    /// The error that ends the connection.
    pub(crate) fn advance(&mut self, metrics: &mut dyn FnMut(bool) -> Vec<u8>) -> io::Result<bool> {
        loop {
            match &mut self.phase {
                Phase::Asking(received) => {
                    let more = receive(&mut *self.stream, received)?;
                    let answer = match asked(received) {
                        Asked::Incomplete => return Ok(more),
                        Asked::Metrics { head_only } => metrics(head_only),
                        Asked::Other { status, text } => plain_answer(status, text),
                    };
                    self.phase = Phase::Answering(answer, 0);
                }
                Phase::Answering(bytes, sent) => match self.stream.write(&bytes[*sent..]) {
                    Ok(0) => return Ok(false),
                    Ok(count) if *sent + count < bytes.len() => *sent += count,
                    Ok(_) => {
                        self.stream.end()?;
                        self.phase = Phase::Ending;
                    }
                    Err(error) => return later(error),
                },
                Phase::Ending => match self.stream.read(&mut [0; 1024]) {
                    Ok(0) => return Ok(false),
                    Ok(_) => {}
                    Err(error) => return later(error),
                },
            }
        }
    }
}

/// Takes what is there, as much as a request may have; whether more may come.
fn receive(stream: &mut dyn Stream, received: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; crate::request::HEAD_MAX];
    loop {
        let room = crate::request::HEAD_MAX - received.len();
        match stream.read(&mut bytes[..room]) {
            Ok(0) => return Ok(false),
            Ok(count) => received.extend_from_slice(&bytes[..count]),
            Err(error) => return later(error),
        }
        if asked(received) != Asked::Incomplete {
            return Ok(true);
        }
    }
}

fn later(error: io::Error) -> io::Result<bool> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(true),
        _ => Err(error),
    }
}
