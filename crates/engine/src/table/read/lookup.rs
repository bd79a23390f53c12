//! Finding rows by key: one row, all rows with a key, many keys at once, and cursors.
//!
//! An index leads to candidates; what counts is the version that the snapshot sees. A plain leaf
//! needs its key verified only where the path did not spell it; an entry of a row with several
//! keys counts only if the visible version has the entry's key.

use std::ops::ControlFlow;
use std::rc::Rc;

use remanent_schema::KeyBuffer;

use super::key_range::KeyRange;
use super::read_set::{End, OpenRange, RangeBound, Side};
use super::reader::{Operation, Reader};
use crate::error::{Error, ErrorKind, Result};
use crate::index::batch::{GROUP, lookup_group};
use crate::index::cursor::{Bound, Direction, IndexCursor};
use crate::index::hash::for_each_match;
use crate::index::node::Leaf;
use crate::index::ordered::Found;
use crate::memory::Memory;
use crate::table::rows::row::Row;
use crate::table::rows::version::{Version, bytes_at};
use crate::table::table::{IndexCore, RowKeys, TableAt};

/// Rows of a group that are asked for ahead of the one being visited.
const ROWS_AHEAD: usize = 8;

/// Which rows a search is for, in terms of the key it is given.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let schema = TableSchema::new("City")
/// #     .column("name", ColumnType::STRING)
/// #     .nullable_column("people", ColumnType::U32)
/// #     .primary_key(["name"]);
/// # let cities = db.create_table(schema)?;
/// # let (name, people) = (cities.column("name")?, cities.column("people")?);
/// # let primary = cities.index("primary")?;
/// # db.write(|tx| {
/// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
/// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
/// #     }
/// #     Ok(())
/// # })?;
/// let tx = db.begin_read()?;
/// let mut cursor = tx.cursor(&cities, primary)?;
/// let mut found = |find| -> remanent_engine::Result<Option<&str>> {
///     Ok(cursor.find(find, &["Bonn".into()])?.and_then(|row| row.str(name)))
/// };
/// assert_eq!(found(Find::Equal)?, Some("Bonn"));
/// assert_eq!(found(Find::Above)?, Some("Ulm"));
/// assert_eq!(found(Find::Below)?, Some("Aalen"));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Find {
    /// The first row whose key is equal, or begins with the parts given.
    Equal,
    /// The first row whose key is equal or greater.
    AtLeast,
    /// The first row whose key is greater.
    Above,
    /// The last row whose key is equal or less.
    AtMost,
    /// The last row whose key is less.
    Below,
}

/// One index of a table under one snapshot.
#[derive(Clone, Copy)]
pub(crate) struct View<'t> {
    pub(crate) table: TableAt<'t>,
    pub(crate) index: &'t IndexCore,
    pub(crate) reader: Reader<'t>,
}

/// A position among the rows of an ordered index, in key order; it moves both ways.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Find, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
/// let table = db.create_table(schema)?;
/// let (a, primary) = (table.column("a")?, table.index("primary")?);
/// db.write(|tx| {
///     for number in [10, 20, 30] {
///         tx.insert_values(&table, &[Some(Value::I32(number))])?;
///     }
///     Ok(())
/// })?;
/// db.read(|tx| {
///     let mut cursor = tx.cursor(&table, primary)?;
///     let row = cursor.find(Find::Above, &[Value::I32(10)])?.expect("20 is above 10");
///     assert_eq!(row.get::<i32>(a), Some(20));
///     assert_eq!(cursor.previous().and_then(|row| row.get::<i32>(a)), Some(10));
///     assert!(cursor.previous().is_none());
///     Ok(())
/// })?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct Cursor<'t> {
    pub(super) view: View<'t>,
    pub(super) cursor: IndexCursor<'t>,
    /// The reader's epoch when the cursor came to its node.
    epoch: u64,
    passage: Passage,
    /// The keys that it stays within.
    pub(super) within: Option<Rc<KeyRange>>,
    /// The version it stands at, which its snapshot sees; 0 is none.
    pub(super) at: u64,
}

/// What a cursor has passed since it was last sent somewhere: rows are numbered from where it was
/// sent to.
#[derive(Clone, Copy)]
struct Passage {
    range: Option<OpenRange>,
    /// Which way it was sent.
    direction: Direction,
    at: i64,
    lowest: i64,
    highest: i64,
}

impl Passage {
    const START: Self =
        Self { range: None, direction: Direction::Forward, at: 0, lowest: 0, highest: 0 };
}

impl<'t> View<'t> {
    /// The first visible row with exactly this key.
    #[inline]
    pub(crate) fn first(&self, key: &[u8]) -> Option<u64> {
        let len = self.table.core.prefetch_len;
        self.first_that(key, len, |row| self.index.plan.matches_row(row, key))
    }

    /// As [`View::first`], for a caller who knows how much of a row to ask for, and has a quicker
    /// way to tell whether it has the key.
    #[inline]
    pub(crate) fn first_that(
        &self,
        key: &[u8],
        prefetch_len: usize,
        has_key: impl Fn(&[u8]) -> bool,
    ) -> Option<u64> {
        if self.index.is_ordered() {
            let found = self.table.ordered(self.index).lookup(key);
            if let Found::One { leaf, .. } = found {
                self.table.memory.region().prefetch_bytes(leaf.hint(), prefetch_len);
            }
            return self.resolve_found(key, found, has_key);
        }
        let index = self.table.hash(self.index);
        for_each_match(index, index.hash_of(key), |row, hint| {
            self.table.memory.region().prefetch_bytes(hint, prefetch_len);
            match self.visible_row(row) {
                Some(at) if has_key(bytes_at(self.table.memory, at)) => ControlFlow::Break(at),
                _ => ControlFlow::Continue(()),
            }
        })
    }

    /// Calls `visit` with each visible row that has exactly this key.
    pub(crate) fn each(&self, key: &[u8], mut visit: impl FnMut(u64) -> Result<()>) -> Result<()> {
        if self.index.is_ordered() {
            let mut cursor = Cursor::new(self.unremembered());
            let mut found = cursor.find_key(Find::Equal, key);
            while let Some(at) = found {
                visit(at)?;
                found = cursor.step_equal(key);
            }
            return Ok(());
        }
        let index = self.table.hash(self.index);
        let refused = for_each_match(index, index.hash_of(key), |row, _| {
            match self.visible_with_key(row, key).map_or(Ok(()), &mut visit) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        refused.map_or(Ok(()), Err)
    }

    /// Looks up at most [`GROUP`] keys, interleaved; `visit` gets them in order.
    pub(crate) fn group(
        &self,
        keys: &[KeyBuffer],
        mut visit: impl FnMut(usize, Option<u64>) -> Result<()>,
    ) -> Result<()> {
        let mut versions = [0; GROUP];
        let versions = &mut versions[..keys.len()];
        if self.index.is_ordered() {
            self.group_ordered(keys, versions);
        } else {
            let index = self.table.hash(self.index);
            keys.iter().for_each(|key| index.prefetch(index.hash_of(key.as_slice())));
            self.prefetch_matches(keys);
            for (version, key) in versions.iter_mut().zip(keys) {
                *version = self.first(key.as_slice()).unwrap_or(0);
            }
        }
        // Rows are asked for a few ahead of the visitor: all at once would not fit the first cache.
        let memory = self.table.memory;
        versions.iter().take(ROWS_AHEAD).for_each(|&at| prefetch_row(memory, at));
        for (i, &at) in versions.iter().enumerate() {
            if let Some(&ahead) = versions.get(i + ROWS_AHEAD) {
                prefetch_row(memory, ahead);
            }
            visit(i, (at != 0).then_some(at))?;
        }
        Ok(())
    }

    fn group_ordered(&self, keys: &[KeyBuffer], versions: &mut [u64]) {
        let tree = self.table.ordered(self.index);
        let mut found = [Found::None; GROUP];
        let found = &mut found[..keys.len()];
        lookup_group(tree, keys, found);
        for result in found.iter() {
            if let Found::One { leaf, .. } = result
                && let Some(row) = leaf.plain_row()
            {
                self.prefetch_row(row, leaf.hint());
            }
        }
        for ((version, key), found) in versions.iter_mut().zip(keys).zip(found) {
            let key = key.as_slice();
            let has_key = |row: &[u8]| self.index.plan.matches_row(row, key);
            *version = self.resolve_found(key, *found, has_key).unwrap_or(0);
        }
    }

    fn prefetch_matches(&self, keys: &[KeyBuffer]) {
        let index = self.table.hash(self.index);
        for key in keys {
            if let Some((row, hint)) = index.matches(index.hash_of(key.as_slice())).first_row() {
                self.prefetch_row(row, hint);
            }
        }
    }

    #[inline]
    fn prefetch_row(&self, row: u32, hint: u64) {
        self.table.memory.region().prefetch(hint);
        self.table.directory().prefetch(self.table.memory, row);
    }

    #[inline]
    fn resolve_found(
        &self,
        key: &[u8],
        found: Found,
        has_key: impl Fn(&[u8]) -> bool,
    ) -> Option<u64> {
        match found {
            Found::None => None,
            Found::One { leaf, exact } => {
                if let Some(row) = leaf.plain_row() {
                    let at = self.visible_row(row)?;
                    let found = exact || has_key(bytes_at(self.table.memory, at));
                    return found.then_some(at);
                }
                let tree = self.table.ordered(self.index);
                self.visible_with_key(tree.row_of(leaf), key)
            }
            Found::Many => Cursor::new(self.unremembered()).find_key(Find::Equal, key),
        }
    }

    #[inline(always)]
    fn visible_row(&self, row: u32) -> Option<u64> {
        let word = self.table.directory().word(self.table.memory, row);
        self.reader.see(&self.table, row, word)
    }

    #[inline]
    fn visible_with_key(&self, row: u32, key: &[u8]) -> Option<u64> {
        let at = self.visible_row(row)?;
        self.index.plan.matches_row(bytes_at(self.table.memory, at), key).then_some(at)
    }

    /// The visible version of a leaf's row, if it has the leaf's key.
    pub(super) fn visible_leaf(&self, leaf: Leaf) -> Option<u64> {
        let tree = self.table.ordered(self.index);
        match tree.key_of(leaf) {
            Some(key) => self.visible_with_key(tree.row_of(leaf), key),
            None => self.visible_row(leaf.plain_row()?),
        }
    }

    /// Notes that the row of a version is handed out.
    #[inline]
    pub(crate) fn hand_out(&self, at: u64) {
        if let Some(reads) = self.reader.reads {
            reads.hand_out(self.table.core.id, Version::at(self.table.memory, at).row());
        }
    }

    /// The same view for a look-up that is remembered as a whole.
    fn unremembered(&self) -> Self {
        Self { reader: Reader { reads: None, ..self.reader }, ..*self }
    }

    fn keys(&self) -> RowKeys<'t> {
        RowKeys { table: self.table, index: self.index }
    }
}

/// Asks the processor for the bytes of a row whose header is there; 0 is none.
#[inline]
fn prefetch_row(memory: &Memory, at: u64) {
    if at == 0 {
        return;
    }
    let len = size_of::<Version>() + Version::at(memory, at).length();
    memory.region().prefetch_bytes(at, len);
}

impl<'t> Cursor<'t> {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(view: View<'t>) -> Self {
        let cursor = IndexCursor::new(view.table.ordered(view.index));
        Self { view, cursor, epoch: 0, passage: Passage::START, within: None, at: 0 }
    }

    /// The same, that gives and remembers no row outside a range of keys.
    pub(crate) fn within(self, range: KeyRange) -> Self {
        Self { within: Some(Rc::new(range)), ..self }
    }

    /// A cursor over an index, which must be ordered.
    pub(crate) fn open(view: View<'t>) -> Result<Self> {
        if view.index.is_ordered() {
            return Ok(Self::new(view));
        }
        Err(Error::new(ErrorKind::WrongIndexKind)
            .because(format!("`{}` is a hash index and has no order", view.index.schema.name)))
    }

    /// Moves to the row that `find` names for the first parts of the key.
    ///
    /// # Errors
    /// `WrongKeyShape`, `KeyTooLong`, `ValueOutOfRange`.
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
    /// let id = shops.column("id")?;
    /// let mut cursor = tx.cursor(&shops, shops.index("city")?)?;
    /// // The last shop in Ulm: the key is (city, id), of which the first part is given.
    /// let last = cursor.find(Find::AtMost, &["Ulm".into()])?;
    /// assert_eq!(last.and_then(|row| row.get::<u32>(id)), Some(3));
    /// assert!(cursor.find(Find::Equal, &["Kiel".into()])?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn find(
        &mut self,
        find: Find,
        key: &[remanent_schema::Value<'_>],
    ) -> Result<Option<Row<'t>>> {
        let mut bytes = KeyBuffer::new();
        self.check_expired()?;
        let index = self.view.index;
        index.plan.encode_values(key, &mut bytes).map_err(|error| index.key_error(error))?;
        let found = self.find_key(find, bytes.as_slice()).map(|at| self.row(at));
        self.report()?;
        Ok(found)
    }

    /// Moves to the first row.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let first = tx.cursor(&cities, primary)?.first();
    /// assert_eq!(first.and_then(|row| row.str(name)), Some("Aalen"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn first(&mut self) -> Option<Row<'t>> {
        self.first_at().map(|at| self.row(at))
    }

    /// Moves to the last row.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor(&cities, primary)?;
    /// assert_eq!(cursor.last().and_then(|row| row.str(name)), Some("Ulm"));
    /// assert!(cursor.next().is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn last(&mut self) -> Option<Row<'t>> {
        self.last_at().map(|at| self.row(at))
    }

    /// Moves to the next row. After the last one, the cursor stands nowhere.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor(&cities, primary)?;
    /// let mut row = cursor.find(Find::Above, &["Aalen".into()])?;
    /// let mut total = 0;
    /// while let Some(city) = row {
    ///     total += city.get::<u32>(people).unwrap_or(0);
    ///     row = cursor.next();
    /// }
    /// assert_eq!(total, 336_000 + 126_000);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[expect(clippy::should_implement_trait, reason = "a cursor moves both ways")]
    pub fn next(&mut self) -> Option<Row<'t>> {
        self.next_at().map(|at| self.row(at))
    }

    /// Moves to the row before. Before the first one, the cursor stands nowhere.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor(&cities, primary)?;
    /// // The last two, in descending order.
    /// let last = [cursor.last(), cursor.previous()];
    /// assert_eq!(last.map(|row| row.and_then(|row| row.str(name))), [Some("Ulm"), Some("Bonn")]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn previous(&mut self) -> Option<Row<'t>> {
        self.previous_at().map(|at| self.row(at))
    }

    /// The version that [`Cursor::first`] moves to; so for the other three.
    pub(crate) fn first_at(&mut self) -> Option<u64> {
        self.seek_end(Direction::Forward)
    }

    pub(crate) fn last_at(&mut self) -> Option<u64> {
        self.seek_end(Direction::Backward)
    }

    pub(crate) fn next_at(&mut self) -> Option<u64> {
        self.step(Direction::Forward)
    }

    pub(crate) fn previous_at(&mut self) -> Option<u64> {
        self.step(Direction::Backward)
    }

    /// As [`Cursor::find`], for encoded key bytes; gives the version found.
    pub(crate) fn find_key(&mut self, find: Find, key: &[u8]) -> Option<u64> {
        self.find_entry(find, key, key)
    }

    /// As [`Cursor::find_key`], for `entry`: the key, and behind it perhaps a row id, which
    /// distinguishes rows with equal keys.
    pub(crate) fn find_entry(&mut self, find: Find, key: &[u8], entry: &[u8]) -> Option<u64> {
        let (direction, inclusive) = match find {
            Find::Equal | Find::AtLeast => (Direction::Forward, true),
            Find::Above => (Direction::Forward, false),
            Find::AtMost => (Direction::Backward, true),
            Find::Below => (Direction::Backward, false),
        };
        let _operation = self.enter()?;
        let found = self.seek(direction, Some(Bound { bytes: entry, inclusive }));
        let from = RangeBound { bytes: key, included: inclusive };
        if find != Find::Equal {
            self.remember_seek(direction, Side { bound: from, end: End::Bound }, found);
            return found;
        }
        let found = found.filter(|&at| self.has_key(at, key));
        // A look-up of one key says nothing about those beyond it.
        let nearest = found.map_or(End::Bound, End::Version);
        let to = Side { bound: from, end: nearest };
        self.remember_range(direction, Side { end: End::Bound, ..to }, to, found);
        found
    }

    /// The next version whose key begins with `key`.
    pub(crate) fn step_equal(&mut self, key: &[u8]) -> Option<u64> {
        let at = self.step(Direction::Forward)?;
        self.has_key(at, key).then_some(at)
    }

    fn has_key(&self, at: u64, key: &[u8]) -> bool {
        self.cursor.path_begins_with(key).unwrap_or_else(|| {
            let bytes = bytes_at(self.view.table.memory, at);
            self.view.index.plan.row_starts_with(bytes, key)
        })
    }

    /// Says that a call is under way, unless the snapshot has expired: then there are no more rows.
    #[inline]
    pub(super) fn enter(&mut self) -> Option<Operation<'t>> {
        let operation = self.view.reader.enter(self.view.table.memory);
        // Read before anything is inspected: whoever takes a node out after this counts up again.
        let epoch = self.view.reader.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.cursor.forget_node();
        }
        (!self.view.reader.is_expired()).then_some(operation)
    }

    /// Fails if a row that was just asked for could not be given.
    pub(super) fn report(&self) -> Result<()> {
        self.view.reader.copies.report()
    }

    pub(super) fn table_id(&self) -> u32 {
        self.view.table.core.id
    }

    pub(super) fn index(&self) -> &'t IndexCore {
        self.view.index
    }

    /// Fails if the snapshot has expired, or a row could not be given.
    pub(crate) fn check_expired(&self) -> Result<()> {
        if self.view.reader.is_expired() {
            return Err(Error::new(ErrorKind::SnapshotExpired));
        }
        self.view.reader.copies.check()
    }

    fn seek_end(&mut self, direction: Direction) -> Option<u64> {
        let _operation = self.enter()?;
        let within = self.within.clone();
        let start = within.as_ref().and_then(|within| within.start(direction));
        let bound = start.map(|it| Bound { bytes: it.bytes, inclusive: it.included });
        let found = self.seek(direction, bound);
        let from = match start {
            None => Side { bound: RangeBound::NONE, end: End::None },
            Some(bound) => Side { bound, end: End::Bound },
        };
        self.remember_seek(direction, from, found);
        found
    }

    fn seek(&mut self, direction: Direction, bound: Option<Bound<'_>>) -> Option<u64> {
        let keys = self.view.keys();
        let leaf = self.cursor.seek(&keys, direction, bound);
        let found = leaf.and_then(|leaf| self.first_visible(&keys, direction, leaf));
        self.at = found.unwrap_or(0);
        found
    }

    fn step(&mut self, direction: Direction) -> Option<u64> {
        let _operation = self.enter()?;
        let keys = self.view.keys();
        // Where the tree has changed, it goes on from the entry: the transaction itself may have
        // put one beside it, under what was a leaf.
        let (at, table, plan) = (self.at, self.view.table, &self.view.index.plan);
        let leaf = self.cursor.step_from(&keys, direction, |entry| {
            at != 0
                && plan.encode_row(bytes_at(table.memory, at), entry).is_ok()
                && entry.push_u32_be(Version::at(table.memory, at).row()).is_ok()
        });
        let found = leaf.and_then(|leaf| self.first_visible(&keys, direction, leaf));
        self.pass(direction, 1, found);
        found
    }

    /// Remembers that all was asked for from a bound to what was found, or to the range's end.
    fn remember_seek(&mut self, direction: Direction, from: Side<'_>, found: Option<u64>) {
        if self.view.reader.reads.is_none() {
            return;
        }
        let within = self.within.clone();
        let end = within.as_ref().and_then(|within| within.end(direction));
        let bound = end.unwrap_or(RangeBound::NONE);
        let to = Side { bound, end: self.end(direction, found) };
        self.remember_range(direction, from, to, found);
    }

    fn remember_range(
        &mut self,
        direction: Direction,
        from: Side<'_>,
        to: Side<'_>,
        found: Option<u64>,
    ) {
        let Some(reads) = self.view.reader.reads else { return };
        let (low, high) = if direction == Direction::Forward { (from, to) } else { (to, from) };
        let range = reads.add_range(self.view.table.core.id, self.view.index, low, high);
        self.passage = Passage { range, direction, ..Passage::START };
        if let Some(at) = found {
            self.view.hand_out(at);
        }
    }

    /// Up to where is known what there is, once this was found in a direction.
    fn end(&self, direction: Direction, found: Option<u64>) -> End {
        let end = || self.within.as_ref()?.end(direction);
        match found {
            Some(at) => End::Version(at),
            None => end().map_or(End::None, |_| End::Bound),
        }
    }

    #[inline]
    pub(super) fn pass(&mut self, direction: Direction, rows: i64, found: Option<u64>) {
        self.at = found.unwrap_or(0);
        let Some(reads) = self.view.reader.reads else { return };
        // Against the way that it was sent, the bound is the one from which it was.
        let turned = direction != self.passage.direction;
        let end = match self.end(direction, found) {
            End::Bound if turned => End::None,
            end => end,
        };
        let passage = &mut self.passage;
        let forward = direction == Direction::Forward;
        passage.at += if forward { rows } else { -rows };
        if let Some(range) = passage.range {
            if passage.at > passage.highest {
                passage.highest = passage.at;
                reads.extend_high(range, end);
            } else if passage.at < passage.lowest {
                passage.lowest = passage.at;
                reads.extend_low(range, end);
            }
        }
        if let Some(at) = found {
            self.view.hand_out(at);
        }
    }

    fn first_visible(
        &mut self,
        keys: &RowKeys<'t>,
        direction: Direction,
        first: Leaf,
    ) -> Option<u64> {
        let mut leaf = first;
        loop {
            if let Some(at) = self.view.visible_leaf(leaf) {
                return Some(at).filter(|&at| !self.has_left_range(direction, at));
            }
            leaf = self.cursor.step(keys, direction)?;
        }
    }

    #[inline]
    fn has_left_range(&self, direction: Direction, at: u64) -> bool {
        let (table, index) = (self.view.table, self.view.index);
        self.within.as_ref().is_some_and(|within| within.is_left(direction, table, index, at))
    }

    pub(super) fn row(&self, at: u64) -> Row<'t> {
        Row::at(self.view.table, at)
    }
}
