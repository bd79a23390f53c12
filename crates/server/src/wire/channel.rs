//! A connection as bytes: frames come in, messages go out when they are flushed.
//!
//! Reading and writing block the thread of the connection, which has nothing else to do. Memory
//! for a frame grows as its bytes arrive, never by the length that it announces.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustls::{ServerConnection, StreamOwned};

use super::Broken;
use super::frontend::{First, Message};

/// Bytes asked for at once.
const READ_BYTES: usize = 8 << 10;
/// Bytes that are sent without waiting for the end of an answer.
pub(crate) const SEND_BYTES: usize = 64 << 10;
/// The longest frame before a client is known.
const FIRST_BYTES_MAX: usize = 10_000;
/// The longest frame: a statement, or a value.
const FRAME_BYTES_MAX: usize = 256 << 20;

/// What bytes travel through.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

enum Transport {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

/// Both directions of a connection.
pub(crate) struct Channel {
    /// Gone for a moment while TLS begins.
    transport: Option<Transport>,
    input: BytesMut,
    /// What is to be sent.
    pub(crate) out: BytesMut,
    frame_bytes_max: usize,
    /// How long the other side may say nothing.
    silent_max: Option<Duration>,
}

impl Channel {
    pub(crate) fn new(socket: Socket) -> Self {
        Self {
            transport: Some(Transport::Plain(socket)),
            input: BytesMut::with_capacity(READ_BYTES),
            out: BytesMut::with_capacity(READ_BYTES),
            frame_bytes_max: FIRST_BYTES_MAX,
            silent_max: None,
        }
    }

    /// The client is known: from now on it may send much and take its time.
    pub(crate) fn trust(&mut self) -> io::Result<()> {
        self.frame_bytes_max = FRAME_BYTES_MAX;
        self.socket()?.set_timeouts(None)
    }

    /// From now on the other side may say nothing for as long as that, or for ever.
    pub(crate) fn wait_at_most(&mut self, silent_max: Option<Duration>) -> io::Result<()> {
        if self.silent_max != silent_max {
            self.socket()?.set_read_timeout(silent_max)?;
            self.silent_max = silent_max;
        }
        Ok(())
    }

    pub(crate) fn socket(&self) -> io::Result<&Socket> {
        match &self.transport {
            Some(Transport::Plain(socket)) => Ok(socket),
            Some(Transport::Tls(stream)) => Ok(&stream.sock),
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
    pub(crate) fn encrypt(&mut self, connection: ServerConnection) -> Result<(), Broken> {
        let Some(Transport::Plain(mut socket)) = self.transport.take() else {
            return Err(Broken::Protocol("TLS within TLS"));
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
    pub(crate) fn first(&mut self) -> Result<First, Broken> {
        self.fill(4)?;
        let body = self.body(0)?;
        First::read(body)
    }

    /// Waits for a message.
    pub(crate) fn next(&mut self) -> Result<Message, Broken> {
        self.fill(5)?;
        let kind = self.input[0];
        let body = self.body(1)?;
        Message::read(kind, body)
    }

    /// The body of a frame whose length stands at this place.
    fn body(&mut self, place: usize) -> Result<Bytes, Broken> {
        let mut length = [0; 4];
        length.copy_from_slice(&self.input[place..place + 4]);
        let length = u32::from_be_bytes(length) as usize;
        if length < 4 || length > self.frame_bytes_max {
            return Err(Broken::Protocol("a message of an impossible length"));
        }
        self.fill(place + length)?;
        let mut frame = self.input.split_to(place + length).freeze();
        Ok(frame.split_off(place + 4))
    }

    /// Waits until so many bytes are there.
    fn fill(&mut self, count: usize) -> Result<(), Broken> {
        while self.input.len() < count {
            // Whoever waits for the other side has said all that it has to say.
            if !self.out.is_empty() {
                self.flush()?;
            }
            let before = self.input.len();
            self.input.reserve(READ_BYTES);
            self.input.resize(before + READ_BYTES, 0);
            let read = self.read(before);
            self.input.truncate(before + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
        Ok(())
    }

    fn read(&mut self, from: usize) -> io::Result<usize> {
        loop {
            let room = &mut self.input[from..];
            let read = match &mut self.transport {
                Some(Transport::Plain(socket)) => socket.read(room),
                Some(Transport::Tls(stream)) => stream.read(room),
                None => Ok(0),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Sends what is to be sent.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.transport {
            Some(Transport::Plain(socket)) => socket.write_all(&self.out)?,
            Some(Transport::Tls(stream)) => {
                stream.write_all(&self.out)?;
                stream.flush()?;
            }
            None => {}
        }
        self.out.clear();
        Ok(())
    }

    /// Sends what is to be sent once it is much, so that no answer has to be held whole.
    pub(crate) fn flush_if_much(&mut self) -> io::Result<()> {
        if self.out.len() >= SEND_BYTES { self.flush() } else { Ok(()) }
    }
}

impl Socket {
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(socket) => Self::Tcp(socket.try_clone()?),
            Self::Unix(socket) => Self::Unix(socket.try_clone()?),
        })
    }

    pub(crate) fn set_timeouts(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => {
                socket.set_read_timeout(timeout)?;
                socket.set_write_timeout(timeout)
            }
            Self::Unix(socket) => {
                socket.set_read_timeout(timeout)?;
                socket.set_write_timeout(timeout)
            }
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_read_timeout(timeout),
            Self::Unix(socket) => socket.set_read_timeout(timeout),
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
}

impl Read for Socket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(room),
            Self::Unix(socket) => socket.read(room),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
