//! A row in the making: filled one column at a time, then inserted or put in another row's place.
//!
//! The bytes are a valid row of the table at every moment, so inserting a draft is one copy and a
//! draft reads like a row. It lies outside the region and belongs to no transaction; what others
//! see begins when a transaction inserts it.

use remanent_schema::Value;

use super::row::{Row, RowId};
use crate::error::{Error, ErrorKind, Result};
use crate::table::handle::{ColumnHandle, Table};

/// A row in the making. What is not given is the default, NULL where that is allowed, else zero
/// or empty.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("City")
///     .column("name", ColumnType::STRING)
///     .column("people", ColumnType::U32)
///     .primary_key(["name"]);
/// let cities = db.create_table(schema)?;
/// let (name, people) = (cities.column("name")?, cities.column("people")?);
/// let mut draft = cities.draft();
/// draft.set(name, "Ulm".into())?;
/// let ulm = db.write(|tx| tx.insert_draft(&draft))?;
/// let tx = db.begin_write()?;
/// draft.load(&tx.row(&cities, ulm)?.expect("it was inserted"))?;
/// draft.set(people, 126_000.into())?;
/// tx.update_draft(ulm, &draft)?;
/// let row = tx.row(&cities, ulm)?.expect("it is there");
/// assert_eq!((row.str(name), row.get::<u32>(people)), (Some("Ulm"), Some(126_000)));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowDraft {
    pub(crate) table: Table,
    pub(crate) bytes: Vec<u8>,
}

impl Table {
    /// A draft of a new row.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let draft = table.draft();
    /// assert_eq!(draft.row().get::<i32>(table.column("a")?), Some(0));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn draft(&self) -> RowDraft {
        let mut bytes = Vec::new();
        self.core.layout.blank_row(&mut bytes);
        RowDraft { table: self.clone(), bytes }
    }
}

impl RowDraft {
    /// The table that the row is for.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// assert_eq!(table.draft().table().name(), "T");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Forgets everything given; its memory is kept.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let mut draft = table.draft();
    /// draft.set(a, 7.into())?;
    /// draft.reset();
    /// assert_eq!(draft.row().get::<i32>(a), Some(0));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn reset(&mut self) {
        self.table.core.layout.blank_row(&mut self.bytes);
    }

    /// Makes the draft a copy of a row.
    ///
    /// # Errors
    /// `SchemaMismatch` if the row is of another table.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// let tx = db.begin_read()?;
    /// let mut draft = table.draft();
    /// draft.load(&tx.row(&table, id)?.expect("it was committed"))?;
    /// assert_eq!(draft.row().get::<i32>(a), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn load(&mut self, row: &Row<'_>) -> Result<()> {
        if !std::ptr::eq(row.layout(), &raw const self.table.core.layout) {
            return Err(Error::new(ErrorKind::SchemaMismatch)
                .because(format!("the row is of another table than `{}`", self.table.name())));
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(row.bytes());
        Ok(())
    }

    /// Gives a column a value.
    ///
    /// # Errors
    /// `WrongType`, `ValueTooLong`, `ValueOutOfRange`, `NullInNotNull`, `RowTooLong`,
    /// `UnknownColumn`; then the draft is as it was.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I8))?;
    /// # let a = table.column("a")?;
    /// let mut draft = table.draft();
    /// draft.set(a, 7.into())?;
    /// assert_eq!(draft.set(a, 1000.into()).unwrap_err().kind(), ErrorKind::ValueOutOfRange);
    /// assert_eq!(draft.row().get::<i8>(a), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn set(&mut self, column: ColumnHandle, value: Value<'_>) -> Result<()> {
        self.table.check_column(column)?;
        Ok(self.table.core.layout.set(&mut self.bytes, column.leaf(), &value)?)
    }

    /// Gives a column its bytes, as they lie in rows: little-endian numbers, an array's or a
    /// vector's elements one after the other, text, a blob.
    ///
    /// # Errors
    /// As [`RowDraft::set`]; `WrongType` if the bytes are no value of the column.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let mut draft = table.draft();
    /// draft.set_raw(a, &7_i32.to_le_bytes())?;
    /// assert_eq!(draft.row().get::<i32>(a), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn set_raw(&mut self, column: ColumnHandle, bytes: &[u8]) -> Result<()> {
        self.table.check_column(column)?;
        Ok(self.table.core.layout.set_raw(&mut self.bytes, column.leaf(), bytes)?)
    }

    /// The draft as a row to read from; its id names no row.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let mut draft = table.draft();
    /// draft.set(table.column("a")?, 7.into())?;
    /// assert_eq!(draft.row().values().next().and_then(|value| value.as_integer()), Some(7));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn row(&self) -> Row<'_> {
        Row::of_bytes(&self.table.core.layout, &self.bytes, RowId(u32::MAX))
    }
}
