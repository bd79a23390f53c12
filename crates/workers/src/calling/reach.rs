//! Which replicas can be reached.
//!
//! One whose connection has ended, or that cannot take part in a query, is left alone for a while,
//! and only that one.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::group::ByteStream;

/// How long a replica is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// Replicas that are left alone, by their addresses, and until when.
#[derive(Clone, Default)]
pub(super) struct LeftAlone(Arc<Mutex<HashMap<String, Instant>>>);

/// A connection to a replica, which is left alone when it ends.
#[derive(Debug)]
pub(super) struct Watched {
    stream: Box<dyn ByteStream>,
    left_alone: LeftAlone,
    address: String,
}

impl LeftAlone {
    /// Leaves a replica alone from now on.
    pub(super) fn add(&self, address: &str) {
        self.all().insert(address.to_owned(), Instant::now() + LEFT_ALONE);
    }

    /// Those of some replicas that are not left alone.
    pub(super) fn others(&self, mut replicas: Vec<String>) -> Vec<String> {
        let mut all = self.all();
        let now = Instant::now();
        all.retain(|_, until| *until > now);
        replicas.retain(|address| !all.contains_key(address));
        replicas
    }

    /// A connection that says when it ends.
    pub(super) fn watch(&self, stream: Box<dyn ByteStream>, address: String) -> Watched {
        Watched { stream, left_alone: self.clone(), address }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for LeftAlone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.all().keys()).finish()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.left_alone.add(&self.address);
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
