//! Opening a replica again, and why.
//!
//! Whoever finds out that the replica cannot go on as it is says so here, once, and leaves the rest
//! to the node.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Why a replica ends to be opened again, or for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// The group has other entries behind this one.
    Cut(u64),
    /// It is to begin with a copy of another replica, from this address.
    Copy(String),
    /// Nothing is sure but what the folder has.
    Again,
    /// It ends.
    Stop,
}

/// Whoever finds that out tells it here.
#[derive(Clone, Debug)]
pub(crate) struct Restarter(UnboundedSender<Restart>);

/// A restarter, and where what it is told arrives.
pub(crate) fn restarter() -> (Restarter, UnboundedReceiver<Restart>) {
    let (sender, receiver) = unbounded_channel();
    (Restarter(sender), receiver)
}

impl Restarter {
    pub(crate) fn restart(&self, why: Restart) {
        // Where nobody listens any more, it has ended.
        let _ = self.0.send(why);
    }
}
