//! Messages of PostgreSQL's protocol, version 3: bytes into messages and back, nothing of their
//! meaning or order.
//!
//! Whatever does not fit is an error that ends the connection; nothing here panics.

pub(crate) mod backend;
pub(crate) mod channel;
pub(crate) mod frontend;
pub(crate) mod socket;
pub(crate) mod wake;

/// A connection that cannot go on: the other side is gone or does not speak the protocol.
#[derive(Debug)]
pub(crate) enum ConnectionError {
    /// The other side has closed, or the network has.
    Closed(std::io::Error),
    /// What came is not the protocol.
    Protocol(&'static str),
}

impl From<std::io::Error> for ConnectionError {
    fn from(error: std::io::Error) -> Self {
        Self::Closed(error)
    }
}
