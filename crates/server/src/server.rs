//! A server: listeners, a thread for each connection, and an orderly end.
//!
//! An engine transaction belongs to one thread, and so does a session: the thread that accepted's
//! child owns the session from its beginning to its end, and shares nothing of it but the handle
//! that stops a statement.

use std::net::Shutdown;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use remanent_sql::{CountingAllocator, Error, SqlDatabase, SqlState};

use crate::checkpoints::Checkpoints;
use crate::connection::Connection;
use crate::listen::Listener;
use crate::options::Options;
use crate::registry::{Registration, Shared};
use crate::startup::{self, Refused};
use crate::wire::ConnectionError;
use crate::wire::backend;
use crate::wire::channel::Channel;
use crate::wire::socket::Socket;

/// Nested statements are planned and run by recursion.
const STACK_BYTES: usize = 16 << 20;

/// How often the log says that nobody can be let in.
const LOG_AGAIN: Duration = Duration::from_secs(10);

/// How long statements that were stopped may take to notice.
const STOPPED_MAX: Duration = Duration::from_secs(2);

/// A server that runs.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<String>,
    acceptors: Vec<JoinHandle<()>>,
    checkpoints: Checkpoints,
}

impl Server {
    /// Listens and lets clients in.
    ///
    /// # Errors
    /// In words: an address that cannot be listened at, or must not be without TLS and
    /// passwords; a certificate that cannot be used.
    pub fn start(database: Arc<SqlDatabase>, mut options: Options) -> Result<Self, String> {
        if let Some((certificate, key)) = &options.certificate {
            options.tls = Some(startup::tls::config(certificate, key)?);
        }
        let mut listeners = Vec::new();
        for text in &options.listen {
            listeners.extend(Listener::bind(text, &options)?);
        }
        if listeners.is_empty() {
            return Err("there is no address to listen at (--listen)".to_owned());
        }
        for set_aside in database.set_aside() {
            tracing::warn!("{set_aside}");
        }
        let shared = Arc::new(Shared::new(database, options));
        let addresses: Vec<String> = listeners.iter().map(Listener::address).collect();
        let mut acceptors = Vec::new();
        for listener in listeners {
            tracing::info!("listens at {}", listener.address());
            let shared = Arc::clone(&shared);
            let acceptor = std::thread::Builder::new().name("acceptor".to_owned());
            let acceptor = acceptor.spawn(move || accept(&listener, &shared));
            acceptors.push(acceptor.map_err(|error| error.to_string())?);
        }
        let checkpoints = Checkpoints::begin(&shared).map_err(|error| error.to_string())?;
        Ok(Self { shared, addresses, acceptors, checkpoints })
    }

    /// Where it listens, with the ports that were free.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Ends: lets nobody in, lets running statements finish within the grace of the options, rolls
    /// open transactions back, tells the clients, and writes a checkpoint.
    pub fn stop(self) {
        let shared = Arc::clone(&self.shared);
        let grace = shared.options.grace;
        tracing::info!("ends, within {} s", grace.as_secs_f64());
        self.leave(grace);
        match shared.database.engine().checkpoint() {
            Ok(_) => tracing::info!("has ended, with a checkpoint"),
            // A database in memory alone has none.
            Err(error) => tracing::info!("has ended, without a checkpoint: {error}"),
        }
    }

    /// The same for a database that goes on without it, or is another's to close: ends all
    /// sessions within this time. Nobody has the database through the server afterwards.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use remanent_server::{Options, Server};
    /// use remanent_sql::SqlDatabase;
    /// let database = SqlDatabase::in_memory()?;
    /// let options = Options::new().listen("127.0.0.1:0").trust(true);
    /// let server = Server::start(Arc::clone(&database), options)?;
    /// server.leave(Duration::ZERO);
    /// assert_eq!(Arc::strong_count(&database), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leave(self, grace: Duration) {
        self.shared.stop();
        self.addresses.iter().for_each(|address| Listener::wake(address));
        for acceptor in self.acceptors {
            // One that panicked accepts nothing either.
            let _ = acceptor.join();
        }
        let connections = &self.shared.connections;
        connections.wake();
        if !connections.wait_until(Instant::now() + grace) {
            tracing::warn!("stops statements that go on");
            let end = Instant::now() + STOPPED_MAX;
            while Instant::now() < end {
                connections.cancel_all();
                if connections.wait_until(Instant::now() + Duration::from_millis(20)) {
                    break;
                }
            }
            connections.sever();
            connections.wait_until(Instant::now() + STOPPED_MAX);
        }
        self.checkpoints.end();
    }
}

/// Accepts until the server ends, whatever goes wrong with a connection.
fn accept(listener: &Listener, shared: &Arc<Shared>) {
    let mut logged: Option<Instant> = None;
    loop {
        let accepted = listener.accept();
        if shared.is_stopping() {
            return;
        }
        match accepted {
            Ok(socket) => open(socket, shared),
            Err(error) => {
                if logged.is_none_or(|logged| logged.elapsed() >= LOG_AGAIN) {
                    tracing::error!("cannot accept connections: {error}");
                    logged = Some(Instant::now());
                }
                // Too many files are open, most likely: one that is not authenticated is closed.
                let goes = shared.connections.make_room();
                std::thread::sleep(Duration::from_millis(if goes { 2 } else { 50 }));
            }
        }
    }
}

/// Begins the thread of a connection.
fn open(socket: Socket, shared: &Arc<Shared>) {
    let socket = Arc::new(socket);
    let registration = Registration::new(shared, &socket);
    let name = format!("connection {}", registration.process);
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name(name).stack_size(STACK_BYTES);
    let connection = move || {
        run(&socket, &shared, &registration);
        // Its file is closed before its registration is given back.
        drop(socket);
        drop(registration);
        CountingAllocator::<()>::thread_ends();
    };
    if let Err(error) = thread.spawn(connection) {
        tracing::error!("cannot begin a thread for a connection: {error}");
    }
}

/// A connection from its first byte to its end. What goes wrong in it stays in it.
fn run(socket: &Arc<Socket>, shared: &Arc<Shared>, registration: &Registration) {
    let (peer, process) = (socket.peer(), registration.process);
    let served = AssertUnwindSafe(|| serve(socket, shared, registration, &peer));
    match std::panic::catch_unwind(served) {
        Ok(Ok(())) => {}
        Ok(Err(ConnectionError::Closed(error))) => {
            tracing::debug!(connection = process, "is gone: {error}");
        }
        Ok(Err(ConnectionError::Protocol(what))) => {
            tracing::warn!(connection = process, "does not speak the protocol: {what}");
        }
        // What the client can know of it, the connection has sent.
        Err(_) => tracing::error!(connection = process, "ends by a fault of the server"),
    }
    socket.shut(Shutdown::Both);
}

fn serve(
    socket: &Arc<Socket>,
    shared: &Arc<Shared>,
    registration: &Registration,
    peer: &str,
) -> Result<(), ConnectionError> {
    let is_far = Listener::is_far(socket);
    let options = &shared.options;
    let startup_until = Instant::now() + options.startup_timeout;
    let mut channel = Channel::new(Arc::clone(socket), startup_until, options.stall_timeout)?;
    let client = match startup::read_startup(&mut channel, shared, is_far) {
        Ok(client) => client,
        Err(refused) => return refuse(&mut channel, refused, peer),
    };
    let mut session = match startup::begin_session(&mut channel, shared, registration, &client) {
        Ok(session) => session,
        Err(refused) => return refuse(&mut channel, refused, peer),
    };
    let cancel = session.cancel_handle();
    registration.begin(Arc::clone(&cancel));
    let (address, port) = socket.peer_address();
    let woken = Arc::clone(socket);
    let wake = Box::new(move || woken.shut(Shutdown::Read));
    session.connect(remanent_sql::Client { process: registration.process, address, port, wake });
    backend::key_data(&mut channel.out, registration.process, &registration.secret);
    channel.trust(shared.database.hold("a message"), cancel)?;
    let encrypted = channel.is_tls();
    let process = registration.process;
    tracing::info!(connection = process, user = ?client.user, encrypted, "from {peer}");
    let ended = Connection::new(channel, session, Arc::clone(shared), process)?.serve();
    tracing::info!(connection = process, "has ended");
    ended
}

fn refuse(channel: &mut Channel, refused: Refused, peer: &str) -> Result<(), ConnectionError> {
    match refused {
        Refused::Done => Ok(()),
        Refused::Because(error) => {
            tracing::warn!("refuses {peer}: {error}");
            startup::refuse(channel, &error);
            Ok(())
        }
        Refused::Connection(broken) => {
            if let ConnectionError::Protocol(what) = broken {
                startup::refuse(channel, &Error::new(SqlState::PROTOCOL_VIOLATION, what));
            }
            Err(broken)
        }
    }
}
