//! How a database is opened: every setting with its default, checked once.
//!
//! What is not set takes a default that suits a program which knows nothing of its data yet. Limits
//! are checked here and nowhere else.

use crate::error::{Error, ErrorKind, Result};
use crate::memory::CallerMemory;
use crate::memory::region::physical_memory;
use crate::slot::SLOTS_MAX;

/// Settings of a database.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// let options = Options::new().budget(256 << 20).commit_ahead(8 << 20);
/// let db = Database::open(options)?;
/// assert!(db.memory().committed >= 8 << 20);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Debug)]
pub struct Options {
    budget: Option<u64>,
    commit_ahead: u64,
    transactions_max: usize,
    caller_memory: Option<CallerMemory>,
}

/// What was asked for, with defaults filled in.
pub(crate) struct Settings {
    pub(crate) budget: u64,
    pub(crate) commit_ahead: u64,
    pub(crate) slots: usize,
    pub(crate) caller_memory: Option<CallerMemory>,
}

impl Options {
    /// The defaults: half of the machine's memory as the budget, nothing committed ahead, 128
    /// transactions at a time.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new())?;
    /// assert!(db.memory().budget >= 128 << 10);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn new() -> Self {
        Self { budget: None, commit_ahead: 0, transactions_max: 128, caller_memory: None }
    }

    /// The most memory that the database may hold, in bytes; all of it is counted. At least 128
    /// KiB.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, Result, schema::*};
    /// let db = Database::open(Options::new().budget(1 << 20))?;
    /// let table = db.create_table(TableSchema::new("T").column("data", ColumnType::BLOB))?;
    /// let full = db.write(|tx| -> Result<()> {
    ///     loop {
    ///         tx.insert_values(&table, &[Some(Value::Bytes(&[0; 1000]))])?;
    ///     }
    /// });
    /// assert!(full.unwrap_err().is_out_of_memory());
    /// assert!(db.memory().held <= 1 << 20);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = Some(bytes);
        self
    }

    /// Memory to get from the system at once, in bytes, so that growing so far meets no page fault.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new().commit_ahead(4 << 20))?;
    /// let memory = db.memory();
    /// assert!(memory.committed >= 4 << 20);
    /// // It is there, and not in use yet.
    /// assert!(memory.held < memory.committed);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn commit_ahead(mut self, bytes: u64) -> Self {
        self.commit_ahead = bytes;
        self
    }

    /// How many transactions can be active at a time, 1 to 16,384. Each takes 128 bytes.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let db = Database::open(Options::new().transactions_max(1))?;
    /// let reader = db.begin_read()?;
    /// let error = db.begin_write().err().expect("the only place is taken");
    /// assert_eq!(error.kind(), ErrorKind::TooManyTransactions);
    /// drop(reader);
    /// assert!(db.begin_write().is_ok());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn transactions_max(mut self, count: usize) -> Self {
        self.transactions_max = count;
        self
    }

    /// Memory to live in, instead of the system's. Its size is then the budget.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{CallerMemory, Database, Options};
    /// let memory = CallerMemory::from_vec(vec![0; 1 << 20]);
    /// let db = Database::open(Options::new().caller_memory(memory))?;
    /// assert!((1 << 19..=1 << 20).contains(&db.memory().budget));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn caller_memory(mut self, memory: CallerMemory) -> Self {
        self.caller_memory = Some(memory);
        self
    }

    /// Checks the settings.
    pub(crate) fn settle(self) -> Result<Settings> {
        let budget = self.budget.unwrap_or_else(|| physical_memory() / 2);
        let invalid =
            |because: &'static str| Err(Error::new(ErrorKind::InvalidOptions).because(because));
        if budget < 128 << 10 {
            return invalid("the budget is at least 128 KiB");
        }
        if budget > 1 << 44 {
            return invalid("the budget is at most 16 TiB");
        }
        if !(1..=SLOTS_MAX).contains(&self.transactions_max) {
            return invalid("transactions_max is from 1 to 16384");
        }
        if self.caller_memory.is_none() && self.commit_ahead > budget {
            return invalid("commit_ahead is at most the budget");
        }
        Ok(Settings {
            budget,
            commit_ahead: self.commit_ahead,
            slots: self.transactions_max,
            caller_memory: self.caller_memory,
        })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
