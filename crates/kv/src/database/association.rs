//! What a primary database knows of its secondary ones.
//!
//! It belongs to the database, since each refers to the other: a change of the primary changes its
//! secondaries. What programs do with both is in `secondary.rs`.

use std::fmt;
use std::sync::Arc;

use remanent_engine::{Error, ErrorKind, Result, WriteTransaction};

use super::Shared;
use crate::KeyValue;

/// The function that gives the secondary keys of a record.
pub(crate) type Extract = dyn Fn(&[u8], &[u8], &mut SecondaryKeys) + Send + Sync;

/// The secondary keys of one record, as a function of the program finds them.
///
/// # Examples
/// ```
/// # use remanent_engine::Options;
/// # use remanent_kv::{Environment, KvOptions};
/// # let environment = Environment::open(Options::new())?;
/// # let texts = environment.create("texts", KvOptions::ordered())?;
/// # let by_word = environment.create("by_word", KvOptions::ordered().with_duplicates())?;
/// let by_word = texts.associate(&by_word, |_, text, keys| {
///     text.split(|byte| *byte == b' ').for_each(|word| keys.push(word));
/// })?;
/// texts.auto_commit().put(b"1", b"to be or not to be")?;
/// let tx = environment.begin_read()?;
/// assert_eq!(by_word.index().statistics(&tx)?.records, 4);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct SecondaryKeys {
    keys: Vec<Vec<u8>>,
}

/// The association of a primary database with one of its secondary databases.
pub(crate) struct Association {
    pub(crate) index: Arc<Shared>,
    extract: Box<Extract>,
}

impl SecondaryKeys {
    /// Adds a key. A key that is there already counts once.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::SecondaryKeys;
    /// fn initial(_key: &[u8], value: &[u8], keys: &mut SecondaryKeys) {
    ///     if let Some(first) = value.first() {
    ///         keys.push(&[*first]);
    ///     }
    /// }
    /// initial(b"1", b"Ada", &mut SecondaryKeys::default());
    /// ```
    pub fn push(&mut self, key: &[u8]) {
        self.keys.push(key.to_vec());
    }
}

impl Association {
    pub(crate) fn new(index: Arc<Shared>, extract: Box<Extract>) -> Self {
        Self { index, extract }
    }

    /// Does in the secondary database what a change of the primary one means for it.
    pub(crate) fn follow(
        &self,
        tx: &WriteTransaction<'_>,
        old: Option<KeyValue<'_>>,
        new: Option<KeyValue<'_>>,
    ) -> Result<()> {
        let (gone, come) = (self.keys_of(old), self.keys_of(new));
        if let Some((primary_key, _)) = old {
            for key in gone.iter().filter(|key| come.binary_search(key).is_err()) {
                match self.index.find_pair(tx, key, primary_key)? {
                    Some(row) => self.index.remove(tx, &row)?,
                    None => return Err(self.index.out_of_step()),
                }
            }
        }
        if let Some((primary_key, _)) = new {
            for key in come.iter().filter(|key| gone.binary_search(key).is_err()) {
                self.index.insert(tx, key, primary_key)?;
            }
        }
        Ok(())
    }

    /// The secondary keys of a record, in order, each once.
    fn keys_of(&self, record: Option<KeyValue<'_>>) -> Vec<Vec<u8>> {
        let mut found = SecondaryKeys::default();
        if let Some((key, value)) = record {
            (self.extract)(key, value, &mut found);
        }
        found.keys.sort();
        found.keys.dedup();
        found.keys
    }
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Association").field(&self.index.table.name()).finish()
    }
}

impl Shared {
    pub(crate) fn out_of_step(&self) -> Error {
        Error::new(ErrorKind::RowNotFound).because(format!(
            "the secondary database `{}` is out of step with its primary one",
            self.table.name()
        ))
    }
}
