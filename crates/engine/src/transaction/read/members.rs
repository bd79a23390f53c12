//! Following network sets: from an owner to its members, from a member to its siblings and owner.
//!
//! Members are read through their links, in the order of the set's index; a link and the row that
//! it names are seen by the same snapshot. At either end [`Members`] stay at the end, whatever lies
//! beyond it in the index. Who links and unlinks is in `write/sets.rs`.

use remanent_schema::{KeyBuffer, Record};

use super::reading::ReadTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::table::Table;
use crate::table::read::lookup::{Cursor, Find};
use crate::table::rows::row::{Row, RowId};
use crate::table::rows::version::{Version, bytes_at, row_at};
use crate::table::set::{Link, MemberRef, Set, SetCore};

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
    /// The version of the link where these stand; 0 at either end.
    link: u64,
}

/// Where [`Members`] stood, kept from one transaction to the next.
///
/// # Examples
/// See [`Members::position`].
#[derive(Clone, Debug)]
pub struct MemberPosition {
    /// The link's key in the set's index, its row id behind it.
    entry: KeyBuffer,
    owner: u32,
    member: MemberRef,
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

    /// The members at a place where others stood; `None` if the member has been moved or
    /// disconnected since.
    ///
    /// # Errors
    /// As [`ReadTransaction::members`].
    ///
    /// # Examples
    /// See [`Members::position`].
    pub fn members_at<'t>(
        &'t self,
        set: &'t Set,
        position: &MemberPosition,
    ) -> Result<Option<Members<'t>>> {
        let mut members = self.members_of(&set.core, RowId(position.owner))?;
        let entry = position.entry.as_slice();
        let (key, row) = entry.split_at(entry.len() - size_of::<u32>());
        let found = members.cursor.find_entry(Find::AtLeast, key, entry);
        let here = members.stand(found, At::End).filter(|(at, link)| {
            let id = Version::at(self.memory(), *at).row();
            id.to_be_bytes() == *row && link.member == position.member
        });
        Ok(here.map(|_| members))
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

    pub(in crate::transaction) fn members_of<'t>(
        &'t self,
        set: &'t SetCore,
        owner: RowId,
    ) -> Result<Members<'t>> {
        let cursor = self.cursor(&set.relation, set.members_index())?;
        let (owner, at, link) = (owner.0, At::Start, 0);
        Ok(Members { transaction: self, set, owner, cursor, at, link })
    }

    /// A member's link and where its version lies.
    pub(in crate::transaction) fn link_of<'t>(
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
    pub(in crate::transaction) fn check_row(&self, table: &Table, row: RowId) -> Result<()> {
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

    /// The place of the member where these stand; `None` at either end.
    ///
    /// # Errors
    /// `KeyTooLong`, for no link that was made.
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
    /// # tx.commit()?;
    /// let tx = db.begin_read()?;
    /// let mut members = tx.members(&set, root)?;
    /// members.first()?;
    /// let position = members.position()?.expect("it stands at a member");
    /// drop(members);
    /// drop(tx);
    /// let tx = db.begin_read()?;
    /// let mut members = tx.members_at(&set, &position)?.expect("it is still there");
    /// assert_eq!(members.next()?.map(|member| member.row().id()), Some(two));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn position(&self) -> Result<Option<MemberPosition>> {
        if self.link == 0 {
            return Ok(None);
        }
        let memory = self.transaction.memory();
        let link = self.set.read_link(bytes_at(memory, self.link));
        let mut entry = self.set.link_key(&link)?;
        let row = Version::at(memory, self.link).row();
        entry.push_u32_be(row).map_err(remanent_schema::KeyError::from)?;
        Ok(Some(MemberPosition { entry, owner: self.owner, member: link.member }))
    }

    /// The number of members; they are counted one by one.
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

    pub(in crate::transaction) fn first_link(&mut self) -> Result<Option<(u64, Link<'t>)>> {
        let key = SetCore::owner_key(self.owner);
        self.cursor.check_expired()?;
        let found = self.cursor.find_key(Find::Equal, key.as_slice());
        Ok(self.stand(found, At::End))
    }

    /// The link that follows another, which is one of this owner's.
    pub(in crate::transaction) fn link_behind(
        &mut self,
        link: &Link<'_>,
    ) -> Result<Option<(u64, Link<'t>)>> {
        let key = self.set.link_key(link)?;
        let found = self.cursor.find_key(Find::Above, key.as_slice());
        Ok(self.stand(found, At::End))
    }

    fn last_link(&mut self) -> Result<Option<(u64, Link<'t>)>> {
        let key = SetCore::owner_key(self.owner);
        self.cursor.check_expired()?;
        let found = self.cursor.find_key(Find::AtMost, key.as_slice());
        Ok(self.stand(found, At::Start))
    }

    pub(in crate::transaction) fn next_link(&mut self) -> Result<Option<(u64, Link<'t>)>> {
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
        self.link = link.map_or(0, |(at, _)| at);
        link
    }

    /// Moves to a link that is there.
    pub(in crate::transaction) fn go_to(&mut self, at: u64, link: &Link<'_>) -> Result<()> {
        let key = self.set.link_key(link)?;
        let mut entry = key.clone();
        let row = Version::at(self.transaction.memory(), at).row();
        entry.push_u32_be(row).map_err(remanent_schema::KeyError::from)?;
        let found = self.cursor.find_entry(Find::AtLeast, key.as_slice(), entry.as_slice());
        debug_assert_eq!(found, Some(at));
        (self.at, self.link) = (At::Member, at);
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

pub(in crate::transaction) fn member_ref(
    set: &SetCore,
    table: &Table,
    row: RowId,
) -> Result<MemberRef> {
    match set.member_table(table.core.id) {
        Some(place) => Ok(MemberRef { table: place, row: row.0 }),
        None => Err(Error::new(ErrorKind::SchemaMismatch).because(format!(
            "rows of `{}` cannot be members of `{}`",
            table.name(),
            set.schema.name
        ))),
    }
}
