//! Waking a thread that waits for its client: a pair of sockets, of which it waits for one as well.
//!
//! Only a session that listens to notifications has one. Whoever tells it something writes a byte
//! into the other; how many bytes wait does not matter.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The end that is waited for.
#[derive(Debug)]
pub(crate) struct Wake {
    told: UnixStream,
}

/// Calls whoever waits.
pub(crate) type Call = Box<dyn Fn() + Send + Sync>;

/// What a wait has ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// Something can be read, or the other side has gone.
    Input,
    /// It was called.
    Call,
    Nothing,
}

impl Wake {
    /// One, and what calls it.
    ///
    /// # Errors
    /// The system's, if it has no more files.
    pub(crate) fn new() -> io::Result<(Self, Call)> {
        let (told, tells) = UnixStream::pair()?;
        told.set_nonblocking(true)?;
        tells.set_nonblocking(true)?;
        let call = move || {
            // Where bytes wait already, one more changes nothing.
            let _ = (&tells).write(&[1]);
        };
        Ok((Self { told }, Box::new(call)))
    }

    /// Waits until a socket has something, or this is called, or until then.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn wait(&self, socket: &impl AsFd, until: Option<Instant>) -> io::Result<Came> {
        loop {
            let mut both =
                [PollFd::new(socket, PollFlags::IN), PollFd::new(&self.told, PollFlags::IN)];
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            let timeout = rest.map(|rest| rest + Duration::from_millis(1));
            let timeout = timeout.and_then(|rest| Timespec::try_from(rest).ok());
            match poll(&mut both, timeout.as_ref()) {
                Ok(0) => return Ok(Came::Nothing),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            // What the client says comes first.
            if !both[0].revents().is_empty() {
                return Ok(Came::Input);
            }
            let mut calls = [0; 64];
            while matches!((&self.told).read(&mut calls), Ok(count) if count > 0) {}
            return Ok(Came::Call);
        }
    }
}
