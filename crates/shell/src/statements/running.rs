//! A statement run, and its answer printed.
//!
//! Rows are printed as they come; nothing of a result is kept but what its layout holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_sql::{
    Answer, Datum, Error, ResultColumn, Rows, SqlState, SqlType, Statement, StatementKind, Tag,
};

use super::copying::Copying;
use super::paging::Paging;
use crate::lines::Lines;
use crate::printing::Frame;
use crate::reading::pending::Cut;
use crate::shell::Shell;
use crate::stop::Failure;

/// Bytes of text that are written at once.
const CHUNK_BYTES: usize = 1 << 16;

impl Shell {
    /// Runs a statement and prints its answer.
    ///
    /// # Errors
    /// Whatever it meets; where answers go cannot be written.
    pub(crate) fn run_statement(&mut self, cut: &Cut, lines: &mut Lines) -> Result<(), Failure> {
        let started = Instant::now();
        cut.text.clone_into(&mut self.last);
        let ran = self.run_text(&cut.text, lines);
        if self.timing {
            let text = timing(started.elapsed());
            self.streams.answer(text.as_bytes())?;
        }
        // Somebody may wait for it.
        self.streams.flush()?;
        ran
    }

    fn run_text(&mut self, text: &str, lines: &mut Lines) -> Result<(), Failure> {
        let statement = Statement::parse(text)?;
        let is_copy = statement.kind() == StatementKind::Copy || statement.copies_file();
        if is_copy {
            return self.copy(&Copying::of(&statement)?, lines);
        }
        let Self { session, runtime, cancel, .. } = self;
        let outcome = runtime.block_on(cancel.stopping(session.run(&statement, &[])))?;
        if let Some(notice) = &outcome.notice
            && !self.quiet
        {
            self.streams.report(&format!("{}:  {}", notice.severity.word(), notice.text));
        }
        let Some(rows) = outcome.rows else { return self.tell_tag(&outcome.tag) };
        let count = self.print(rows, Frame::default())?;
        self.variables.set("ROW_COUNT", count.to_string());
        // The rows of a change are not what it did.
        if outcome.tag.rows.is_some() { self.tell_tag(&outcome.tag) } else { Ok(()) }
    }

    /// Says what was done, to people.
    ///
    /// # Errors
    /// Where answers go cannot be written.
    pub(crate) fn tell_tag(&mut self, tag: &Tag) -> Result<(), Failure> {
        self.variables.set("ROW_COUNT", tag.rows.unwrap_or(0).to_string());
        if self.quiet || !self.style.format.is_for_people() {
            return Ok(());
        }
        self.streams.answer(format!("{tag}\n").as_bytes())
    }

    /// Prints rows as they come; how many there were.
    ///
    /// # Errors
    /// Whatever the query meets; where answers go cannot be written.
    pub(crate) fn print(&mut self, mut rows: Rows, frame: Frame) -> Result<u64, Failure> {
        let width = self.screen.map(|(columns, _)| columns);
        let mut layout = self.style.layout(rows.columns(), frame, width);
        let mut paging = Paging::new(self);
        let Self { runtime, cancel, streams, interrupts, .. } = self;
        let (mut out, mut broken, mut count) = (Vec::new(), None, 0_u64);
        let read = runtime.block_on(cancel.stopping(async {
            while let Some(row) = rows.next_row().await? {
                layout.row(&mut out, &row);
                count += 1;
                if interrupts.is_requested() {
                    return Err(cancelled());
                }
                if out.len() >= CHUNK_BYTES {
                    if let Err(failure) = paging.write(streams, &out, false) {
                        broken = Some(failure);
                        break;
                    }
                    out.clear();
                }
            }
            Ok(())
        }));
        drop(rows);
        if broken.is_none() && read.is_ok() {
            layout.end(&mut out);
        }
        let written = match broken {
            Some(failure) => Err(failure),
            None => paging.write(&mut self.streams, &out, true),
        };
        paging.end(&mut self.streams)?;
        written?;
        read?;
        Ok(count)
    }

    /// Prints rows that are ready.
    ///
    /// # Errors
    /// Where answers go cannot be written.
    pub(crate) fn show(
        &mut self,
        columns: &[(&str, SqlType)],
        rows: &[Vec<Datum>],
        frame: Frame,
    ) -> Result<(), Failure> {
        let column = |(name, sql_type): &(&str, SqlType)| ResultColumn {
            name: (*name).to_owned(),
            sql_type: sql_type.clone(),
        };
        let columns: Arc<[ResultColumn]> = columns.iter().map(column).collect();
        let width = self.screen.map(|(columns, _)| columns);
        let mut layout = self.style.layout(&columns, frame, width);
        let mut out = Vec::new();
        rows.iter().for_each(|row| layout.row(&mut out, row));
        layout.end(&mut out);
        let mut paging = Paging::new(self);
        let written = paging.write(&mut self.streams, &out, true);
        paging.end(&mut self.streams)?;
        written
    }

    /// Asks the catalog.
    ///
    /// # Errors
    /// A query that this database does not understand.
    pub(crate) fn ask(&mut self, query: &str) -> Result<Answer, Error> {
        self.helper.query(query, &[])
    }
}

/// What a statement fails with that somebody has stopped.
pub(super) fn cancelled() -> Error {
    Error::new(SqlState::CANCELLED, "the statement was cancelled by request")
}

/// How long it took, as psql says it.
fn timing(elapsed: Duration) -> String {
    let millis = elapsed.as_secs_f64() * 1e3;
    let seconds = elapsed.as_secs();
    match seconds {
        0 => format!("Time: {millis:.3} ms\n"),
        _ => {
            let (minutes, rest) = (seconds / 60, elapsed.as_secs_f64() % 60.0);
            format!("Time: {millis:.3} ms ({minutes:02}:{rest:06.3})\n")
        }
    }
}
