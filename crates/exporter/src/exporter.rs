//! The exporter: a thread that answers, from when it is started until it is dropped.
//!
//! It holds the database as the program gave it, so the database stays open as long as the
//! exporter is there: drop the exporter first.

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use remanent_engine::Database;

use crate::exposition::Exposition;
use crate::listener::{Listen, Listener};
use crate::request::metrics_answer;
use crate::server::{Service, serve};

/// Lets others see how a database fares, as long as it lives.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use std::io::{Read, Write};
/// use remanent_engine::{Database, Options};
/// use remanent_exporter::{Exporter, Listen};
/// let db = Arc::new(Database::open(Options::new())?);
/// let exporter = Exporter::start(Arc::clone(&db), Listen::port(0))?;
/// let address = exporter.address().expect("it listens at one");
/// let mut stream = std::net::TcpStream::connect(address)?;
/// stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 200 OK"));
/// assert!(answer.contains("\nremanent_commits_total 0\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Exporter {
    address: Option<SocketAddr>,
    path: Option<PathBuf>,
    /// Closed to stop the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts a thread that answers there. `db` is an `Arc<Database>`, a `&'static Database`, or
    /// whatever else leads to one.
    ///
    /// # Errors
    /// If it cannot listen there: somebody else does, or the address can be reached from other
    /// machines and was not given with [`Listen::open_address`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// use remanent_exporter::{Exporter, Listen};
    /// let db: &'static Database = Box::leak(Box::new(Database::open(Options::new())?));
    /// let exporter = Exporter::start(db, Listen::port(0))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(
        db: impl Deref<Target = Database> + Send + 'static,
        listen: Listen,
    ) -> io::Result<Self> {
        Self::start_with(db, listen, Exposition::new())
    }

    /// As [`Exporter::start`], going through the tables at most once in `tables_refresh`; 5 seconds
    /// otherwise. That is done when a request has been answered: the answer has what was found
    /// before. More than a twentieth of the thread's time is never spent so.
    ///
    /// # Errors
    /// As [`Exporter::start`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// use std::time::Duration;
    /// use remanent_engine::{Database, Options};
    /// use remanent_exporter::{Exporter, Listen};
    /// let db = Arc::new(Database::open(Options::new())?);
    /// let minute = Duration::from_secs(60);
    /// let exporter = Exporter::start_refreshing(db, Listen::port(0), minute)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_refreshing(
        db: impl Deref<Target = Database> + Send + 'static,
        listen: Listen,
        tables_refresh: Duration,
    ) -> io::Result<Self> {
        Self::start_with(db, listen, Exposition::new().tables_refresh(tables_refresh))
    }

    /// The address that it listens at; `None` for a Unix socket.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options};
    /// # use remanent_exporter::{Exporter, Listen};
    /// # let db = Arc::new(Database::open(Options::new())?);
    /// let exporter = Exporter::start(db, Listen::port(0))?;
    /// assert!(exporter.address().is_some_and(|address| address.ip().is_loopback()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The path of its Unix socket, if it has one.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options};
    /// # use remanent_exporter::{Exporter, Listen};
    /// # let db = Arc::new(Database::open(Options::new())?);
    /// let exporter = Exporter::start(db, Listen::port(0))?;
    /// assert!(exporter.socket_path().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn socket_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn start_with(
        db: impl Deref<Target = Database> + Send + 'static,
        listen: Listen,
        exposition: Exposition,
    ) -> io::Result<Self> {
        let listener = listen.bind()?;
        let (address, path) = match &listener {
            Listener::Tcp(listener) => (Some(listener.local_addr()?), None),
            Listener::Unix { file, .. } => (None, Some(file.path.clone())),
        };
        let (stop, stopped) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("remanent-exporter".to_owned());
        let thread = thread.spawn(move || {
            let mut observed = Observed { db, exposition };
            // It fails only if the system cannot wait any more; then nobody is answered.
            let _ = serve(&listener, &stopped, &mut observed);
        })?;
        Ok(Self { address, path, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it has panicked, that was said already.
            let _ = thread.join();
        }
    }
}

/// The database whose metrics are served.
struct Observed<D> {
    db: D,
    exposition: Exposition,
}

impl<D: Deref<Target = Database>> Service for Observed<D> {
    fn metrics(&mut self, head_only: bool) -> Vec<u8> {
        metrics_answer(&self.exposition.text_at_once(&self.db), head_only)
    }

    fn rest(&mut self) {
        self.exposition.follow(&self.db);
    }
}
