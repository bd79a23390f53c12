//! A part of a value: read, or replaced by bytes of the same or another length.
//!
//! Values are immutable in memory, so a part is put by writing the whole value anew: it costs what
//! the value is long. Reading a part copies nothing.

use remanent_engine::{Error, ErrorKind, ReadTransaction, Result, WriteTransaction};

use crate::database::KvDatabase;

impl KvDatabase {
    /// Of the value of a key, the `length` bytes from `offset` on: fewer or none where it ends
    /// before.
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
    /// database.put(&tx, b"k", b"remanence")?;
    /// assert_eq!(database.get_partial(&tx, b"k", 2, 3)?, Some(&b"man"[..]));
    /// assert_eq!(database.get_partial(&tx, b"k", 7, 9)?, Some(&b"ce"[..]));
    /// assert_eq!(database.get_partial(&tx, b"k", 20, 1)?, Some(&b""[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_partial<'t>(
        &'t self,
        tx: &'t ReadTransaction<'_>,
        key: &[u8],
        offset: usize,
        length: usize,
    ) -> Result<Option<&'t [u8]>> {
        let value = self.get(tx, key)?;
        Ok(value.map(|value| {
            let rest = value.get(offset..).unwrap_or_default();
            &rest[..length.min(rest.len())]
        }))
    }

    /// Puts `bytes` in the place of the `length` bytes from `offset` on of a key's value, which
    /// grows or shrinks if they are of another length. What lies between the value's end and an
    /// `offset` beyond it becomes zeros. A key without a value has an empty one.
    ///
    /// # Errors
    /// As [`KvDatabase::put`]; `InvalidOptions` if the database has duplicates, whose order is
    /// that of their bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"k", b"abcdef")?;
    /// database.put_partial(&tx, b"k", 1, 3, b"-")?;
    /// assert_eq!(database.get(&tx, b"k")?, Some(&b"a-ef"[..]));
    /// database.put_partial(&tx, b"k", 6, 0, b"z")?;
    /// assert_eq!(database.get(&tx, b"k")?, Some(&b"a-ef\0\0z"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn put_partial(
        &self,
        tx: &WriteTransaction<'_>,
        key: &[u8],
        offset: usize,
        length: usize,
        bytes: &[u8],
    ) -> Result<()> {
        if self.options().has_duplicates() {
            return Err(Error::new(ErrorKind::InvalidOptions)
                .because(format!("`{}` has duplicates, which are put whole", self.name())));
        }
        let old = self.get(tx, key)?.unwrap_or_default();
        let new = spliced(old, offset, length, bytes)?;
        self.put(tx, key, &new)
    }
}

/// A value with `bytes` in the place of `length` bytes at `offset`.
pub(crate) fn spliced(old: &[u8], offset: usize, length: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    let kept = &old[..offset.min(old.len())];
    let rest = old.get(offset.saturating_add(length)..).unwrap_or_default();
    let start = offset.max(kept.len());
    let len = start.saturating_add(bytes.len()).saturating_add(rest.len());
    if len > remanent_engine::schema::ROW_LEN_MAX {
        return Err(
            Error::new(ErrorKind::RowTooLong).because(format!("the value would have {len} bytes"))
        );
    }
    let mut new = Vec::with_capacity(len);
    new.extend_from_slice(kept);
    new.resize(start, 0);
    new.extend_from_slice(bytes);
    new.extend_from_slice(rest);
    Ok(new)
}
