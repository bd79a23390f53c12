//! What whoever knows the group says of it, and how its replicas reach each other.
//!
//! The group and its connections are somebody else's, above: here are no more than addresses,
//! terms and streams of bytes.

use std::fmt::Debug;
use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

/// Headers of a request: the term, the state, and how many segments the divided table has.
pub(crate) const HEADERS: [&str; 3] =
    ["x-remanent-term", "x-remanent-timestamp", "x-remanent-segments"];

/// The header of functions that no session has by name, as texts with a sign in between.
pub(crate) const FUNCTIONS: &str = "x-remanent-functions";
/// That sign.
pub(crate) const BETWEEN: &str = "|";

/// What a replica says that cannot take part in a query: in another term, say.
pub(crate) fn cannot(address: &str) -> String {
    format!("replica {address} cannot take part")
}

/// A connection, with or without TLS.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Debug + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Debug + Send + 'static> ByteStream for S {}

/// The group that the replicas are of.
pub trait Group: Debug + Send + Sync {
    /// The term that this replica is in.
    fn term(&self) -> u64;

    /// Where this replica answers others.
    fn own(&self) -> String;

    /// Where the others do, as far as they may be there.
    fn others(&self) -> Vec<String>;
}

/// Makes connections to other replicas.
#[async_trait]
pub trait Connect: Debug + Send + Sync {
    /// A connection to the replica at an address.
    ///
    /// # Errors
    /// The system's, or that of TLS.
    async fn connect(&self, address: &str) -> io::Result<Box<dyn ByteStream>>;
}
