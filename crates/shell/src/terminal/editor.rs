//! The line that is edited: keys as in other shells, history, completion.
//!
//! A line is kept in the history when its statement is whole.

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Behavior, CompletionType, Config};

use super::completion::{Commands, Completion};
use super::history;
use super::names::Names;
use crate::stop::Failure;

/// Places of a terminal that does not say how many it has.
const SCREEN: (usize, usize) = (80, 24);

/// Reads lines from a terminal.
pub(crate) struct Editor {
    lines: rustyline::Editor<Completion, FileHistory>,
}

/// What was read.
pub(crate) enum Read {
    Line(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    End,
}

impl Editor {
    /// An editor that completes names of the database and of commands.
    ///
    /// # Errors
    /// A terminal that cannot be used.
    pub(crate) fn new(names: Names, commands: Commands) -> Result<Self, Failure> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .history_ignore_space(true)
            .behavior(Behavior::PreferTerm)
            .build();
        let wrong = |error: ReadlineError| Failure::said(format!("the terminal: {error}"));
        let mut lines = rustyline::Editor::with_config(config).map_err(wrong)?;
        lines.set_helper(Some(Completion::new(names, commands)));
        history::load(&mut lines);
        Ok(Self { lines })
    }

    /// Shows the prompt and reads a line.
    ///
    /// # Errors
    /// A terminal that is gone.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Read, Failure> {
        match self.lines.readline(prompt) {
            Ok(mut line) => {
                line.push('\n');
                Ok(Read::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Read::Interrupted),
            Err(ReadlineError::Eof) => Ok(Read::End),
            Err(error) => Err(Failure::said(format!("the terminal: {error}"))),
        }
    }

    /// Says what has been read of the statement before the line that is edited.
    pub(crate) fn set_statement(&mut self, text: &str) {
        if let Some(completion) = self.lines.helper_mut() {
            text.clone_into(&mut completion.statement);
        }
    }

    /// Keeps a statement or a command, whole.
    pub(crate) fn remember(&mut self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            // A history that cannot be kept harms nothing.
            let _ = self.lines.add_history_entry(text);
        }
    }

    /// The lines that are kept, oldest first.
    pub(crate) fn history(&self) -> impl Iterator<Item = &String> {
        self.lines.history().iter()
    }

    /// The columns and lines of the terminal.
    pub(crate) fn screen(&mut self) -> (usize, usize) {
        let known = self.lines.dimensions();
        known.map_or(SCREEN, |(columns, lines)| (usize::from(columns), usize::from(lines)))
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        history::save(&mut self.lines);
    }
}
