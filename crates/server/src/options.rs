//! How a server is to run.
//!
//! Without a word it listens nowhere and trusts nobody; what cannot be used is said at the start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a server is to run.
///
/// # Examples
/// ```
/// use remanent_server::{Options, Server};
/// use remanent_sql::SqlDatabase;
/// let options = Options::new().listen("127.0.0.1:0").trust(true);
/// let server = Server::start(SqlDatabase::in_memory()?, options)?;
/// assert!(server.addresses()[0].starts_with("127.0.0.1:"));
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) listen: Vec<String>,
    pub(crate) trust: bool,
    pub(crate) connections_max: usize,
    pub(crate) superuser_reserved: usize,
    pub(crate) startup_timeout: Duration,
    pub(crate) stall_timeout: Duration,
    pub(crate) grace: Duration,
    pub(crate) log_statements_over: Option<Duration>,
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    /// Read from the certificate when the server starts.
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            trust: false,
            connections_max: 100,
            superuser_reserved: 3,
            startup_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(10),
            log_statements_over: None,
            certificate: None,
            tls: None,
        }
    }
}

impl Options {
    /// Listens nowhere, and trusts nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens here as well: `address:port`, or `unix:folder` for a socket in it with the name
    /// that clients of PostgreSQL look for. Port 0 is any that is free.
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen.push(address.into());
        self
    }

    /// Listens at these addresses, and no others.
    #[must_use]
    pub fn listen_only(mut self, addresses: &[String]) -> Self {
        self.listen = addresses.to_vec();
        self
    }

    /// Whether clients on this machine need no password.
    #[must_use]
    pub fn trust(mut self, trust: bool) -> Self {
        self.trust = trust;
        self
    }

    /// The most connections at a time.
    #[must_use]
    pub fn connections_max(mut self, count: usize) -> Self {
        self.connections_max = count;
        self
    }

    /// How many of these are for superusers alone: at most half of them.
    #[must_use]
    pub fn superuser_reserved(mut self, count: usize) -> Self {
        self.superuser_reserved = count;
        self
    }

    /// How long a client may take, from its first byte on, until it is known who it is; zero is for
    /// ever.
    #[must_use]
    pub fn startup_timeout(mut self, timeout: Duration) -> Self {
        self.startup_timeout = limit(timeout);
        self
    }

    /// How long a client may leave a message half said, or take nothing of an answer. For each
    /// 64 KiB of it there is a second more; zero is for ever.
    #[must_use]
    pub fn stall_timeout(mut self, timeout: Duration) -> Self {
        self.stall_timeout = limit(timeout);
        self
    }

    /// How long statements may go on when the server is to end.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Logs statements that take longer.
    #[must_use]
    pub fn log_statements_over(mut self, limit: Duration) -> Self {
        self.log_statements_over = Some(limit);
        self
    }

    /// Files with a chain of certificates and its key, for TLS.
    #[must_use]
    pub fn certificate(mut self, certificate: PathBuf, key: PathBuf) -> Self {
        self.certificate = Some((certificate, key));
        self
    }
}

/// A limit as a clock can count it.
fn limit(timeout: Duration) -> Duration {
    let longest = Duration::from_secs(u32::MAX.into());
    if timeout.is_zero() { longest } else { timeout.min(longest) }
}
