//! Sockets, and how long the other side of one is waited for.
//!
//! A socket is read and written by the thread of its connection alone; any other may end a
//! direction of it, which wakes that thread. What is waited for has a moment at which the waiting
//! ends, however many small pieces come before: a limit for each read or write would be none for
//! whoever sends a byte a minute.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_sql::Cancel;

use super::wake::{Came, Wake};

/// How often whoever waits to write looks whether its session is to end.
const TICK: Duration = Duration::from_millis(100);

/// What bytes travel through.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_read_timeout(timeout),
            Self::Unix(socket) => socket.set_read_timeout(timeout),
        }
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_write_timeout(timeout),
            Self::Unix(socket) => socket.set_write_timeout(timeout),
        }
    }

    /// Ends a direction; whoever waits for it is woken.
    pub(crate) fn shut(&self, how: Shutdown) {
        // One that is closed already needs nothing.
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(how),
            Self::Unix(socket) => socket.shutdown(how),
        };
    }

    /// Who is on the other side, as the log names it.
    pub(crate) fn peer(&self) -> String {
        match self {
            Self::Tcp(socket) => {
                socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string())
            }
            Self::Unix(_) => "local".to_owned(),
        }
    }

    /// Address and port of the other side; none of a local one.
    pub(crate) fn peer_address(&self) -> (Option<String>, Option<u16>) {
        match self {
            Self::Tcp(socket) => match socket.peer_addr() {
                Ok(peer) => (Some(peer.ip().to_canonical().to_string()), Some(peer.port())),
                Err(_) => (None, None),
            },
            Self::Unix(_) => (None, None),
        }
    }

    fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => (&*socket).read(room),
            Self::Unix(socket) => (&*socket).read(room),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => (&*socket).write(bytes),
            Self::Unix(socket) => (&*socket).write(bytes),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// A socket whose other side is waited for until some moment, and no longer.
pub(crate) struct Patient {
    pub(crate) socket: Arc<Socket>,
    /// Until when something has to come; none is for ever.
    pub(crate) read_until: Option<Instant>,
    /// Until when what is written has to be taken.
    pub(crate) write_until: Instant,
    /// This tells a session that it is to end.
    pub(crate) cancel: Option<Arc<Cancel>>,
    /// What else may wake it, and whether it may now: between two messages.
    pub(crate) wake: Option<Wake>,
    pub(crate) is_between: bool,
    /// Whether the socket has a limit for a read.
    is_limited: bool,
}

/// Why a read has ended without a byte: it was woken.
#[derive(Debug)]
struct Woken;

impl std::fmt::Display for Woken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("woken while it waited for the client")
    }
}

impl std::error::Error for Woken {}

/// Whether a read has ended since it was woken.
pub(crate) fn is_woken(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Woken>())
}

impl Patient {
    /// Until then, everything has to be said and taken.
    pub(crate) fn new(socket: Arc<Socket>, until: Instant) -> io::Result<Self> {
        socket.set_write_timeout(Some(TICK))?;
        let (read_until, cancel) = (Some(until), None);
        let (write_until, wake, is_between) = (until, None, false);
        Ok(Self { socket, read_until, write_until, wake, is_between, cancel, is_limited: false })
    }
}

/// Whether an error is that of a limit of the socket.
pub(crate) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl Read for Patient {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(wake) = self.wake.as_ref().filter(|_| self.is_between) {
                match wake.wait(&*self.socket, self.read_until)? {
                    Came::Input => {}
                    Came::Call => return Err(io::Error::other(Woken)),
                    Came::Nothing => return Err(io::ErrorKind::TimedOut.into()),
                }
            }
            match self.read_until {
                None if !self.is_limited => {}
                None => self.socket.set_read_timeout(None)?,
                Some(until) => {
                    let rest = until.saturating_duration_since(Instant::now());
                    if rest.is_zero() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    self.socket.set_read_timeout(Some(rest.max(Duration::from_millis(1))))?;
                }
            }
            self.is_limited = self.read_until.is_some();
            match self.socket.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted || is_late(&error) => {}
                read => return read,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.socket.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => {
                    if self.cancel.as_ref().is_some_and(|cancel| cancel.is_ended()) {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                    if Instant::now() >= self.write_until {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
