//! COPY: rows from a file or from the lines that follow, and rows into a file or to the answers.
//!
//! Files are read and written by the shell, on the machine where it runs. What was loaded before a
//! failure is taken back.

use std::fs::File;
use std::io::{self, Read as _};

use remanent_sql::{Copy, CopyIn, Datum, Error, SqlState, Statement};

use super::running::cancelled;
use crate::lines::Lines;
use crate::shell::Shell;
use crate::stop::Failure;
use crate::streams::Target;
use crate::terminal::editor::Read;
use crate::terminal::progress::Progress;

/// Bytes of a file that are read, and of an answer that are written, at once.
const CHUNK_BYTES: usize = 1 << 18;

/// A COPY between the database and a file, or whoever speaks to the shell.
pub(crate) struct Copying {
    copy: Copy,
}

impl Copying {
    /// # Errors
    /// What its options say and cannot be.
    pub(crate) fn of(statement: &Statement) -> Result<Self, Error> {
        Ok(Self { copy: statement.copy()? })
    }
}

impl Shell {
    /// Runs a COPY.
    ///
    /// # Errors
    /// Whatever it meets; a file that cannot be read or written.
    pub(crate) fn copy(&mut self, copying: &Copying, lines: &mut Lines) -> Result<(), Failure> {
        match copying.copy.to_caller {
            true => self.copy_out(copying),
            false => self.copy_in(copying, lines),
        }
    }

    fn copy_in(&mut self, copying: &Copying, lines: &mut Lines) -> Result<(), Failure> {
        let file = match &copying.copy.file {
            Some(path) => Some(File::open(path).map_err(|error| Failure::file(path, &error))?),
            None => None,
        };
        let begun = self.session.copy_in(&copying.copy);
        let mut into = match begun {
            Ok(into) => into,
            Err(error) => {
                if file.is_none() {
                    skip_rows(lines)?;
                }
                return Err(error.into());
            }
        };
        let loaded = match file {
            Some(file) => {
                let path = copying.copy.file.as_deref().unwrap_or_default();
                self.load(file, &mut into, path)
            }
            None => self.load_lines(lines, &mut into),
        };
        match loaded {
            Ok(()) => {
                let outcome = self.session.copy_done(into)?;
                self.tell_tag(&outcome.tag)
            }
            Err(failure) => {
                let cause = match &failure {
                    Failure::Sql(error) => Error::new(error.state(), error.message()),
                    _ => Error::new(SqlState::IO_ERROR, "the copy could not be read"),
                };
                self.session.copy_undo(into, &cause)?;
                Err(failure)
            }
        }
    }

    fn load(&mut self, mut file: File, into: &mut CopyIn, path: &str) -> Result<(), Failure> {
        let wrong = |error: io::Error| Failure::file(path, &error);
        let bytes = file.metadata().map_err(wrong)?.len();
        let progress = Progress::new(bytes, !self.quiet);
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut done = 0;
        loop {
            let count = file.read(&mut buffer).map_err(wrong)?;
            if count == 0 {
                into.read_end()?;
                return self.insert(into);
            }
            done += count as u64;
            self.load_piece(&buffer[..count], into)?;
            progress.at(done, into.rows());
        }
    }

    /// Rows that stand behind the statement, up to a line with `\.` alone.
    fn load_lines(&mut self, lines: &mut Lines, into: &mut CopyIn) -> Result<(), Failure> {
        if lines.editor().is_some() && !self.quiet {
            self.streams.report("Enter rows, a line each; a line with \\. alone ends them.");
        }
        loop {
            match lines.next(">> ")? {
                Read::Line(line) if ends_rows(&line) => break,
                Read::Line(line) => {
                    if let Err(failure) = self.load_piece(line.as_bytes(), into) {
                        skip_rows(lines)?;
                        return Err(failure);
                    }
                }
                Read::End => break,
                Read::Interrupted => return Err(cancelled().into()),
            }
        }
        into.read_end()?;
        self.insert(into)
    }

    fn load_piece(&mut self, mut piece: &[u8], into: &mut CopyIn) -> Result<(), Failure> {
        while into.read(&mut piece)? {
            self.insert(into)?;
        }
        if self.interrupts.is_requested() {
            return Err(cancelled().into());
        }
        Ok(())
    }

    fn insert(&mut self, into: &mut CopyIn) -> Result<(), Failure> {
        let Self { session, runtime, cancel, .. } = self;
        runtime.block_on(cancel.stopping(session.copy_in_read(into)))?;
        Ok(())
    }

    fn copy_out(&mut self, copying: &Copying) -> Result<(), Failure> {
        let query = copying.copy.query()?;
        let mut target = match &copying.copy.file {
            Some(path) => Some(Target::open(path)?),
            None => None,
        };
        let Self { session, runtime, cancel, streams, interrupts, .. } = self;
        let (mut broken, mut count) = (None, 0_u64);
        let sent = runtime.block_on(cancel.stopping(async {
            let Some(mut rows) = session.run(&query, &[]).await?.rows else {
                let text = "COPY needs a query that has rows";
                return Err(Error::new(SqlState::SYNTAX_ERROR, text));
            };
            let mut out = Vec::new();
            if copying.copy.format.has_header {
                let names: Vec<Datum> =
                    rows.columns().iter().map(|column| column.name.as_str().into()).collect();
                copying.copy.format.write_line(&mut out, &names);
            }
            loop {
                let row = rows.next_row().await?;
                if let Some(row) = &row {
                    copying.copy.format.write_line(&mut out, row);
                    count += 1;
                }
                if interrupts.is_requested() {
                    return Err(cancelled());
                }
                if row.is_none() || out.len() >= CHUNK_BYTES {
                    let written = match &mut target {
                        Some(target) => target.write(&out),
                        None => streams.answer(&out),
                    };
                    out.clear();
                    broken = written.err();
                }
                if row.is_none() || broken.is_some() {
                    return Ok(());
                }
            }
        }));
        if let Some(failure) = broken {
            return Err(failure);
        }
        sent?;
        let Some(target) = target else { return Ok(()) };
        target.close()?;
        self.tell_copied(count)
    }

    fn tell_copied(&mut self, count: u64) -> Result<(), Failure> {
        self.variables.set("ROW_COUNT", count.to_string());
        if self.quiet || !self.style.format.is_for_people() {
            return Ok(());
        }
        self.streams.answer(format!("COPY {count}\n").as_bytes())
    }
}

/// Whether the line says that no more rows follow.
fn ends_rows(line: &str) -> bool {
    line.trim_end_matches(['\n', '\r']) == "\\."
}

/// Skips the rows of a copy that has failed, which a script goes on with; who types stops.
fn skip_rows(lines: &mut Lines) -> Result<(), Failure> {
    while lines.editor().is_none() {
        match lines.next("")? {
            Read::Line(line) if !ends_rows(&line) => {}
            _ => break,
        }
    }
    Ok(())
}

/// The statement that `\copy` means, whose file may stand without quotes.
///
/// # Errors
/// Words that name no file.
pub(crate) fn copy_text(words: &str) -> Result<String, Failure> {
    let wrong = || Failure::said("write \\copy TABLE|(QUERY) from|to FILE [with (OPTIONS)]");
    let (at, length) = direction(words).ok_or_else(wrong)?;
    let (what, rest) = (&words[..at + length], words[at + length..].trim_start());
    if rest.is_empty() {
        return Err(wrong());
    }
    let end = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.find('\'').ok_or_else(wrong)? + 2,
        None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
    };
    let (file, options) = rest.split_at(end);
    let file = match file.to_lowercase().as_str() {
        "stdin" | "pstdin" => "STDIN".to_owned(),
        "stdout" | "pstdout" => "STDOUT".to_owned(),
        "program" => return Err(Failure::said("\\copy with a program is not supported")),
        _ => format!("'{}'", file.trim_matches('\'').replace('\'', "''")),
    };
    Ok(format!("COPY {what} {file}{options}"))
}

/// Where FROM or TO stands, outside of parentheses and quotes, and how long it is.
fn direction(words: &str) -> Option<(usize, usize)> {
    let (mut depth, mut quote, mut begin) = (0_u32, None, None);
    for (at, c) in words.char_indices().chain([(words.len(), ' ')]) {
        let is_word = c.is_alphanumeric() || c == '_' || c == '.';
        match (quote, c) {
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if is_word && begin.is_none() => begin = Some(at),
            (None, _) => {}
        }
        if is_word && quote.is_none() {
            continue;
        }
        if let Some(start) = begin.take()
            && depth == 0
            && matches!(words[start..at].to_lowercase().as_str(), "from" | "to")
        {
            return Some((start, at - start));
        }
    }
    None
}
