//! Drafts in transactions: rows inserted, replaced and found by one that lies outside the region.
//!
//! A draft is a valid row of its table at every moment, so nothing is checked here but what any
//! insertion, update or look-up checks.

use remanent_schema::KeyBuffer;

use super::transaction::WriteTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::table::rows::change::ChangedRow;
use crate::table::rows::row::{Row, RowId};
use crate::table::{IndexHandle, RowDraft, Table};
use crate::transaction::read::reading::ReadTransaction;

impl WriteTransaction<'_> {
    /// Inserts the row that a draft is.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let mut draft = table.draft();
    /// draft.set(a, 7.into())?;
    /// let tx = db.begin_write()?;
    /// let id = tx.insert_draft(&draft)?;
    /// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn insert_draft(&self, draft: &RowDraft) -> Result<RowId> {
        let bytes = draft.bytes.as_slice();
        self.change(&draft.table, ChangedRow::NEW, |at, alloc, snapshot| {
            at.insert(alloc, snapshot, bytes.len(), |out| {
                out.copy_from_slice(bytes);
                Ok(())
            })
        })
    }

    /// Puts the row that a draft is in the place of a row of its table.
    ///
    /// # Errors
    /// As [`WriteTransaction::update`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let mut draft = table.draft();
    /// draft.set(a, 7.into())?;
    /// let tx = db.begin_write()?;
    /// tx.update_draft(id, &draft)?;
    /// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn update_draft(&self, row: RowId, draft: &RowDraft) -> Result<()> {
        let bytes = draft.bytes.as_slice();
        self.change_content(&draft.table, row, |at, alloc, snapshot| {
            at.update(
                alloc,
                snapshot,
                row.0,
                |_| Ok(bytes.len()),
                |_, out| {
                    out.copy_from_slice(bytes);
                    Ok(())
                },
            )
        })
    }
}

impl ReadTransaction<'_> {
    /// The row whose key is the draft's, or the first of several; other columns do not matter.
    ///
    /// # Errors
    /// `UnknownIndex` if the index is of another table, `KeyTooLong`, `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// # let (a, primary) = (table.column("a")?, table.index("primary")?);
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// let mut draft = table.draft();
    /// draft.set(a, 7.into())?;
    /// let tx = db.begin_read()?;
    /// assert_eq!(tx.find_by_draft(primary, &draft)?.map(|row| row.id()), Some(id));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn find_by_draft<'t>(
        &'t self,
        index: IndexHandle,
        draft: &'t RowDraft,
    ) -> Result<Option<Row<'t>>> {
        let view = self.view(&draft.table, index)?;
        let mut key = KeyBuffer::new();
        let encoded = view.index.plan.encode_row(&draft.bytes, &mut key);
        encoded.map_err(|error| view.index.key_error(error))?;
        Ok(self.first(&view, key.as_slice())?.map(|at| Row::at(view.table, at)))
    }

    /// The first row whose whole key in this index has these parts, each as the bytes that a row
    /// holds; for keys whose every part is one of which any bytes are a value.
    ///
    /// # Errors
    /// As [`ReadTransaction::find`].
    #[doc(hidden)]
    pub fn find_plain<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        parts: &[&[u8]],
    ) -> Result<Option<Row<'t>>> {
        let view = self.view(table, index)?;
        let mut key = KeyBuffer::new();
        let plan = &view.index.plan;
        if plan.encode_plain(parts, &mut key) != Some(plan.parts()) {
            return Err(Error::new(ErrorKind::WrongKeyShape)
                .because(format!("index `{}` has other parts", view.index.schema.name)));
        }
        Ok(self.first(&view, key.as_slice())?.map(|at| Row::at(view.table, at)))
    }
}
