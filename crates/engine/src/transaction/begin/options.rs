//! How a transaction is begun: isolation, who yields, how long to wait, how old a snapshot may get.
//!
//! The defaults are what a program wants that has not thought about it: serializable, normal
//! priority, no waiting, no limits. Nothing here acts; `precedence.rs` decides who yields,
//! `transaction/cleanup/snapshots.rs` which snapshots have become too old.

use std::fmt;
use std::time::{Duration, Instant};

use crate::log::Durability;
use crate::slot::NAME_WORDS;

/// Bytes of a transaction's name that are kept.
pub(crate) const NAME_LEN: usize = 32;

/// What a transaction that writes is protected from. One that only reads is serializable at either
/// level: it sees the state after one commit and before the next.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Isolation, Options, TransactionOptions, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// // Each inserts a row if the table is empty, which both find.
/// let insert_if_empty = |isolation| -> remanent_engine::Result<()> {
///     let options = TransactionOptions::new().isolation(isolation);
///     let (first, second) = (db.begin_write_with(&options)?, db.begin_write_with(&options)?);
///     for tx in [&first, &second] {
///         if tx.scan(&table)?.next().is_none() {
///             tx.insert_values(&table, &[Some(1.into())])?;
///         }
///     }
///     first.commit()?;
///     second.commit().map(|_| ())
/// };
/// let refused = insert_if_empty(Isolation::Serializable).unwrap_err();
/// assert_eq!(refused.kind(), ErrorKind::Conflict);
/// assert_eq!(db.begin_read()?.scan(&table)?.count(), 1);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Isolation {
    /// As if transactions had run one after the other, in the order of their commit timestamps.
    /// What a transaction has read is compared, at its commit, with what others committed since
    /// its snapshot.
    #[default]
    Serializable,
    /// A transaction sees one state, and of two that change the same row one fails; what it has
    /// read may have changed by the time it commits (write skew).
    Snapshot,
}

/// Who yields when two transactions want to change the same row: the lower priority does.
///
/// # Examples
/// ```
/// use remanent_engine::Priority;
/// assert!(Priority::High > Priority::default());
/// assert_eq!(Priority::ALL.len(), 5);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Priority {
    /// Yields to everybody.
    Lowest = 0,
    /// Yields to normal transactions.
    Low = 1,
    /// The priority of transactions that do not ask for one.
    #[default]
    Normal = 2,
    /// Normal transactions yield to it.
    High = 3,
    /// Everybody yields to it.
    Highest = 4,
}

impl Priority {
    /// All five, lowest first.
    pub const ALL: [Self; 5] = [Self::Lowest, Self::Low, Self::Normal, Self::High, Self::Highest];
}

/// Settings of one transaction.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, Isolation, Options, Priority, TransactionOptions, schema::*};
/// # use std::time::Duration;
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// let options = TransactionOptions::new()
///     .isolation(Isolation::Snapshot)
///     .priority(Priority::High)
///     .wait(Duration::from_millis(50))
///     .name("import");
/// db.write_with(&options, |tx| tx.insert_values(&table, &[Some(1.into())]))?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionOptions {
    pub(crate) isolation: Isolation,
    pub(crate) priority: Priority,
    pub(crate) deadline: Option<Instant>,
    pub(crate) wait: Option<Duration>,
    pub(crate) patience: Option<Duration>,
    pub(crate) name: Name,
    pub(crate) age_max: Option<Duration>,
    pub(crate) pinned_max: Option<u64>,
    pub(crate) durability: Option<Durability>,
    pub(crate) is_replay: bool,
    pub(crate) retains: bool,
}

/// A transaction's name, cut to what a slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name {
    bytes: [u8; NAME_LEN],
}

impl TransactionOptions {
    /// The defaults: serializable, normal priority, fails at once where another was first, no
    /// deadline, no limits, no name.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// // The same as `db.begin_write()`.
    /// let tx = db.begin_write_with(&TransactionOptions::new())?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The isolation of the transaction.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Isolation, Options, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    /// let tx = db.begin_write_with(&options)?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// The priority where two transactions want to change the same row.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, Priority, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// let urgent = TransactionOptions::new().priority(Priority::Highest);
    /// let tx = db.begin_write_with(&urgent)?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// When the transaction has to be over. From then on its statements and its commit fail with
    /// `DeadlineReached`, and the closure calls try no more. Of two transactions of one priority
    /// the one with the earlier deadline goes first.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, TransactionOptions, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// use std::time::{Duration, Instant};
    /// let options = TransactionOptions::new().deadline(Instant::now() + Duration::from_millis(1));
    /// let tx = db.begin_write_with(&options)?;
    /// std::thread::sleep(Duration::from_millis(2));
    /// let error = tx.insert_values(&table, &[Some(1.into())]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DeadlineReached);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Where another transaction is changing a row, wait until it has ended, at most so long in
    /// all, instead of failing at once. Deadlocks are found and broken: the one of the lowest
    /// precedence yields.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions, schema::*};
    /// # use std::time::Duration;
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let row = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let first = db.begin_write()?;
    /// first.update_values(&table, row, &[(a, 2.into())])?;
    /// std::thread::scope(|scope| {
    ///     let second = scope.spawn(|| {
    ///         let options = TransactionOptions::new().wait(Duration::from_secs(10));
    ///         db.write_with(&options, |tx| tx.update_values(&table, row, &[(a, 3.into())]))
    ///     });
    ///     std::thread::sleep(Duration::from_millis(10));
    ///     first.commit()?;
    ///     second.join().expect("it does not panic")
    /// })?;
    /// assert_eq!(db.begin_read()?.row(&table, row)?.and_then(|row| row.get::<i32>(a)), Some(3));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn wait(mut self, at_most: Duration) -> Self {
        self.wait = Some(at_most);
        self
    }

    /// Where another transaction is changing tables or indexes, which keeps all that write out
    /// until it ends, wait for that at most so long before beginning, instead of as long as it
    /// takes: `TableBusy` then.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, TransactionOptions, schema::*};
    /// # use std::time::Duration;
    /// # let db = Database::open(Options::new())?;
    /// let defining = db.begin_write()?;
    /// defining.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let options = TransactionOptions::new().patience(Duration::from_millis(10));
    /// let error = db.begin_write_with(&options).map(|_| ()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TableBusy);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn patience(mut self, at_most: Duration) -> Self {
        self.patience = Some(at_most);
        self
    }

    /// Whose transaction it is, for whoever looks at `Database::snapshots`; 32 bytes are kept.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// let report = db.begin_read_with(&TransactionOptions::new().name("monthly report"))?;
    /// assert_eq!(db.snapshots()[0].name, "monthly report");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn name(mut self, name: &str) -> Self {
        self.name = Name::new(name);
        self
    }

    /// How old the snapshot of a transaction that only reads may get. From then on its reads fail
    /// with `SnapshotExpired` and what it keeps from being reclaimed is given free, but for the
    /// rows that it has read: references stay valid.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, TransactionOptions, schema::*};
    /// # use std::time::Duration;
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let options = TransactionOptions::new().snapshot_age_max(Duration::from_millis(1));
    /// let tx = db.begin_read_with(&options)?;
    /// std::thread::sleep(Duration::from_millis(20));
    /// let error = tx.scan(&table).err().expect("it is too old");
    /// assert_eq!(error.kind(), ErrorKind::SnapshotExpired);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn snapshot_age_max(mut self, age: Duration) -> Self {
        self.age_max = Some(age);
        self
    }

    /// How many bytes of old row versions the snapshot of a transaction that only reads may keep
    /// from being reclaimed, before it expires as with [`TransactionOptions::snapshot_age_max`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, TransactionOptions, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::BLOB))?;
    /// # let a = table.column("a")?;
    /// let insert = |tx: &remanent_engine::WriteTransaction<'_>| {
    ///     tx.insert_values(&table, &[Some(Value::Bytes(&[1; 1000]))])
    /// };
    /// let rows: Vec<_> = (0..1000).map(|_| db.write(insert)).collect::<Result<_, _>>()?;
    /// let tx = db.begin_read_with(&TransactionOptions::new().snapshot_pinned_max(100_000))?;
    /// for row in rows {
    ///     db.write(|tx| tx.update_values(&table, row, &[(a, Value::Bytes(&[2; 1000]))]))?;
    /// }
    /// let error = tx.scan(&table).err().expect("it has kept more than 100,000 bytes");
    /// assert_eq!(error.kind(), ErrorKind::SnapshotExpired);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn snapshot_pinned_max(mut self, bytes: u64) -> Self {
        self.pinned_max = Some(bytes);
        self
    }

    /// What the commit waits for, instead of what the database was opened with.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, Options, TransactionOptions, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-tx-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().durability(Durability::Buffered))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let options = TransactionOptions::new().durability(Durability::Disk);
    /// let tx = db.begin_write_with(&options)?;
    /// tx.insert_values(&table, &[Some(1.into())])?;
    /// assert_eq!(db.durability_of(&tx.commit()?), Durability::Disk);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Whether a transaction that only reads retains every state of the database since its
    /// snapshot, as long as it lives, so that [`ReadTransaction::begin_read_at`] can read any of
    /// them. All versions since are kept then, not only those that some snapshot sees. Replicas of
    /// a group have the same timestamps: several of them can read one state.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, TransactionOptions, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let retaining = db.begin_read_with(&TransactionOptions::new().retain(true))?;
    /// let add = |a: i32| db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(a.into())]));
    /// let (_, first) = add(1)?;
    /// let (_, second) = add(2)?;
    /// let between = retaining.begin_read_at(first.timestamp())?;
    /// assert_eq!(between.scan(&table)?.count(), 1);
    /// let later = retaining.begin_read_at(second.timestamp() + 1);
    /// assert_eq!(later.err().map(|error| error.kind()), Some(ErrorKind::InvalidOptions));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    ///
    /// [`ReadTransaction::begin_read_at`]: crate::ReadTransaction::begin_read_at
    pub fn retain(mut self, retain: bool) -> Self {
        self.retains = retain;
        self
    }

    /// Whether the snapshot may expire.
    pub(crate) fn can_expire(&self) -> bool {
        self.age_max.is_some() || self.pinned_max.is_some()
    }
}

impl TransactionOptions {
    /// Whether there is anything to tell others of.
    pub(crate) fn is_described(&self) -> bool {
        self.can_expire() || self.name != Name::default()
    }
}

impl Name {
    fn new(name: &str) -> Self {
        let mut len = name.len().min(NAME_LEN);
        while !name.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; NAME_LEN];
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        Self { bytes }
    }

    /// The name as words of a slot.
    pub(crate) fn to_words(self) -> [u64; NAME_WORDS] {
        let word = |i: usize| self.bytes.iter().skip(i * 8).take(8);
        std::array::from_fn(|i| word(i).rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    /// The name, from the words of a slot.
    pub(crate) fn from_words(words: [u64; NAME_WORDS]) -> Self {
        let bytes = std::array::from_fn(|i| (words[i / 8] >> (i % 8 * 8)) as u8);
        Self { bytes }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.bytes.iter().position(|&byte| byte == 0).unwrap_or(NAME_LEN);
        f.write_str(&String::from_utf8_lossy(&self.bytes[..len]))
    }
}
