//! A shell: one session, what was set, and the loop that reads lines.
//!
//! What a line asks for is in `statements` and `commands`; here is only in which order, and what
//! becomes of failures.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use remanent_sql::{Cancel, Result, Session, SqlDatabase, Statement, TransactionStatus};
use tokio::runtime::{Builder, Runtime};

use crate::commands;
use crate::options::{Input, Options};
use crate::printing::Style;
use crate::reading::lines::{Lines, Read};
use crate::reading::pending::{Cut, Found, Pending};
use crate::reading::variables::{ON_ERROR_STOP, Variables};
use crate::stop::{Done, End, Failure, Stop};
use crate::streams::Streams;
use crate::terminal::editor::Editor;
use crate::terminal::interrupts::Interrupts;
use crate::terminal::names::Names;

/// How deep files may name files.
const DEPTH_MAX: usize = 16;

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
    name: String,
    depth: usize,
    has_failed: bool,
}

/// Runs a shell to its end.
///
/// Without inputs it reads standard input, which it takes for a person if it is a terminal.
///
/// # Errors
/// A runtime that cannot be had. What statements meet is told where they stand.
pub fn run(database: Arc<SqlDatabase>, options: &Options, streams: Streams) -> Result<End> {
    let session = database.session();
    let cancel = session.cancel_handle();
    let mut variables = Variables::default();
    let is_interactive = options.inputs.is_empty() && io::stdin().is_terminal();
    let stops = if is_interactive || options.keep_going { "off" } else { "on" };
    variables.set(ON_ERROR_STOP, stops);
    variables.set("VERSION", env!("CARGO_PKG_VERSION"));
    options.variables.iter().for_each(|(name, value)| variables.set(name, value));
    let shell = Shell {
        helper: database.session(),
        runtime: Builder::new_current_thread().enable_time().build()?,
        interrupts: Interrupts::watch(Arc::clone(&cancel)),
        cancel,
        session,
        variables,
        style: Style { format: options.format, rows_only: options.no_header, ..Style::default() },
        streams,
        quiet: options.quiet,
        timing: false,
        screen: None,
        last: String::new(),
        name: options.name.clone(),
        depth: 0,
        has_failed: false,
    };
    Ok(if is_interactive { shell.converse(&database) } else { shell.follow(options) })
}

impl Shell {
    /// Reads what somebody types.
    fn converse(mut self, database: &Arc<SqlDatabase>) -> End {
        let editor = match Editor::new(Names::new(database.session())) {
            Ok(editor) => editor,
            Err(failure) => {
                self.tell_failure(&failure, None);
                return End::Trouble;
            }
        };
        if !self.quiet {
            let version = env!("CARGO_PKG_VERSION");
            let text = format!("remanent {version}: \\? lists commands, \\q or Ctrl-D ends\n");
            if self.streams.answer(text.as_bytes()).and_then(|()| self.streams.flush()).is_err() {
                return End::Fine;
            }
        }
        let ended = self.feed(&mut Lines::terminal(editor));
        let closed = self.streams.redirect(None);
        match (ended, closed) {
            (Err(stop), _) => stop.end(),
            (Ok(()), Err(failure)) => self.tell_failure(&failure, None),
            (Ok(()), Ok(())) => End::Fine,
        }
    }

    /// Runs a script.
    fn follow(mut self, options: &Options) -> End {
        let ended = self.follow_inputs(options);
        let closed = self.streams.redirect(None);
        match (ended, closed) {
            (Err(stop), _) => stop.end(),
            (Ok(()), Err(failure)) => self.tell_failure(&failure, None),
            (Ok(()), Ok(())) if self.has_failed => End::Failed,
            (Ok(()), Ok(())) => End::Fine,
        }
    }

    fn follow_inputs(&mut self, options: &Options) -> Done {
        if options.single_transaction {
            self.silently("BEGIN")?;
        }
        let standard_input = [Input::File("-".into())];
        let inputs = if options.inputs.is_empty() { &standard_input } else { &options.inputs[..] };
        for input in inputs {
            let lines = match input {
                Input::Text(text) => Ok(Lines::text(text)),
                Input::File(path) if path == Path::new("-") => Ok(Lines::standard_input()),
                Input::File(path) => Lines::file(path),
            };
            let fed = match lines {
                Ok(mut lines) => self.feed(&mut lines),
                Err(failure) => {
                    self.tell_failure(&failure, None);
                    Err(Stop::Trouble)
                }
            };
            match fed {
                Ok(()) | Err(Stop::Quit) => {}
                Err(stop) => return Err(stop),
            }
        }
        if options.single_transaction && self.session.status() != TransactionStatus::Idle {
            self.silently("COMMIT")?;
        }
        Ok(())
    }

    /// Reads an input to its end.
    pub(crate) fn feed(&mut self, lines: &mut Lines) -> Done {
        let mut pending = Pending::default();
        let mut typed = String::new();
        loop {
            if let Some(editor) = lines.editor() {
                editor.set_statement(pending.text());
                self.screen = Some(editor.screen());
                self.interrupts.clear();
            } else if self.interrupts.is_requested() {
                return Err(Stop::Interrupted);
            }
            let prompt = self.prompt(pending.mark());
            let line = match lines.next(&prompt) {
                Ok(Read::Line(line)) => line,
                Ok(Read::Interrupted) => {
                    pending.clear();
                    typed.clear();
                    continue;
                }
                Ok(Read::End) => break,
                Err(failure) => {
                    self.tell_failure(&failure, None);
                    return Err(Stop::Trouble);
                }
            };
            typed.push_str(&line);
            // What is pasted may have several lines.
            for part in line.split_inclusive('\n') {
                pending.begin_line(lines.number);
                self.line(&mut pending, part, lines)?;
            }
            if pending.is_empty() {
                if let Some(editor) = lines.editor() {
                    editor.remember(&typed);
                }
                typed.clear();
            }
        }
        match (pending.take(), lines.editor()) {
            // A script may end without a semicolon.
            (Some(cut), None) => self.statement(&cut, lines),
            _ => Ok(()),
        }
    }

    fn line(&mut self, pending: &mut Pending, line: &str, lines: &mut Lines) -> Done {
        let mut rest = line;
        let is_dotted = pending.is_empty() && line.starts_with('.');
        if is_dotted && line[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.command(line, (pending, lines)).map(|_| ());
        }
        loop {
            match pending.read(&mut rest, &self.variables) {
                Found::EndOfLine => return Ok(()),
                Found::Statement(cut) => self.statement(&cut, lines)?,
                Found::Command => rest = self.command(rest, (pending, lines))?,
            }
            if self.interrupts.is_requested() && lines.editor().is_some() {
                return Ok(());
            }
        }
    }

    fn command<'l>(
        &mut self,
        text: &'l str,
        (pending, lines): (&mut Pending, &mut Lines),
    ) -> Done<&'l str> {
        let (ran, rest) = commands::run(self, text, (pending, lines));
        let cut = Cut { text: String::new(), line: pending.line() };
        self.after(ran, (&cut, lines))?;
        Ok(rest)
    }

    /// Runs a statement and prints its answer, or what is wrong with it.
    pub(crate) fn statement(&mut self, cut: &Cut, lines: &mut Lines) -> Done {
        let ran = self.run_statement(cut, lines);
        self.after(ran, (cut, lines))
    }

    /// Goes on after a statement or a command, unless it failed and that ends the input.
    fn after(&mut self, ran: Result<(), Failure>, (cut, lines): (&Cut, &mut Lines)) -> Done {
        let is_typed = lines.editor().is_some();
        let failure = match ran {
            Ok(()) => {
                self.variables.set("ERROR", "false");
                self.variables.set("SQLSTATE", "00000");
                return Ok(());
            }
            Err(Failure::Stop(stop)) => return Err(stop),
            Err(failure) => failure,
        };
        self.tell_failure(&failure, Some((cut, lines)));
        self.variables.set("ERROR", "true");
        let state = match &failure {
            Failure::Sql(error) => error.state().as_str(),
            _ => "58000",
        };
        self.variables.set("SQLSTATE", state);
        self.has_failed = true;
        match () {
            () if self.interrupts.is_requested() && !is_typed => Err(Stop::Interrupted),
            () if self.variables.is_on(ON_ERROR_STOP) && !is_typed => Err(Stop::Failed),
            () => Ok(()),
        }
    }

    /// Reads a file, whose end is not the end of the input that names it.
    ///
    /// # Errors
    /// A file that is not there; whatever ends the whole run.
    pub(crate) fn include(&mut self, path: &str) -> Result<(), Failure> {
        if self.depth >= DEPTH_MAX {
            return Err(Failure::said(format!("{path}: files name each other too deeply")));
        }
        let mut lines = Lines::file(Path::new(path))?;
        let typed = self.screen.take();
        self.depth += 1;
        let fed = self.feed(&mut lines);
        self.depth -= 1;
        self.screen = typed;
        match fed {
            Ok(()) | Err(Stop::Quit) => Ok(()),
            // Whoever types goes on.
            Err(Stop::Failed | Stop::Interrupted) if typed.is_some() => Ok(()),
            Err(stop) => Err(stop.into()),
        }
    }

    fn silently(&mut self, text: &str) -> Done {
        let statement = Statement::parse(text);
        let Self { session, runtime, .. } = self;
        let ran = statement.and_then(|s| runtime.block_on(session.run(&s, &[])).map(|_| ()));
        ran.map_err(|error| {
            self.tell_failure(&error.into(), None);
            Stop::Failed
        })
    }

    /// The name of the database, what is open, and the state of the transaction.
    fn prompt(&self, mark: char) -> String {
        let transaction = match self.session.status() {
            TransactionStatus::Idle => "",
            TransactionStatus::Active => "*",
            TransactionStatus::Failed => "!",
        };
        format!("{}{mark}{transaction}> ", self.name)
    }
}
