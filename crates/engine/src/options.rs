//! How a database is opened: every setting with its default, checked once.
//!
//! What is not set takes a default that suits a program which knows nothing of its data yet. Limits
//! are checked here and nowhere else.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::log::settings::{BUFFER_MIN, FILE_MIN, LogSettings};
use crate::log::writer::no_group;
use crate::log::{Batch, Durability, Progress};
use crate::memory::region::physical_memory;
use crate::memory::{CallerMemory, MemoryUse};
use crate::seed::draw_seed;
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
    budget_max: Option<u64>,
    warning: Option<(u64, WarningCallback)>,
    commit_ahead: u64,
    prefault: bool,
    lock_memory: bool,
    transactions_max: usize,
    hash_seed: Option<u64>,
    buffer_cache: u64,
    caller_memory: Option<CallerMemory>,
    log: LogOptions,
}

/// What concerns the files of a database that lies in a folder.
#[derive(Debug)]
pub(crate) struct LogOptions {
    durability: Durability,
    file_size: u64,
    buffer_size: usize,
    group: Option<Batch>,
    sync_after: Option<Batch>,
    keep: bool,
    keep_bytes: u64,
    old_rows: Option<bool>,
    pub(crate) checkpoint_after: u64,
    pub(crate) checkpoint_slice: u64,
    pub(crate) freeze_at_checkpoint: bool,
    pub(crate) freeze_at_recovery: bool,
    pub(crate) accept_damage: bool,
    pub(crate) system_cache: bool,
    pub(crate) progress: Option<ProgressCallback>,
}

/// What was asked for, with defaults filled in.
pub(crate) struct Settings {
    pub(crate) budget: u64,
    /// Bytes to reserve addresses for.
    pub(crate) capacity: u64,
    pub(crate) warning: Option<(u64, WarningCallback)>,
    pub(crate) commit_ahead: u64,
    pub(crate) lock_memory: bool,
    pub(crate) slots: usize,
    pub(crate) hash_seed: u64,
    pub(crate) buffer_cache: u64,
    pub(crate) caller_memory: Option<CallerMemory>,
}

impl Options {
    /// The defaults: half of the machine's memory as the budget, nothing committed ahead, 4,096
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
        Self {
            budget: None,
            budget_max: None,
            warning: None,
            commit_ahead: 0,
            prefault: false,
            lock_memory: false,
            transactions_max: 4096,
            hash_seed: None,
            buffer_cache: 0,
            caller_memory: None,
            log: LogOptions::default(),
        }
    }

    /// How many bytes of the columns of paged tables may be in memory, within the budget: the
    /// buffer cache. Three quarters of the budget, unless it is said here. What is being read is in
    /// memory in any case, so it may be more for a while; where other memory is refused it is less.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, Piece, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-cache-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().buffer_cache(64 << 10))?;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I64);
    /// let table = db.create_table(schema.storage(TableStorage::Paged))?;
    /// let rows = (0..65_536_i64).map(|i| [Some(Value::I64(i * 7 % 65_521))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// db.freeze_all(&table)?;
    /// // Columns can leave memory when they stand in a file.
    /// db.checkpoint()?;
    /// assert!(db.memory().evicted >= 64 << 10);
    /// let tx = db.begin_read()?;
    /// assert_eq!(tx.scan(&table)?.count(), 65_536);
    /// # drop(tx);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn buffer_cache(mut self, bytes: u64) -> Self {
        self.buffer_cache = bytes;
        self
    }

    /// Whether columns that are read from segment files stay in the system's cache of files too:
    /// yes, unless it is not wanted here. Without it, a column is in memory once, and what the
    /// budget says is all that the database takes of the machine for them; what does not fit into
    /// the [buffer cache](Options::buffer_cache) comes from the disk each time.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// # let path = std::env::temp_dir().join(format!("remanent-once-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().system_cache(false))?;
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn system_cache(mut self, keeps: bool) -> Self {
        self.log.system_cache = keeps;
        self
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

    /// Up to how much the budget may be raised later, by `Database::set_budget`, in bytes:
    /// addresses are reserved for so much. As much as the machine has, unless it is said here.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let db = Database::open(Options::new().budget(1 << 20).budget_max(4 << 20))?;
    /// db.set_budget(4 << 20)?;
    /// assert_eq!(db.memory().budget, 4 << 20);
    /// assert_eq!(db.set_budget(5 << 20).unwrap_err().kind(), ErrorKind::InvalidOptions);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn budget_max(mut self, bytes: u64) -> Self {
        self.budget_max = Some(bytes);
        self
    }

    /// Calls `callback` when more than so many bytes come to be held, once, and again only after
    /// that has fallen by a sixteenth. It is called by the thread whose statement it was, behind
    /// the statement, and may use the database.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// let held = Arc::new(AtomicU64::new(0));
    /// let seen = Arc::clone(&held);
    /// let options = Options::new().budget(64 << 20).memory_warning(1 << 20, move |memory| {
    ///     seen.store(memory.held, Ordering::Relaxed);
    /// });
    /// let db = Database::open(options)?;
    /// let table = db.create_table(TableSchema::new("T").column("data", ColumnType::BLOB))?;
    /// for _ in 0..2000 {
    ///     db.write(|tx| tx.insert_values(&table, &[Some(Value::Bytes(&[0; 1000]))]))?;
    /// }
    /// assert!((1 << 20..2 << 20).contains(&held.load(Ordering::Relaxed)));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn memory_warning(
        mut self,
        bytes: u64,
        callback: impl Fn(&MemoryUse) + Send + Sync + 'static,
    ) -> Self {
        self.warning = Some((bytes, WarningCallback(Box::new(callback))));
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

    /// Whether to get all memory of the budget from the system at once, that of the caller too: no
    /// statement meets a page fault then, and what the machine does not have is known at open.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new().budget(4 << 20).prefault(true))?;
    /// assert!(db.memory().committed >= 4 << 20);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn prefault(mut self, prefault: bool) -> Self {
        self.prefault = prefault;
        self
    }

    /// Whether to keep the database's memory from being swapped out, as it is committed. The system
    /// limits how much may be locked (`ulimit -l`); opening or growing beyond that fails with
    /// `OutOfMachineMemory`. The table of pages counts too, 1.5 bytes for each KiB of
    /// [`Options::budget_max`], so that should be said where the limit is tight.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let options = Options::new().budget(1 << 20).budget_max(1 << 20).lock_memory(true);
    /// match Database::open(options) {
    ///     Ok(db) => assert!(db.memory().budget <= 1 << 20),
    ///     Err(error) => assert_eq!(error.kind(), ErrorKind::OutOfMachineMemory),
    /// }
    /// ```
    pub fn lock_memory(mut self, lock: bool) -> Self {
        self.lock_memory = lock;
        self
    }

    /// How many transactions can be active at a time, 1 to 16,384. Each takes 256 bytes, and one
    /// that writes 4 KiB; of all but the first 32 these are taken when so many are active for the
    /// first time, and stay.
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

    /// The seed of the hash function of indexes, which a database otherwise draws: for checks that
    /// have to come out the same each time.
    #[doc(hidden)]
    pub fn hash_seed(mut self, seed: u64) -> Self {
        self.hash_seed = Some(seed);
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

    /// What a commit waits for that does not say, in a database that lies in a folder. `Disk`, if
    /// it is not said.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-level-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().durability(Durability::Os))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert!(db.durability_of(&ticket) >= Durability::Os);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn durability(mut self, durability: Durability) -> Self {
        self.log.durability = durability;
        self
    }

    /// Bytes of a file of the log, 4 KiB to 1 GiB; 16 MiB, if it is not said.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let options = Options::new().log_file_size(1);
    /// let error = Database::open_at("nothing is made here", options).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    /// ```
    pub fn log_file_size(mut self, bytes: u64) -> Self {
        self.log.file_size = bytes;
        self
    }

    /// Bytes of the log's buffer, of which there are two; they count against the budget. 4 KiB to
    /// 256 MiB; 1 MiB or a 64th of the budget, if it is not said.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let options = Options::new().log_buffer_size(1);
    /// let error = Database::open_at("nothing is made here", options).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    /// ```
    pub fn log_buffer_size(mut self, bytes: usize) -> Self {
        self.log.buffer_size = bytes;
        self
    }

    /// Lets a sync wait until so much has come together, to serve more commits: for many threads
    /// that commit and a disk that syncs slowly. Without it a sync serves what came together while
    /// the one before it was under way.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use remanent_engine::{Batch, Options};
    /// let batch = Batch { commits: 8, time: Duration::from_micros(200), ..Batch::NEVER };
    /// let options = Options::new().group_commits(batch);
    /// # let _ = options;
    /// ```
    pub fn group_commits(mut self, batch: Batch) -> Self {
        self.log.group = Some(batch);
        self
    }

    /// Has a commit sync the log when so much is not synced, whatever level it asked for: so that
    /// `Buffered` and `Os` lose no more than that. The time is checked by commits only: there is
    /// no thread that would do it between them.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use remanent_engine::{Batch, Durability, Options};
    /// let batch = Batch { time: Duration::from_secs(1), ..Batch::NEVER };
    /// let options = Options::new().durability(Durability::Buffered).sync_after(batch);
    /// # let _ = options;
    /// ```
    pub fn sync_after(mut self, batch: Batch) -> Self {
        self.log.sync_after = Some(batch);
        self
    }

    /// Keeps images and files of the log that are not needed to open the database: to go back to
    /// an earlier moment. The program removes them, or moves them elsewhere.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().keep_history(true);
    /// # let _ = options;
    /// ```
    pub fn keep_history(mut self, keep: bool) -> Self {
        self.log.keep = keep;
        self
    }

    /// Keeps files of the log with its newest bytes, so many of them at least, whether or not they
    /// are needed to open the database: for feeds that are read later. 0, if it is not said.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().log_old_rows(true).keep_log(1 << 30);
    /// # let _ = options;
    /// ```
    pub fn keep_log(mut self, bytes: u64) -> Self {
        self.log.keep_bytes = bytes;
        self
    }

    /// Logs each row that is updated or deleted as it was before, too: for those who follow the
    /// changes of rows ([`Database::change_feed`](crate::Database::change_feed)). The log gets
    /// longer by these rows. If it is not said, it is done if it was done when the database was
    /// open before, and not in a new one. In a group of replicas the leader's option counts.
    ///
    /// # Examples
    /// See [`Database::change_feed`](crate::Database::change_feed).
    pub fn log_old_rows(mut self, logs: bool) -> Self {
        self.log.old_rows = Some(logs);
        self
    }

    /// Makes a checkpoint when so many bytes were logged since the last one, and at least as many
    /// as that one's image has: what opening takes is bounded by it. Transactions make it as they
    /// begin, [a slice](Options::checkpoint_slice) each, unless a thread of the program does:
    /// [`Database::checkpoint_if_due`](crate::Database::checkpoint_if_due). 0 is never; 64 MiB, if
    /// it is not said.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().checkpoint_after(1 << 30);
    /// # let _ = options;
    /// ```
    pub fn checkpoint_after(mut self, bytes: u64) -> Self {
        self.log.checkpoint_after = bytes;
        self
    }

    /// About how many bytes of a checkpoint a transaction writes as it begins, where transactions
    /// make it: a smaller slice takes less time, and there are more of them. The checkpoint is made
    /// before half as much was logged again as made it due; where large transactions log faster
    /// than that, one makes the rest when as much was. While it is made, its snapshot is held, in
    /// one of the slots of transactions. A frozen segment is never divided. 1 MiB, if it is not
    /// said; with `u64::MAX` one transaction makes all of it.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().checkpoint_slice(256 << 10);
    /// # let _ = options;
    /// ```
    pub fn checkpoint_slice(mut self, bytes: u64) -> Self {
        self.log.checkpoint_slice = bytes;
        self
    }

    /// Whether each checkpoint makes columns of rows first, as
    /// [`Database::freeze`](crate::Database::freeze) does: of full segments in which no row was
    /// inserted or changed since the checkpoint before, or since the database was opened. Whoever
    /// makes the checkpoint does so; where memory is refused, rows stay as they are. Not done by
    /// default.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().freeze_at_checkpoint(true);
    /// # let _ = options;
    /// ```
    pub fn freeze_at_checkpoint(mut self, freeze: bool) -> Self {
        self.log.freeze_at_checkpoint = freeze;
        self
    }

    /// Whether opening, and a follower of a group, make columns of rows that the log seems to have
    /// from columns: where one
    /// transaction has inserted rows under all 65,536 ids of a segment, in their order, as
    /// [`WriteTransaction::insert_frozen`](crate::WriteTransaction::insert_frozen) does. Where
    /// memory is refused, rows stay as they are. Done by default.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().freeze_at_recovery(false);
    /// # let _ = options;
    /// ```
    pub fn freeze_at_recovery(mut self, freeze: bool) -> Self {
        self.log.freeze_at_recovery = freeze;
        self
    }

    /// Opens a damaged database to write: what lies behind the damage is put aside, as files whose
    /// names begin with `lost-`, and is not part of the database any more.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().accept_damage(true);
    /// # let _ = options;
    /// ```
    pub fn accept_damage(mut self, accept: bool) -> Self {
        self.log.accept_damage = accept;
        self
    }

    /// Calls `callback` while the database is opened, every 16 MiB and at the end.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// let options = Options::new().progress(|progress| {
    ///     println!("{} of {}", progress.bytes_done, progress.bytes);
    /// });
    /// # let _ = options;
    /// ```
    pub fn progress(mut self, callback: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.log.progress = Some(ProgressCallback(Box::new(callback)));
        self
    }

    /// What concerns the files.
    pub(crate) fn log(&self) -> &LogOptions {
        &self.log
    }

    /// As [`Options::log`], to keep.
    pub(crate) fn take_log(&mut self) -> LogOptions {
        std::mem::take(&mut self.log)
    }

    /// Checks that a budget is within the limits of the engine.
    pub(crate) fn check_budget(budget: u64) -> Result<()> {
        let invalid = |because| Err(Error::new(ErrorKind::InvalidOptions).because(because));
        match budget {
            0..0x2_0000 => invalid("the budget is at least 128 KiB"),
            0x2_0000..=0x1000_0000_0000 => Ok(()),
            _ => invalid("the budget is at most 16 TiB"),
        }
    }

    /// Checks the settings and fills in the defaults.
    pub(crate) fn resolve(self) -> Result<Settings> {
        let budget = self.budget.unwrap_or_else(|| physical_memory() / 2);
        let invalid =
            |because: &'static str| Err(Error::new(ErrorKind::InvalidOptions).because(because));
        Self::check_budget(budget)?;
        if !(1..=SLOTS_MAX).contains(&self.transactions_max) {
            return invalid("transactions_max is from 1 to 16384");
        }
        if self.caller_memory.is_none() && self.commit_ahead > budget {
            return invalid("commit_ahead is at most the budget");
        }
        if self.budget_max.is_some_and(|max| max < budget || max > 1 << 44) {
            return invalid("budget_max is from the budget to 16 TiB");
        }
        Ok(Settings {
            budget,
            capacity: self.budget_max.unwrap_or_else(|| default_capacity(budget)),
            warning: self.warning,
            commit_ahead: if self.prefault { budget } else { self.commit_ahead },
            lock_memory: self.lock_memory,
            slots: self.transactions_max,
            hash_seed: self.hash_seed.unwrap_or_else(draw_seed),
            buffer_cache: self.buffer_cache,
            caller_memory: self.caller_memory,
        })
    }
}

impl LogOptions {
    /// Checks what can be checked before any file is read.
    pub(crate) fn check(&self) -> Result<()> {
        let invalid =
            |because: &'static str| Err(Error::new(ErrorKind::InvalidOptions).because(because));
        if !(FILE_MIN..=1 << 30).contains(&self.file_size) {
            return invalid("log_file_size is from 4 KiB to 1 GiB");
        }
        if self.buffer_size != 0 && !(BUFFER_MIN..=256 << 20).contains(&self.buffer_size) {
            return invalid("log_buffer_size is from 4 KiB to 256 MiB");
        }
        if self.group.is_some_and(|group| group.time > Duration::from_secs(10)) {
            return invalid("group_commits waits 10 seconds at most");
        }
        Ok(())
    }

    /// Checks what a database cannot promise that no group of replicas shares.
    pub(crate) fn check_alone(&self) -> Result<()> {
        match self.durability.is_of_group() {
            false => Ok(()),
            true => Err(no_group()),
        }
    }

    /// The settings, with what depends on the budget filled in.
    pub(crate) fn resolve(&self, budget: u64) -> LogSettings {
        let buffer_size = match self.buffer_size {
            0 => ((budget / 64) as usize).clamp(BUFFER_MIN, 1 << 20),
            size => size,
        };
        LogSettings {
            durability: self.durability,
            file_size: self.file_size,
            buffer_size,
            group: self.group,
            sync_after: self.sync_after,
            keep: self.keep,
            keep_bytes: self.keep_bytes,
            repeats_columns: self.freeze_at_recovery,
            old_rows: self.old_rows,
        }
    }
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Disk,
            file_size: 16 << 20,
            buffer_size: 0,
            group: None,
            sync_after: None,
            keep: false,
            keep_bytes: 0,
            old_rows: None,
            checkpoint_after: 64 << 20,
            checkpoint_slice: 1 << 20,
            freeze_at_checkpoint: false,
            freeze_at_recovery: true,
            accept_damage: false,
            system_cache: true,
            progress: None,
        }
    }
}

/// Addresses cost nothing, but for models, which keep a bit for each granule.
fn default_capacity(budget: u64) -> u64 {
    if cfg!(shuttle) { budget } else { physical_memory().max(budget) }
}

/// What is called when much memory has come to be held.
pub(crate) struct WarningCallback(pub(crate) Box<dyn Fn(&MemoryUse) + Send + Sync>);

impl std::fmt::Debug for WarningCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a callback")
    }
}

/// What is called while a database is opened.
pub(crate) struct ProgressCallback(pub(crate) Box<dyn Fn(&Progress) + Send + Sync>);

impl std::fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a callback")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
