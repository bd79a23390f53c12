//! A task: what one thread of a program holds of the databases that it works with.
//!
//! Its calls are in the files around this one; here is what it consists of, and how a call gets at
//! a database and at a transaction. In shared mode reads outside a transaction see the newest
//! state, each call for itself: a lock keeps it from changing, not a snapshot. From the first call
//! of a transaction that writes on, all its calls use one of the engine's, which moves on to the
//! newest state whenever another lock is taken.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use remanent_engine::{
    Durability, Isolation, MemberPosition, OwnedTransaction, ReadTransaction, RowDraft,
    TransactionOptions, WriteTransaction,
};

use crate::locks::Patience;
use crate::opened::{Mode, Opened};
use crate::position::{Address, KeyPlace};
use crate::status::{Outcome, Status};

/// The database that a task stands in: the first one opened.
pub const CURR_DB: i32 = -1;

/// How long a lock is waited for unless the program says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

static NEXT_USER: AtomicU64 = AtomicU64::new(1);

/// A context of one thread of a program.
///
/// # Examples
/// ```
/// use remanent_navigation::{CURR_DB, Declared, Task, register};
/// # let folder = tempfile::tempdir()?;
/// let text = "database shop { record Item { unique key long id; char name[20]; } }";
/// register(Declared { name: "shop".into(), text: text.into(), records: Vec::new() });
/// let mut task = Task::new();
/// # let name = format!("{}/shop", folder.path().display());
/// # /*
/// let name = "shop";
/// # */
/// task.open(&name, "o")?;
/// // struct Item { long id; char name[20]; }
/// let mut item = [0; 32];
/// item[0] = 7;
/// item[8..11].copy_from_slice(b"nut");
/// task.fill_new(10000, &item, CURR_DB)?;
/// task.key_find(0, Some(&7_i64.to_le_bytes()), CURR_DB)?;
/// let mut found = [0; 32];
/// task.record_read(&mut found, CURR_DB)?;
/// assert_eq!(found, item);
/// task.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Task {
    pub(crate) databases: Vec<OpenDatabase>,
    pub(crate) user: String,
    pub(crate) patience: Patience,
    /// Whether its commits are synced, if the program has said so.
    syncs: Option<bool>,
    pub(crate) transaction: Transaction,
    /// The database whose key was used last.
    pub(crate) last_database: usize,
}

/// Which kind of transaction a task is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transaction {
    None,
    /// One that writes, with the locks that it takes.
    Write,
    /// One that reads a snapshot, without locks.
    ReadOnly,
}

/// A database as a task has it open.
pub(crate) struct OpenDatabase {
    pub(crate) shared: Arc<Opened>,
    pub(crate) mode: Mode,
    /// The engine's transaction, once one is needed.
    pub(crate) held: Option<OwnedTransaction>,
    pub(crate) locks: Vec<Lock>,
    pub(crate) record: Option<Address>,
    pub(crate) owners: Vec<Option<Address>>,
    pub(crate) members: Vec<Option<Address>>,
    /// The place of the current member in its set, where a step has led to it.
    pub(crate) places: Vec<Option<(Address, MemberPosition)>>,
    /// The record type that is gone through, and the last record.
    pub(crate) walk: Option<(usize, Option<Address>)>,
    /// A row in the making for each record type, used again and again.
    pub(crate) drafts: Vec<Option<RowDraft>>,
    /// Places in keys, by record type and field.
    pub(crate) keys: Vec<Vec<Option<KeyPlace>>>,
    /// The key that was used last.
    pub(crate) last_key: Option<(usize, usize)>,
}

/// The lock of a task on a record type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lock {
    Free,
    Read,
    /// Taken in a transaction and freed with it.
    Write,
    /// As `Write`; goes on as `Read` when the transaction ends.
    Keep,
    /// As `Read`, and stays when a transaction ends.
    KeepRead,
    /// Stays until it is freed.
    Exclusive,
}

impl Task {
    /// A task without databases.
    ///
    /// # Examples
    /// See [`Task`].
    pub fn new() -> Self {
        let user = format!("task{}", NEXT_USER.fetch_add(1, Relaxed));
        let patience = Patience::Until(PATIENCE);
        Self {
            databases: Vec::new(),
            user,
            patience,
            syncs: None,
            transaction: Transaction::None,
            last_database: 0,
        }
    }

    /// Gives the task a name that no other task has that opens the same database.
    ///
    /// # Errors
    /// `BAD_USER_ID` if it is not letters and digits, `NOT_OPEN` if a database is open already.
    ///
    /// # Examples
    /// ```
    /// use remanent_navigation::{Status, Task};
    /// let mut task = Task::new();
    /// task.user_id("rdmtest")?;
    /// assert_eq!(task.user_id("no way").unwrap_err().status, Status::BAD_USER_ID);
    /// # Ok::<(), remanent_navigation::Fault>(())
    /// ```
    pub fn user_id(&mut self, id: &str) -> Outcome {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Status::BAD_USER_ID.because(format!("`{id}`")));
        }
        if !self.databases.is_empty() {
            return Err(Status::NOT_OPEN.because("the id comes before the database"));
        }
        self.user = id.to_owned();
        Ok(())
    }

    /// Opens databases, their names separated by `;`, in mode `s` (with others), `x` or `o`
    /// (alone).
    ///
    /// # Errors
    /// `BAD_TYPE` for another mode, `NOT_OPEN` if databases are open already, `INVALID_DATABASE`,
    /// `UNAVAILABLE`, `DUPLICATE_USER_ID`, `NO_FILE`, `DAMAGED`, `NO_SPACE`; then none is open.
    ///
    /// # Examples
    /// See [`Task`].
    pub fn open(&mut self, names: &str, mode: &str) -> Outcome {
        if !self.databases.is_empty() {
            return Err(Status::NOT_OPEN.because("a task opens its databases at once"));
        }
        let mode = match mode {
            "s" => Mode::Shared,
            "x" | "o" => Mode::Exclusive,
            other => return Err(Status::BAD_TYPE.because(format!("mode `{other}`"))),
        };
        for name in names.split(';') {
            let opened = Opened::open(name.trim(), mode, &self.user);
            let opened = opened.and_then(|shared| {
                self.databases.push(OpenDatabase::new(shared, mode));
                self.begin_at_system(self.databases.len() - 1)
            });
            if let Err(fault) = opened {
                // What is open already was not changed.
                let _ = self.close();
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Without anything else, the system record is current, and owner of what it owns.
    fn begin_at_system(&mut self, number: usize) -> Outcome {
        let Some(system) = self.databases[number].shared.dictionary.system else { return Ok(()) };
        let row = self.read(number, |shared, tx| {
            Ok(tx.row_after(&shared.tables[system], None)?.map(|row| row.id()))
        })?;
        let open = &mut self.databases[number];
        open.record = row.map(|row| Address::new(system, row));
        for (owner, set) in open.owners.iter_mut().zip(&open.shared.dictionary.sets) {
            if set.owner == system {
                *owner = open.record;
            }
        }
        Ok(())
    }

    /// Closes the databases; a transaction that is active is aborted, locks are freed. The last
    /// task to close a database writes its file.
    ///
    /// # Errors
    /// `NOT_OPEN`; `NOT_CLOSED` if a file cannot be written.
    ///
    /// # Examples
    /// See [`Task`].
    pub fn close(&mut self) -> Outcome {
        if self.databases.is_empty() {
            return Err(Status::NOT_OPEN.into());
        }
        self.transaction = Transaction::None;
        let mut closed = Ok(());
        for mut database in self.databases.drain(..) {
            database.held = None;
            database.free_locks(|_| true);
            closed = closed.and(Opened::close(database.shared, &self.user));
        }
        closed
    }

    /// Takes all records out of a database that is open for this task alone.
    ///
    /// # Errors
    /// `EXCLUSIVE` if it is not, and as any write.
    ///
    /// # Examples
    /// ```
    /// # use remanent_navigation::{CURR_DB, Declared, Status, Task, register};
    /// # let folder = tempfile::tempdir()?;
    /// # let text = "database gone { record Item { long id; } }";
    /// # register(Declared { name: "gone".into(), text: text.into(), records: Vec::new() });
    /// # let mut task = Task::new();
    /// # task.open(&format!("{}/gone", folder.path().display()), "x")?;
    /// task.fill_new(10000, &7_i64.to_le_bytes(), CURR_DB)?;
    /// task.initialize(CURR_DB)?;
    /// assert_eq!(task.record_first(10000, CURR_DB).unwrap_err().status, Status::NOT_FOUND);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn initialize(&mut self, database: i32) -> Outcome {
        let number = self.number(database)?;
        if self.databases[number].mode != Mode::Exclusive {
            return Err(Status::EXCLUSIVE.into());
        }
        self.write(number, |shared, tx| {
            for set in &shared.sets {
                for owner in tx.scan(set.owner())? {
                    while let Some(member) = tx.members(set, owner.id())?.first()? {
                        tx.disconnect(set, member.table(), member.row().id())?;
                    }
                }
            }
            let records = shared.dictionary.system.unwrap_or(shared.tables.len());
            for table in &shared.tables[..records] {
                let rows: Vec<_> = tx.scan(table)?.map(|row| row.id()).collect();
                rows.into_iter().try_for_each(|row| tx.delete(table, row))?;
            }
            Ok(())
        })?;
        self.databases[number].forget_currency();
        self.begin_at_system(number)
    }

    /// How many seconds a lock is waited for: 10 unless set, 0 not at all, negative for ever.
    ///
    /// # Examples
    /// ```
    /// let mut task = remanent_navigation::Task::new();
    /// task.timeout(0);
    /// ```
    pub fn timeout(&mut self, seconds: i32) {
        self.patience = match u64::try_from(seconds) {
            Ok(seconds) => Patience::Until(Duration::from_secs(seconds)),
            Err(_) => Patience::Forever,
        };
    }

    /// Whether a transaction's end waits until the disk has what it changed, as it does unless the
    /// file `rdm.ini` says `SYNCFILES=0`; else until the system has it, and what was committed last
    /// is lost if the machine stops, but not if the program does.
    ///
    /// # Examples
    /// ```
    /// let mut task = remanent_navigation::Task::new();
    /// task.sync_files(false);
    /// ```
    pub fn sync_files(&mut self, syncs: bool) {
        self.syncs = Some(syncs);
    }

    /// The place of a database among those that are open.
    #[inline]
    pub(crate) fn number(&self, database: i32) -> Outcome<usize> {
        let number = if database == CURR_DB { 0 } else { database as usize };
        if number < self.databases.len() {
            return Ok(number);
        }
        Err(if self.databases.is_empty() { Status::NOT_OPEN } else { Status::INVALID_DATABASE }
            .into())
    }

    #[inline]
    pub(crate) fn database(&mut self, database: i32) -> Outcome<&mut OpenDatabase> {
        let number = self.number(database)?;
        Ok(&mut self.databases[number])
    }

    /// Reads with the task's transaction, or with one of its own.
    #[inline]
    pub(crate) fn read<T>(
        &mut self,
        number: usize,
        work: impl FnOnce(&Opened, &ReadTransaction<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let open = &self.databases[number];
        reading(&open.shared, &open.held, work)
    }

    /// Writes with the task's transaction; for a database that is open alone, outside one, with
    /// one of its own.
    ///
    /// # Errors
    /// `NO_TRANSACTION`, `READ_ONLY_ACTIVE`, and those of `work`, which has changed nothing then.
    #[inline]
    pub(crate) fn write<T>(
        &mut self,
        number: usize,
        work: impl FnOnce(&Opened, &WriteTransaction<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let transaction = self.transaction;
        let open = &mut self.databases[number];
        match transaction {
            Transaction::ReadOnly => return Err(Status::READ_ONLY_ACTIVE.into()),
            Transaction::None if open.mode == Mode::Shared => {
                return Err(Status::NO_TRANSACTION.into());
            }
            Transaction::None => {
                let options = options(open.shared.durability(self.syncs, false));
                let tx = open.shared.db.begin_write_with(&options)?;
                let done = work(&open.shared, &tx)?;
                tx.commit()?;
                open.shared.is_changed.store(true, Relaxed);
                return Ok(done);
            }
            Transaction::Write => {}
        }
        if open.held.is_none() {
            let options = options(open.shared.durability(self.syncs, true));
            open.held = Some(OwnedTransaction::begin_write(&open.shared.db, &options)?);
        }
        let Some(held) = &open.held else {
            return Err(Status::INTERNAL.because("a transaction that was begun is not there"));
        };
        let tx = held.write()?;
        let savepoint = tx.savepoint();
        work(&open.shared, &tx).inspect_err(|_| {
            let _ = tx.roll_back_to(savepoint);
        })
    }
}

/// As [`Task::read`], for who holds other parts of the database meanwhile.
#[inline]
pub(crate) fn reading<T>(
    opened: &Opened,
    held: &Option<OwnedTransaction>,
    work: impl FnOnce(&Opened, &ReadTransaction<'_>) -> Outcome<T>,
) -> Outcome<T> {
    match held {
        Some(tx) => work(opened, &*tx.read()?),
        None => work(opened, &opened.db.begin_read()?),
    }
}

/// What locks do not protect, the engine's check for changed rows does.
fn options(durability: Option<Durability>) -> TransactionOptions {
    let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    durability.into_iter().fold(options, TransactionOptions::durability)
}

impl Default for Task {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl OpenDatabase {
    fn new(shared: Arc<Opened>, mode: Mode) -> Self {
        let dictionary = &shared.dictionary;
        let no_places = |fields: usize| (0..fields).map(|_| None).collect();
        Self {
            mode,
            held: None,
            locks: vec![Lock::Free; dictionary.records.len()],
            record: None,
            owners: vec![None; dictionary.sets.len()],
            members: vec![None; dictionary.sets.len()],
            places: vec![None; dictionary.sets.len()],
            walk: None,
            drafts: dictionary.records.iter().map(|_| None).collect(),
            keys: dictionary.records.iter().map(|record| no_places(record.fields.len())).collect(),
            last_key: None,
            shared,
        }
    }

    fn forget_currency(&mut self) {
        self.record = None;
        self.owners.fill(None);
        self.members.fill(None);
        self.walk = None;
        self.last_key = None;
        self.keys.iter_mut().flatten().for_each(|place| *place = None);
    }
}
