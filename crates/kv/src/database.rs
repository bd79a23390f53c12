//! A key/value database: look-ups and changes of single records in a transaction.
//!
//! Every change goes through `Shared::insert`, `replace` or `remove`, which change the secondary
//! databases in the same breath: either all of it is done or nothing. A change names the row that
//! it found first, so that a record that others changed meanwhile is a conflict and never lost.

pub(crate) mod association;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use remanent_engine::schema::Value;
use remanent_engine::{
    Database, Error, ErrorKind, Find, IndexHandle, ReadTransaction, Result, Row, RowId, Table,
    TypedTable, WriteTransaction,
};

use self::association::Association;
use crate::KeyValue;
use crate::layout::{HASH, Kind, KvOptions, PRIMARY, Pair, options_of, pair_of};

/// A key/value database of an [`crate::Environment`]. Clones are handles of the same database, for
/// any number of threads.
///
/// Calls take a transaction of the environment's engine database; those that read take either
/// sort. [`KvDatabase::auto_commit`] has the same calls without one.
///
/// # Examples
/// ```
/// use remanent_engine::Options;
/// use remanent_kv::{Environment, KvOptions};
/// let environment = Environment::open(Options::new())?;
/// let capitals = environment.create("capitals", KvOptions::hashed())?;
/// environment.write(|tx| {
///     capitals.put(tx, b"France", b"Paris")?;
///     capitals.put(tx, b"Japan", b"Kyoto")?;
///     capitals.put(tx, b"Japan", b"Tokyo")
/// })?;
/// let tx = environment.begin_read()?;
/// assert_eq!(capitals.get(&tx, b"Japan")?, Some(&b"Tokyo"[..]));
/// assert_eq!(capitals.get(&tx, b"Peru")?, None);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KvDatabase {
    pub(crate) shared: Arc<Shared>,
}

/// The state that all handles of a database share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) database: Arc<Database>,
    pub(crate) table: TypedTable<Pair<'static>>,
    pub(crate) options: KvOptions,
    /// The index over the key, or over key and value where there are duplicates.
    pub(crate) primary: IndexHandle,
    /// The index over the key alone.
    by_key: IndexHandle,
    /// Of how many databases this one is a secondary.
    pub(crate) serves: AtomicU32,
    /// Whether `secondaries` has any: set once, before the first is filled.
    is_associated: AtomicBool,
    pub(crate) secondaries: RwLock<Vec<Arc<Association>>>,
}

impl KvDatabase {
    /// The name, which is that of the table.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// assert_eq!(environment.create("d", KvOptions::ordered())?.name(), "d");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        self.shared.table.name()
    }

    /// The kind of a database.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let options = KvOptions::ordered().with_duplicates();
    /// assert_eq!(environment.create("d", options)?.options(), options);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn options(&self) -> KvOptions {
        self.shared.options
    }

    /// The table that this database is: its rows are the records.
    ///
    /// Changing it as a table leaves secondary databases behind.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", b"v")?;
    /// assert_eq!(environment.begin_read()?.scan(database.table())?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self) -> &Table {
        &self.shared.table
    }

    /// The value of a key; of several the first.
    ///
    /// # Errors
    /// `KeyTooLong`, `UnknownTable`, `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"", b"")?;
    /// assert_eq!(database.get(&tx, b"")?, Some(&b""[..]));
    /// assert_eq!(database.get(&tx, b"k")?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn get<'t>(&'t self, tx: &'t ReadTransaction<'_>, key: &[u8]) -> Result<Option<&'t [u8]>> {
        Ok(self.shared.find(tx, key)?.map(|row| pair_of(row.bytes()).1))
    }

    /// Copies the value of a key into `buffer`, as much as there is room for, and gives the whole
    /// value's length in bytes.
    ///
    /// # Errors
    /// As [`KvDatabase::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"k", b"value")?;
    /// let mut buffer = [0; 3];
    /// assert_eq!(database.get_into(&tx, b"k", &mut buffer)?, Some(5));
    /// assert_eq!(&buffer, b"val");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_into(
        &self,
        tx: &ReadTransaction<'_>,
        key: &[u8],
        buffer: &mut [u8],
    ) -> Result<Option<usize>> {
        Ok(self.get(tx, key)?.map(|value| copy_into(value, buffer)))
    }

    /// Looks many keys up at once, overlapping their cache misses; `visit` gets the number of each
    /// key and its value, in order. Databases with duplicates look one key up after the other.
    ///
    /// # Errors
    /// As [`KvDatabase::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::hashed())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut lengths = Vec::new();
    /// database.get_batch(&tx, &[b"a", b"b"], |_, value| lengths.push(value.map(<[u8]>::len)))?;
    /// assert_eq!(lengths, [Some(1), None]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_batch<'t, K: AsRef<[u8]>>(
        &'t self,
        tx: &'t ReadTransaction<'_>,
        keys: &[K],
        mut visit: impl FnMut(usize, Option<&'t [u8]>),
    ) -> Result<()> {
        if self.shared.options.has_duplicates() {
            for (i, key) in keys.iter().enumerate() {
                visit(i, self.get(tx, key.as_ref())?);
            }
            return Ok(());
        }
        tx.find_blobs(&self.shared.table, self.shared.by_key, keys, |i, row| {
            visit(i, row.map(|row| pair_of(row.bytes()).1));
        })
    }

    /// Whether a key has a value.
    ///
    /// # Errors
    /// As [`KvDatabase::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"k", b"v")?;
    /// assert!(database.exists(&tx, b"k")?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn exists(&self, tx: &ReadTransaction<'_>, key: &[u8]) -> Result<bool> {
        let shared = &self.shared;
        if shared.by_key == shared.primary {
            return Ok(shared.find(tx, key)?.is_some());
        }
        Ok(tx.find_blob(&shared.table, shared.by_key, key)?.is_some())
    }

    /// Gives a key a value: in place of the one that it had, or besides those that it has where
    /// the database has duplicates. A value that is there already stays.
    ///
    /// # Errors
    /// `KeyTooLong`, `RowTooLong`, `Conflict`; `DuplicateKey` if a secondary database without
    /// duplicates has one of the secondary keys; `InvalidOptions` for a secondary database; as
    /// [`WriteTransaction::insert`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"k", b"old")?;
    /// database.put(&tx, b"k", b"new")?;
    /// assert_eq!(database.get(&tx, b"k")?, Some(&b"new"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn put(&self, tx: &WriteTransaction<'_>, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_row(tx, key, value).map(|_| ())
    }

    /// As [`KvDatabase::put`], for a key that has no value yet.
    ///
    /// # Errors
    /// `DuplicateKey` if it has one; as [`KvDatabase::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put_no_overwrite(&tx, b"k", b"old")?;
    /// let refused = database.put_no_overwrite(&tx, b"k", b"new");
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::DuplicateKey);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn put_no_overwrite(
        &self,
        tx: &WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.shared.check_direct()?;
        if self.shared.options.has_duplicates() && self.shared.find(tx, key)?.is_some() {
            return Err(Error::new(ErrorKind::DuplicateKey)
                .because(format!("`{}` has a value for the key", self.name())));
        }
        self.shared.insert(tx, key, value).map(|_| ())
    }

    /// As [`KvDatabase::put`], for a value that the key does not have yet.
    ///
    /// # Errors
    /// `DuplicateKey` if it has it; `InvalidOptions` if the database has no duplicates; as
    /// [`KvDatabase::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// tags.put_no_duplicate(&tx, b"post", b"rust")?;
    /// tags.put_no_duplicate(&tx, b"post", b"databases")?;
    /// let refused = tags.put_no_duplicate(&tx, b"post", b"rust");
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::DuplicateKey);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn put_no_duplicate(
        &self,
        tx: &WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.shared.check_direct()?;
        if !self.shared.options.has_duplicates() {
            return Err(Error::new(ErrorKind::InvalidOptions)
                .because(format!("`{}` has no duplicates", self.name())));
        }
        self.shared.insert(tx, key, value).map(|_| ())
    }

    /// Removes all values of a key and gives their number.
    ///
    /// # Errors
    /// `KeyTooLong`, `Conflict`; `InvalidOptions` for a secondary database.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// tags.put(&tx, b"post", b"rust")?;
    /// tags.put(&tx, b"post", b"databases")?;
    /// assert_eq!(tags.delete(&tx, b"post")?, 2);
    /// assert_eq!(tags.delete(&tx, b"post")?, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn delete(&self, tx: &WriteTransaction<'_>, key: &[u8]) -> Result<u64> {
        self.shared.check_direct()?;
        self.delete_key(tx, key)
    }

    /// Removes all records and gives their number.
    ///
    /// # Errors
    /// `Conflict`; `InvalidOptions` for a secondary database.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"k", b"v")?;
    /// assert_eq!(database.truncate(&tx)?, 1);
    /// assert!(!database.exists(&tx, b"k")?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn truncate(&self, tx: &WriteTransaction<'_>) -> Result<u64> {
        self.shared.check_direct()?;
        let before = tx.savepoint();
        let mut removed = 0;
        for row in tx.scan(&self.shared.table)? {
            if let Err(error) = self.shared.remove(tx, &row) {
                tx.roll_back_to(before)?;
                return Err(error);
            }
            removed += 1;
        }
        Ok(removed)
    }

    /// Frees what deleted and replaced records have left behind, and gives memory of the whole
    /// environment that is unused back to the operating system; its number of bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", &[0; 100_000])?;
    /// database.auto_commit().delete(b"k")?;
    /// database.compact();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn compact(&self) -> u64 {
        self.shared.database.release_memory()
    }

    /// As [`KvDatabase::put`], giving the row.
    #[inline]
    pub(crate) fn put_row(
        &self,
        tx: &WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<RowId> {
        self.shared.check_direct()?;
        if self.shared.options.has_duplicates() {
            return match self.shared.find_pair(tx, key, value)? {
                Some(row) => Ok(row.id()),
                None => self.shared.insert(tx, key, value),
            };
        }
        match self.shared.find(tx, key)? {
            Some(row) => self.shared.replace(tx, &row, value).map(|()| row.id()),
            None => self.shared.insert(tx, key, value),
        }
    }

    /// As [`KvDatabase::delete`], for secondary databases too.
    pub(crate) fn delete_key(&self, tx: &WriteTransaction<'_>, key: &[u8]) -> Result<u64> {
        let before = tx.savepoint();
        let mut removed = 0;
        while let Some(row) = self.shared.find(tx, key)? {
            if let Err(error) = self.shared.remove(tx, &row) {
                tx.roll_back_to(before)?;
                return Err(error);
            }
            removed += 1;
            if !self.shared.options.has_duplicates() {
                break;
            }
        }
        Ok(removed)
    }
}

impl Shared {
    pub(crate) fn new(database: Arc<Database>, table: Table) -> Result<Self> {
        let Some(options) = options_of(table.schema()) else {
            return Err(Error::new(ErrorKind::SchemaMismatch)
                .because(format!("`{}` is no key/value database", table.name())));
        };
        let hashed = options.kind() == Kind::Hash;
        let by_key = table.index(if hashed { HASH } else { PRIMARY })?;
        let primary = if options.has_duplicates() { table.index(PRIMARY)? } else { by_key };
        Ok(Self {
            database,
            table: table.typed()?,
            options,
            primary,
            by_key,
            serves: AtomicU32::new(0),
            is_associated: AtomicBool::new(false),
            secondaries: RwLock::default(),
        })
    }

    /// Whether this is what is known of a table.
    pub(crate) fn is_of(&self, table: &Table) -> bool {
        let columns = (self.table.column_at(0), table.column_at(0));
        matches!(columns, (Ok(own), Ok(other)) if own == other)
    }

    /// Whether records have an order, and cursors go by it.
    #[inline]
    pub(crate) fn is_ordered(&self) -> bool {
        self.options.kind() == Kind::Ordered || self.options.has_duplicates()
    }

    /// The record of a key; of several the first.
    #[inline]
    pub(crate) fn find<'t>(
        &'t self,
        tx: &'t ReadTransaction<'_>,
        key: &[u8],
    ) -> Result<Option<Row<'t>>> {
        if !self.options.has_duplicates() {
            return tx.find_blob(&self.table, self.by_key, key);
        }
        tx.cursor(&self.table, self.primary)?.find(Find::Equal, &[Value::Bytes(key)])
    }

    /// The record of this key and this value.
    pub(crate) fn find_pair<'t>(
        &'t self,
        tx: &'t ReadTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Row<'t>>> {
        if self.options.has_duplicates() {
            let parts = [Value::Bytes(key), Value::Bytes(value)];
            return tx.find(&self.table, self.primary, &parts);
        }
        Ok(self.find(tx, key)?.filter(|row| pair_of(row.bytes()).1 == value))
    }

    /// A new record, which its secondary databases have too.
    #[inline]
    pub(crate) fn insert(
        &self,
        tx: &WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<RowId> {
        let insert = || tx.insert(&self.table, &Pair { key, value });
        if !self.is_associated() {
            return insert();
        }
        self.together(tx, None, Some((key, value)), insert)
    }

    /// Another value for the key of a record.
    #[inline]
    pub(crate) fn replace(
        &self,
        tx: &WriteTransaction<'_>,
        row: &Row<'_>,
        value: &[u8],
    ) -> Result<()> {
        let old = pair_of(row.bytes());
        let update = || tx.update(&self.table, row.id(), &Pair { key: old.0, value });
        if !self.is_associated() {
            return update();
        }
        self.together(tx, Some(old), Some((old.0, value)), update)
    }

    /// A record less.
    pub(crate) fn remove(&self, tx: &WriteTransaction<'_>, row: &Row<'_>) -> Result<()> {
        let delete = || tx.delete(&self.table, row.id());
        if !self.is_associated() {
            return delete();
        }
        self.together(tx, Some(pair_of(row.bytes())), None, delete)
    }

    /// Does `change`, and what it means for the secondary databases, or nothing of both.
    #[cold]
    fn together<T>(
        &self,
        tx: &WriteTransaction<'_>,
        old: Option<KeyValue<'_>>,
        new: Option<KeyValue<'_>>,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let before = tx.savepoint();
        let secondaries = self.secondaries.read().unwrap_or_else(PoisonError::into_inner);
        let done = change().and_then(|value| {
            secondaries.iter().try_for_each(|secondary| secondary.follow(tx, old, new))?;
            Ok(value)
        });
        if done.is_err() {
            tx.roll_back_to(before)?;
        }
        done
    }

    #[inline]
    pub(crate) fn is_associated(&self) -> bool {
        self.is_associated.load(Ordering::Acquire)
    }

    pub(crate) fn set_associated(&self) {
        self.is_associated.store(true, Ordering::Release);
    }

    /// That programs may change the database themselves.
    #[inline]
    pub(crate) fn check_direct(&self) -> Result<()> {
        if self.serves.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidOptions).because(format!(
            "`{}` is a secondary database, which changes with its primary one",
            self.table.name()
        )))
    }

    /// That no other database depends on this one, nor it on another.
    pub(crate) fn check_unassociated(&self) -> Result<()> {
        self.check_direct()?;
        let secondaries = self.secondaries.read().unwrap_or_else(PoisonError::into_inner);
        if secondaries.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidOptions)
            .because(format!("`{}` has secondary databases", self.table.name())))
    }
}

/// Copies as much as there is room for; gives the whole length.
pub(crate) fn copy_into(value: &[u8], buffer: &mut [u8]) -> usize {
    let len = value.len().min(buffer.len());
    buffer[..len].copy_from_slice(&value[..len]);
    value.len()
}
