//! Statements that are parsed, bound, described and executed one message at a time.
//!
//! What a client declares of its parameters' types counts before what we find; a portal is a
//! statement with values, and keeps the rows that were not asked for yet.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use remanent_sql::{
    Datum, Error, Prepared, ResultColumn, SqlState, SqlType, Statement, StatementKind,
};

use super::keeping::Keeping;
use super::rows::Running;
use super::{Connection, Done, weight};
use crate::value::{Format, oid, reading, writing};
use crate::wire::backend;
use crate::wire::frontend::{Bind, Target};

/// Statements about one key that are remembered by their text, at most, and of what length.
const REPEATED_MAX: usize = 256;
const REPEATED_LENGTH_MAX: usize = 4096;

/// Bytes of a statement's text that are kept, to be shown.
const SHOWN_BYTES_MAX: usize = 1024;

/// A statement that was parsed.
pub(crate) struct PreparedStatement {
    /// None of an empty text.
    statement: Option<(Statement, StatementKind)>,
    /// None of those that are not described: COPY, and an empty text. Of DECLARE, its query.
    prepared: Option<Prepared>,
    /// What its rows have; empty for statements without rows.
    pub(super) columns: Arc<[ResultColumn]>,
    /// The types of its parameters, as the client declared them or as they were described to it.
    types: Vec<u32>,
    /// The beginning, for the log and for others.
    text: String,
    _keeping: Option<Keeping>,
}

/// A statement with values.
pub(crate) struct Portal {
    pub(super) parsed: Arc<PreparedStatement>,
    pub(super) values: Vec<Datum>,
    pub(super) formats: Vec<u16>,
    pub(super) stage: Stage,
    /// Whether it outlives its transaction.
    pub(super) holds: bool,
    pub(super) _keeping: Option<Keeping>,
}

impl Portal {
    /// Whether rows of it are still to be read.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }
}

impl PreparedStatement {
    /// What stands for the statement of a cursor.
    pub(super) fn of_cursor(columns: Arc<[ResultColumn]>) -> Self {
        let text = "a cursor".to_owned();
        let types = Vec::new();
        Self { statement: None, prepared: None, columns, types, text, _keeping: None }
    }

    fn undescribed(
        statement: Option<(Statement, StatementKind)>,
        types: Vec<u32>,
        text: String,
        keeping: Keeping,
    ) -> Self {
        let (columns, keeping) = (Arc::new([]), Some(keeping));
        Self { statement, prepared: None, columns, types, text, _keeping: keeping }
    }
}

pub(super) enum Stage {
    Bound,
    Running(Running),
    Done,
}

impl Connection {
    pub(super) fn parse(&mut self, name: String, text: &Bytes, types: Vec<u32>) -> Done {
        if !name.is_empty() && self.statements.contains_key(&name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_STATEMENT, text).into());
        }
        let parsed = match self.repeated.get(text) {
            Some(parsed) if types.is_empty() && self.is_current(parsed) => Arc::clone(parsed),
            _ => {
                let has_declared_types = !types.is_empty();
                let parsed = Arc::new(self.keep(text, types)?);
                if !has_declared_types
                    && text.len() <= REPEATED_LENGTH_MAX
                    && self.is_current(&parsed)
                {
                    if self.repeated.len() >= REPEATED_MAX {
                        self.repeated.clear();
                    }
                    // A copy, so as not to keep all that came with it.
                    let own = Bytes::copy_from_slice(text);
                    self.repeated.insert(own, Arc::clone(&parsed));
                }
                parsed
            }
        };
        self.statements.insert(name, parsed);
        backend::bare(&mut self.channel.out, backend::PARSE_COMPLETE);
        Ok(())
    }

    /// Whether parsing the statement anew would give the same.
    fn is_current(&self, parsed: &PreparedStatement) -> bool {
        match (&parsed.statement, &parsed.prepared) {
            (Some((_, StatementKind::Transaction)), _) => true,
            (_, Some(prepared)) => self.session.is_current(prepared),
            _ => false,
        }
    }

    fn keep(&mut self, bytes: &Bytes, declared: Vec<u32>) -> Done<PreparedStatement> {
        let whole = reading::str(bytes)?;
        #[cfg(test)]
        crate::fault::fault(whole);
        let weight = weight::of_text(whole);
        self.channel.count(weight)?;
        let keeping = self.keep_bytes("a statement", weight + weight::STATEMENT_BYTES)?;
        let text = whole.chars().take(SHOWN_BYTES_MAX).collect();
        let mut statements = self.session.parse_all(whole)?;
        if statements.len() > 1 {
            let text = "cannot insert multiple commands into a prepared statement";
            return Err(Error::new(SqlState::SYNTAX_ERROR, text).into());
        }
        let Some(statement) = statements.pop() else {
            return Ok(PreparedStatement::undescribed(None, declared, text, keeping));
        };
        let kind = statement.kind();
        if kind == StatementKind::Copy {
            let statement = Some((statement, kind));
            return Ok(PreparedStatement::undescribed(statement, declared, text, keeping));
        }
        let given = declared.iter().map(|oid| oid::to_sql(*oid).unwrap_or(SqlType::Unknown));
        let given: Vec<SqlType> = given.collect();
        let (prepared, columns) = match kind {
            StatementKind::Cursor => self.describe_cursor(&statement, &given)?,
            _ => {
                let prepared = self.session.prepare(&statement, &given)?;
                let columns = Arc::clone(&prepared.columns);
                (Some(prepared), columns)
            }
        };
        let parameters = prepared.iter().flat_map(|prepared| &prepared.parameters);
        let types = parameters.enumerate().map(|(place, found)| match declared.get(place) {
            Some(declared) if *declared != 0 => *declared,
            _ => oid::of(found),
        });
        let types = types.collect();
        let (statement, _keeping) = (Some((statement, kind)), Some(keeping));
        Ok(PreparedStatement { statement, prepared, columns, types, text, _keeping })
    }

    pub(super) fn bind(&mut self, bind: Bind) -> Done {
        let parsed = self.statement(&bind.statement)?;
        let (found, wanted) = (bind.values.len(), parsed.types.len());
        if found != wanted {
            let text = format!(
                "bind message supplies {found} parameters, but prepared statement \"{}\" requires \
                 {wanted}",
                bind.statement
            );
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, text).into());
        }
        check_formats(&bind.formats, wanted)?;
        check_formats(&bind.result_formats, parsed.columns.len())?;
        if !bind.portal.is_empty() && self.portals.contains_key(&bind.portal) {
            let text = format!("cursor \"{}\" already exists", bind.portal);
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, text).into());
        }
        let weight = bind.values.iter().zip(&parsed.types).map(|(value, oid)| {
            let bytes = value.as_ref().map_or(0, Bytes::len);
            if oid::is_list(*oid) { bytes * weight::LIST_FACTOR } else { bytes }
        });
        let weight = weight.sum::<usize>() + wanted * size_of::<Datum>();
        let keeping = self.keep_portal(&bind.portal, weight + weight::PORTAL_BYTES)?;
        let values =
            bind.values.iter().zip(&parsed.types).enumerate().map(|(place, (value, oid))| {
                reading::value(value.as_ref(), *oid, Format::of(&bind.formats, place))
            });
        let values = values.collect::<Result<_, _>>()?;
        let (formats, stage) = (bind.result_formats, Stage::Bound);
        let portal = Portal { parsed, values, formats, stage, holds: false, _keeping: keeping };
        self.portals.insert(bind.portal, portal);
        backend::bare(&mut self.channel.out, backend::BIND_COMPLETE);
        Ok(())
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Done {
        let (parsed, formats) = match target {
            Target::Statement => {
                let parsed = self.statement(name)?;
                backend::parameter_description(&mut self.channel.out, parsed.types.iter().copied());
                (parsed, Vec::new())
            }
            Target::Portal => match self.portals.get(name) {
                Some(portal) => (Arc::clone(&portal.parsed), portal.formats.clone()),
                None => return Err(unknown_portal(name).into()),
            },
        };
        match parsed.columns.is_empty() {
            true => backend::bare(&mut self.channel.out, backend::NO_DATA),
            false => writing::describe(&mut self.channel.out, &parsed.columns, &formats),
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, name: String, rows_max: u32) -> Done {
        // Out of the table while it runs, for what it does may end all portals.
        let Some(mut portal) = self.portals.remove(&name) else {
            return Err(unknown_portal(&name).into());
        };
        let started = Instant::now();
        self.session.show_running(&portal.parsed.text);
        // Long values are copied on their way.
        self.channel.count(weight::VALUE_FACTOR * weight::of_row(&portal.values))?;
        let executed = self.execute_portal(&mut portal, u64::from(rows_max));
        self.log_if_slow(started, &portal.parsed.text);
        executed?;
        self.portals.insert(name, portal);
        Ok(())
    }

    fn execute_portal(&mut self, portal: &mut Portal, rows_max: u64) -> Done {
        let Some((statement, kind)) = &portal.parsed.statement else {
            backend::bare(&mut self.channel.out, backend::EMPTY_QUERY);
            return Ok(());
        };
        let mut running = match std::mem::replace(&mut portal.stage, Stage::Done) {
            Stage::Running(running) => running,
            Stage::Done => {
                let text = "the portal has been run already";
                return Err(Error::new(SqlState::WRONG_STATE, text).into());
            }
            Stage::Bound if *kind == StatementKind::Copy => return self.copy(statement),
            Stage::Bound if *kind == StatementKind::Cursor => {
                let prepared = portal.parsed.prepared.as_ref();
                return self.cursor(statement, prepared, &portal.values, &portal.formats);
            }
            Stage::Bound => {
                let outcome = match (&portal.parsed.prepared, kind) {
                    (Some(prepared), StatementKind::Rows | StatementKind::Other) => {
                        let values = &portal.values;
                        let outcome = match self.session.run_prepared_point(prepared, values) {
                            Some(done) => done?,
                            None => {
                                let run = self.session.run_prepared(prepared, values);
                                Self::run(&self.runtime, &self.cancel, run)?
                            }
                        };
                        self.noted(outcome, kind)
                    }
                    _ => self.run_statement(statement, kind, &portal.values)?,
                };
                match outcome.rows {
                    Some(rows) => {
                        let rows = rows.described_as(&portal.parsed.columns).ok_or_else(|| {
                            let text = "cached plan must not change result type";
                            // Clients that know it by the routine prepare the statement anew.
                            Error::new(SqlState::FEATURE_NOT_SUPPORTED, text)
                                .of_routine("RevalidateCachedQuery")
                        })?;
                        Running { rows, tag: outcome.tag }
                    }
                    None => {
                        self.complete(&outcome.tag, 0);
                        return Ok(());
                    }
                }
            }
        };
        let (sent, all) = self.send_rows(&mut running.rows, &portal.formats, rows_max)?;
        if all {
            self.complete(&running.tag, sent);
            // A query that is run once more has no rows any more, and says so.
            portal.stage = Stage::Done;
        } else {
            backend::bare(&mut self.channel.out, backend::PORTAL_SUSPENDED);
            portal.stage = Stage::Running(running);
        }
        Ok(())
    }

    pub(super) fn close(&mut self, target: Target, name: &str) -> Done {
        // Closing what is not there is no error.
        match target {
            Target::Statement => drop(self.statements.remove(name)),
            Target::Portal => drop(self.portals.remove(name)),
        }
        backend::bare(&mut self.channel.out, backend::CLOSE_COMPLETE);
        Ok(())
    }

    fn statement(&self, name: &str) -> Done<Arc<PreparedStatement>> {
        self.statements.get(name).cloned().ok_or_else(|| {
            let text = match name {
                "" => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            Error::new(SqlState::UNKNOWN_STATEMENT, text).into()
        })
    }
}

/// Checks that formats are given for none, for all together, or for each.
fn check_formats(formats: &[u16], count: usize) -> Result<(), Error> {
    let fits = formats.len() <= 1 || formats.len() == count;
    if fits && formats.iter().all(|format| *format <= 1) {
        return Ok(());
    }
    let text = format!("the message has {} formats for {count} values", formats.len());
    Err(Error::new(SqlState::PROTOCOL_VIOLATION, text))
}

pub(super) fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::UNKNOWN_CURSOR, format!("cursor \"{name}\" does not exist"))
}
