//! A database without transactions: each call is one of its own.
//!
//! Reads keep one snapshot and move it on only if somebody has committed since, so that a look-up
//! costs no beginning and no end of a transaction. A change is a small transaction at snapshot
//! isolation, run again after a conflict: it names the record that it changes, so of two changes
//! of one key both take effect, one after the other.

use remanent_engine::{Isolation, ReadTransaction, Result, TransactionOptions, WriteTransaction};

use crate::database::{KvDatabase, copy_into};

/// The calls of a [`KvDatabase`] without a transaction. Each thread makes its own; while it lives
/// it holds the newest snapshot that it has read.
///
/// # Examples
/// ```
/// use remanent_engine::Options;
/// use remanent_kv::{Environment, KvOptions};
/// let environment = Environment::open(Options::new())?;
/// let database = environment.create("d", KvOptions::hashed())?;
/// let mut calls = database.auto_commit();
/// calls.put(b"k", b"v")?;
/// assert_eq!(calls.get(b"k")?, Some(&b"v"[..]));
/// assert_eq!(calls.delete(b"k")?, 1);
/// assert_eq!(calls.get(b"k")?, None);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[must_use = "it does nothing by itself"]
pub struct AutoCommit<'d> {
    database: &'d KvDatabase,
    reading: Option<ReadTransaction<'d>>,
    options: TransactionOptions,
}

impl KvDatabase {
    /// The database without transactions.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", b"v")?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn auto_commit(&self) -> AutoCommit<'_> {
        let options = TransactionOptions::new().isolation(Isolation::Snapshot);
        AutoCommit { database: self, reading: None, options }
    }
}

impl<'d> AutoCommit<'d> {
    /// The value of a key, valid until the next call; of several the first.
    ///
    /// # Errors
    /// As [`KvDatabase::get`]; `TooManyTransactions` at the first call that reads.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let mut calls = database.auto_commit();
    /// assert_eq!(calls.get(b"k")?, None);
    /// database.auto_commit().put(b"k", b"v")?;
    /// assert_eq!(calls.get(b"k")?, Some(&b"v"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let database = self.database;
        database.get(self.newest()?, key)
    }

    /// Copies the value of a key into `buffer`, as much as there is room for, and gives the whole
    /// value's length in bytes.
    ///
    /// # Errors
    /// As [`AutoCommit::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let mut calls = database.auto_commit();
    /// calls.put(b"k", b"value")?;
    /// let mut buffer = [0; 8];
    /// let len = calls.get_into(b"k", &mut buffer)?.expect("it is there");
    /// assert_eq!(&buffer[..len], b"value");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>> {
        Ok(self.get(key)?.map(|value| copy_into(value, buffer)))
    }

    /// Looks many keys up at once, as [`KvDatabase::get_batch`] does.
    ///
    /// # Errors
    /// As [`AutoCommit::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let mut calls = database.auto_commit();
    /// calls.put(b"a", b"1")?;
    /// let mut found = 0;
    /// calls.get_batch(&[b"a", b"b"], |_, value| found += usize::from(value.is_some()))?;
    /// assert_eq!(found, 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_batch<K: AsRef<[u8]>>(
        &mut self,
        keys: &[K],
        visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let database = self.database;
        database.get_batch(self.newest()?, keys, visit)
    }

    /// Whether a key has a value.
    ///
    /// # Errors
    /// As [`AutoCommit::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// assert!(!database.auto_commit().exists(b"k")?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn exists(&mut self, key: &[u8]) -> Result<bool> {
        let database = self.database;
        database.exists(self.newest()?, key)
    }

    /// As [`KvDatabase::put`].
    ///
    /// # Errors
    /// As there; `TooManyTransactions`; `Conflict` after 10,000 attempts.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", b"v")?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(|database, tx| database.put(tx, key, value))
    }

    /// As [`KvDatabase::put_no_overwrite`].
    ///
    /// # Errors
    /// As there and [`AutoCommit::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put_no_overwrite(b"k", b"v")?;
    /// assert!(database.auto_commit().put_no_overwrite(b"k", b"w").is_err());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn put_no_overwrite(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(|database, tx| database.put_no_overwrite(tx, key, value))
    }

    /// As [`KvDatabase::delete`].
    ///
    /// # Errors
    /// As there and [`AutoCommit::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// assert_eq!(database.auto_commit().delete(b"k")?, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn delete(&mut self, key: &[u8]) -> Result<u64> {
        self.write(|database, tx| database.delete(tx, key))
    }

    /// As [`KvDatabase::truncate`].
    ///
    /// # Errors
    /// As there and [`AutoCommit::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", b"v")?;
    /// assert_eq!(database.auto_commit().truncate()?, 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn truncate(&mut self) -> Result<u64> {
        self.write(|database, tx| database.truncate(tx))
    }

    /// The newest state, valid until the next call: for cursors and bulk reads.
    ///
    /// # Errors
    /// `TooManyTransactions`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let mut calls = database.auto_commit();
    /// calls.put(b"k", b"v")?;
    /// assert_eq!(database.cursor(calls.newest()?)?.first()?, Some((&b"k"[..], &b"v"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn newest(&mut self) -> Result<&ReadTransaction<'d>> {
        match &mut self.reading {
            Some(reading) => reading.refresh(),
            none => *none = Some(self.database.shared.database.begin_read()?),
        }
        let Some(reading) = &self.reading else { unreachable!("it was just begun") };
        Ok(reading)
    }

    /// Lets go of the snapshot, until the next call that reads takes one again.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let mut calls = database.auto_commit();
    /// calls.get(b"k")?;
    /// calls.rest();
    /// assert!(environment.database().snapshots().is_empty());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn rest(&mut self) {
        self.reading = None;
    }

    #[inline]
    fn write<T>(
        &mut self,
        work: impl Fn(&KvDatabase, &WriteTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let database = self.database;
        // A snapshot that nobody reads must not keep what is about to be replaced.
        self.reading = None;
        database.shared.database.write_with(&self.options, |tx| work(database, tx))
    }
}
