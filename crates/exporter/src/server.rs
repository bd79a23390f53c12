//! The loop of the exporter's thread: waits for whatever comes first, and does what can be done.
//!
//! One thread serves all connections, so none may make it wait: streams do not block, each has a
//! deadline, and there are so many at most. Further ones wait to be accepted until one has ended.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::connection::Connection;
use crate::listener::Listener;

const CONNECTIONS_MAX: usize = 32;
/// How long nothing is accepted after that has failed, as for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What is served.
pub(crate) trait Service {
    /// The bytes of an answer with the metrics, whole or its head alone.
    fn metrics(&mut self, head_only: bool) -> Vec<u8>;

    /// Called when everybody has been served as far as possible.
    fn rest(&mut self);
}

/// Serves until the other end of `stop` is closed.
///
/// # Errors
/// If the system cannot wait for streams; never for what a connection does.
pub(crate) fn serve(
    listener: &Listener,
    stop: &UnixStream,
    service: &mut dyn Service,
) -> io::Result<()> {
    let mut connections: Vec<Connection> = Vec::new();
    let mut accept_from = Instant::now();
    loop {
        let now = Instant::now();
        let accepts = connections.len() < CONNECTIONS_MAX && now >= accept_from;
        let ready = wait(listener, stop, &connections, accepts, accept_from)?;
        if ready.stop {
            return Ok(());
        }
        let now = Instant::now();
        let mut served = false;
        let mut number = 0;
        connections.retain_mut(|connection| {
            number += 1;
            if !ready.connections[number - 1] {
                return connection.deadline > now;
            }
            let mut metrics = |head_only| {
                served = true;
                service.metrics(head_only)
            };
            connection.advance(&mut metrics).unwrap_or(false) && connection.deadline > now
        });
        while ready.listener && connections.len() < CONNECTIONS_MAX {
            match listener.accept() {
                Ok(stream) => connections.push(Connection::new(stream)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Whoever connected may have gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    accept_from = Instant::now() + ACCEPT_PAUSE;
                    break;
                }
            }
        }
        if served {
            service.rest();
        }
    }
}

/// What there is to do.
struct Ready {
    stop: bool,
    listener: bool,
    connections: Vec<bool>,
}

fn wait(
    listener: &Listener,
    stop: &UnixStream,
    connections: &[Connection],
    accepts: bool,
    accept_from: Instant,
) -> io::Result<Ready> {
    let waiting = if accepts { PollFlags::IN } else { PollFlags::empty() };
    let mut descriptors = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(listener, waiting)];
    let streams = connections.iter();
    descriptors.extend(streams.map(|one| PollFd::new(&one.stream, one.interest())));
    let now = Instant::now();
    let deadlines = connections.iter().map(|connection| connection.deadline);
    let next = deadlines.chain((accept_from > now).then_some(accept_from)).min();
    let timeout = next.map(|next| next.saturating_duration_since(now));
    let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
    match poll(&mut descriptors, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = descriptors.iter().map(|descriptor| !descriptor.revents().is_empty());
    let (stop, listener) = (ready.next().unwrap_or(false), ready.next().unwrap_or(false));
    Ok(Ready { stop, listener, connections: ready.collect() })
}
