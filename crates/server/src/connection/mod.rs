//! Serves a client that is authenticated: which message is answered when.
//!
//! Here is the order of messages alone; what statements mean is the session's. Answers are sent
//! when the connection would wait for the client, so a pipeline of statements is answered at once.
//! Each answer ends with the session's own word on its transaction.

mod copying;
mod cursors;
mod extended;
mod keeping;
mod rows;
mod simple;
mod weight;

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use bytes::Bytes;
use remanent_sql::{Cancel, Error, Notice, Session, SqlState, TransactionStatus};
use tokio::runtime::{Builder, Runtime};

use crate::registry::Shared;
use crate::startup::{REPORTED, refuse, reported};
use crate::wire::ConnectionError;
use crate::wire::backend::{self, Severity};
use crate::wire::channel::Channel;
use crate::wire::frontend::Message;
use crate::wire::socket::is_late;
use crate::wire::wake::Wake;

use extended::{Portal, PreparedStatement};

/// Characters of a statement that the log shows.
const SHOWN_MAX: usize = 500;

/// Why what a message asked for was not done.
#[derive(Debug)]
enum Stop {
    /// The client gets the error, and goes on.
    Sql(Error),
    /// The connection ends.
    Connection(ConnectionError),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<ConnectionError> for Stop {
    fn from(broken: ConnectionError) -> Self {
        Self::Connection(broken)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Connection(error.into())
    }
}

type Done<T = ()> = Result<T, Stop>;

/// A client and its session.
pub(crate) struct Connection {
    channel: Channel,
    /// Before the session: they hold its transaction.
    portals: HashMap<String, Portal>,
    statements: HashMap<String, Arc<PreparedStatement>>,
    /// Statements that clients send to be parsed again and again.
    repeated: HashMap<Bytes, Arc<PreparedStatement>>,
    session: Session,
    /// What the session's futures run in, on this thread alone.
    runtime: Runtime,
    cancel: Arc<Cancel>,
    shared: Arc<Shared>,
    process: i32,
    /// After an error, all is skipped up to the next Sync.
    skips: bool,
    /// What is kept for the client: statements and portals.
    kept_bytes: Arc<AtomicUsize>,
    /// The settings, as they were last sent to the client.
    sent: Vec<Option<String>>,
}

impl Connection {
    pub(crate) fn new(
        channel: Channel,
        session: Session,
        shared: Arc<Shared>,
        process: i32,
    ) -> Result<Self, ConnectionError> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let sent = REPORTED.iter().map(|name| reported(&session, name)).collect();
        let cancel = session.cancel_handle();
        Ok(Self {
            channel,
            portals: HashMap::new(),
            statements: HashMap::new(),
            repeated: HashMap::new(),
            session,
            runtime,
            cancel,
            shared,
            process,
            skips: false,
            kept_bytes: Arc::default(),
            sent,
        })
    }

    /// Answers until the client goes, its session is terminated, or the server ends.
    ///
    /// # Errors
    /// A client that is gone or does not speak the protocol.
    pub(crate) fn serve(mut self) -> Result<(), ConnectionError> {
        self.ready();
        loop {
            let idle_until = self.idle_max().and_then(|max| Instant::now().checked_add(max));
            let message = match self.next(idle_until) {
                // Answers to what came before it are still owed.
                Ok(Message::Terminate) => return Ok(self.channel.flush()?),
                Ok(message) => message,
                Err(ConnectionError::Closed(error)) if is_late(&error) => {
                    return self.leave_silent();
                }
                Err(broken) => return self.end(broken),
            };
            let ends_answer = matches!(message, Message::Query(_) | Message::Sync);
            match std::panic::catch_unwind(AssertUnwindSafe(|| self.answer(message))) {
                Ok(Ok(())) => {}
                Ok(Err(broken)) => return self.end(broken),
                Err(fault) => return self.leave_by_fault(&*fault),
            }
            if self.cancel.is_ended() || ends_answer && self.shared.is_stopping() {
                return self.leave_by_shutdown();
            }
        }
    }

    /// The next message; what the session is told while it is waited for is sent meanwhile.
    fn next(&mut self, until: Option<Instant>) -> Result<Message, ConnectionError> {
        if self.session.has_listened() && !self.channel.can_be_woken() {
            let (wake, call) = Wake::new()?;
            self.channel.wake_by(wake)?;
            self.session.on_notification(call);
            // What has come before that calls nobody.
            self.send_notifications();
        }
        loop {
            match self.channel.next_unless_woken(until)? {
                Some(message) => return Ok(message),
                None => self.send_notifications(),
            }
        }
    }

    /// How long the next message may be waited for.
    fn idle_max(&self) -> Option<Duration> {
        match self.is_reading() {
            true => self.session.idle_in_transaction_max(),
            false => self.session.idle_max(),
        }
    }

    /// Whether rows of a statement are still to be read, in the transaction of that statement.
    fn is_reading(&self) -> bool {
        self.portals.values().any(|portal| portal.is_running() && !portal.holds)
    }

    fn end(self, broken: ConnectionError) -> Result<(), ConnectionError> {
        let is_shutdown = self.shared.is_stopping() || self.cancel.is_ended();
        match &broken {
            ConnectionError::Closed(_) if is_shutdown => self.leave_by_shutdown(),
            ConnectionError::Closed(_) => Err(broken),
            ConnectionError::Protocol(what) => {
                self.leave(&Error::new(SqlState::PROTOCOL_VIOLATION, *what));
                Err(broken)
            }
        }
    }

    /// Ends the session, and then sends the reason: a client that does not listen keeps nothing.
    fn leave(self, error: &Error) {
        let Self { mut channel, portals, statements, repeated, session, .. } = self;
        drop((portals, statements, repeated));
        drop(session);
        refuse(&mut channel, error);
    }

    /// The client has said nothing for too long, or not all of a message.
    fn leave_silent(self) -> Result<(), ConnectionError> {
        let error = match (self.channel.is_idle_over(), self.session.status()) {
            (false, _) => {
                return self
                    .end(ConnectionError::Protocol("a message that did not come whole in time"));
            }
            (true, TransactionStatus::Idle) if !self.is_reading() => {
                let text = "terminating connection due to idle-session timeout";
                Error::new(SqlState::IDLE_SESSION, text)
            }
            (true, _) => {
                let text = "terminating connection due to idle-in-transaction timeout";
                Error::new(SqlState::IDLE_IN_TRANSACTION, text)
            }
        };
        self.leave(&error);
        Ok(())
    }

    /// The server has failed in a statement: nothing of the session is used any more.
    fn leave_by_fault(mut self, fault: &(dyn Any + Send)) -> Result<(), ConnectionError> {
        let text = fault.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("no text");
        tracing::error!(connection = self.process, "a fault of the server: {text}");
        self.channel.forget_unfinished();
        let text = "a fault of the server ended the session; the server's log has more";
        self.leave(&Error::new(SqlState::INTERNAL, text));
        Ok(())
    }

    fn leave_by_shutdown(self) -> Result<(), ConnectionError> {
        let text = match self.shared.is_stopping() {
            true => "terminating connection because the server ends",
            false => "terminating connection due to administrator command",
        };
        self.leave(&Error::new(SqlState::SHUTDOWN, text));
        Ok(())
    }

    fn answer(&mut self, message: Message) -> Result<(), ConnectionError> {
        if self.skips && !matches!(message, Message::Sync) {
            return Ok(());
        }
        let done = match message {
            Message::Query(text) => return self.simple(&text),
            Message::Refused(b'Q', error) => {
                self.send_error(&error);
                self.ready();
                return Ok(());
            }
            Message::Refused(b'd' | b'f', _) => return Ok(()),
            Message::Refused(_, error) => Err(error.into()),
            Message::Sync => {
                self.skips = false;
                self.forget_portals();
                self.ready();
                return Ok(());
            }
            Message::Flush => return Ok(self.channel.flush()?),
            // What a copy that failed had still in its hands.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => return Ok(()),
            Message::Password(_) => {
                return Err(ConnectionError::Protocol("a password that nobody asked for"));
            }
            Message::Terminate => return Ok(()),
            Message::Parse { name, text, types } => self.parse(name, &text, types),
            Message::Bind(bind) => self.bind(bind),
            Message::Describe(target, name) => self.describe(target, &name),
            Message::Execute { portal, rows_max } => self.execute(portal, rows_max),
            Message::Close(target, name) => self.close(target, &name),
        };
        match done {
            Ok(()) => Ok(()),
            Err(Stop::Connection(broken)) => Err(broken),
            Err(Stop::Sql(error)) => {
                self.skips = true;
                self.send_error(&error);
                Ok(())
            }
        }
    }

    fn ready(&mut self) {
        self.session.show_waiting();
        if self.cancel.is_ended() {
            return;
        }
        if let Err(error) = self.session.end_statement() {
            self.send_error(&error);
        }
        self.send_notifications();
        backend::ready(&mut self.channel.out, self.session.status());
    }

    /// Portals end with their transaction, but for those that hold; outside a block, with the
    /// answer.
    fn forget_portals(&mut self) {
        if self.session.status() != TransactionStatus::Active {
            self.portals.retain(|_, portal| portal.holds);
        }
    }

    fn send_error(&mut self, error: &Error) {
        // The last message says it.
        if self.cancel.is_ended() {
            return;
        }
        tracing::debug!(connection = self.process, "{} {error}", error.state().as_str());
        if error.state() == SqlState::INTERNAL {
            tracing::error!(connection = self.process, "{error}");
        }
        self.session.forget_statement();
        backend::error(&mut self.channel.out, Severity::Error, error);
    }

    /// Sends what the session was told, which it is outside a transaction block alone.
    fn send_notifications(&mut self) {
        for notification in self.session.take_notifications() {
            backend::notification(&mut self.channel.out, &notification);
        }
    }

    fn send_notice(&mut self, notice: &Notice) {
        backend::notice(&mut self.channel.out, notice);
    }

    /// Sends the settings that have changed since they were last sent.
    fn send_settings(&mut self) {
        for (name, sent) in REPORTED.iter().zip(&mut self.sent) {
            let now = reported(&self.session, name);
            if now != *sent {
                if let Some(value) = &now {
                    backend::parameter_status(&mut self.channel.out, name, value);
                }
                *sent = now;
            }
        }
    }

    /// Runs what a session does to its end, or until it is asked to stop while it would wait.
    fn run<T>(
        runtime: &Runtime,
        cancel: &Cancel,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        runtime.block_on(cancel.stopping(future))
    }

    fn log_if_slow(&self, started: Instant, text: &str) {
        let Some(limit) = self.shared.options.log_statements_over else { return };
        let elapsed = started.elapsed();
        if elapsed < limit {
            return;
        }
        let end = text.char_indices().nth(SHOWN_MAX).map_or(text.len(), |(at, _)| at);
        let millis = elapsed.as_secs_f64() * 1e3;
        tracing::warn!(connection = self.process, "took {millis:.3} ms: {}", &text[..end]);
    }
}

#[cfg(test)]
pub(crate) mod tests;
