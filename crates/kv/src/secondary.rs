//! Secondary databases: other keys for the records of a primary one, kept in step with it.
//!
//! A secondary database is an ordinary one whose keys are secondary keys and whose values are
//! primary keys. What the secondary keys of a record are, a function of the program says; so it is
//! associated anew whenever the environment is opened. Every change of the primary changes the
//! secondary in the same transaction, or neither.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use remanent_engine::{Error, ErrorKind, ReadTransaction, Result, WriteTransaction};

use crate::KeyValue;
use crate::cursor::Cursor;
use crate::database::KvDatabase;
use crate::database::association::{Association, SecondaryKeys};

/// A primary database together with one of its secondary databases.
///
/// # Examples
/// ```
/// # use remanent_engine::Options;
/// # use remanent_kv::{Environment, KvOptions};
/// # let environment = Environment::open(Options::new())?;
/// let people = environment.create("people", KvOptions::ordered())?;
/// let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
/// // A value is the name of a town.
/// let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
/// environment.write(|tx| {
///     people.put(tx, b"Ada", b"London")?;
///     people.put(tx, b"Emmy", b"Erlangen")?;
///     people.put(tx, b"Emmy", b"Princeton")
/// })?;
/// let tx = environment.begin_read()?;
/// assert_eq!(by_town.get_primary(&tx, b"Princeton")?.map(|found| found.0), Some(&b"Emmy"[..]));
/// assert_eq!(by_town.get(&tx, b"Erlangen")?, None);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Secondary {
    primary: KvDatabase,
    index: KvDatabase,
}

/// A secondary key, the primary key that it leads to, and that one's value.
///
/// # Examples
/// ```
/// use remanent_kv::SecondaryRecord;
/// let record = SecondaryRecord { key: b"London", primary_key: b"Ada", value: b"London" };
/// assert_eq!(record.primary_key, b"Ada");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecondaryRecord<'t> {
    /// The secondary key.
    pub key: &'t [u8],
    /// The key of the primary database.
    pub primary_key: &'t [u8],
    /// The value of the primary database.
    pub value: &'t [u8],
}

/// A cursor over a secondary database that gives the primary's records too.
///
/// # Examples
/// ```
/// # use remanent_engine::Options;
/// # use remanent_kv::{Cursor, Environment, KvOptions};
/// # let environment = Environment::open(Options::new())?;
/// # let people = environment.create("people", KvOptions::ordered())?;
/// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
/// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
/// let tx = environment.begin_write()?;
/// people.put(&tx, b"Ada", b"London")?;
/// people.put(&tx, b"Alan", b"London")?;
/// let mut cursor = by_town.cursor(&tx)?;
/// let first = cursor.step(|index| index.set(b"London"))?;
/// assert_eq!(first.map(|record| record.primary_key), Some(&b"Ada"[..]));
/// let second = cursor.step(Cursor::next_duplicate)?;
/// assert_eq!(second.map(|record| record.primary_key), Some(&b"Alan"[..]));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[must_use = "it does nothing by itself"]
pub struct SecondaryCursor<'t> {
    secondary: &'t Secondary,
    index: Cursor<'t>,
}

impl KvDatabase {
    /// Makes `secondary` lead from the keys that `extract` finds for this database's records to
    /// their primary keys, from now on. If it is empty it is filled with what is there already;
    /// if not, it is taken to be in step.
    ///
    /// Where `secondary` has no duplicates, a secondary key belongs to one record at most, and a
    /// change that would give it to another is refused with `DuplicateKey`. `extract` gets a
    /// record's key and value, and has to find the same keys for the same record each time. No
    /// transaction may be under way that has changed this database.
    ///
    /// # Errors
    /// `InvalidOptions` if this database has duplicates, if either is a secondary database
    /// already, if `secondary` has secondary databases, or if they are of different environments;
    /// what filling it meets.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let users = environment.create("users", KvOptions::hashed())?;
    /// users.auto_commit().put(b"1", b"ada@example.org")?;
    /// let by_mail = environment.create("by_mail", KvOptions::hashed())?;
    /// let by_mail = users.associate(&by_mail, |_, mail, keys| keys.push(mail))?;
    /// let refused = users.auto_commit().put(b"2", b"ada@example.org");
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::DuplicateKey);
    /// let tx = environment.begin_read()?;
    /// assert_eq!(by_mail.get(&tx, b"ada@example.org")?, Some(&b"ada@example.org"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn associate(
        &self,
        secondary: &KvDatabase,
        extract: impl Fn(&[u8], &[u8], &mut SecondaryKeys) + Send + Sync + 'static,
    ) -> Result<Secondary> {
        self.check_association(secondary)?;
        let index = Arc::clone(&secondary.shared);
        let association = Association::new(index, Box::new(extract));
        // Whoever changes a record from here on waits for the lock, and follows then.
        self.shared.set_associated();
        let mut all = self.shared.secondaries.write().unwrap_or_else(PoisonError::into_inner);
        self.shared.database.write(|tx| {
            if secondary.cursor(tx)?.first()?.is_some() {
                return Ok(());
            }
            let mut records = self.bulk(tx)?;
            records.try_for_each(|record| association.follow(tx, None, Some(record)))
        })?;
        secondary.shared.serves.fetch_add(1, Ordering::AcqRel);
        all.push(Arc::new(association));
        Ok(Secondary { primary: self.clone(), index: secondary.clone() })
    }

    fn check_association(&self, secondary: &KvDatabase) -> Result<()> {
        let refuse = |because| Err(Error::new(ErrorKind::InvalidOptions).because(because));
        if !Arc::ptr_eq(&self.shared.database, &secondary.shared.database) {
            return refuse("the two are of different environments");
        }
        if Arc::ptr_eq(&self.shared, &secondary.shared) {
            return refuse("a database is not secondary to itself");
        }
        if self.options().has_duplicates() {
            return refuse("a primary database has one value for a key");
        }
        self.shared.check_direct()?;
        secondary.shared.check_unassociated()
    }
}

impl Secondary {
    /// The primary database.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// assert_eq!(by_town.primary().name(), "people");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn primary(&self) -> &KvDatabase {
        &self.primary
    }

    /// The secondary database itself, whose values are primary keys. It can be read, not changed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// let refused = by_town.index().auto_commit().put(b"Paris", b"Ada");
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidOptions);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn index(&self) -> &KvDatabase {
        &self.index
    }

    /// The primary value that a secondary key leads to; of several the first.
    ///
    /// # Errors
    /// As [`KvDatabase::get`]; `RowNotFound` if the two databases are out of step.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_size = environment.create("by_size", KvOptions::ordered().with_duplicates())?;
    /// let by_size = people.associate(&by_size, |_, value, keys| keys.push(&[value.len() as u8]))?;
    /// people.auto_commit().put(b"Ada", b"London")?;
    /// let tx = environment.begin_read()?;
    /// assert_eq!(by_size.get(&tx, &[6])?, Some(&b"London"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get<'t>(&'t self, tx: &'t ReadTransaction<'_>, key: &[u8]) -> Result<Option<&'t [u8]>> {
        Ok(self.get_primary(tx, key)?.map(|(_, value)| value))
    }

    /// The primary key and value that a secondary key leads to; of several the first.
    ///
    /// # Errors
    /// As [`Secondary::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// people.auto_commit().put(b"Ada", b"London")?;
    /// let tx = environment.begin_read()?;
    /// let found = by_town.get_primary(&tx, b"London")?;
    /// assert_eq!(found, Some((&b"Ada"[..], &b"London"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_primary<'t>(
        &'t self,
        tx: &'t ReadTransaction<'_>,
        key: &[u8],
    ) -> Result<Option<KeyValue<'t>>> {
        let Some(primary_key) = self.index.get(tx, key)? else { return Ok(None) };
        Ok(Some((primary_key, self.value_of(tx, primary_key)?)))
    }

    /// A cursor that stands nowhere yet.
    ///
    /// # Errors
    /// As [`KvDatabase::cursor`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Cursor, Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// let tx = environment.begin_read()?;
    /// assert!(by_town.cursor(&tx)?.step(Cursor::first)?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn cursor<'t>(&'t self, tx: &'t ReadTransaction<'_>) -> Result<SecondaryCursor<'t>> {
        Ok(SecondaryCursor { secondary: self, index: self.index.cursor(tx)? })
    }

    /// Removes the primary records that a secondary key leads to, and gives their number.
    ///
    /// # Errors
    /// As [`KvDatabase::delete`] and [`Secondary::get`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// people.auto_commit().put(b"Ada", b"London")?;
    /// people.auto_commit().put(b"Alan", b"London")?;
    /// assert_eq!(environment.write(|tx| by_town.delete(tx, b"London"))?, 2);
    /// assert!(!people.auto_commit().exists(b"Ada")?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn delete(&self, tx: &WriteTransaction<'_>, key: &[u8]) -> Result<u64> {
        let before = tx.savepoint();
        let mut removed = 0;
        while let Some(primary_key) = self.index.get(tx, key)? {
            let deleted = self.primary.delete_key(tx, primary_key).and_then(|count| match count {
                0 => Err(out_of_step(&self.index)),
                count => Ok(count),
            });
            match deleted {
                Ok(count) => removed += count,
                Err(error) => {
                    tx.roll_back_to(before)?;
                    return Err(error);
                }
            }
        }
        Ok(removed)
    }

    /// Ends the association: the secondary database stays as it is, and is changed by the program
    /// alone. Transactions that have changed the primary should have ended.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// by_town.dissociate();
    /// environment.remove("by_town")?;
    /// people.auto_commit().put(b"Ada", b"London")?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn dissociate(self) {
        let mut all =
            self.primary.shared.secondaries.write().unwrap_or_else(PoisonError::into_inner);
        let before = all.len();
        all.retain(|association| !Arc::ptr_eq(&association.index, &self.index.shared));
        // A clone of this handle may have ended it already.
        if all.len() < before {
            self.index.shared.serves.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn value_of<'t>(&'t self, tx: &'t ReadTransaction<'_>, primary_key: &[u8]) -> Result<&'t [u8]> {
        self.primary.get(tx, primary_key)?.ok_or_else(|| out_of_step(&self.index))
    }
}

impl<'t> SecondaryCursor<'t> {
    /// Moves in the secondary database as `step` says, and gives the record that it comes to.
    ///
    /// # Errors
    /// As the move; `RowNotFound` if the two databases are out of step.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Cursor, Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// people.auto_commit().put(b"Emmy", b"Erlangen")?;
    /// let tx = environment.begin_read()?;
    /// let mut cursor = by_town.cursor(&tx)?;
    /// let found = cursor.step(|index| index.set_range(b"E"))?.expect("Erlangen");
    /// assert_eq!((found.key, found.primary_key), (&b"Erlangen"[..], &b"Emmy"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn step(
        &mut self,
        step: impl FnOnce(&mut Cursor<'t>) -> Result<Option<KeyValue<'t>>>,
    ) -> Result<Option<SecondaryRecord<'t>>> {
        let Some((key, primary_key)) = step(&mut self.index)? else { return Ok(None) };
        let value = self.secondary.value_of(self.index.tx, primary_key)?;
        Ok(Some(SecondaryRecord { key, primary_key, value }))
    }

    /// Another cursor at the same position.
    ///
    /// # Errors
    /// As [`Secondary::cursor`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Cursor, Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let index = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// let by_town = people.associate(&index, |_, town, keys| keys.push(town))?;
    /// let tx = environment.begin_write()?;
    /// people.put(&tx, b"Ada", b"London")?;
    /// people.put(&tx, b"Alan", b"London")?;
    /// let mut cursor = by_town.cursor(&tx)?;
    /// cursor.step(Cursor::first)?;
    /// let mut other = cursor.duplicate_cursor()?;
    /// assert_eq!(cursor.step(Cursor::next)?, other.step(Cursor::next)?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn duplicate_cursor(&self) -> Result<Self> {
        Ok(Self { secondary: self.secondary, index: self.index.duplicate_cursor()? })
    }

    /// Removes the primary record that it stands at. The next move goes to what was beside it.
    ///
    /// # Errors
    /// As [`Cursor::delete`]; `RowNotFound` if the two databases are out of step.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Cursor, Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let people = environment.create("people", KvOptions::ordered())?;
    /// # let by_town = environment.create("by_town", KvOptions::ordered().with_duplicates())?;
    /// # let by_town = people.associate(&by_town, |_, town, keys| keys.push(town))?;
    /// let tx = environment.begin_write()?;
    /// people.put(&tx, b"Ada", b"London")?;
    /// let mut cursor = by_town.cursor(&tx)?;
    /// cursor.step(Cursor::first)?;
    /// cursor.delete(&tx)?;
    /// assert!(!people.exists(&tx, b"Ada")?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn delete(&mut self, tx: &WriteTransaction<'_>) -> Result<()> {
        self.index.check_transaction(tx)?;
        let Some((_, primary_key)) = self.index.current()? else {
            return Err(
                Error::new(ErrorKind::RowNotFound).because("the cursor stands at no record")
            );
        };
        match self.secondary.primary.delete_key(tx, primary_key)? {
            0 => Err(out_of_step(&self.secondary.index)),
            _ => Ok(()),
        }
    }
}

fn out_of_step(index: &KvDatabase) -> Error {
    index.shared.out_of_step()
}
