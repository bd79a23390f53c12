//! Where answers and messages go.
//!
//! Answers go to standard output, or to what `\o` names: a file, or a program that reads them.
//! Whoever reads standard output may go; that ends the shell quietly.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use crate::stop::{Failure, Stop, sentence};

/// Where a shell writes.
pub struct Streams {
    out: Box<dyn Write>,
    errors: Box<dyn Write>,
    redirected: Option<Target>,
    /// Whether a person looks at the answers.
    is_terminal: bool,
}

/// What answers go to instead of standard output.
pub(crate) enum Target {
    File(String, BufWriter<File>),
    Program(Child),
}

impl Streams {
    /// Those of the process.
    pub fn standard() -> Self {
        let out = io::stdout();
        let is_terminal = out.is_terminal();
        Self {
            out: Box::new(BufWriter::with_capacity(1 << 16, out)),
            errors: Box::new(io::stderr()),
            redirected: None,
            is_terminal,
        }
    }

    /// Any others, which are no terminals.
    pub fn new(out: impl Write + 'static, errors: impl Write + 'static) -> Self {
        let (out, errors) = (Box::new(out), Box::new(errors));
        Self { out, errors, redirected: None, is_terminal: false }
    }

    /// Whether a person looks at what is written now.
    pub(crate) fn are_seen(&self) -> bool {
        self.is_terminal && self.redirected.is_none()
    }

    /// Sends answers elsewhere; `None` is back to standard output.
    ///
    /// # Errors
    /// What was written to the target so far could not be.
    pub(crate) fn redirect(&mut self, target: Option<Target>) -> Result<(), Failure> {
        self.flush()?;
        match std::mem::replace(&mut self.redirected, target) {
            Some(before) => before.close(),
            None => Ok(()),
        }
    }

    /// Takes the target away, to be put back after something else.
    pub(crate) fn exchange(&mut self, target: Option<Target>) -> Option<Target> {
        std::mem::replace(&mut self.redirected, target)
    }

    /// Writes an answer.
    ///
    /// # Errors
    /// `NobodyReads`; a file that cannot be written.
    pub(crate) fn answer(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.redirected {
            None => self.out.write_all(bytes).map_err(|error| self.lost(&error).into()),
            Some(target) => target.write(bytes),
        }
    }

    /// Passes on what is still held.
    ///
    /// # Errors
    /// As [`Streams::answer`].
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.redirected {
            None => self.out.flush().map_err(|error| self.lost(&error).into()),
            Some(target) => target.flush(),
        }
    }

    /// Writes what is about the run and no answer, behind the answers so far.
    pub(crate) fn report(&mut self, text: &str) {
        let _ = self.out.flush();
        // If nobody reads it, nobody reads of that either.
        let _ = writeln!(self.errors, "{text}").and_then(|()| self.errors.flush());
    }

    fn lost(&mut self, error: &io::Error) -> Stop {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Stop::NobodyReads;
        }
        let _ = writeln!(self.errors, "error: standard output: {}", sentence(error));
        Stop::Trouble
    }
}

impl Target {
    /// A file, or behind a bar the program that reads.
    ///
    /// # Errors
    /// A file that cannot be made, a program that cannot be started.
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        if let Some(program) = name.strip_prefix('|') {
            return Self::program(program.trim());
        }
        let file = File::create(name).map_err(|error| Failure::file(name, &error))?;
        Ok(Self::File(name.to_owned(), BufWriter::with_capacity(1 << 16, file)))
    }

    /// A program of the system's shell that reads.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn program(words: &str) -> Result<Self, Failure> {
        let child = Command::new("sh").args(["-c", words]).stdin(Stdio::piped()).spawn();
        Ok(Self::Program(child.map_err(|error| Failure::file(words, &error))?))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::File(name, file) => {
                file.write_all(bytes).map_err(|error| Failure::file(name, &error))
            }
            Self::Program(child) => match child.stdin.as_mut().map(|to| to.write_all(bytes)) {
                // A program that has read enough gets no more.
                Some(Err(_)) => {
                    child.stdin = None;
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::File(name, file) => file.flush().map_err(|error| Failure::file(name, &error)),
            Self::Program(_) => Ok(()),
        }
    }

    /// Ends it: a program is waited for.
    ///
    /// # Errors
    /// What was held could not be written.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        self.flush()?;
        if let Self::Program(mut child) = self {
            child.stdin = None;
            let _ = child.wait();
        }
        Ok(())
    }
}
