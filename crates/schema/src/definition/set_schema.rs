//! A network set's schema: who owns, who may be a member, and in which order.
//!
//! A set relates one owner row to an ordered list of member rows, of one table or of several; a row
//! is a member of at most one owner of a set at a time (CODASYL Data Base Task Group report, 1971).
//! Here a set is plain data; whether its tables and columns exist is the engine's to say.

use crate::definition::table_schema::{KeyPart, TableSchema};
use crate::values::column_type::ColumnType;

/// Member tables of one set.
pub(crate) const SET_MEMBERS_MAX: usize = 255;

/// The schema of a set.
///
/// # Examples
/// ```
/// use remanent_schema::{SetOrder, SetSchema};
/// let lines = SetSchema::new("Lines", "Order", SetOrder::Last).member("Line").member("Note");
/// assert_eq!(lines.members.len(), 2);
/// let by_name = SetSchema::new("Staff", "Office", SetOrder::Ascending)
///     .member_by("Person", ["name", "id"]);
/// assert_eq!(by_name.members[0].by, ["name", "id"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSchema {
    /// The set's name, unique among the sets and tables of a database.
    pub name: String,
    /// The table whose rows own members.
    pub owner: String,
    /// The place of a new member.
    pub order: SetOrder,
    /// The tables whose rows may be members; at least one.
    pub members: Vec<SetMember>,
}

/// A table whose rows may be members of a set.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let set = SetSchema::new("Staff", "Office", SetOrder::Descending).member_by("Person", ["age"]);
/// assert_eq!(set.members[0], SetMember { table: "Person".into(), by: vec!["age".into()] });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMember {
    /// The table.
    pub table: String,
    /// The columns that decide a member's place in an ascending or descending set, the most
    /// significant first; of each member the same types. Empty in the other orders.
    pub by: Vec<String>,
}

/// The place of a new member among the others.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// assert!(SetOrder::Ascending.is_sorted());
/// assert!(!SetOrder::Next.is_sorted());
/// assert_eq!(SetOrder::from_tag(SetOrder::Next as u8), Some(SetOrder::Next));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOrder {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// After a member that the caller names; without one, before all others.
    Next,
    /// By its columns, smaller ones first; before members with equal ones.
    Ascending,
    /// By its columns, greater ones first; before members with equal ones.
    Descending,
}

impl SetSchema {
    /// A set without members yet.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let set = SetSchema::new("Spectra", "Measure", SetOrder::Last);
    /// assert!(set.members.is_empty() && set.owner == "Measure");
    /// ```
    pub fn new(name: impl Into<String>, owner: impl Into<String>, order: SetOrder) -> SetSchema {
        SetSchema { name: name.into(), owner: owner.into(), order, members: Vec::new() }
    }

    /// The same set with one more table whose rows may be members.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let set = SetSchema::new("Spectra", "Measure", SetOrder::Last).member("Text100");
    /// assert_eq!(set.members[0].table, "Text100");
    /// ```
    pub fn member(self, table: impl Into<String>) -> SetSchema {
        self.member_by(table, [""; 0])
    }

    /// The same set with one more member table and the columns that sort its rows.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let set = SetSchema::new("Staff", "Office", SetOrder::Ascending)
    ///     .member_by("Person", ["name"]);
    /// assert_eq!(set.members[0].by, ["name"]);
    /// ```
    pub fn member_by<C: Into<String>>(
        mut self,
        table: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> SetSchema {
        let by = columns.into_iter().map(Into::into).collect();
        self.members.push(SetMember { table: table.into(), by });
        self
    }

    /// The table that holds the set: a row for each member that says whose it is and where it
    /// stands. `owner` and `member` are row ids, `member_table` is the place of the member's table
    /// in [`SetSchema::members`], `place` orders the members of an owner, after `sort`, the bytes
    /// of the sort key, in a sorted set. The index `members` leads from an owner to its members in
    /// order, `membership` from a member to its owner.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let relation = SetSchema::new("Spectra", "Measure", SetOrder::Last).member("T").relation();
    /// assert_eq!((relation.name.as_str(), relation.columns.len()), ("Spectra", 4));
    /// assert!(relation.validate().is_ok());
    /// ```
    pub fn relation(&self) -> TableSchema {
        let mut relation = TableSchema::new(self.name.as_str()).column("owner", ColumnType::U32);
        let mut order = vec![KeyPart::asc("owner")];
        if self.order.is_sorted() {
            relation = relation.column("sort", ColumnType::BLOB);
            order.push(KeyPart::asc("sort"));
        }
        order.push(KeyPart::asc("place"));
        relation = relation
            .column("place", ColumnType::I64)
            .column("member_table", ColumnType::U8)
            .column("member", ColumnType::U32)
            .ordered_index("members", order)
            .unique_index("membership", ["member_table", "member"]);
        relation.set = Some(self.clone());
        relation
    }

    /// The key by which the rows of a member table are sorted.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let set = SetSchema::new("Staff", "Office", SetOrder::Descending)
    ///     .member_by("Person", ["name"]);
    /// assert!(set.sort_key(0).iter().all(|part| part.descending));
    /// ```
    pub fn sort_key(&self, member: usize) -> Vec<KeyPart> {
        let descending = self.order == SetOrder::Descending;
        let columns = self.members[member].by.iter();
        columns.map(|column| KeyPart { column: column.clone(), descending }).collect()
    }
}

impl SetOrder {
    /// Whether members are sorted by their columns.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(SetOrder::Descending.is_sorted() && !SetOrder::First.is_sorted());
    /// ```
    pub fn is_sorted(self) -> bool {
        matches!(self, SetOrder::Ascending | SetOrder::Descending)
    }

    /// The order with this number, which is its place in the declaration.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(SetOrder::from_tag(0), Some(SetOrder::First));
    /// assert_eq!(SetOrder::from_tag(5), None);
    /// ```
    pub fn from_tag(tag: u8) -> Option<SetOrder> {
        use SetOrder::{Ascending, Descending, First, Last, Next};
        [First, Last, Next, Ascending, Descending].get(usize::from(tag)).copied()
    }
}
