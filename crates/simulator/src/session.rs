//! A session: one client that runs transactions one after the other and writes down what happened.
//!
//! Each call of `step` does one thing: begins, makes a statement, or ends. Who calls it when is the
//! schedule, and up to the modes. What it asks depends on its seed and on earlier answers, so the
//! same schedule on the same engine gives the same history.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use remanent_engine::{
    ErrorKind, Isolation, ReadTransaction, Result, Savepoint, TransactionOptions, WriteTransaction,
};

use crate::history::{
    Answer, Column, Content, End, Level, Query, Range, Seen, Statement, Step, Transaction,
};
use crate::plan::{MARKS_PER_SESSION, Plan, Write, edit, insertion};
use crate::random::Random;
use crate::subject::Subject;

/// In percent: transactions that roll back of their own will, ones that do so after a conflict.
const ROLL_BACK: u64 = 8;
const ROLL_BACK_AFTER_CONFLICT: u64 = 75;

pub(crate) struct Session<'db> {
    number: usize,
    subject: &'db Subject,
    plan: &'db Plan,
    events: &'db Events,
    random: Random,
    /// The mark that the next version gets.
    mark: u64,
    /// Ids of rows that it has seen.
    known: Vec<u64>,
    open: Option<Open<'db>>,
    done: Vec<Transaction>,
}

/// Numbers what happens, across sessions.
#[derive(Debug, Default)]
pub(crate) struct Events(AtomicU64);

/// A transaction under way.
struct Open<'db> {
    handle: Handle<'db>,
    record: Transaction,
    statements_left: u64,
    savepoints: Vec<Savepoint>,
    /// Whether it gives up, because a statement met a conflict.
    gives_up: bool,
}

enum Handle<'db> {
    Read(ReadTransaction<'db>),
    Write(WriteTransaction<'db>),
}

impl Events {
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

impl<'db> Session<'db> {
    pub(crate) fn new(
        number: usize,
        subject: &'db Subject,
        plan: &'db Plan,
        events: &'db Events,
        random: Random,
    ) -> Self {
        let mark = number as u64 * MARKS_PER_SESSION + 1;
        let (known, done) = (Vec::new(), Vec::new());
        Self { number, subject, plan, events, random, mark, known, open: None, done }
    }

    /// How many transactions it has ended.
    pub(crate) fn ended(&self) -> usize {
        self.done.len()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_none()
    }

    /// Ends what is open by rolling it back, and gives the transactions.
    pub(crate) fn finish(mut self) -> Vec<Transaction> {
        self.roll_back();
        self.done
    }

    /// Does the next thing.
    ///
    /// # Errors
    ///
    /// What no statement may fail for, in these histories, when a transaction begins.
    pub(crate) fn step(&mut self) -> Result<()> {
        match &self.open {
            None => {
                let level = self.plan.level(&mut self.random);
                self.begin(level)?;
            }
            Some(open) if open.statements_left == 0 => self.end(),
            Some(_) => self.work(),
        }
        Ok(())
    }

    /// Fills the table: one transaction that inserts about half of the keys.
    pub(crate) fn fill(&mut self) -> Result<()> {
        self.begin(Level::Serializable)?;
        for key in 0..self.plan.keys {
            if self.random.percent(60) {
                let mark = self.next_mark();
                let content = Content { key, ..self.plan.content(&mut self.random, mark) };
                self.perform(insertion(content));
            }
        }
        self.commit();
        Ok(())
    }

    /// Reads the whole table in every way, at the end of a history.
    pub(crate) fn look_at_all(&mut self) -> Result<()> {
        self.begin(Level::ReadOnly)?;
        for query in all_ways(self.plan) {
            self.perform(Statement::Read(query));
        }
        self.commit();
        Ok(())
    }

    fn begin(&mut self, level: Level) -> Result<()> {
        let begun = self.events.next();
        let isolation = match level {
            Level::Snapshot => Isolation::Snapshot,
            Level::ReadOnly | Level::Serializable => Isolation::Serializable,
        };
        let options = TransactionOptions::new().isolation(isolation);
        let db = &self.subject.db;
        let handle = match level {
            Level::ReadOnly => Handle::Read(db.begin_read()?),
            // The default is the same as asking for it.
            Level::Serializable if begun.is_multiple_of(2) => Handle::Write(db.begin_write()?),
            _ => Handle::Write(db.begin_write_with(&options)?),
        };
        let snapshot = handle.reader().timestamp();
        let record = Transaction {
            session: self.number,
            level,
            snapshot,
            steps: Vec::new(),
            end: End::RolledBack,
            begun,
            ended: begun,
        };
        let statements_left = self.plan.statements(&mut self.random);
        let savepoints = Vec::new();
        self.open = Some(Open { handle, record, statements_left, savepoints, gives_up: false });
        Ok(())
    }

    fn work(&mut self) {
        let Some(open) = &mut self.open else { return };
        open.statements_left -= 1;
        let standing = open.savepoints.len() as u64;
        if open.record.level == Level::ReadOnly || self.plan.reads_next(&mut self.random) {
            let query = self.plan.query(&mut self.random, &self.known);
            self.perform(Statement::Read(query));
        } else if self.plan.sets_savepoint(&mut self.random) {
            self.perform(Statement::Savepoint);
        } else if standing > 0 && self.random.percent(25) {
            let number = self.random.below(standing) as usize;
            self.perform(Statement::RollBackTo(number));
        } else {
            let write = self.plan.write(&mut self.random);
            self.write(write);
        }
    }

    /// Makes a change, with the read before it that it may need.
    fn write(&mut self, write: Write) {
        let mark = self.next_mark();
        let content = self.plan.content(&mut self.random, mark);
        let blind = matches!(write, Write::Blind) || self.random.percent(25);
        let row = self.random.pick(&self.known);
        let statement = match (write, row) {
            (Write::Insert, _) => {
                let query = Query::Key { key: content.key, hash: blind, typed: false };
                match self.look(query) {
                    Some(_) => return,
                    None => insertion(content),
                }
            }
            (Write::InsertAgain, _) => insertion(content),
            (Write::Append, Some(row)) if blind => {
                let Some((row, old)) = self.look(Query::Row { row, typed: false }) else { return };
                let edit = edit(self.plan, &mut self.random, write, Some(&old), mark);
                Statement::Change { row, edit }
            }
            (Write::Delete, Some(row)) if blind => Statement::Delete { row },
            (_, Some(row)) if blind => {
                let edit = edit(self.plan, &mut self.random, write, None, mark);
                Statement::Change { row, edit }
            }
            _ => {
                let query = Query::Key { key: content.key, hash: blind, typed: false };
                let Some((row, old)) = self.look(query) else { return };
                if matches!(write, Write::Delete) {
                    Statement::Delete { row }
                } else {
                    let edit = edit(self.plan, &mut self.random, write, Some(&old), mark);
                    Statement::Change { row, edit }
                }
            }
        };
        self.perform(statement);
    }

    /// Reads one row.
    fn look(&mut self, query: Query) -> Option<(u64, Arc<Content>)> {
        let answer = self.perform(Statement::Read(query));
        let Answer::Rows(rows) = answer else { return None };
        rows.into_iter().find_map(|seen| Some((seen.row?, seen.content)))
    }

    fn perform(&mut self, statement: Statement) -> Answer {
        let Some(open) = &mut self.open else { return Answer::Done };
        let answer = match (&open.handle, &statement) {
            (Handle::Write(tx), _) => self.subject.write(tx, &statement, &mut open.savepoints),
            (Handle::Read(tx), Statement::Read(query)) => self.subject.read(tx, query),
            (Handle::Read(_), _) => unreachable!("reading transactions are given reads alone"),
        };
        // One that has neither read nor changed anything may go on with a newer snapshot.
        open.record.snapshot = open.handle.reader().timestamp();
        let is_conflict = answer == Answer::Refused(ErrorKind::Conflict);
        if is_conflict && self.random.percent(ROLL_BACK_AFTER_CONFLICT) {
            open.statements_left = 0;
            open.gives_up = true;
        }
        match &answer {
            Answer::Rows(rows) => rows.iter().for_each(|seen| note(&mut self.known, seen)),
            Answer::Inserted(row) if !self.known.contains(row) => self.known.push(*row),
            _ => {}
        }
        open.record.steps.push(Step { statement, answer: answer.clone() });
        answer
    }

    fn end(&mut self) {
        let gives_up = self.open.as_ref().is_some_and(|open| open.gives_up);
        if gives_up || self.random.percent(ROLL_BACK) {
            self.roll_back();
        } else {
            self.commit();
        }
    }

    fn roll_back(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Handle::Write(tx) = &open.handle
            && self.random.percent(50)
        {
            tx.roll_back();
        }
        drop(open.handle);
        self.note_end(open.record);
    }

    fn commit(&mut self) {
        let Some(Open { handle, mut record, .. }) = self.open.take() else { return };
        record.end = match handle {
            Handle::Read(tx) => End::Committed { timestamp: tx.timestamp() },
            Handle::Write(tx) => match tx.commit() {
                Ok(ticket) => End::Committed { timestamp: ticket.timestamp() },
                Err(error) => End::Refused(error.kind()),
            },
        };
        self.note_end(record);
    }

    fn note_end(&mut self, mut record: Transaction) {
        record.ended = self.events.next();
        self.done.push(record);
    }

    fn next_mark(&mut self) -> u64 {
        self.mark += 1;
        self.mark - 1
    }
}

impl<'db> Handle<'db> {
    fn reader(&self) -> &ReadTransaction<'db> {
        match self {
            Self::Read(tx) => tx,
            Self::Write(tx) => tx,
        }
    }
}

fn note(known: &mut Vec<u64>, seen: &Seen) {
    known.extend(seen.row.filter(|row| !known.contains(row)));
}

/// Reads that find every row by every index.
fn all_ways(plan: &Plan) -> Vec<Query> {
    let range = |by, backward, typed| {
        Query::Range(Range { by, low: None, high: None, backward, limit: usize::MAX, typed })
    };
    let mut queries = vec![
        Query::Scan { limit: usize::MAX, typed: false },
        range(Column::Key, false, false),
        range(Column::Key, true, true),
        range(Column::Place, false, true),
        range(Column::Place, true, false),
    ];
    for hash in [false, true] {
        queries.push(Query::Batch { keys: (0..plan.keys).collect(), hash });
        queries.extend((0..plan.places).map(|place| Query::Place { place, hash }));
    }
    queries
}
