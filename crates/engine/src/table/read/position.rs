//! A place in the order of a key, kept from one transaction to the next.
//!
//! It is the bytes of the key and perhaps of a row id behind it, so it needs no row to be there: a
//! program that goes through an index call by call finds the next row when the one it stood on has
//! been deleted, or when it looked for a key that nobody has.

use remanent_schema::{KeyBuffer, Value};

use super::lookup::{Cursor, Find};
use crate::error::{Error, ErrorKind, Result};
use crate::table::rows::draft::RowDraft;
use crate::table::rows::row::{Row, RowId};

/// A place in the order of an index: at a row, or where a key would be.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Find, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("T").column("a", ColumnType::I32).ordered_index("a", ["a"]);
/// let table = db.create_table(schema)?;
/// let (a, index) = (table.column("a")?, table.index("a")?);
/// db.write(|tx| {
///     for number in [1, 2, 2, 3] {
///         tx.insert_values(&table, &[Some(Value::I32(number))])?;
///     }
///     Ok(())
/// })?;
/// // One transaction for each step.
/// let mut seen = Vec::new();
/// let mut position = None;
/// loop {
///     let tx = db.begin_read()?;
///     let mut cursor = tx.cursor(&table, index)?;
///     let row = match &position {
///         None => cursor.first(),
///         Some(position) => cursor.find_position(Find::Above, position)?,
///     };
///     let Some(row) = row else { break };
///     seen.extend(row.get::<i32>(a));
///     position = Some(cursor.position_of(&row)?);
/// }
/// assert_eq!(seen, [1, 2, 2, 3]);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyPosition {
    key: KeyBuffer,
    row: Option<u32>,
}

impl<'t> Cursor<'t> {
    /// The place of a row of the table in the order of the cursor's index.
    ///
    /// # Errors
    /// `KeyTooLong`, for a row that came from a draft.
    ///
    /// # Examples
    /// See [`KeyPosition`].
    pub fn position_of(&self, row: &Row<'_>) -> Result<KeyPosition> {
        let mut key = KeyBuffer::new();
        let index = self.index();
        index.plan.encode_row(row.bytes(), &mut key).map_err(|error| index.key_error(error))?;
        Ok(KeyPosition { key, row: Some(row.id().0) })
    }

    /// The place of a draft's key: of `row` if it has the key, else where such rows are or would
    /// be.
    ///
    /// # Errors
    /// `UnknownIndex` if the cursor's index is of another table than the draft, `KeyTooLong`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Find, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// # let (a, index) = (table.column("a")?, table.index("primary")?);
    /// db.write(|tx| tx.insert_values(&table, &[Some(Value::I32(7))]))?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor(&table, index)?;
    /// let before = cursor.position_of_draft(&table.draft(), None)?;
    /// let row = cursor.find_position(Find::AtLeast, &before)?;
    /// assert_eq!(row.and_then(|row| row.get::<i32>(a)), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn position_of_draft(&self, draft: &RowDraft, row: Option<RowId>) -> Result<KeyPosition> {
        let mut key = KeyBuffer::new();
        let index = self.index();
        if draft.table.core.id != self.table_id() {
            return Err(Error::new(ErrorKind::UnknownIndex)
                .because(format!("the cursor's is of no index of `{}`", draft.table.name())));
        }
        index.plan.encode_row(&draft.bytes, &mut key).map_err(|error| index.key_error(error))?;
        Ok(KeyPosition { key, row: row.map(|row| row.0) })
    }

    /// The place where a key is or would be; of a key of several parts the first ones suffice.
    ///
    /// # Errors
    /// As [`Cursor::find`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Find, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// # let (a, index) = (table.column("a")?, table.index("primary")?);
    /// db.write(|tx| tx.insert_values(&table, &[Some(Value::I32(7))]))?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor(&table, index)?;
    /// let five = cursor.position_of_key(&[Value::I32(5)])?;
    /// let row = cursor.find_position(Find::AtLeast, &five)?;
    /// assert_eq!(row.and_then(|row| row.get::<i32>(a)), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn position_of_key(&self, key: &[Value<'_>]) -> Result<KeyPosition> {
        let mut bytes = KeyBuffer::new();
        let index = self.index();
        index.plan.encode_values(key, &mut bytes).map_err(|error| index.key_error(error))?;
        Ok(KeyPosition { key: bytes, row: None })
    }

    /// As [`Cursor::find`], from a place.
    ///
    /// # Errors
    /// `SnapshotExpired`.
    ///
    /// # Examples
    /// See [`KeyPosition`].
    pub fn find_position(&mut self, find: Find, position: &KeyPosition) -> Result<Option<Row<'t>>> {
        self.check_expired()?;
        let key = position.key.as_slice();
        let found = match position.row {
            None => self.find_key(find, key),
            Some(row) => {
                let mut entry = position.key.clone();
                // There is room for a row id behind the longest key.
                entry.push_u32_be(row).map_err(remanent_schema::KeyError::from)?;
                self.find_entry(find, key, entry.as_slice())
            }
        };
        self.report()?;
        Ok(found.map(|at| self.row(at)))
    }
}
