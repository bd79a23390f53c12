//! Asking another replica: one connection, which is made when it is needed.
//!
//! Every request says who asks, of which group, and whom. After an error, or an answer that nobody
//! waited for, the connection is given up: what comes on it later would answer something else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::entry::NodeId;
use crate::transport::{Connection, Transport};
use crate::wire::{self, Answer, Envelope, Request, VERSION};

/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) id: NodeId,
    pub(crate) name: String,
    pub(crate) address: String,
    /// Zeros, as long as it is of no group.
    pub(crate) group: [u8; 16],
}

/// Asks one replica.
#[derive(Debug)]
pub(crate) struct Caller {
    transport: Arc<dyn Transport>,
    identity: Arc<Identity>,
    to: NodeId,
    address: String,
    connection: Option<Box<dyn Connection>>,
}

impl Caller {
    /// One that asks whoever is at an address; `to` is 0 if it does not matter who that is.
    pub(crate) fn new(
        transport: Arc<dyn Transport>,
        identity: Arc<Identity>,
        to: NodeId,
        address: String,
    ) -> Self {
        Self { transport, identity, to, address, connection: None }
    }

    /// Asks, and waits for the answer. If this is given up, so is the connection.
    ///
    /// # Errors
    /// The system's, or that of TLS.
    pub(crate) async fn call(&mut self, request: Request) -> io::Result<Answer> {
        let Identity { id, name, group, .. } = &*self.identity;
        let (name, group) = (name.clone(), *group);
        let envelope = Envelope { version: VERSION, group, name, from: *id, to: self.to, request };
        let bytes = wire::to_bytes(&envelope)?;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connecting = self.transport.connect(&self.address);
                tokio::time::timeout(CONNECT_MAX, connecting)
                    .await
                    .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??
            }
        };
        let answer = connection.call(bytes.into()).await?;
        let answer = wire::from_bytes(&answer)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}
