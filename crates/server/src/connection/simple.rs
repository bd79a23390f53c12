//! Statements as text, one or several: all their answers, then the end.
//!
//! A text that is one statement about one key is not even parsed. Several that only read and change
//! rows are one transaction, as in PostgreSQL; with definitions or transaction statements among
//! them, each stands for itself.

use std::time::Instant;

use bytes::Bytes;
use remanent_sql::{Outcome, Statement, StatementKind, TransactionStatus};

use super::{Connection, Done, Stop, weight};
use crate::value::{reading, writing};
use crate::wire::{ConnectionError, backend};

impl Connection {
    pub(super) fn simple(&mut self, text: &Bytes) -> Result<(), ConnectionError> {
        // The unnamed ones end with any statement that is text.
        self.statements.remove("");
        self.portals.remove("");
        match self.simple_text(text) {
            Ok(()) => {}
            Err(Stop::Connection(broken)) => return Err(broken),
            Err(Stop::Sql(error)) => self.send_error(&error),
        }
        self.forget_portals();
        self.ready();
        Ok(())
    }

    fn simple_text(&mut self, text: &Bytes) -> Done {
        let started = Instant::now();
        let text = reading::str(text)?;
        #[cfg(test)]
        crate::fault::fault(text);
        self.session.show_running(text);
        self.channel.count(weight::of_text(text))?;
        let ran = match self.session.run_text(text) {
            Some(ran) => ran.map_err(Stop::from).and_then(|outcome| self.answer_outcome(outcome)),
            None => self.simple_statements(text),
        };
        self.log_if_slow(started, text);
        ran
    }

    fn simple_statements(&mut self, text: &str) -> Done {
        let statements = self.session.parse_all(text)?;
        if statements.is_empty() {
            backend::bare(&mut self.channel.out, backend::EMPTY_QUERY);
        }
        let only_rows = statements.iter().all(|s| s.kind() == StatementKind::Rows);
        let together =
            statements.len() > 1 && only_rows && self.session.status() == TransactionStatus::Idle;
        match together {
            true => self.simple_together(&statements),
            false => statements.iter().try_for_each(|statement| self.simple_statement(statement)),
        }
    }

    fn simple_together(&mut self, statements: &[Statement]) -> Done {
        self.silently("BEGIN")?;
        let ran = statements.iter().try_for_each(|statement| self.simple_statement(statement));
        match ran {
            Ok(()) => self.silently("COMMIT"),
            Err(stop) => {
                self.silently("ROLLBACK")?;
                Err(stop)
            }
        }
    }

    fn silently(&mut self, text: &str) -> Done {
        let statement = Statement::parse(text)?;
        Self::run(&self.runtime, &self.cancel, self.session.run(&statement, &[]))?;
        Ok(())
    }

    fn simple_statement(&mut self, statement: &Statement) -> Done {
        let kind = statement.kind();
        match kind {
            StatementKind::Copy => return self.copy(statement),
            StatementKind::Cursor => return self.cursor_as_text(statement),
            _ => {}
        }
        let outcome = self.run_statement(statement, &kind, &[])?;
        self.answer_outcome(outcome)
    }

    /// Sends the rows of a statement, as text, and what was done.
    fn answer_outcome(&mut self, outcome: Outcome) -> Done {
        let mut sent = 0;
        if let Some(mut rows) = outcome.rows {
            writing::describe(&mut self.channel.out, rows.columns(), &[]);
            (sent, _) = self.send_rows(&mut rows, &[], 0)?;
        }
        self.complete(&outcome.tag, sent);
        Ok(())
    }
}
