//! A shell: one session, and what was set.
//!
//! What statements and commands do with it stands above, and so does the loop that reads lines.

use std::sync::Arc;

use remanent_sql::{Cancel, Result, Session, SqlDatabase};
use tokio::runtime::{Builder, Runtime};

use crate::options::Options;
use crate::printing::Style;
use crate::reading::variables::{ON_ERROR_STOP, Variables};
use crate::streams::Streams;
use crate::terminal::interrupts::Interrupts;

/// A shell.
pub(crate) struct Shell {
    pub(crate) session: Session,
    /// Asks the catalog, whatever state the other is in.
    pub(crate) helper: Session,
    pub(crate) runtime: Runtime,
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) interrupts: Interrupts,
    pub(crate) variables: Variables,
    pub(crate) style: Style,
    pub(crate) streams: Streams,
    pub(crate) quiet: bool,
    pub(crate) timing: bool,
    /// The columns and lines of the terminal at which somebody types.
    pub(crate) screen: Option<(usize, usize)>,
    /// The statement that ran last.
    pub(crate) last: String,
}

impl Shell {
    /// A shell in which nothing has run yet.
    ///
    /// # Errors
    /// A runtime that cannot be had.
    pub(crate) fn new(
        database: &Arc<SqlDatabase>,
        options: &Options,
        streams: Streams,
        stops_at_errors: bool,
    ) -> Result<Self> {
        let session = database.session();
        let cancel = session.cancel_handle();
        let mut variables = Variables::default();
        variables.set(ON_ERROR_STOP, if stops_at_errors { "on" } else { "off" });
        variables.set("VERSION", env!("CARGO_PKG_VERSION"));
        options.variables.iter().for_each(|(name, value)| variables.set(name, value));
        let style =
            Style { format: options.format, rows_only: options.no_header, ..Style::default() };
        Ok(Self {
            helper: database.session(),
            runtime: Builder::new_current_thread().enable_time().build()?,
            interrupts: Interrupts::watch(Arc::clone(&cancel)),
            cancel,
            session,
            variables,
            style,
            streams,
            quiet: options.quiet,
            timing: false,
            screen: None,
            last: String::new(),
        })
    }
}
