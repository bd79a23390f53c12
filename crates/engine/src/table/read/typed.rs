//! Typed cursors and scans: the same positions, giving records instead of rows.
//!
//! A typed table's rows were encoded by its record's schema, which was compared when the table was
//! opened; so decoding is a few loads at fixed offsets, and text is a reference into the database.

use std::marker::PhantomData;

use remanent_schema::{Key, KeyBuffer, Record};

use super::lookup::{Cursor, Find};
use super::scan::Scan;
use crate::error::Result;
use crate::memory::Memory;
use crate::table::rows::version::row_at;

/// A position among the records of a typed table, in the order of the index of key type `K`.
///
/// # Examples
/// ```
/// use remanent_derive::Record;
/// use remanent_engine::{Database, Find, Options};
///
/// #[derive(Record)]
/// #[record(primary_key(sensor, time))]
/// struct Reading {
///     sensor: u32,
///     time: u32,
/// }
///
/// let db = Database::open(Options::new())?;
/// let readings = db.create_table_of::<Reading>()?;
/// db.write(|tx| {
///     for time in 0..10 {
///         tx.insert(&readings, &Reading { sensor: 1, time })?;
///     }
///     Ok(())
/// })?;
/// db.read(|tx| {
///     let mut cursor = tx.cursor_by::<_, ReadingPrimary>(&readings)?;
///     let found = cursor.find(Find::AtLeast, &ReadingPrimary { sensor: 1, time: 7 })?;
///     assert_eq!(found.map(|reading| reading.time), Some(7));
///     assert_eq!(cursor.next().map(|reading| reading.time), Some(8));
///     // The last one of sensor 1, whatever its time.
///     let key = ReadingPrimary { sensor: 1, time: 0 };
///     let last = cursor.find_prefix(Find::AtMost, &key, 1)?;
///     assert_eq!(last.map(|reading| reading.time), Some(9));
///     Ok(())
/// })?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct TypedCursor<'t, K> {
    cursor: Cursor<'t>,
    memory: &'t Memory,
    key: PhantomData<fn() -> K>,
}

/// A scan over the records of a typed table, in no particular order.
///
/// # Examples
/// ```
/// use remanent_derive::Record;
/// use remanent_engine::{Database, Options};
///
/// #[derive(Record)]
/// struct Note<'a> {
///     text: &'a str,
/// }
///
/// let db = Database::open(Options::new())?;
/// let notes = db.create_table_of::<Note>()?;
/// db.write(|tx| tx.insert(&notes, &Note { text: "remember" }))?;
/// let texts = db.read(|tx| Ok(tx.records(&notes)?.map(|note| note.text.len()).sum::<usize>()))?;
/// assert_eq!(texts, 8);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct Records<'t, R> {
    scan: Scan<'t>,
    memory: &'t Memory,
    record: PhantomData<fn() -> R>,
}

impl<'t, K: Key> TypedCursor<'t, K> {
    pub(crate) fn new(cursor: Cursor<'t>, memory: &'t Memory) -> Self {
        Self { cursor, memory, key: PhantomData }
    }

    /// Moves to the record that `find` names for this key.
    ///
    /// # Errors
    /// `KeyTooLong`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopCity>(&shops)?;
    /// let key = ShopCity { city: "Ulm", id: 2 };
    /// assert!(cursor.find(Find::Equal, &key)?.is_none());
    /// assert_eq!(cursor.find(Find::AtLeast, &key)?.map(|shop| shop.id), Some(3));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn find(&mut self, find: Find, key: &K) -> Result<Option<Found<'t, K>>> {
        self.find_prefix(find, key, K::PARTS)
    }

    /// Moves to the record that `find` names for the first `parts` parts of this key.
    ///
    /// # Errors
    /// `KeyTooLong`; `WrongKeyShape` if the key does not have so many parts.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopCity>(&shops)?;
    /// // All shops in Ulm: the first part alone, whatever the id.
    /// let mut shop = cursor.find_prefix(Find::Equal, &ShopCity { city: "Ulm", id: 0 }, 1)?;
    /// let mut ids = Vec::new();
    /// while let Some(found) = shop.filter(|shop| shop.city == "Ulm") {
    ///     ids.push(found.id);
    ///     shop = cursor.next();
    /// }
    /// assert_eq!(ids, [1, 3]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn find_prefix(
        &mut self,
        find: Find,
        key: &K,
        parts: usize,
    ) -> Result<Option<Found<'t, K>>> {
        self.cursor.check_expired()?;
        let mut bytes = KeyBuffer::new();
        key.encode_parts(parts, &mut bytes)?;
        let at = self.cursor.find_key(find, bytes.as_slice());
        Ok(at.map(|at| self.record(at)))
    }

    /// Moves to the first record.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopCity>(&shops)?;
    /// assert_eq!(cursor.first().map(|shop| shop.city), Some("Aalen"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn first(&mut self) -> Option<Found<'t, K>> {
        self.cursor.first_at().map(|at| self.record(at))
    }

    /// Moves to the last record.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopPrimary>(&shops)?;
    /// let next_id = cursor.last().map_or(1, |shop| shop.id + 1);
    /// assert_eq!(next_id, 5);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn last(&mut self) -> Option<Found<'t, K>> {
        self.cursor.last_at().map(|at| self.record(at))
    }

    /// Moves to the next record.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopCity>(&shops)?;
    /// let (mut ids, mut shop) = (Vec::new(), cursor.first());
    /// while let Some(found) = shop {
    ///     ids.push(found.id);
    ///     shop = cursor.next();
    /// }
    /// assert_eq!(ids, [4, 2, 1, 3]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[expect(clippy::should_implement_trait, reason = "a cursor moves both ways")]
    pub fn next(&mut self) -> Option<Found<'t, K>> {
        self.cursor.next_at().map(|at| self.record(at))
    }

    /// Moves to the record before.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopPrimary>(&shops)?;
    /// let newest = [cursor.last(), cursor.previous()];
    /// assert_eq!(newest.map(|shop| shop.map(|shop| shop.id)), [Some(4), Some(3)]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn previous(&mut self) -> Option<Found<'t, K>> {
        self.cursor.previous_at().map(|at| self.record(at))
    }

    fn record(&self, at: u64) -> Found<'t, K> {
        K::Record::decode(row_at(self.memory, at))
    }
}

/// The record that a cursor over key type `K` gives.
///
/// # Examples
/// ```
/// # use remanent_derive::Record;
/// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
/// # #[derive(Record)]
/// # #[record(primary_key(id), index(city(city, id)))]
/// # struct Shop<'a> {
/// #     id: u32,
/// #     city: &'a str,
/// # }
/// # let db = Database::open(Options::new())?;
/// # let shops = db.create_table_of::<Shop>()?;
/// # db.write(|tx| {
/// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
/// #         tx.insert(&shops, &Shop { id, city })?;
/// #     }
/// #     Ok(())
/// # })?;
/// use remanent_engine::Found;
/// fn label(shop: Found<'_, ShopCity<'_>>) -> String {
///     format!("{} in {}", shop.id, shop.city)
/// }
/// let tx = db.begin_read()?;
/// let first = tx.cursor_by::<_, ShopCity>(&shops)?.first();
/// assert_eq!(first.map(label).as_deref(), Some("4 in Aalen"));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub type Found<'t, K> = <<K as Key>::Record as Record>::At<'t>;

impl<'t, R> Records<'t, R> {
    pub(crate) fn new(scan: Scan<'t>, memory: &'t Memory) -> Self {
        Self { scan, memory, record: PhantomData }
    }
}

impl<'t, R: Record> Iterator for Records<'t, R> {
    type Item = R::At<'t>;

    fn next(&mut self) -> Option<R::At<'t>> {
        let row = self.scan.next()?;
        let at = self.memory.region().offset_of_bytes(row.bytes());
        let len = row.bytes().len();
        Some(R::decode(self.memory.region().row_bytes(at, len)))
    }
}
