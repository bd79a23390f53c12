//! An environment: an engine database and the key/value databases in it, by name.
//!
//! It keeps one set of facts for each open database, shared by all its handles, so that whoever
//! changes a database through any of them changes its secondary databases too. An engine database
//! belongs to one environment at a time for that reason.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use remanent_engine::{
    Database, Error, ErrorKind, MemoryUse, Options, ReadTransaction, Result, WriteTransaction,
};

use crate::database::{KvDatabase, Shared};
use crate::layout::{KvOptions, options_of, schema_of};

/// An engine database with key/value databases in it. Clones are handles of the same environment.
///
/// # Examples
/// One transaction changes a key/value database and a table:
/// ```
/// use remanent_engine::{Options, schema::*};
/// use remanent_kv::{Environment, KvOptions};
/// let environment = Environment::open(Options::new())?;
/// let names = environment.create("names", KvOptions::ordered())?;
/// let visits = TableSchema::new("Visit").column("day", ColumnType::U32);
/// let visits = environment.database().create_table(visits)?;
/// environment.write(|tx| {
///     names.put(tx, b"7", b"Ada")?;
///     tx.insert_values(&visits, &[Some(20_000.into())])
/// })?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Environment {
    database: Arc<Database>,
    transactions: bool,
    open: Arc<Mutex<HashMap<String, Weak<Shared>>>>,
}

impl Environment {
    /// Opens an environment in memory.
    ///
    /// # Errors
    /// As [`Database::open`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::Options;
    /// use remanent_kv::Environment;
    /// let environment = Environment::open(Options::new().budget(64 << 20))?;
    /// assert!(environment.names().is_empty());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open(options: Options) -> Result<Self> {
        Ok(Self::over(Database::open(options)?))
    }

    /// The environment of a database that is open already, whatever its durability.
    ///
    /// Make one for a database and clone it: two do not know of each other's secondary databases.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::over(Database::open(Options::new())?);
    /// environment.create("d", KvOptions::ordered())?;
    /// assert_eq!(environment.database().table_names(), ["d"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn over(database: impl Into<Arc<Database>>) -> Self {
        Self { database: database.into(), transactions: true, open: Arc::default() }
    }

    /// The same environment without transactions of more than one call: databases are used through
    /// [`KvDatabase::auto_commit`], and beginning a transaction here is refused.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?.without_transactions();
    /// let database = environment.create("d", KvOptions::hashed())?;
    /// database.auto_commit().put(b"k", b"v")?;
    /// let refused = environment.write(|tx| database.put(tx, b"k", b"v"));
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidOptions);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn without_transactions(self) -> Self {
        Self { transactions: false, ..self }
    }

    /// The engine database, whose tables change in the same transactions.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// database.auto_commit().put(b"k", b"v")?;
    /// let table = environment.database().table("d")?;
    /// let value = table.column("value")?;
    /// let tx = environment.begin_read()?;
    /// let row = tx.scan(&table)?.next().expect("a record is a row");
    /// assert_eq!(row.blob(value), Some(&b"v"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Creates a key/value database.
    ///
    /// # Errors
    /// `TableExists` if a table has this name; as [`Database::create_table`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// environment.create("d", KvOptions::ordered())?;
    /// let again = environment.create("d", KvOptions::ordered());
    /// assert_eq!(again.unwrap_err().kind(), ErrorKind::TableExists);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create(&self, name: &str, options: KvOptions) -> Result<KvDatabase> {
        let mut open = self.lock();
        self.database.create_table(schema_of(name, options))?;
        self.opened(&mut open, name)
    }

    /// Opens a key/value database by name.
    ///
    /// # Errors
    /// `UnknownTable`; `SchemaMismatch` if the table of this name is no key/value database.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// environment.create("d", KvOptions::hashed())?;
    /// assert_eq!(environment.open_database("d")?.options(), KvOptions::hashed());
    /// let unknown = environment.open_database("e");
    /// assert_eq!(unknown.unwrap_err().kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open_database(&self, name: &str) -> Result<KvDatabase> {
        self.opened(&mut self.lock(), name)
    }

    /// Opens a key/value database, and creates it if there is none of this name.
    ///
    /// # Errors
    /// As [`Environment::open_database`] and [`Environment::create`]; `SchemaMismatch` if there is
    /// one with other options.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// environment.open_or_create("d", KvOptions::ordered())?;
    /// environment.open_or_create("d", KvOptions::ordered())?;
    /// let other = environment.open_or_create("d", KvOptions::hashed());
    /// assert_eq!(other.unwrap_err().kind(), ErrorKind::SchemaMismatch);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open_or_create(&self, name: &str, options: KvOptions) -> Result<KvDatabase> {
        let found = match self.open_database(name) {
            Err(error) if error.kind() == ErrorKind::UnknownTable => {
                match self.create(name, options) {
                    // Another thread was quicker.
                    Err(error) if error.kind() == ErrorKind::TableExists => {
                        self.open_database(name)?
                    }
                    created => created?,
                }
            }
            found => found?,
        };
        if found.options() != options {
            return Err(Error::new(ErrorKind::SchemaMismatch)
                .because(format!("`{name}` has other options: {:?}", found.options())));
        }
        Ok(found)
    }

    /// Removes a key/value database and all its records. Handles of it fail from now on.
    ///
    /// It waits for transactions to end, those that only read too: among them is what an
    /// [`crate::AutoCommit`] holds that does not rest.
    ///
    /// # Errors
    /// As [`Environment::open_database`]; as [`Database::drop_table`], `TableBusy` above all;
    /// `InvalidOptions` while it is a secondary database or has some.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// environment.remove("d")?;
    /// let put = environment.write(|tx| database.put(tx, b"k", b"v"));
    /// assert_eq!(put.unwrap_err().kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn remove(&self, name: &str) -> Result<()> {
        let mut open = self.lock();
        let removed = self.opened(&mut open, name)?;
        removed.shared.check_unassociated()?;
        self.database.drop_table(&removed.shared.table)?;
        open.remove(name);
        Ok(())
    }

    /// Gives a key/value database another name, by copying its records: it takes the time and for
    /// a while the memory of a second one. Nobody else may change it meanwhile; handles of the old
    /// name fail from now on.
    ///
    /// # Errors
    /// As [`Environment::remove`]; `TableExists` if a table has the new name; `Conflict` if
    /// somebody did change it while it was copied. Then it has its old name.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{ErrorKind, Options};
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// let old = environment.create("old", KvOptions::ordered())?;
    /// old.auto_commit().put(b"k", b"v")?;
    /// let new = environment.rename("old", "new")?;
    /// assert_eq!(new.auto_commit().get(b"k")?, Some(&b"v"[..]));
    /// assert_eq!(environment.names(), ["new"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn rename(&self, name: &str, new_name: &str) -> Result<KvDatabase> {
        let mut open = self.lock();
        let old = self.opened(&mut open, name)?;
        old.shared.check_unassociated()?;
        self.database.create_table(schema_of(new_name, old.options()))?;
        let new = self.opened(&mut open, new_name)?;
        let copied = self.database.begin_write().and_then(|tx| {
            for (key, value) in old.bulk(&tx)? {
                new.shared.insert(&tx, key, value)?;
            }
            tx.commit()?;
            self.database.drop_table(&old.shared.table)
        });
        if let Err(error) = copied {
            self.database.drop_table(&new.shared.table)?;
            open.remove(new_name);
            return Err(error);
        }
        open.remove(name);
        Ok(new)
    }

    /// The names of the key/value databases, in order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// use remanent_kv::{Environment, KvOptions};
    /// let environment = Environment::open(Options::new())?;
    /// environment.create("b", KvOptions::ordered())?;
    /// environment.create("a", KvOptions::hashed())?;
    /// assert_eq!(environment.names(), ["a", "b"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn names(&self) -> Vec<String> {
        let mut names = self.database.table_names();
        names.retain(|name| {
            self.database.table(name).is_ok_and(|table| options_of(table.schema()).is_some())
        });
        names.sort();
        names
    }

    /// Memory of the whole environment, in bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// use remanent_kv::Environment;
    /// let environment = Environment::open(Options::new().budget(1 << 24))?;
    /// assert!(environment.memory().held < 1 << 24);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn memory(&self) -> MemoryUse {
        self.database.memory()
    }

    /// Runs `work` in a transaction that only reads.
    ///
    /// # Errors
    /// As [`Database::read`]; `InvalidOptions` in an environment without transactions.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// assert!(!environment.read(|tx| database.exists(tx, b"k"))?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn read<T>(&self, work: impl FnOnce(&ReadTransaction<'_>) -> Result<T>) -> Result<T> {
        self.check_transactions()?;
        self.database.read(work)
    }

    /// Runs `work` in a transaction and commits it; after a conflict it is run again.
    ///
    /// # Errors
    /// As [`Database::write`]; `InvalidOptions` in an environment without transactions.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let accounts = environment.create("accounts", KvOptions::ordered())?;
    /// environment.write(|tx| {
    ///     accounts.put(tx, b"Ada", b"90")?;
    ///     accounts.put(tx, b"Bob", b"110")
    /// })?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn write<T>(&self, work: impl FnMut(&WriteTransaction<'_>) -> Result<T>) -> Result<T> {
        self.check_transactions()?;
        self.database.write(work)
    }

    /// Begins a transaction that only reads.
    ///
    /// # Errors
    /// As [`Database::begin_read`]; `InvalidOptions` in an environment without transactions.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_read()?;
    /// assert_eq!(database.get(&tx, b"k")?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_read(&self) -> Result<ReadTransaction<'_>> {
        self.check_transactions()?;
        self.database.begin_read()
    }

    /// Begins a transaction that reads and writes; dropping it takes its changes back.
    ///
    /// # Errors
    /// As [`Database::begin_write`]; `InvalidOptions` in an environment without transactions.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"k", b"v")?;
    /// drop(tx);
    /// assert_eq!(database.auto_commit().get(b"k")?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_write(&self) -> Result<WriteTransaction<'_>> {
        self.check_transactions()?;
        self.database.begin_write()
    }

    fn check_transactions(&self) -> Result<()> {
        if self.transactions {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidOptions)
            .because("the environment was opened without transactions"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<Shared>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database of a name: the facts that are known of it already, or fresh ones.
    fn opened(&self, open: &mut HashMap<String, Weak<Shared>>, name: &str) -> Result<KvDatabase> {
        let table = self.database.table(name)?;
        let known = open.get(name).and_then(Weak::upgrade);
        // A table may have been dropped and created again as a table.
        if let Some(shared) = known.filter(|shared| shared.is_of(&table)) {
            return Ok(KvDatabase { shared });
        }
        let shared = Arc::new(Shared::new(Arc::clone(&self.database), table)?);
        open.insert(name.to_owned(), Arc::downgrade(&shared));
        Ok(KvDatabase { shared })
    }
}
