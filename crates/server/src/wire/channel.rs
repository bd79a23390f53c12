//! A connection as bytes: frames come in, messages go out when they are flushed.
//!
//! Reading and writing block the thread of the connection, which has nothing else to do. Memory
//! for a frame grows as its bytes arrive, never by the length that it announces, and what is more
//! than a little is counted in the database's budget before it is taken. A frame that has begun
//! has to come whole, and what is sent has to be taken, each within a time that grows with its
//! bytes.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use memmap2::MmapMut;
use remanent_sql::{Cancel, Error, Held, SqlState};
use rustls::{ServerConnection, StreamOwned};

use super::ConnectionError;
use super::frontend::{First, Message};
use super::socket::{Patient, Socket, is_late, is_woken};
use super::wake::Wake;

/// Bytes asked for at once, at least and at most.
const READ_BYTES: usize = 8 << 10;
const READ_BYTES_MAX: usize = 256 << 10;
/// Bytes that are sent without waiting for the end of an answer.
pub(crate) const SEND_BYTES: usize = 64 << 10;
/// The longest frame before a client is known.
const FIRST_BYTES_MAX: usize = 10_000;
/// The longest frame: a statement, or a value.
pub(crate) const FRAME_BYTES_MAX: usize = 256 << 20;
/// Bytes of a frame that are not counted, and lie with those of the next.
const FREE_BYTES: usize = 64 << 10;
/// Bytes for each second beyond the time that every frame has.
const SLOWEST_BYTES_PER_SECOND: usize = 64 << 10;

enum Transport {
    Plain(Patient),
    Tls(Box<StreamOwned<ServerConnection, Patient>>),
}

/// Both directions of a connection.
pub(crate) struct Channel {
    /// Gone for a moment while TLS begins.
    transport: Option<Transport>,
    input: BytesMut,
    /// What is to be sent.
    pub(crate) out: BytesMut,
    frame_bytes_max: usize,
    /// Until when a client has to be known; none once it is.
    startup_until: Option<Instant>,
    /// How long the other side may leave a frame half said, or take nothing.
    stall_max: Duration,
    /// What the current message takes, and what is made of it.
    held: Option<Held>,
    idle_until: Option<Instant>,
    /// Since when the current frame is waited for, if it had not come whole.
    frame_begun: Option<Instant>,
}

impl Channel {
    /// A connection whose client has to be known by then.
    pub(crate) fn new(
        socket: Arc<Socket>,
        startup_until: Instant,
        stall_max: Duration,
    ) -> io::Result<Self> {
        Ok(Self {
            transport: Some(Transport::Plain(Patient::new(socket, startup_until)?)),
            input: BytesMut::with_capacity(READ_BYTES),
            out: BytesMut::with_capacity(READ_BYTES),
            frame_bytes_max: FIRST_BYTES_MAX,
            startup_until: Some(startup_until),
            stall_max,
            held: None,
            idle_until: None,
            frame_begun: None,
        })
    }

    /// The client is known: from now on it may send much and take its time. What it sends counts
    /// in `held`, and `cancel` says when it is to be waited for no longer.
    pub(crate) fn trust(&mut self, held: Held, cancel: Arc<Cancel>) -> io::Result<()> {
        self.frame_bytes_max = FRAME_BYTES_MAX;
        self.startup_until = None;
        self.held = Some(held);
        self.patient()?.cancel = Some(cancel);
        Ok(())
    }

    fn patient(&mut self) -> io::Result<&mut Patient> {
        match &mut self.transport {
            Some(Transport::Plain(socket)) => Ok(socket),
            Some(Transport::Tls(stream)) => Ok(&mut stream.sock),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.transport, Some(Transport::Tls(_)))
    }

    /// Whether something of the client is here already.
    pub(crate) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// Goes on in TLS.
    pub(crate) fn encrypt(&mut self, connection: ServerConnection) -> Result<(), ConnectionError> {
        let Some(Transport::Plain(mut socket)) = self.transport.take() else {
            return Err(ConnectionError::Protocol("TLS within TLS"));
        };
        let mut connection = connection;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        let stream = StreamOwned::new(connection, socket);
        self.transport = Some(Transport::Tls(Box::new(stream)));
        Ok(())
    }

    /// Waits for the first message.
    pub(crate) fn first(&mut self) -> Result<First, ConnectionError> {
        self.frame_begun = None;
        let body =
            self.body(0)?.map_err(|_| ConnectionError::Protocol("a message that is too long"))?;
        First::read(body)
    }

    /// Is woken by this, too, while it waits for a message.
    pub(crate) fn wake_by(&mut self, wake: Wake) -> io::Result<()> {
        self.patient()?.wake = Some(wake);
        Ok(())
    }

    /// Whether something wakes it.
    pub(crate) fn can_be_woken(&mut self) -> bool {
        self.patient().is_ok_and(|patient| patient.wake.is_some())
    }

    /// Waits for a message, which has to be there whole by then. What the one before took is given
    /// back.
    pub(crate) fn next(&mut self, until: Option<Instant>) -> Result<Message, ConnectionError> {
        self.forget_message()?;
        self.frame_begun = None;
        self.idle_until = until;
        self.message()
    }

    /// The same, or nothing if it was woken before any of it had come.
    pub(crate) fn next_unless_woken(
        &mut self,
        until: Option<Instant>,
    ) -> Result<Option<Message>, ConnectionError> {
        self.forget_message()?;
        self.frame_begun = None;
        self.idle_until = until;
        self.patient()?.is_between = true;
        let filled = self.fill(1);
        self.patient()?.is_between = false;
        match filled {
            Err(ConnectionError::Closed(error)) if is_woken(&error) => Ok(None),
            Err(broken) => Err(broken),
            Ok(()) => self.message().map(Some),
        }
    }

    fn message(&mut self) -> Result<Message, ConnectionError> {
        self.fill(1)?;
        let kind = self.input[0];
        match self.body(1)? {
            Ok(body) => Message::read(kind, body),
            Err(refused) => Ok(Message::Refused(kind, refused)),
        }
    }

    /// Whether the client was silent for as long as it may be.
    pub(crate) fn is_idle_over(&self) -> bool {
        self.idle_until.is_some_and(|until| Instant::now() >= until)
    }

    /// Counts what is made of the current message, until the next one is asked for.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), Error> {
        match &mut self.held {
            Some(held) if bytes > FREE_BYTES => held.grow(bytes),
            _ => Ok(()),
        }
    }

    /// How much is counted of the current message.
    pub(crate) fn counted(&self) -> usize {
        self.held.as_ref().map_or(0, Held::bytes)
    }

    /// Gives back what was counted since it was so much.
    pub(crate) fn count_down_to(&mut self, bytes: usize) {
        if let Some(held) = self.held.as_mut().filter(|held| held.bytes() > bytes) {
            // Less is never refused.
            let _ = held.resize(bytes);
        }
    }

    /// Gives back what the current message took.
    fn forget_message(&mut self) -> io::Result<()> {
        match self.held.as_mut().filter(|held| held.bytes() > 0) {
            Some(held) => held.resize(0).map_err(io::Error::other),
            None => Ok(()),
        }
    }

    /// The body of a frame whose length stands at this place; an error if there is no memory for
    /// it, and then it was passed over.
    fn body(&mut self, place: usize) -> Result<Result<Bytes, Error>, ConnectionError> {
        self.fill(place + 4)?;
        let mut length = [0; 4];
        length.copy_from_slice(&self.input[place..place + 4]);
        let length = u32::from_be_bytes(length) as usize;
        if length < 4 || length > self.frame_bytes_max {
            return Err(ConnectionError::Protocol("a message of an impossible length"));
        }
        let mut frame = if place + length <= FREE_BYTES {
            self.fill(place + length)?;
            self.input.split_to(place + length).freeze()
        } else {
            match self.fill_large(place + length)? {
                Ok(frame) => frame,
                Err(refused) => return Ok(Err(refused)),
            }
        };
        Ok(Ok(frame.split_off(place + 4)))
    }

    /// Waits until so many bytes are there, which are few.
    fn fill(&mut self, count: usize) -> Result<(), ConnectionError> {
        while self.input.len() < count {
            self.flush()?;
            let before = self.input.len();
            self.limit_reading(before)?;
            self.input.resize(before + READ_BYTES, 0);
            let read = read(&mut self.transport, &mut self.input[before..]);
            self.input.truncate(before + *read.as_ref().unwrap_or(&0));
            read?;
        }
        Ok(())
    }

    /// Waits for a frame of so many bytes, which are many; an error if they may not be held, and
    /// then they were passed over. They have pages of their own from the beginning, of which the
    /// system gives those that are written: nothing is copied as it grows, and all goes back to the
    /// system at once.
    fn fill_large(&mut self, count: usize) -> Result<Result<Bytes, Error>, ConnectionError> {
        let Ok(mut frame) = MmapMut::map_anon(count) else {
            let text = format!("the machine has no memory for a message of {count} bytes");
            let refused = Error::new(SqlState::OUT_OF_MEMORY, text);
            return self.pass_over(count, self.input.len()).map(|()| Err(refused));
        };
        let mut filled = self.input.len().min(count);
        frame[..filled].copy_from_slice(&self.input.split_to(filled));
        while filled < count {
            self.flush()?;
            let next = READ_BYTES_MAX.min(count - filled);
            if let Some(Err(refused)) = self.held.as_mut().map(|held| held.resize(filled + next)) {
                drop(frame);
                self.forget_message()?;
                return self.pass_over(count, filled).map(|()| Err(refused));
            }
            self.limit_reading(filled)?;
            filled += read(&mut self.transport, &mut frame[filled..filled + next])?;
        }
        Ok(Ok(Bytes::from_owner(frame)))
    }

    /// Reads what is left of a frame of so many bytes without keeping it.
    fn pass_over(&mut self, count: usize, passed: usize) -> Result<(), ConnectionError> {
        let mut passed = passed;
        self.input.clear();
        let mut room = [0; READ_BYTES];
        while passed < count {
            self.limit_reading(passed)?;
            let next = READ_BYTES.min(count - passed);
            passed += read(&mut self.transport, &mut room[..next])?;
        }
        Ok(())
    }

    /// Sets until when the next bytes of a frame have to come, of which so many are there.
    fn limit_reading(&mut self, received: usize) -> io::Result<()> {
        if received > 0 {
            self.frame_begun.get_or_insert_with(Instant::now);
        }
        let within = self.stall_max.saturating_add(time_of(received));
        let frame_until = self.frame_begun.and_then(|begun| begun.checked_add(within));
        let all = [self.startup_until, self.idle_until, frame_until];
        self.patient()?.read_until = all.into_iter().flatten().min();
        Ok(())
    }

    /// Sends what is to be sent: whoever waits for the other side has said all that it has to say.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let sent = self.write(&out);
        if out.capacity() <= 4 * SEND_BYTES {
            self.out = out;
            self.out.clear();
        }
        sent
    }

    /// Sends what is to be sent once it is much, so that no answer has to be held whole.
    pub(crate) fn flush_if_much(&mut self) -> io::Result<()> {
        if self.out.len() >= SEND_BYTES { self.flush() } else { Ok(()) }
    }

    /// Sends what is to be sent, and then these bytes, of which there may be many.
    pub(crate) fn send_through(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        bytes.chunks(SEND_BYTES).try_for_each(|piece| self.write(piece))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let until = Instant::now().checked_add(self.stall_max.saturating_add(time_of(bytes.len())));
        let startup_until = self.startup_until;
        if let Some(until) = startup_until.or(until) {
            self.patient()?.write_until = until;
        }
        let sent = match &mut self.transport {
            Some(Transport::Plain(socket)) => socket.write_all(bytes),
            Some(Transport::Tls(stream)) => stream.write_all(bytes).and_then(|()| stream.flush()),
            None => Ok(()),
        };
        if let Err(error) = &sent
            && is_late(error)
        {
            tracing::warn!("a client takes nothing of its answer, and is left");
        }
        sent
    }

    /// Takes back what was begun of a message and not ended.
    pub(crate) fn forget_unfinished(&mut self) {
        let mut whole = 0;
        while let Some(length) = self.out.get(whole + 1..whole + 5) {
            let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
            // A length that was not put in yet is 0.
            if length < 4 || whole + 1 + length > self.out.len() {
                break;
            }
            whole += 1 + length;
        }
        self.out.truncate(whole);
    }
}

/// Reads some bytes, of which there is one at least.
fn read(transport: &mut Option<Transport>, room: &mut [u8]) -> io::Result<usize> {
    let read = match transport {
        Some(Transport::Plain(socket)) => socket.read(room)?,
        Some(Transport::Tls(stream)) => stream.read(room)?,
        None => 0,
    };
    if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(read) }
}

/// How long so many bytes may take beyond the time that every frame has.
fn time_of(bytes: usize) -> Duration {
    Duration::from_secs((bytes / SLOWEST_BYTES_PER_SECOND) as u64)
}
