//! Statements about one key of a table in memory, prepared or as text.
//!
//! What any SQL engine that is linked in can be asked.

use lab_harness::Outcome;

use crate::connection::{Bound, Session};

const TABLE: &str = "create table account (id integer primary key, balance integer not null, \
    note text not null)";

const STATEMENTS: [&str; 3] = [
    "select balance from account where id = ?1",
    "insert into account values (?1, ?2, ?3)",
    "update account set balance = ?2 where id = ?1",
];

/// A table of accounts in `:memory:`, for one thread. Each statement is a transaction.
#[derive(Debug)]
pub struct Points {
    session: Session,
}

impl Points {
    /// An empty table.
    ///
    /// # Errors
    /// What SQLite refuses.
    pub fn open() -> Outcome<Self> {
        Ok(Self { session: Session::open_alone(c":memory:", TABLE, &STATEMENTS)? })
    }

    /// The balance of an account.
    ///
    /// # Errors
    /// What SQLite refuses.
    pub fn read(&mut self, id: i64) -> Outcome<Option<i64>> {
        let mut found = None;
        self.session.run(0, &[Bound::Integer(id)], |row| found = Some(row.integer(0)))?;
        Ok(found)
    }

    /// A new account.
    ///
    /// # Errors
    /// What SQLite refuses.
    pub fn insert(&mut self, id: i64, balance: i64, note: &str) -> Outcome<()> {
        let note = Bound::Text(note.as_bytes());
        let values = [Bound::Integer(id), Bound::Integer(balance), note];
        self.session.run(1, &values, |_| {})?;
        Ok(())
    }

    /// Another balance for an account; how many there were.
    ///
    /// # Errors
    /// What SQLite refuses.
    pub fn update(&mut self, id: i64, balance: i64) -> Outcome<i64> {
        let values = [Bound::Integer(id), Bound::Integer(balance)];
        self.session.run(2, &values, |_| {})?;
        Ok(self.session.changed())
    }

    /// The one number that a text answers, compiled and thrown away.
    ///
    /// # Errors
    /// What SQLite refuses.
    pub fn read_text(&mut self, text: &str) -> Outcome<Option<i64>> {
        let mut found = None;
        self.session.run_text(text, |row| found = Some(row.integer(0)))?;
        Ok(found)
    }
}
