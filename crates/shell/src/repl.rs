//! The loop that reads lines and runs what they ask for.
//!
//! What a line asks for is in `statements` and `commands`; here is only in which order, and what
//! becomes of failures. A command that names a file has the loop read it.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use remanent_sql::{Result, SqlDatabase, Statement, TransactionStatus};

use crate::commands::{self, Further};
use crate::lines::Lines;
use crate::options::{Input, Options};
use crate::reading::pending::{Cut, Found, Pending};
use crate::reading::variables::ON_ERROR_STOP;
use crate::shell::Shell;
use crate::stop::{Done, End, Failure, Stop};
use crate::streams::Streams;
use crate::terminal::completion::Commands;
use crate::terminal::editor::{Editor, Read};
use crate::terminal::names::Names;

/// How deep files may name files.
const DEPTH_MAX: usize = 16;

/// The loop over the inputs of a shell.
struct Repl {
    shell: Shell,
    /// What the prompt calls the database.
    name: String,
    depth: usize,
    has_failed: bool,
}

/// Runs a shell to its end.
///
/// Without inputs it reads standard input, which it takes for a person if it is a terminal.
///
/// # Errors
/// A runtime that cannot be had. Errors of statements are printed where they occur.
pub fn run(database: Arc<SqlDatabase>, options: &Options, streams: Streams) -> Result<End> {
    let is_interactive = options.inputs.is_empty() && io::stdin().is_terminal();
    let stops_at_errors = !is_interactive && !options.keep_going;
    let shell = Shell::new(&database, options, streams, stops_at_errors)?;
    let repl = Repl { shell, name: options.name.clone(), depth: 0, has_failed: false };
    Ok(if is_interactive { repl.converse(&database) } else { repl.follow(options) })
}

impl Repl {
    /// Reads what somebody types.
    fn converse(mut self, database: &Arc<SqlDatabase>) -> End {
        let editor = match Editor::new(Names::new(database.session()), command_words()) {
            Ok(editor) => editor,
            Err(failure) => {
                self.shell.tell_failure(&failure, None);
                return End::Trouble;
            }
        };
        if !self.shell.quiet {
            let version = env!("CARGO_PKG_VERSION");
            let text = format!("remanent {version}: \\? lists commands, \\q or Ctrl-D ends\n");
            if self
                .shell
                .streams
                .answer(text.as_bytes())
                .and_then(|()| self.shell.streams.flush())
                .is_err()
            {
                return End::Fine;
            }
        }
        let ended = self.feed(&mut Lines::terminal(editor));
        let closed = self.shell.streams.redirect(None);
        match (ended, closed) {
            (Err(stop), _) => stop.end(),
            (Ok(()), Err(failure)) => self.shell.tell_failure(&failure, None),
            (Ok(()), Ok(())) => End::Fine,
        }
    }

    /// Runs a script.
    fn follow(mut self, options: &Options) -> End {
        let ended = self.follow_inputs(options);
        let closed = self.shell.streams.redirect(None);
        match (ended, closed) {
            (Err(stop), _) => stop.end(),
            (Ok(()), Err(failure)) => self.shell.tell_failure(&failure, None),
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
                    self.shell.tell_failure(&failure, None);
                    Err(Stop::Trouble)
                }
            };
            match fed {
                Ok(()) | Err(Stop::Quit) => {}
                Err(stop) => return Err(stop),
            }
        }
        if options.single_transaction && self.shell.session.status() != TransactionStatus::Idle {
            self.silently("COMMIT")?;
        }
        Ok(())
    }

    /// Reads an input to its end.
    fn feed(&mut self, lines: &mut Lines) -> Done {
        let mut pending = Pending::default();
        let mut typed = String::new();
        loop {
            if let Some(editor) = lines.editor() {
                editor.set_statement(pending.text());
                self.shell.screen = Some(editor.screen());
                self.shell.interrupts.clear();
            } else if self.shell.interrupts.is_requested() {
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
                    self.shell.tell_failure(&failure, None);
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
            return self.command(line, pending, lines).map(|_| ());
        }
        loop {
            match pending.read(&mut rest, &self.shell.variables) {
                Found::EndOfLine => return Ok(()),
                Found::Statement(cut) => self.statement(&cut, lines)?,
                Found::Command => rest = self.command(rest, pending, lines)?,
            }
            if self.shell.interrupts.is_requested() && lines.editor().is_some() {
                return Ok(());
            }
        }
    }

    fn command<'l>(
        &mut self,
        text: &'l str,
        pending: &mut Pending,
        lines: &mut Lines,
    ) -> Done<&'l str> {
        let (mut ran, rest, further) = commands::run(&mut self.shell, text, pending, lines);
        if let Some(further) = further {
            ran = ran.and_then(|()| self.read_further(further));
        }
        if ran.is_ok() {
            ran = self.shell.streams.flush();
        }
        let cut = Cut { text: String::new(), line: pending.line() };
        self.after(ran, &cut, lines)?;
        Ok(rest)
    }

    /// Runs a statement and prints its answer, or what is wrong with it.
    fn statement(&mut self, cut: &Cut, lines: &mut Lines) -> Done {
        let ran = self.shell.run_statement(cut, lines);
        self.after(ran, cut, lines)
    }

    /// Goes on after a statement or a command, unless it failed and that ends the input.
    fn after(&mut self, ran: Result<(), Failure>, cut: &Cut, lines: &mut Lines) -> Done {
        let is_typed = lines.editor().is_some();
        let failure = match ran {
            Ok(()) => {
                self.shell.variables.set("ERROR", "false");
                self.shell.variables.set("SQLSTATE", "00000");
                return Ok(());
            }
            Err(Failure::Stop(stop)) => return Err(stop),
            Err(failure) => failure,
        };
        self.shell.tell_failure(&failure, Some((cut, lines)));
        self.shell.variables.set("ERROR", "true");
        let state = match &failure {
            Failure::Sql(error) => error.state().as_str(),
            _ => "58000",
        };
        self.shell.variables.set("SQLSTATE", state);
        self.has_failed = true;
        match () {
            () if self.shell.interrupts.is_requested() && !is_typed => Err(Stop::Interrupted),
            () if self.shell.variables.is_on(ON_ERROR_STOP) && !is_typed => Err(Stop::Failed),
            () => Ok(()),
        }
    }

    /// Reads what a command has named.
    fn read_further(&mut self, further: Further) -> Result<(), Failure> {
        match further {
            Further::Text(text) => self.feed(&mut Lines::text(&text)).map_err(Failure::from),
            Further::File(path) => self.include(&path),
        }
    }

    /// Reads a file, whose end is not the end of the input that names it.
    ///
    /// # Errors
    /// A file that is not there; whatever ends the whole run.
    fn include(&mut self, path: &str) -> Result<(), Failure> {
        if self.depth >= DEPTH_MAX {
            return Err(Failure::said(format!("{path}: files name each other too deeply")));
        }
        let mut lines = Lines::file(Path::new(path))?;
        let typed = self.shell.screen.take();
        self.depth += 1;
        let fed = self.feed(&mut lines);
        self.depth -= 1;
        self.shell.screen = typed;
        match fed {
            Ok(()) | Err(Stop::Quit) => Ok(()),
            // Whoever types goes on.
            Err(Stop::Failed | Stop::Interrupted) if typed.is_some() => Ok(()),
            Err(stop) => Err(stop.into()),
        }
    }

    fn silently(&mut self, text: &str) -> Done {
        let statement = Statement::parse(text);
        let Shell { session, runtime, .. } = &mut self.shell;
        let ran = statement.and_then(|s| runtime.block_on(session.run(&s, &[])).map(|_| ()));
        ran.map_err(|error| {
            self.shell.tell_failure(&error.into(), None);
            Stop::Failed
        })
    }

    /// The name of the database, what is open, and the state of the transaction.
    fn prompt(&self, mark: char) -> String {
        let transaction = match self.shell.session.status() {
            TransactionStatus::Idle => "",
            TransactionStatus::Active => "*",
            TransactionStatus::Failed => "!",
        };
        format!("{}{mark}{transaction}> ", self.name)
    }
}

/// What is completed of commands.
fn command_words() -> Commands {
    Commands {
        names: commands::names().collect(),
        pset_names: &commands::PSET_NAMES,
        takes_file: commands::takes_file,
    }
}
