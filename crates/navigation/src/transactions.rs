//! Transactions and locks of record types.
//!
//! A transaction holds what it locked to write until its end (strict two-phase locking: Eswaran,
//! Gray, Lorie, Traiger, Communications of the ACM 1976), so what it reads and writes under locks
//! is serializable. The engine's transaction begins with the first call that needs it and moves on
//! to the newest state with every lock taken later: what a lock was waited for is seen.

use std::sync::atomic::Ordering::Relaxed;

use remanent_engine::{OwnedTransaction, TransactionOptions};

use crate::locks::Want;
use crate::opened::Mode;
use crate::status::{Outcome, Status};
use crate::task::{Lock, OpenDatabase, Task, Transaction};

impl Task {
    /// Begins a transaction.
    ///
    /// # Errors
    /// `TRANSACTION_ID` if the id is empty, `TRANSACTION_ACTIVE`, `READ_ONLY_ACTIVE`, `NOT_OPEN`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database bank { record Account { unique key long id; } }";
    /// # register(Declared { name: "bank".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/bank", folder.path().display()), "s")?;
    /// task.transaction_begin("tid")?;
    /// task.record_lock(10000, "w", CURR_DB)?;
    /// task.fill_new(10000, &7_i64.to_le_bytes(), CURR_DB)?;
    /// task.transaction_end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transaction_begin(&mut self, id: &str) -> Outcome {
        self.number(crate::CURR_DB)?;
        match self.transaction {
            Transaction::Write => return Err(Status::TRANSACTION_ACTIVE.into()),
            Transaction::ReadOnly => return Err(Status::READ_ONLY_ACTIVE.into()),
            Transaction::None if id.is_empty() => return Err(Status::TRANSACTION_ID.into()),
            Transaction::None => {}
        }
        self.transaction = Transaction::Write;
        Ok(())
    }

    /// Makes what the transaction changed visible to all, and frees its locks but exclusive and
    /// kept ones. With several databases open, one after the other.
    ///
    /// # Errors
    /// `NO_TRANSACTION`; `UNAVAILABLE` if somebody who takes no record locks was first, and then
    /// the transaction is aborted.
    ///
    /// # Examples
    /// See [`Task::transaction_begin`].
    pub fn transaction_end(&mut self) -> Outcome {
        if self.transaction != Transaction::Write {
            return Err(Status::NO_TRANSACTION.into());
        }
        let mut ended = Ok(());
        for open in &mut self.databases {
            if let Some(tx) = open.held.take()
                && ended.is_ok()
            {
                match tx.commit() {
                    Ok(_) => open.shared.is_changed.store(true, Relaxed),
                    Err(error) => ended = Err(error.into()),
                }
            }
        }
        self.transaction = Transaction::None;
        self.free_after_transaction();
        ended
    }

    /// Takes back what the transaction changed, and frees its locks but exclusive ones. Currency
    /// stays; what it stands on may be gone.
    ///
    /// # Errors
    /// `NO_TRANSACTION`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database bank2 { record Account { unique key long id; } }";
    /// # register(Declared { name: "bank2".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/bank2", folder.path().display()), "s")?;
    /// task.transaction_begin("tid")?;
    /// task.record_lock(10000, "w", CURR_DB)?;
    /// task.fill_new(10000, &7_i64.to_le_bytes(), CURR_DB)?;
    /// task.transaction_abort()?;
    /// assert_eq!(task.record_first(10000, CURR_DB).unwrap_err().status, Status::NOT_FOUND);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transaction_abort(&mut self) -> Outcome {
        if self.transaction != Transaction::Write {
            return Err(Status::NO_TRANSACTION.into());
        }
        self.databases.iter_mut().for_each(|open| open.held = None);
        self.transaction = Transaction::None;
        for open in &mut self.databases {
            open.free_locks(|lock| lock != Lock::Exclusive);
        }
        Ok(())
    }

    /// Begins to read one state of the database, without locks; gives its number.
    ///
    /// # Errors
    /// `READ_ONLY_ACTIVE`, `TRANSACTION_ACTIVE`, `HAS_WRITE_LOCKS` if exclusive locks are held.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database calm { record R { long id; } }";
    /// # register(Declared { name: "calm".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/calm", folder.path().display()), "s")?;
    /// task.read_only_begin(CURR_DB)?;
    /// let refused = task.record_lock(10000, "r", CURR_DB).unwrap_err();
    /// assert_eq!(refused.status, Status::READ_ONLY_ACTIVE);
    /// task.read_only_end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_only_begin(&mut self, database: i32) -> Outcome<u64> {
        let number = self.number(database)?;
        match self.transaction {
            Transaction::ReadOnly => return Err(Status::READ_ONLY_ACTIVE.into()),
            Transaction::Write => return Err(Status::TRANSACTION_ACTIVE.into()),
            Transaction::None => {}
        }
        let writes = |lock: &Lock| matches!(lock, Lock::Write | Lock::Keep | Lock::Exclusive);
        if self.databases.iter().any(|open| open.locks.iter().any(writes)) {
            return Err(Status::HAS_WRITE_LOCKS.into());
        }
        // All begin or none.
        let begin = |open: &OpenDatabase| {
            OwnedTransaction::begin_read(&open.shared.db, &TransactionOptions::new())
        };
        let begun: Result<Vec<OwnedTransaction>, _> = self.databases.iter().map(begin).collect();
        for (open, held) in self.databases.iter_mut().zip(begun?) {
            open.held = Some(held);
        }
        self.transaction = Transaction::ReadOnly;
        match &self.databases[number].held {
            Some(tx) => Ok(tx.read()?.timestamp()),
            None => Ok(0),
        }
    }

    /// Ends what [`Task::read_only_begin`] began.
    ///
    /// # Errors
    /// `NO_TRANSACTION`.
    ///
    /// # Examples
    /// See there.
    pub fn read_only_end(&mut self) -> Outcome {
        if self.transaction != Transaction::ReadOnly {
            return Err(Status::NO_TRANSACTION.into());
        }
        self.databases.iter_mut().for_each(|open| open.held = None);
        self.transaction = Transaction::None;
        Ok(())
    }

    /// Locks a record type: `r` to read, `w` to write until the transaction ends, `x` to write
    /// until it is freed, `k` to keep what is locked, for reading, when the transaction ends. In a
    /// database that is open alone nothing needs a lock, and this does nothing.
    ///
    /// # Errors
    /// `UNAVAILABLE` when the time is over, `NOT_FREE` if it is locked so already, `LOCK_OUTSIDE`
    /// for `w` outside a transaction, `NOT_LOCKED` for `k` where nothing is, `BAD_TYPE` for another
    /// mode, `INVALID_RECORD`, `READ_ONLY_ACTIVE`.
    ///
    /// # Examples
    /// See [`Task::transaction_begin`].
    #[inline]
    pub fn record_lock(&mut self, record: i32, mode: &str, database: i32) -> Outcome {
        let number = self.number(database)?;
        let (transaction, patience) = (self.transaction, self.patience);
        let open = &mut self.databases[number];
        let record = open.shared.dictionary.record(record)?;
        if transaction == Transaction::ReadOnly {
            return Err(Status::READ_ONLY_ACTIVE.into());
        }
        if open.mode == Mode::Exclusive {
            return if matches!(mode, "r" | "w" | "x" | "k") {
                Ok(())
            } else {
                Err(Status::BAD_TYPE.into())
            };
        }
        let held = open.locks[record];
        let (want, then) = match (mode, held) {
            ("r", Lock::Free) => (Want::Read, Lock::Read),
            ("w", _) if transaction != Transaction::Write => {
                return Err(Status::LOCK_OUTSIDE.into());
            }
            ("w", Lock::Free) => (Want::Write, Lock::Write),
            ("w", Lock::Read) => (Want::Upgrade, Lock::Write),
            ("w", Lock::KeepRead) => (Want::Upgrade, Lock::Keep),
            ("x", Lock::Free) => (Want::Write, Lock::Exclusive),
            ("x", Lock::Read | Lock::KeepRead) => (Want::Upgrade, Lock::Exclusive),
            ("k", _) => return open.keep(record),
            ("r" | "w" | "x", _) => return Err(Status::NOT_FREE.into()),
            _ => return Err(Status::BAD_TYPE.because(format!("lock `{mode}`"))),
        };
        open.shared.locks[record].take(want, patience)?;
        open.locks[record] = then;
        if let Some(tx) = &mut open.held
            && tx.writes()
            // What others changed before they freed the lock.
            && let Err(error) = tx.refresh()
        {
            match want {
                Want::Upgrade => open.shared.locks[record].downgrade(),
                Want::Read => open.shared.locks[record].free_read(),
                Want::Write => open.shared.locks[record].free_write(),
            }
            open.locks[record] = held;
            return Err(error.into());
        }
        Ok(())
    }

    /// Frees a lock.
    ///
    /// # Errors
    /// `NOT_LOCKED`, `FREE_IN_TRANSACTION`, `INVALID_RECORD`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database keys { record R { long id; } }";
    /// # register(Declared { name: "keys".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/keys", folder.path().display()), "s")?;
    /// task.record_lock(10000, "r", CURR_DB)?;
    /// task.record_free(10000, CURR_DB)?;
    /// let again = task.record_free(10000, CURR_DB).unwrap_err();
    /// assert_eq!(again.status, Status::NOT_LOCKED);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn record_free(&mut self, record: i32, database: i32) -> Outcome {
        let number = self.number(database)?;
        let transaction = self.transaction;
        let open = &mut self.databases[number];
        let record = open.shared.dictionary.record(record)?;
        if open.mode == Mode::Exclusive {
            return Ok(());
        }
        if transaction == Transaction::Write {
            return Err(Status::FREE_IN_TRANSACTION.into());
        }
        if open.locks[record] == Lock::Free {
            return Err(Status::NOT_LOCKED.into());
        }
        open.free_lock(record);
        Ok(())
    }

    /// How a record type is locked by this task: `f` not, or `r`, `w`, `x`, `k`.
    ///
    /// # Errors
    /// `INVALID_RECORD`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database lstat { record R { long id; } }";
    /// # register(Declared { name: "lstat".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/lstat", folder.path().display()), "s")?;
    /// task.record_lock(10000, "x", CURR_DB)?;
    /// assert_eq!(task.lock_status(10000, CURR_DB)?, 'x');
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock_status(&mut self, record: i32, database: i32) -> Outcome<char> {
        let open = self.database(database)?;
        let record = open.shared.dictionary.record(record)?;
        Ok(match open.locks[record] {
            Lock::Free => 'f',
            Lock::Read => 'r',
            Lock::Write => 'w',
            Lock::Keep | Lock::KeepRead => 'k',
            Lock::Exclusive => 'x',
        })
    }

    fn free_after_transaction(&mut self) {
        for open in &mut self.databases {
            for record in 0..open.locks.len() {
                match open.locks[record] {
                    Lock::Write => open.free_lock(record),
                    Lock::Keep => {
                        open.shared.locks[record].downgrade();
                        open.locks[record] = Lock::KeepRead;
                    }
                    Lock::Read => open.free_lock(record),
                    Lock::Free | Lock::KeepRead | Lock::Exclusive => {}
                }
            }
        }
    }
}

impl OpenDatabase {
    /// That the task may write records of a type.
    ///
    /// # Errors
    /// `NOT_LOCKED`.
    #[inline]
    pub(crate) fn check_write_lock(&self, record: usize) -> Outcome {
        let writes = matches!(self.locks[record], Lock::Write | Lock::Keep | Lock::Exclusive);
        // The system's record is never changed; the locks of its members suffice.
        let is_system = self.shared.dictionary.system == Some(record);
        if writes || is_system || self.mode == Mode::Exclusive {
            return Ok(());
        }
        Err(Status::NOT_LOCKED.because(format!(
            "`{}` is not locked to write",
            self.shared.dictionary.records[record].table.name
        )))
    }

    pub(crate) fn free_locks(&mut self, which: impl Fn(Lock) -> bool) {
        for record in 0..self.locks.len() {
            if self.locks[record] != Lock::Free && which(self.locks[record]) {
                self.free_lock(record);
            }
        }
    }

    #[inline]
    fn free_lock(&mut self, record: usize) {
        let lock = &self.shared.locks[record];
        match std::mem::replace(&mut self.locks[record], Lock::Free) {
            Lock::Free => {}
            Lock::Read | Lock::KeepRead => lock.free_read(),
            Lock::Write | Lock::Keep | Lock::Exclusive => lock.free_write(),
        }
    }

    fn keep(&mut self, record: usize) -> Outcome {
        let held = &mut self.locks[record];
        *held = match *held {
            Lock::Read | Lock::KeepRead => Lock::KeepRead,
            Lock::Write | Lock::Keep => Lock::Keep,
            Lock::Exclusive => Lock::Exclusive,
            Lock::Free => return Err(Status::NOT_LOCKED.into()),
        };
        Ok(())
    }
}
