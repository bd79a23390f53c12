//! Network sets in transactions: who is a member of whom, changed and followed.
//!
//! A statement on a set changes rows of its relation and is whole or not at all, like any other.
//! That owners and members exist as long as they are linked rests on what a statement has read: a
//! connection has read both rows, a deletion that there are no links. These reads are validated at
//! commit under snapshot isolation too, so no interleaving leaves a link to a row that is gone.

use std::sync::Arc;

use remanent_schema::{KeyBuffer, Record};

use super::reading::ReadTransaction;
use super::transaction::WriteTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Entitlement;
use crate::table::Table;
use crate::table::lookup::{Cursor, Find};
use crate::table::row::{Row, RowId};
use crate::table::set::{Link, MemberRef, Set, SetCore};
use crate::table::table::IN_SORTED_SETS;
use crate::table::version::{Version, bytes_at, row_at};

/// How far apart members of a set in order `Next` are put, so that others fit between them: whole
/// bytes, so that members put one behind the other are close together in the index.
const GAP: i64 = 1 << 32;
/// Members that are put apart first where there is no room left between two.
const SPREAD_MIN: usize = 32;
/// The least distance after members were put apart.
const SPREAD_GAP: i64 = 1 << 16;

/// A row of a set's member tables, as a transaction sees it.
#[derive(Clone, Copy, Debug)]
pub struct Member<'t> {
    table: &'t Table,
    row: Row<'t>,
}

/// A row of a set's owner table, and the way to its members.
pub struct Owner<'t> {
    transaction: &'t ReadTransaction<'t>,
    set: &'t Set,
    row: Row<'t>,
}

/// A position among the members of one owner, in the order of the set; it moves both ways.
///
/// Each step costs what a step of an index costs, however many members there are.
pub struct Members<'t> {
    transaction: &'t ReadTransaction<'t>,
    set: &'t SetCore,
    owner: u32,
    cursor: Cursor<'t>,
    at: At,
}

/// Where [`Members`] stand. The cursor could be among the links of another owner at either end, so
/// it is left alone there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Start,
    Member,
    End,
}

/// The members of one table among those of an owner, as records.
pub struct MembersOf<'t, R> {
    members: Members<'t>,
    table: u8,
    record: std::marker::PhantomData<fn() -> R>,
}

impl<'db> ReadTransaction<'db> {
    /// The members of a row, in the order of the set; before the first of them.
    ///
    /// # Errors
    /// `UnknownTable` if the set was dropped or is another database's, `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::First).member("T"))?;
    /// let tx = db.begin_write()?;
    /// let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// let (root, one, two) = (row()?, row()?, row()?);
    /// tx.connect(&set, root, &t, one)?;
    /// tx.connect(&set, root, &t, two)?;
    /// let mut members = tx.members(&set, root)?;
    /// let ids = [members.first()?, members.next()?].map(|member| member.map(|m| m.row().id()));
    /// assert_eq!(ids, [Some(two), Some(one)]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn members<'t>(&'t self, set: &'t Set, owner: RowId) -> Result<Members<'t>> {
        self.members_of(&set.core, owner)
    }

    /// The members among which a row is, at the row itself; `None` if it has no owner in the set.
    ///
    /// # Errors
    /// `SchemaMismatch` if rows of the table cannot be members, and as
    /// [`ReadTransaction::members`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// # let tx = db.begin_write()?;
    /// # let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// # let (root, one, two) = (row()?, row()?, row()?);
    /// # tx.connect(&set, root, &t, one)?;
    /// # tx.connect(&set, root, &t, two)?;
    /// let mut siblings = tx.siblings(&set, &t, two)?.expect("two has an owner");
    /// assert_eq!(siblings.owner(), root);
    /// assert_eq!(siblings.previous()?.map(|member| member.row().id()), Some(one));
    /// assert!(tx.siblings(&set, &t, root)?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn siblings<'t>(
        &'t self,
        set: &'t Set,
        table: &Table,
        row: RowId,
    ) -> Result<Option<Members<'t>>> {
        let member = member_ref(&set.core, table, row)?;
        let Some((at, link)) = self.link_of(&set.core, member)? else { return Ok(None) };
        let mut members = self.members_of(&set.core, RowId(link.owner))?;
        members.go_to(at, &link)?;
        Ok(Some(members))
    }

    /// The row that a row is a member of, if it is one.
    ///
    /// # Errors
    /// As [`ReadTransaction::siblings`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// # let tx = db.begin_write()?;
    /// # let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// # let (root, one) = (row()?, row()?);
    /// assert_eq!(tx.owner_of(&set, &t, one)?, None);
    /// tx.connect(&set, root, &t, one)?;
    /// assert_eq!(tx.owner_of(&set, &t, one)?, Some(root));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn owner_of(&self, set: &Set, table: &Table, row: RowId) -> Result<Option<RowId>> {
        let member = member_ref(&set.core, table, row)?;
        Ok(self.link_of(&set.core, member)?.map(|(_, link)| RowId(link.owner)))
    }

    /// A row as an owner in a set; `None` if it is not there.
    ///
    /// # Errors
    /// As [`ReadTransaction::members`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, Options, schema::*};
    /// #[derive(Record)]
    /// struct Order {
    ///     id: u32,
    /// }
    /// #[derive(Record)]
    /// struct Text<'a> {
    ///     words: &'a str,
    /// }
    /// # let db = Database::open(Options::new())?;
    /// let orders = db.create_table_of::<Order>()?;
    /// let texts = db.create_table_of::<Text>()?;
    /// let lines = db.create_set(SetSchema::new("Lines", "Order", SetOrder::Last).member("Text"))?;
    /// let order = db.write(|tx| {
    ///     let order = tx.insert(&orders, &Order { id: 1 })?;
    ///     for words in ["one", "two"] {
    ///         tx.connect(&lines, order, &texts, tx.insert(&texts, &Text { words })?)?;
    ///     }
    ///     Ok(order)
    /// })?;
    /// db.read(|tx| {
    ///     let owner = tx.owner(&lines, order)?.expect("it was committed");
    ///     let words: Result<Vec<_>, _> =
    ///         owner.members::<Text>()?.map(|text| text.map(|text| text.words)).collect();
    ///     assert_eq!(words?, ["one", "two"]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn owner<'t>(&'t self, set: &'t Set, row: RowId) -> Result<Option<Owner<'t>>> {
        let row = self.row(&set.core.owner, row)?;
        Ok(row.map(|row| Owner { transaction: self, set, row }))
    }

    fn members_of<'t>(&'t self, set: &'t SetCore, owner: RowId) -> Result<Members<'t>> {
        let cursor = self.cursor(&set.relation, set.members_index())?;
        Ok(Members { transaction: self, set, owner: owner.0, cursor, at: At::Start })
    }

    /// A member's link and where its version lies.
    fn link_of<'t>(
        &'t self,
        set: &'t SetCore,
        member: MemberRef,
    ) -> Result<Option<(u64, Link<'t>)>> {
        let view = self.view(&set.relation, set.membership_index())?;
        let key = SetCore::membership_key(member);
        let found = self.first(&view, key.as_slice())?;
        Ok(found.map(|at| (at, set.read_link(bytes_at(self.memory(), at)))))
    }

    /// # Errors
    /// `RowNotFound`.
    fn check_row(&self, table: &Table, row: RowId) -> Result<()> {
        match self.visible_row(self.table_at(table)?, row)? {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorKind::RowNotFound).because(format!(
                "row {} of `{}`",
                row.0,
                table.name()
            ))),
        }
    }
}

impl WriteTransaction<'_> {
    /// Makes a row a member of an owner, at the place that the set's order says; in order `Next`,
    /// before all others.
    ///
    /// # Errors
    /// `AlreadyMember`, `RowNotFound` for the owner or the member, `SchemaMismatch` if rows of the
    /// table cannot be members, `KeyTooLong` for a sort key, `Conflict`, memory, `UnknownTable`,
    /// `TransactionEnded`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// let tx = db.begin_write()?;
    /// let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// let (root, one) = (row()?, row()?);
    /// tx.connect(&set, root, &t, one)?;
    /// let error = tx.connect(&set, root, &t, one).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AlreadyMember);
    /// assert_eq!(tx.delete(&t, root).unwrap_err().kind(), ErrorKind::HasMembers);
    /// assert_eq!(tx.delete(&t, one).unwrap_err().kind(), ErrorKind::IsMember);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn connect(&self, set: &Set, owner: RowId, table: &Table, row: RowId) -> Result<()> {
        self.connect_after(set, owner, (table, row), None)
    }

    /// As [`WriteTransaction::connect`]; in a set in order `Next`, behind the member `after`.
    ///
    /// # Errors
    /// As there, and `NotMember` if `after` is no member of the owner.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Next).member("T"))?;
    /// let tx = db.begin_write()?;
    /// let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// let (root, a, b, c) = (row()?, row()?, row()?, row()?);
    /// tx.connect(&set, root, &t, a)?;
    /// tx.connect_after(&set, root, (&t, c), Some((&t, a)))?;
    /// tx.connect_after(&set, root, (&t, b), Some((&t, a)))?;
    /// let mut members = tx.members(&set, root)?;
    /// members.first()?;
    /// assert_eq!(members.next()?.map(|member| member.row().id()), Some(b));
    /// assert_eq!(members.next()?.map(|member| member.row().id()), Some(c));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn connect_after(
        &self,
        set: &Set,
        owner: RowId,
        (table, row): (&Table, RowId),
        after: Option<(&Table, RowId)>,
    ) -> Result<()> {
        let _obliged = self.oblige();
        let set = &*set.core;
        let member = member_ref(set, table, row)?;
        self.together(|| {
            self.check_row(&set.owner, owner)?;
            let mut sort = KeyBuffer::new();
            let place = self.place(set, owner, member, after, &mut sort)?;
            let link = Link { owner: owner.0, sort: sort.as_slice(), place, member };
            self.insert_link(set, &link)
        })
    }

    /// Ends a row's membership; it and its owner stay.
    ///
    /// # Errors
    /// `NotMember`, and as [`WriteTransaction::connect`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// # let tx = db.begin_write()?;
    /// # let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// # let (root, one) = (row()?, row()?);
    /// tx.connect(&set, root, &t, one)?;
    /// tx.disconnect(&set, &t, one)?;
    /// tx.delete(&t, root)?;
    /// assert_eq!(tx.disconnect(&set, &t, one).unwrap_err().kind(), ErrorKind::NotMember);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn disconnect(&self, set: &Set, table: &Table, row: RowId) -> Result<()> {
        let _obliged = self.oblige();
        let set = &*set.core;
        let at = self.required_link(set, table, row)?;
        let link = RowId(Version::at(self.memory(), at).row());
        let target = (Some(link), Entitlement::Reserve);
        let change = self.change_any(&set.relation, target, |at, heap, snapshot| {
            at.delete(heap, snapshot, link.0)
        });
        change.map(|_| ())
    }

    /// Gives a member another owner, at the place there that the set's order says.
    ///
    /// # Errors
    /// As [`WriteTransaction::disconnect`] and [`WriteTransaction::connect`]; then the row is a
    /// member of whom it was.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// # let tx = db.begin_write()?;
    /// # let row = || tx.insert_values(&t, &[Some(1.into())]);
    /// # let (old, new, one) = (row()?, row()?, row()?);
    /// tx.connect(&set, old, &t, one)?;
    /// tx.reconnect(&set, new, &t, one)?;
    /// assert_eq!(tx.owner_of(&set, &t, one)?, Some(new));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn reconnect(&self, set: &Set, owner: RowId, table: &Table, row: RowId) -> Result<()> {
        self.together(|| {
            self.disconnect(set, table, row)?;
            self.connect(set, owner, table, row)
        })
    }

    /// Refuses the deletion of a row that owns members or is one.
    ///
    /// # Errors
    /// `HasMembers`, `IsMember`.
    #[cold]
    pub(super) fn check_unlinked(&self, table: &Table, row: RowId) -> Result<()> {
        let _obliged = self.oblige();
        for set in self.live_sets_of(table) {
            let about = |kind| {
                let row = format!("row {} of `{}` in `{}`", row.0, table.name(), set.schema.name);
                Err(Error::new(kind).because(row))
            };
            if set.owner.core.id == table.core.id
                && self.members_of(&set, row)?.first_link()?.is_some()
            {
                return about(ErrorKind::HasMembers);
            }
            if let Some(place) = set.member_table(table.core.id)
                && self.link_of(&set, MemberRef { table: place, row: row.0 })?.is_some()
            {
                return about(ErrorKind::IsMember);
            }
        }
        Ok(())
    }

    /// Moves the links of a row that has been changed to where its sort keys now belong.
    ///
    /// # Errors
    /// As [`WriteTransaction::connect`].
    #[cold]
    pub(super) fn follow_sort_keys(&self, table: &Table, row: RowId) -> Result<()> {
        let _obliged = self.oblige();
        for set in self.live_sets_of(table).iter().filter(|set| set.schema.order.is_sorted()) {
            let Some(place) = set.member_table(table.core.id) else { continue };
            let member = MemberRef { table: place, row: row.0 };
            let Some((at, old)) = self.link_of(set, member)? else { continue };
            let mut sort = KeyBuffer::new();
            self.sort_key_of(set, member, &mut sort)?;
            if sort.as_slice() != old.sort {
                let link = Link { sort: sort.as_slice(), place: -set.draw(), ..old };
                self.update_link(set, RowId(Version::at(self.memory(), at).row()), &link)?;
            }
        }
        Ok(())
    }

    /// Whether changes of the table's rows may move them in a set.
    #[inline]
    pub(super) fn sorts_members(table: &Table) -> bool {
        table.core.is_in(IN_SORTED_SETS)
    }

    fn live_sets_of(&self, table: &Table) -> Vec<Arc<SetCore>> {
        let mut sets = self.db.catalog().sets_of(table.core.id);
        // A set that has just been dropped has no members any more.
        sets.retain(|set| set.relation.core.check_live().is_ok());
        sets
    }

    /// Where a new member goes; its sort key into `sort`.
    fn place(
        &self,
        set: &SetCore,
        owner: RowId,
        member: MemberRef,
        after: Option<(&Table, RowId)>,
        sort: &mut KeyBuffer,
    ) -> Result<i64> {
        use remanent_schema::SetOrder::{Ascending, Descending, First, Last, Next};
        match set.schema.order {
            Ascending | Descending => self.sort_key_of(set, member, sort).map(|()| -set.draw()),
            First | Last => {
                self.check_row(&set.members[usize::from(member.table)].table, RowId(member.row))?;
                Ok(if set.schema.order == First { -set.draw() } else { set.draw() })
            }
            Next => {
                self.check_row(&set.members[usize::from(member.table)].table, RowId(member.row))?;
                match after {
                    Some((table, row)) => self.place_behind(set, owner, table, row),
                    None => {
                        let first = self.members_of(set, owner)?.first_link()?;
                        first.map_or(Ok(0), |(_, first)| away_from(set, first.place, -GAP))
                    }
                }
            }
        }
    }

    /// A place between a member and the next one; makes room if there is none.
    fn place_behind(&self, set: &SetCore, owner: RowId, table: &Table, row: RowId) -> Result<i64> {
        let member = member_ref(set, table, row)?;
        let link = self.link_of(set, member)?.filter(|(_, link)| link.owner == owner.0);
        let Some((at, here)) = link else { return Err(not_member(set, table, row)) };
        let mut members = self.members_of(set, owner)?;
        let found = members.cursor.find_key(Find::Above, set.link_key(&here)?.as_slice());
        let Some((_, next)) = members.stand(found, At::End) else {
            return away_from(set, here.place, GAP);
        };
        if next.place - here.place >= 2 {
            return Ok(here.place + (next.place - here.place) / 2);
        }
        self.put_apart(set, owner, (at, &here))?;
        Ok(here.place + SPREAD_GAP / 2)
    }

    /// Moves as many members behind `here` as it takes for all of them to be `SPREAD_GAP` apart:
    /// twice as many each time (after Bender et al., Two Simplified Algorithms for Maintaining
    /// Order in a List, ESA 2002).
    fn put_apart(&self, set: &SetCore, owner: RowId, here: (u64, &Link<'_>)) -> Result<()> {
        let mut count = SPREAD_MIN;
        loop {
            let mut members = self.members_of(set, owner)?;
            members.go_to(here.0, here.1)?;
            let mut moved = Vec::with_capacity(count);
            while moved.len() < count
                && let Some((at, link)) = members.next_link()?
            {
                moved.push((RowId(Version::at(self.memory(), at).row()), link));
            }
            let beyond = members.next_link()?.map(|(_, link)| link.place);
            let needed = here.1.place + (moved.len() as i64 + 1) * SPREAD_GAP;
            if beyond.is_none_or(|beyond| beyond > needed) {
                // From behind, so that nobody comes to stand before whom it follows.
                for (number, (row, link)) in moved.into_iter().enumerate().rev() {
                    let place = here.1.place + (number as i64 + 1) * SPREAD_GAP;
                    self.update_link(set, row, &Link { place, ..link })?;
                }
                return Ok(());
            }
            count *= 2;
        }
    }

    fn sort_key_of(&self, set: &SetCore, member: MemberRef, sort: &mut KeyBuffer) -> Result<()> {
        let table = &set.members[usize::from(member.table)].table;
        let Some(at) = self.visible_row(self.table_at(table)?, RowId(member.row))? else {
            return self.check_row(table, RowId(member.row));
        };
        set.sort_key(member.table, bytes_at(self.memory(), at), sort)
    }

    fn required_link(&self, set: &SetCore, table: &Table, row: RowId) -> Result<u64> {
        let found = self.link_of(set, member_ref(set, table, row)?)?;
        found.map(|(at, _)| at).ok_or_else(|| not_member(set, table, row))
    }

    fn insert_link(&self, set: &SetCore, link: &Link<'_>) -> Result<()> {
        let target = (None, Entitlement::Ordinary);
        let inserted = self.change_any(&set.relation, target, |at, heap, snapshot| {
            at.insert(heap, snapshot, set.link_len(link), |row| {
                set.write_link(link, row);
                Ok(())
            })
        });
        inserted.map(|_| ()).map_err(|error| match error.kind() {
            ErrorKind::DuplicateKey => {
                let table = &set.members[usize::from(link.member.table)].table;
                let row = link.member.row;
                Error::new(ErrorKind::AlreadyMember).because(format!(
                    "row {row} of `{}` in `{}`",
                    table.name(),
                    set.schema.name
                ))
            }
            _ => error,
        })
    }

    fn update_link(&self, set: &SetCore, row: RowId, link: &Link<'_>) -> Result<()> {
        let target = (Some(row), Entitlement::Ordinary);
        let updated = self.change_any(&set.relation, target, |at, heap, snapshot| {
            at.update(
                heap,
                snapshot,
                row.0,
                |_| Ok(set.link_len(link)),
                |_, row| {
                    set.write_link(link, row);
                    Ok(())
                },
            )
        });
        updated.map(|_| ())
    }
}

impl<'t> Member<'t> {
    /// The table that the member is a row of.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// # let tx = db.begin_write()?;
    /// # let root = tx.insert_values(&t, &[Some(1.into())])?;
    /// tx.connect(&set, root, &t, root)?;
    /// let member = tx.members(&set, root)?.first()?.expect("it is its own member");
    /// assert_eq!((member.table().name(), member.row().id()), ("T", root));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self) -> &'t Table {
        self.table
    }

    /// The row itself.
    ///
    /// # Examples
    /// See [`Member::table`].
    pub fn row(&self) -> Row<'t> {
        self.row
    }
}

impl<'t> Owner<'t> {
    /// The owner's row.
    ///
    /// # Examples
    /// See [`ReadTransaction::owner`].
    pub fn row(&self) -> Row<'t> {
        self.row
    }

    /// All members, whatever their tables.
    ///
    /// # Errors
    /// As [`ReadTransaction::members`].
    ///
    /// # Examples
    /// See [`ReadTransaction::members`].
    pub fn all(&self) -> Result<Members<'t>> {
        self.transaction.members(self.set, self.row.id())
    }

    /// The members that are rows of one table, as records, in the order of the set.
    ///
    /// # Errors
    /// `SchemaMismatch` if rows of the record's table cannot be members or are others than the
    /// record, and as [`ReadTransaction::members`].
    ///
    /// # Examples
    /// See [`ReadTransaction::owner`].
    pub fn members<R: Record>(&self) -> Result<MembersOf<'t, R>> {
        let schema = R::schema();
        let members = self.set.core.members.iter().position(|member| {
            let table = member.table.schema();
            table.name == schema.name && table.columns == schema.columns
        });
        let Some(table) = members else {
            return Err(Error::new(ErrorKind::SchemaMismatch).because(format!(
                "`{}` with these columns is no member of `{}`",
                schema.name,
                self.set.name()
            )));
        };
        let record = std::marker::PhantomData;
        Ok(MembersOf { members: self.all()?, table: table as u8, record })
    }
}

impl<'t> Members<'t> {
    /// The row whose members these are.
    ///
    /// # Examples
    /// See [`ReadTransaction::siblings`].
    pub fn owner(&self) -> RowId {
        RowId(self.owner)
    }

    /// The first member.
    ///
    /// # Errors
    /// `SnapshotExpired`, `UnknownTable`.
    ///
    /// # Examples
    /// See [`ReadTransaction::members`].
    pub fn first(&mut self) -> Result<Option<Member<'t>>> {
        let link = self.first_link()?;
        self.resolve(link)
    }

    /// The last member.
    ///
    /// # Errors
    /// `SnapshotExpired`, `UnknownTable`.
    ///
    /// # Examples
    /// See [`ReadTransaction::members`].
    pub fn last(&mut self) -> Result<Option<Member<'t>>> {
        let link = self.last_link()?;
        self.resolve(link)
    }

    /// The next member, the first one to begin with; `None` behind the last one.
    ///
    /// # Errors
    /// `SnapshotExpired`, `UnknownTable`.
    ///
    /// # Examples
    /// See [`ReadTransaction::members`].
    #[expect(clippy::should_implement_trait, reason = "it moves both ways, and can fail")]
    pub fn next(&mut self) -> Result<Option<Member<'t>>> {
        let link = self.next_link()?;
        self.resolve(link)
    }

    /// The member before, the last one from behind it; `None` before the first one.
    ///
    /// # Errors
    /// `SnapshotExpired`, `UnknownTable`.
    ///
    /// # Examples
    /// See [`ReadTransaction::siblings`].
    pub fn previous(&mut self) -> Result<Option<Member<'t>>> {
        self.cursor.check_expired()?;
        let link = match self.at {
            At::Start => return Ok(None),
            At::End => self.last_link()?,
            At::Member => {
                let found = self.cursor.previous_at();
                self.stand(found, At::Start)
            }
        };
        self.resolve(link)
    }

    /// How many members there are; they are counted one by one.
    ///
    /// # Errors
    /// `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let t = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// # let tx = db.begin_write()?;
    /// # let root = tx.insert_values(&t, &[Some(1.into())])?;
    /// tx.connect(&set, root, &t, root)?;
    /// assert_eq!(tx.members(&set, root)?.count()?, 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn count(mut self) -> Result<u64> {
        let mut count = 0;
        self.at = At::Start;
        let mut link = self.next_link()?;
        while link.is_some() {
            count += 1;
            link = self.next_link()?;
        }
        Ok(count)
    }

    fn first_link(&mut self) -> Result<Option<(u64, Link<'t>)>> {
        let key = SetCore::owner_key(self.owner);
        self.cursor.check_expired()?;
        let found = self.cursor.find_key(Find::Equal, key.as_slice());
        Ok(self.stand(found, At::End))
    }

    fn last_link(&mut self) -> Result<Option<(u64, Link<'t>)>> {
        let key = SetCore::owner_key(self.owner);
        self.cursor.check_expired()?;
        let found = self.cursor.find_key(Find::AtMost, key.as_slice());
        Ok(self.stand(found, At::Start))
    }

    fn next_link(&mut self) -> Result<Option<(u64, Link<'t>)>> {
        self.cursor.check_expired()?;
        match self.at {
            At::Start => self.first_link(),
            At::End => Ok(None),
            At::Member => {
                let found = self.cursor.next_at();
                Ok(self.stand(found, At::End))
            }
        }
    }

    /// The link that was found, if it is of this owner; `beyond` is where these stand if not.
    fn stand(&mut self, found: Option<u64>, beyond: At) -> Option<(u64, Link<'t>)> {
        let link = self.of_owner(found);
        self.at = if link.is_some() { At::Member } else { beyond };
        link
    }

    /// Moves to a link that is there.
    fn go_to(&mut self, at: u64, link: &Link<'_>) -> Result<()> {
        let key = self.set.link_key(link)?;
        let mut entry = key.clone();
        let row = Version::at(self.transaction.memory(), at).row();
        entry.push_u32_be(row).map_err(remanent_schema::KeyError::from)?;
        let found = self.cursor.find_entry(Find::AtLeast, key.as_slice(), entry.as_slice());
        debug_assert_eq!(found, Some(at));
        self.at = At::Member;
        Ok(())
    }

    fn of_owner(&self, found: Option<u64>) -> Option<(u64, Link<'t>)> {
        let at = found?;
        let link = self.set.read_link(bytes_at(self.transaction.memory(), at));
        (link.owner == self.owner).then_some((at, link))
    }

    fn resolve(&self, link: Option<(u64, Link<'t>)>) -> Result<Option<Member<'t>>> {
        let Some((_, link)) = link else { return Ok(None) };
        let table = &self.set.members[usize::from(link.member.table)].table;
        let row = self.transaction.row(table, RowId(link.member.row))?;
        debug_assert!(row.is_some(), "a linked row is not deleted");
        Ok(row.map(|row| Member { table, row }))
    }
}

impl<'t, R: Record> Iterator for MembersOf<'t, R> {
    type Item = Result<R::At<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let link = match self.members.next_link() {
                Ok(link) => link?.1,
                Err(error) => return Some(Err(error)),
            };
            if link.member.table == self.table {
                return self.record(RowId(link.member.row)).transpose();
            }
        }
    }
}

impl<'t, R: Record> MembersOf<'t, R> {
    fn record(&self, row: RowId) -> Result<Option<R::At<'t>>> {
        let transaction = self.members.transaction;
        let table = &self.members.set.members[usize::from(self.table)].table;
        let at = transaction.visible_row(transaction.table_at(table)?, row)?;
        Ok(at.map(|at| R::decode(row_at(transaction.memory(), at))))
    }
}

fn member_ref(set: &SetCore, table: &Table, row: RowId) -> Result<MemberRef> {
    match set.member_table(table.core.id) {
        Some(place) => Ok(MemberRef { table: place, row: row.0 }),
        None => Err(Error::new(ErrorKind::SchemaMismatch).because(format!(
            "rows of `{}` cannot be members of `{}`",
            table.name(),
            set.schema.name
        ))),
    }
}

fn not_member(set: &SetCore, table: &Table, row: RowId) -> Error {
    Error::new(ErrorKind::NotMember).because(format!(
        "row {} of `{}` in `{}`",
        row.0,
        table.name(),
        set.schema.name
    ))
}

/// The place for a new first or last member of an owner.
fn away_from(set: &SetCore, place: i64, by: i64) -> Result<i64> {
    place.checked_add(by).ok_or_else(|| {
        Error::new(ErrorKind::LimitReached)
            .because(format!("one row can own 2,147,483,648 members in `{}`", set.schema.name))
    })
}
