//! Look-ups by a key that is one blob, and snapshots that go along: for key/value databases.
//!
//! The same as any look-up, without a list of values on the way.

use remanent_schema::{KeyBuffer, Value};

use super::reading::{ReadTransaction, encode_whole};
use crate::error::Result;
use crate::index::batch::GROUP;
use crate::snapshot::Snapshot;
use crate::table::read::lookup::View;
use crate::table::rows::row::Row;
use crate::table::{IndexHandle, Table};

/// How many bytes of a row are asked for before it is known whether it is the one: short rows are
/// the rule, and what is asked for in vain is in the way of the next look-up.
const PREFETCH_LEN: usize = 128;

impl ReadTransaction<'_> {
    /// The first row whose key in an index over one blob column is `key`.
    ///
    /// # Errors
    /// As [`ReadTransaction::find`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T").column("key", ColumnType::BLOB).primary_key(["key"]);
    /// let table = db.create_table(schema)?;
    /// let primary = table.index("primary")?;
    /// let tx = db.begin_write()?;
    /// tx.insert_values(&table, &[Some(Value::Bytes(b"k"))])?;
    /// assert!(tx.find_blob(&table, primary, b"k")?.is_some());
    /// assert!(tx.find_blob(&table, primary, b"l")?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn find_blob<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        key: &[u8],
    ) -> Result<Option<Row<'t>>> {
        let view = self.view(table, index)?;
        let mut bytes = KeyBuffer::new();
        let Some(encoded) = view.index.plan.encode_blob(key, &mut bytes) else {
            return self.find(table, index, &[Value::Bytes(key)]);
        };
        encoded.map_err(|error| view.index.key_error(error))?;
        let _operation = self.enter()?;
        let has_key = |row: &[u8]| view.index.plan.blob_of(row) == key;
        let found = view.first_that(bytes.as_slice(), PREFETCH_LEN, has_key);
        self.remember_key(&view, bytes.as_slice(), found);
        Ok(found.map(|at| Row::at(view.table, at)))
    }

    /// Looks many such keys up at once, overlapping their cache misses; `visit` gets the number of
    /// each key and its row, in order.
    ///
    /// # Errors
    /// As [`ReadTransaction::find`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T").column("key", ColumnType::BLOB).primary_key(["key"]);
    /// let table = db.create_table(schema)?;
    /// let primary = table.index("primary")?;
    /// let tx = db.begin_write()?;
    /// tx.insert_values(&table, &[Some(Value::Bytes(b"k"))])?;
    /// let mut found = Vec::new();
    /// tx.find_blobs(&table, primary, &[b"j", b"k"], |_, row| found.push(row.is_some()))?;
    /// assert_eq!(found, [false, true]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn find_blobs<'t, K: AsRef<[u8]>>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        keys: &[K],
        mut visit: impl FnMut(usize, Option<Row<'t>>),
    ) -> Result<()> {
        let view = self.view(table, index)?;
        let mut buffers = [const { KeyBuffer::new() }; GROUP];
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            for (buffer, key) in buffers.iter_mut().zip(keys) {
                encode_blob(&view, key.as_ref(), buffer)?;
            }
            let _operation = self.enter()?;
            view.group(&buffers[..keys.len()], |i, at| {
                self.remember_key(&view, buffers[i].as_slice(), at);
                visit(group * GROUP + i, at.map(|at| Row::at(view.table, at)));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Goes on with the newest state, as if the transaction ended and another began; it costs a
    /// load if nobody has committed meanwhile. References that were read end here. In a transaction
    /// that writes, use [`crate::WriteTransaction::refresh`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let mut tx = db.begin_read()?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert_eq!(tx.scan(&table)?.count(), 0);
    /// tx.refresh();
    /// assert_eq!(tx.scan(&table)?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn refresh(&mut self) {
        let own = self.snapshot.get();
        let timestamp = self.held.publish_clock(false);
        if timestamp != own.timestamp {
            self.extent.set(None);
            self.snapshot.set(Snapshot { timestamp, ..own });
        }
    }
}

/// Encodes a key that has to be one blob; what else the index may be, the general way says.
#[inline]
fn encode_blob(view: &View<'_>, key: &[u8], bytes: &mut KeyBuffer) -> Result<()> {
    match view.index.plan.encode_blob(key, bytes) {
        Some(encoded) => encoded.map_err(|error| view.index.key_error(error)),
        None => encode_whole(view, &[Value::Bytes(key)], bytes),
    }
}
