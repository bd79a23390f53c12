//! Network sets in transactions: rows linked, unlinked and kept whole.
//!
//! A statement on a set changes rows of its relation and is whole or not at all, like any other.
//! That owners and members exist as long as they are linked rests on what a statement has read: a
//! connection has read both rows, a deletion that there are no links. These reads are validated at
//! commit under snapshot isolation too, so no interleaving leaves a link to a row that is gone.
//! Links are followed in `read/members.rs`.

use std::sync::Arc;

use remanent_schema::KeyBuffer;

use super::transaction::WriteTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::table::Table;
use crate::table::rows::change::ChangedRow;
use crate::table::rows::row::RowId;
use crate::table::rows::version::{Version, bytes_at};
use crate::table::set::{Link, MemberRef, Set, SetCore};
use crate::table::table::IN_SORTED_SETS;
use crate::transaction::read::members::member_ref;

/// How far apart members of a set in order `Next` are put, so that others fit between them: whole
/// bytes, so that members put one behind the other are close together in the index.
const GAP: i64 = 1 << 32;
/// Members that are put apart first where there is no room left between two.
const SPREAD_MIN: usize = 32;

/// A member of a set in order `Next` that this transaction has put behind all others of its owner:
/// the next one, which mostly goes behind it, needs no look-up.
#[derive(Clone, Copy)]
pub(super) struct LastMember {
    relation: u32,
    owner: u32,
    member: MemberRef,
    place: i64,
}

/// Rows of links with their links.
type Moved<'t> = Vec<(RowId, Link<'t>)>;

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
        member: (&Table, RowId),
        after: Option<(&Table, RowId)>,
    ) -> Result<()> {
        let _tracking = self.force_read_tracking();
        let (table, row) = member;
        let set = &*set.core;
        let member = member_ref(set, table, row)?;
        self.together(|| {
            self.check_row(&set.owner, owner)?;
            let mut sort = KeyBuffer::new();
            let place = self.place(set, owner, member, after, &mut sort)?;
            let (place, is_last) = place;
            let link = Link { owner: owner.0, sort: sort.as_slice(), place, member };
            self.insert_link(set, &link)?;
            let relation = set.relation.core.id;
            let last = LastMember { relation, owner: owner.0, member, place };
            self.last_member.set(is_last.then_some(last));
            Ok(())
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
        self.last_member.set(None);
        let _tracking = self.force_read_tracking();
        let set = &*set.core;
        let at = self.required_link(set, table, row)?;
        let link = RowId(Version::at(self.memory(), at).row());
        self.delete_any(&set.relation, link)
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
        let _tracking = self.force_read_tracking();
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
        let _tracking = self.force_read_tracking();
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

    /// Where a new member goes, and whether that is surely behind all others in order `Next`; its
    /// sort key into `sort`.
    fn place(
        &self,
        set: &SetCore,
        owner: RowId,
        member: MemberRef,
        after: Option<(&Table, RowId)>,
        sort: &mut KeyBuffer,
    ) -> Result<(i64, bool)> {
        use remanent_schema::SetOrder::{Ascending, Descending, First, Last, Next};
        if matches!(set.schema.order, Ascending | Descending) {
            self.sort_key_of(set, member, sort)?;
            return Ok((-set.draw(), false));
        }
        self.check_row(&set.members[usize::from(member.table)].table, RowId(member.row))?;
        match (set.schema.order, after) {
            (First, _) => Ok((-set.draw(), false)),
            (Next, Some((table, row))) => self.place_behind(set, owner, table, row),
            (Next, None) => match self.members_of(set, owner)?.first_link()? {
                Some((_, first)) => Ok((away_from(set, first.place, -GAP)?, false)),
                None => Ok((0, true)),
            },
            (Last | Ascending | Descending, _) => Ok((set.draw(), false)),
        }
    }

    /// A place between a member and the next one, and whether there is no next one; makes room if
    /// there is none.
    fn place_behind(
        &self,
        set: &SetCore,
        owner: RowId,
        table: &Table,
        row: RowId,
    ) -> Result<(i64, bool)> {
        let member = member_ref(set, table, row)?;
        // What the transaction read to put it there covers all that may come behind it.
        if let Some(last) = self.last_member.get()
            && (last.relation, last.owner, last.member) == (set.relation.core.id, owner.0, member)
        {
            return Ok((away_from(set, last.place, GAP)?, true));
        }
        let link = self.link_of(set, member)?.filter(|(_, link)| link.owner == owner.0);
        let Some((at, here)) = link else { return Err(not_member(set, table, row)) };
        let mut members = self.members_of(set, owner)?;
        let Some((_, next)) = members.link_behind(&here)? else {
            return Ok((away_from(set, here.place, GAP)?, true));
        };
        if next.place - here.place >= 2 {
            return Ok((here.place + (next.place - here.place) / 2, false));
        }
        Ok((here.place + self.put_apart(set, owner, (at, &here))? / 2, false))
    }

    /// Puts so many members behind `here` apart, evenly, that there is room for them: twice as
    /// many each time, and the more there are, the more room (after Bender et al., Two Simplified
    /// Algorithms for Maintaining Order in a List, ESA 2002: each member is moved seldom, wherever
    /// others are put). Gives how far apart they are.
    fn put_apart(&self, set: &SetCore, owner: RowId, here: (u64, &Link<'_>)) -> Result<i64> {
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
            let end = members.next_link()?.map_or(i64::MAX, |(_, link)| link.place);
            let distances = moved.len() as i64 + 1;
            let gap = (end.saturating_sub(here.1.place) / distances).min(GAP);
            if gap >= gap_min(count) {
                self.move_links(set, here.1.place, gap, moved)?;
                return Ok(gap);
            }
            count *= 2;
        }
    }

    /// Gives members their places, so far apart, in an order in which none comes to stand where
    /// another still is: who moves back from the front on, who moves forth from behind.
    fn move_links(&self, set: &SetCore, from: i64, gap: i64, moved: Moved<'_>) -> Result<()> {
        let places = moved.into_iter().zip(1..).map(|((row, link), n)| (row, link, from + n * gap));
        let (back, forth): (Vec<_>, Vec<_>) =
            places.partition(|(_, link, place)| *place < link.place);
        for (row, link, place) in back.into_iter().chain(forth.into_iter().rev()) {
            self.update_link(set, row, &Link { place, ..link })?;
        }
        Ok(())
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
        let inserted = self.change_any(&set.relation, ChangedRow::NEW, |at, alloc, snapshot| {
            at.insert(alloc, snapshot, set.link_len(link), |row| {
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
        let changed = ChangedRow::to_update(row);
        let updated = self.change_any(&set.relation, changed, |at, alloc, snapshot| {
            at.update(
                alloc,
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

/// The least distance after so many members were put apart.
fn gap_min(count: usize) -> i64 {
    16 << (count.ilog2() / 2)
}
