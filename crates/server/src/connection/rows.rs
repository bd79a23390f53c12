//! Answers of statements: rows as they come, and what was done.
//!
//! Rows are sent while they are read: what is held of a result is what was not sent yet.

use remanent_sql::{Datum, Outcome, Rows, Statement, StatementKind, Tag};

use super::{Connection, Done};
use crate::value::writing;
use crate::wire::backend;

/// Rows that are still to be sent, and what was done.
pub(super) struct Running {
    pub(super) rows: Rows,
    pub(super) tag: Tag,
}

impl Connection {
    /// Runs a statement, but for COPY.
    pub(super) fn run_statement(
        &mut self,
        statement: &Statement,
        kind: &StatementKind,
        values: &[Datum],
    ) -> Done<Outcome> {
        match kind {
            StatementKind::Transaction => self.portals.retain(|_, portal| portal.holds),
            StatementKind::Deallocate(Some(name)) if self.statements.contains_key(name) => {
                self.statements.remove(name);
                let tag = Tag { verb: "DEALLOCATE", rows: None };
                return Ok(Outcome { tag, rows: None, notice: None });
            }
            StatementKind::Deallocate(None) => self.statements.clear(),
            StatementKind::Discard => {
                self.statements.clear();
                self.portals.clear();
            }
            _ => {}
        }
        let ran = Self::run(&self.runtime, &self.cancel, self.session.run(statement, values))?;
        Ok(self.noted(ran, kind))
    }

    /// An outcome whose notice and settings have been sent.
    pub(super) fn noted(&mut self, outcome: Outcome, kind: &StatementKind) -> Outcome {
        if let Some(notice) = &outcome.notice {
            self.send_notice(notice);
        }
        if matches!(kind, StatementKind::Setting | StatementKind::Discard) {
            self.send_settings();
        }
        outcome
    }

    /// Sends at most so many rows, 0 for all; how many were sent, and whether that were all.
    pub(super) fn send_rows(
        &mut self,
        rows: &mut Rows,
        formats: &[u16],
        rows_max: u64,
    ) -> Done<(u64, bool)> {
        let channel = &mut self.channel;
        let columns = std::sync::Arc::clone(rows.columns());
        let counted = channel.counted();
        let (cancel, mut broken) = (&self.cancel, None);
        let read = Self::run(&self.runtime, &self.cancel, async {
            let mut sent = 0;
            while rows_max == 0 || sent < rows_max {
                // A batch may have thousands of rows of megabytes each.
                cancel.check()?;
                let Some(row) = rows.next_row().await? else { return Ok((sent, true)) };
                sent += 1;
                let row = writing::send_row(channel, &columns, formats, &row)?;
                if let Err(error) = row.and_then(|()| channel.flush_if_much()) {
                    broken = Some(error);
                    break;
                }
                channel.count_down_to(counted);
            }
            Ok((sent, false))
        });
        match broken {
            Some(error) => Err(error.into()),
            None => Ok(read?),
        }
    }

    /// Says what was done, with the number of rows that were sent if a query did it.
    pub(super) fn complete(&mut self, tag: &Tag, sent: u64) {
        let counted = match tag.verb {
            "SELECT" if tag.rows.is_none() => Tag { verb: tag.verb, rows: Some(sent) },
            _ => tag.clone(),
        };
        backend::complete(&mut self.channel.out, &counted.to_string());
    }
}
