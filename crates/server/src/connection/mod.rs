//! The conversation with a client that is known: which message is answered when.
//!
//! Here is the order of messages alone; what statements mean is the session's. Answers are sent
//! when the connection would wait for the client, so a pipeline of statements is answered at once.
//! Each answer ends with the session's own word on its transaction.

mod copying;
mod cursors;
mod extended;
mod rows;
mod simple;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use remanent_sql::{Cancel, Error, Session, SqlState, TransactionStatus};
use tokio::runtime::{Builder, Runtime};

use crate::roster::Shared;
use crate::startup::{REPORTED, refuse, reported};
use crate::wire::Broken;
use crate::wire::backend::{self, Severity};
use crate::wire::channel::Channel;
use crate::wire::frontend::Message;

use extended::{Kept, Portal};

/// Characters of a statement that the log shows.
const SHOWN_MAX: usize = 500;

/// Why what a message asked for was not done.
#[derive(Debug)]
enum Stop {
    /// The client is told, and goes on.
    Sql(Error),
    /// The connection ends.
    Broken(Broken),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.into())
    }
}

type Done<T = ()> = Result<T, Stop>;

/// Whether nothing came in the time that there was.
fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// A client and its session.
pub(crate) struct Connection {
    channel: Channel,
    /// Before the session: they hold its transaction.
    portals: HashMap<String, Portal>,
    statements: HashMap<String, Arc<Kept>>,
    /// Statements that clients send to be parsed again and again.
    repeated: HashMap<Bytes, Arc<Kept>>,
    session: Session,
    /// What the session's futures run in, on this thread alone.
    runtime: Runtime,
    cancel: Arc<Cancel>,
    shared: Arc<Shared>,
    process: i32,
    /// After an error, all is skipped up to the next Sync.
    skips: bool,
    /// The settings, as the client was last told them.
    told: Vec<Option<String>>,
}

impl Connection {
    pub(crate) fn new(
        channel: Channel,
        mut session: Session,
        shared: Arc<Shared>,
        process: i32,
    ) -> Result<Self, Broken> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let told = REPORTED.iter().map(|name| reported(&session, name)).collect();
        let cancel = session.cancel_handle();
        session.set_process(process);
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
            told,
        })
    }

    /// Answers until the client goes or the server ends.
    ///
    /// # Errors
    /// A client that is gone or does not speak the protocol.
    pub(crate) fn converse(mut self) -> Result<(), Broken> {
        self.ready();
        loop {
            let idle_max = self.session.idle_max();
            self.channel.wait_at_most(idle_max)?;
            let message = match self.channel.next() {
                // Answers to what came before it are still owed.
                Ok(Message::Terminate) => return Ok(self.channel.flush()?),
                Ok(message) => message,
                Err(Broken::Closed(error)) if idle_max.is_some() && is_late(&error) => {
                    return self.leave_idle();
                }
                Err(broken) => return self.end(broken),
            };
            let ends_answer = matches!(message, Message::Query(_) | Message::Sync);
            if let Err(broken) = self.answer(message) {
                return self.end(broken);
            }
            if ends_answer && self.shared.is_stopping() {
                return self.say_farewell();
            }
        }
    }

    fn end(mut self, broken: Broken) -> Result<(), Broken> {
        match broken {
            Broken::Closed(_) if self.shared.is_stopping() => self.say_farewell(),
            Broken::Closed(_) => Err(broken),
            Broken::Protocol(what) => {
                refuse(&mut self.channel, &Error::new(SqlState::PROTOCOL_VIOLATION, what));
                Err(broken)
            }
        }
    }

    /// The client has left a transaction block open for too long.
    fn leave_idle(mut self) -> Result<(), Broken> {
        let text = "terminating connection due to idle-in-transaction timeout";
        refuse(&mut self.channel, &Error::new(SqlState::IDLE_IN_TRANSACTION, text));
        Ok(())
    }

    fn say_farewell(mut self) -> Result<(), Broken> {
        let text = "terminating connection because the server ends";
        refuse(&mut self.channel, &Error::new(SqlState::SHUTDOWN, text));
        Ok(())
    }

    fn answer(&mut self, message: Message) -> Result<(), Broken> {
        if self.skips && !matches!(message, Message::Sync) {
            return Ok(());
        }
        let done = match message {
            Message::Query(text) => return self.simple(&text),
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
                return Err(Broken::Protocol("a password that nobody asked for"));
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
            Err(Stop::Broken(broken)) => Err(broken),
            Err(Stop::Sql(error)) => {
                self.skips = true;
                self.tell_error(&error);
                Ok(())
            }
        }
    }

    fn ready(&mut self) {
        backend::ready(&mut self.channel.out, self.session.status());
    }

    /// Portals end with their transaction, but for those that hold; outside a block, with the
    /// answer.
    fn forget_portals(&mut self) {
        if self.session.status() != TransactionStatus::Active {
            self.portals.retain(|_, portal| portal.holds);
        }
    }

    fn tell_error(&mut self, error: &Error) {
        tracing::debug!(connection = self.process, "{} {error}", error.state().as_str());
        if error.state() == SqlState::INTERNAL {
            tracing::error!(connection = self.process, "{error}");
        }
        backend::error(&mut self.channel.out, Severity::Error, error);
    }

    fn tell_notice(&mut self, text: &str) {
        // Of a block that is there already or is not there, PostgreSQL warns.
        let is_warning = text.contains("transaction");
        let state = match is_warning {
            true if text.contains("already") => "25001",
            true => "25P01",
            false => "00000",
        };
        backend::notice(&mut self.channel.out, state, text);
    }

    /// Tells the client settings that are other than it knows.
    fn tell_settings(&mut self) {
        for (name, told) in REPORTED.iter().zip(&mut self.told) {
            let now = reported(&self.session, name);
            if now != *told {
                if let Some(value) = &now {
                    backend::parameter_status(&mut self.channel.out, name, value);
                }
                *told = now;
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
