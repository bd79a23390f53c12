//! What a database holds, counted by going through it in one transaction.
//!
//! Nothing is counted as records come and go, so that a change costs nothing for it. Memory is the
//! accountant's business, for the whole environment.

use remanent_engine::{ReadTransaction, Result};

use crate::database::KvDatabase;

/// What a database holds, as one transaction sees it. What it takes in memory with its indexes is
/// counted for the whole environment, by [`crate::Environment::memory`].
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
/// let statistics = tags.statistics(&tx)?;
/// assert_eq!((statistics.keys, statistics.records), (1, 2));
/// assert_eq!((statistics.key_bytes, statistics.value_bytes), (8, 13));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KvStatistics {
    /// Different keys.
    pub keys: u64,
    /// Records, each duplicate one of its own.
    pub records: u64,
    /// The bytes of the records' keys, once for each duplicate, as they are stored.
    pub key_bytes: u64,
    /// The bytes of the records' values.
    pub value_bytes: u64,
}

impl KvDatabase {
    /// Counts the records, by going through all of them.
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
    /// let statistics = environment.read(|tx| database.statistics(tx))?;
    /// assert_eq!(statistics.records, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn statistics(&self, tx: &ReadTransaction<'_>) -> Result<KvStatistics> {
        let mut counted = KvStatistics::default();
        let mut before = None;
        for (key, value) in self.bulk(tx)? {
            counted.records += 1;
            counted.key_bytes += key.len() as u64;
            counted.value_bytes += value.len() as u64;
            // Duplicates come one behind the other.
            if before != Some(key) {
                counted.keys += 1;
                before = Some(key);
            }
        }
        Ok(counted)
    }
}
