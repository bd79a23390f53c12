//! Cursors of SQL: DECLARE, FETCH, MOVE, CLOSE.
//!
//! A cursor is a portal that a statement opened, so it ends as portals do, unless it holds: then
//! its rows have been read whole, and it ends with the connection. A client may describe it.

use std::collections::VecDeque;
use std::sync::Arc;

use remanent_sql::{
    CursorStatement, Datum, Error, Prepared, ResultColumn, Rows, SqlState, SqlType, Statement, Tag,
    TransactionStatus,
};

use super::extended::{Portal, PreparedStatement, Stage, unknown_portal};
use super::rows::Running;
use super::{Connection, Done, weight};
use crate::value::writing;

/// Formats of a cursor whose rows are always in binary.
const BINARY: [u16; 1] = [1];

/// A cursor as DECLARE names it.
struct Declared {
    name: String,
    /// Whether it outlives its transaction.
    holds: bool,
    is_binary: bool,
}

impl Connection {
    /// What a statement about a cursor needs, and what its rows have.
    pub(super) fn describe_cursor(
        &mut self,
        statement: &Statement,
        given: &[SqlType],
    ) -> Done<(Option<Prepared>, Arc<[ResultColumn]>)> {
        Ok(match statement.cursor()? {
            CursorStatement::Declare { query, .. } => {
                (Some(self.session.prepare(&query, given)?), Arc::new([]))
            }
            CursorStatement::Fetch { name, shows: true, .. } => match self.portals.get(&name) {
                Some(portal) => (None, Arc::clone(&portal.parsed.columns)),
                None => return Err(unknown_portal(&name).into()),
            },
            CursorStatement::Fetch { .. } | CursorStatement::Close(_) => (None, Arc::new([])),
        })
    }

    /// Runs a statement about a cursor that came as text.
    pub(super) fn cursor_as_text(&mut self, statement: &Statement) -> Done {
        let (prepared, columns) = self.describe_cursor(statement, &[])?;
        if !columns.is_empty() {
            let formats = self.cursor_formats(statement, &[])?;
            writing::describe(&mut self.channel.out, &columns, &formats);
        }
        self.cursor(statement, prepared.as_ref(), &[], &[])
    }

    /// Runs a statement about a cursor, with values and the formats of rows.
    pub(super) fn cursor(
        &mut self,
        statement: &Statement,
        prepared: Option<&Prepared>,
        values: &[Datum],
        formats: &[u16],
    ) -> Done {
        let verb = match statement.cursor()? {
            CursorStatement::Declare { name, holds, is_binary, .. } => {
                let Some(prepared) = prepared else { return Err(unknown_portal(&name).into()) };
                self.declare(Declared { name, holds, is_binary }, prepared, values)?;
                "DECLARE CURSOR"
            }
            CursorStatement::Fetch { name, rows_max, shows } => {
                let formats = self.cursor_formats(statement, formats)?;
                return self.fetch(name, rows_max, shows, &formats);
            }
            CursorStatement::Close(None) => {
                self.portals.clear();
                "CLOSE CURSOR ALL"
            }
            CursorStatement::Close(Some(name)) => {
                if self.portals.remove(&name).is_none() {
                    return Err(unknown_portal(&name).into());
                }
                "CLOSE CURSOR"
            }
        };
        self.complete(&Tag { verb, rows: None }, 0);
        Ok(())
    }

    fn declare(
        &mut self,
        Declared { name, holds, is_binary }: Declared,
        prepared: &Prepared,
        values: &[Datum],
    ) -> Done {
        if !holds && self.session.status() == TransactionStatus::Idle {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::new(SqlState::NO_TRANSACTION, text).into());
        }
        if self.portals.contains_key(&name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, text).into());
        }
        let mut keeping = self.keep_bytes("a cursor", weight::PORTAL_BYTES)?;
        let run = self.session.run_prepared(prepared, values);
        let outcome = Self::run(&self.runtime, &self.cancel, run)?;
        let tag = outcome.tag.clone();
        let mut rows = outcome.rows.unwrap_or_else(|| Rows::values(Arc::new([]), [].into()));
        if holds {
            let all = Self::run(&self.runtime, &self.cancel, async {
                let mut all = VecDeque::new();
                while let Some(row) = rows.next_row().await? {
                    keeping.grow(2 * size_of::<Vec<Datum>>() + weight::of_row(&row))?;
                    all.push_back(row);
                }
                Ok(all)
            });
            rows = Rows::values(Arc::clone(rows.columns()), all?);
        }
        let parsed = PreparedStatement::of_cursor(Arc::clone(rows.columns()));
        let formats = if is_binary { BINARY.to_vec() } else { Vec::new() };
        let (parsed, stage) = (Arc::new(parsed), Stage::Running(Running { rows, tag }));
        let values = Vec::new();
        let portal = Portal { parsed, values, formats, stage, holds, _keeping: Some(keeping) };
        self.portals.insert(name, portal);
        Ok(())
    }

    /// The formats in which FETCH gives rows: the cursor's own, or else those that were asked for.
    fn cursor_formats(&self, statement: &Statement, asked: &[u16]) -> Done<Vec<u16>> {
        let CursorStatement::Fetch { name, .. } = statement.cursor()? else {
            return Ok(Vec::new());
        };
        let own = self.portals.get(&name).map(|portal| &portal.formats[..]);
        Ok(own.filter(|own| !own.is_empty()).unwrap_or(asked).to_vec())
    }

    fn fetch(&mut self, name: String, rows_max: Option<u64>, shows: bool, formats: &[u16]) -> Done {
        let Some(mut portal) = self.portals.remove(&name) else {
            return Err(unknown_portal(&name).into());
        };
        let verb = if shows { "FETCH" } else { "MOVE" };
        let mut count = 0;
        if let Stage::Running(running) = &mut portal.stage
            && rows_max != Some(0)
        {
            let max = rows_max.unwrap_or(0);
            let (sent, all) = match shows {
                true => self.send_rows(&mut running.rows, formats, max)?,
                false => self.pass_over(&mut running.rows, max)?,
            };
            count = sent;
            if all {
                portal.stage = Stage::Done;
            }
        }
        self.portals.insert(name, portal);
        self.complete(&Tag { verb, rows: Some(count) }, 0);
        Ok(())
    }

    /// Reads at most so many rows, 0 for all; how many there were, and whether that were all.
    fn pass_over(&mut self, rows: &mut Rows, rows_max: u64) -> Done<(u64, bool)> {
        let read = Self::run(&self.runtime, &self.cancel, async {
            let mut passed = 0;
            while rows_max == 0 || passed < rows_max {
                if rows.next_row().await?.is_none() {
                    return Ok((passed, true));
                }
                passed += 1;
            }
            Ok((passed, false))
        });
        Ok(read?)
    }
}
