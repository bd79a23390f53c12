//! A network set compiled for use: its relation, its tables, and how its links lie in bytes.
//!
//! A set is kept in a table of its own, the *relation*, with a row for each member: a link. Links
//! have versions like all rows, so rollback, snapshots, validation and reclamation need nothing of
//! their own. The index `members` has them by owner and place, so first, last and next cost what a
//! key costs however many members there are; `membership` has them by member, is unique, and so
//! keeps a row from being in a set twice. Who checks that rows exist, and when links are made, is
//! in `transaction/write/sets.rs`.

use std::sync::Arc;

use remanent_schema::{ColumnType, IndexSchema, KeyBuffer, KeyPlan, SetSchema, Value};

use super::handle::{IndexHandle, Table};
use super::table::{IndexCore, TableCore};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{AtomicU64, Relaxed};

/// A handle of a set; found once, by name.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let orders = db.create_table(TableSchema::new("Order").column("id", ColumnType::U32))?;
/// let lines = db.create_table(TableSchema::new("Line").column("text", ColumnType::STRING))?;
/// let has = db.create_set(SetSchema::new("Lines", "Order", SetOrder::Last).member("Line"))?;
/// let text = lines.column("text")?;
/// db.write(|tx| {
///     let order = tx.insert_values(&orders, &[Some(Value::U32(1))])?;
///     for words in ["one", "two"] {
///         let line = tx.insert_values(&lines, &[Some(words.into())])?;
///         tx.connect(&has, order, &lines, line)?;
///     }
///     let mut members = tx.members(&has, order)?;
///     assert_eq!(members.first()?.and_then(|line| line.row().str(text)), Some("one"));
///     assert_eq!(members.next()?.and_then(|line| line.row().str(text)), Some("two"));
///     assert!(members.next()?.is_none());
///     Ok(())
/// })?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Set {
    pub(crate) core: Arc<SetCore>,
}

/// A set as this process uses it.
#[derive(Debug)]
pub(crate) struct SetCore {
    pub(crate) schema: SetSchema,
    pub(crate) relation: Table,
    pub(crate) owner: Table,
    pub(crate) members: Vec<MemberTable>,
    layout: LinkLayout,
    /// Drawn for each link; where only the order of connecting counts, it is the place.
    sequence: AtomicU64,
}

/// A table whose rows may be members.
#[derive(Debug)]
pub(crate) struct MemberTable {
    pub(crate) table: Table,
    /// Makes a row's sort key, in a sorted set.
    pub(crate) sort: Option<KeyPlan>,
}

/// The layout of the relation's rows.
#[derive(Clone, Copy, Debug)]
struct LinkLayout {
    owner: usize,
    sort: Option<usize>,
    place: usize,
    member_table: usize,
    member: usize,
    fixed_size: usize,
}

/// One row of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link<'t> {
    pub(crate) owner: u32,
    /// The sort key's bytes; empty where the set is not sorted.
    pub(crate) sort: &'t [u8],
    pub(crate) place: i64,
    pub(crate) member: MemberRef,
}

/// A row that is or may be a member: the place of its table in the set, and its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MemberRef {
    pub(crate) table: u8,
    pub(crate) row: u32,
}

impl Set {
    /// The set's name.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// assert_eq!(set.name(), "Tree");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.core.schema.name
    }

    /// The schema of the set.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::First).member("T"))?;
    /// assert_eq!(set.schema().order, SetOrder::First);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn schema(&self) -> &SetSchema {
        &self.core.schema
    }

    /// The table that holds the set, to be read like any other; see [`SetSchema::relation`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// assert_eq!(db.begin_read()?.scan(set.relation())?.count(), 0);
    /// let error = db.write(|tx| tx.insert_draft(&set.relation().draft())).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::RelationOfSet);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn relation(&self) -> &Table {
        &self.core.relation
    }

    /// The table whose rows own members.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// assert_eq!(set.owner().name(), "T");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn owner(&self) -> &Table {
        &self.core.owner
    }

    /// The tables whose rows may be members.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// assert_eq!(set.members().map(|table| table.name()).collect::<Vec<_>>(), ["T"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.core.members.iter().map(|member| &member.table)
    }
}

/// The tables of a set that is to be created.
pub(crate) struct SetTables {
    owner: Table,
    members: Vec<MemberTable>,
}

impl SetTables {
    /// Finds a set's tables and checks them; `find` knows tables by name.
    ///
    /// # Errors
    /// Those of `find`; `RelationOfSet` if a table holds a set itself; `InvalidSchema` if the
    /// members' sort keys are no keys or differ in their types.
    pub(crate) fn find(
        schema: &SetSchema,
        find: impl Fn(&str) -> Result<Arc<TableCore>>,
    ) -> Result<Self> {
        let find = |name: &str| match find(name)? {
            core if core.schema.set.is_none() => Ok(core),
            _ => Err(Error::new(ErrorKind::RelationOfSet).because(format!("`{name}`"))),
        };
        let owner = Table { core: find(&schema.owner)? };
        let mut members: Vec<MemberTable> = Vec::with_capacity(schema.members.len());
        for (number, member) in schema.members.iter().enumerate() {
            let table = Table { core: find(&member.table)? };
            let sort = sort_plan(schema, number, &table)?;
            if let (Some(first), Some(sort)) = (members.first(), &sort) {
                check_same_types(schema, first, &table, sort)?;
            }
            members.push(MemberTable { table, sort });
        }
        Ok(Self { owner, members })
    }
}

impl SetCore {
    /// The set over these tables that `relation` holds.
    pub(crate) fn new(schema: SetSchema, tables: SetTables, relation: Arc<TableCore>) -> Self {
        let layout = LinkLayout::of(&relation);
        let (relation, sequence) = (Table { core: relation }, AtomicU64::new(0));
        let SetTables { owner, members } = tables;
        Self { schema, relation, owner, members, layout, sequence }
    }

    /// Whether rows of the table can be owners or members.
    pub(crate) fn concerns(&self, table: u32) -> bool {
        self.owner.core.id == table || self.member_table(table).is_some()
    }

    /// The place of a table among those whose rows may be members.
    pub(crate) fn member_table(&self, table: u32) -> Option<u8> {
        let place = self.members.iter().position(|member| member.table.core.id == table);
        place.map(|place| place as u8)
    }

    /// A number greater than all drawn before.
    pub(crate) fn draw(&self) -> i64 {
        self.sequence.fetch_add(1, Relaxed) as i64 + 1
    }

    /// Draws no place any more that does not come behind this one.
    pub(crate) fn note_place(&self, place: i64) {
        self.sequence.fetch_max(place.unsigned_abs(), Relaxed);
    }

    pub(crate) fn members_index(&self) -> IndexHandle {
        self.relation.handle_at(0)
    }

    pub(crate) fn membership_index(&self) -> IndexHandle {
        self.relation.handle_at(1)
    }

    /// The key of a member's link in the index `membership`.
    pub(crate) fn membership_key(member: MemberRef) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        let pushed = key.push(&[member.table]).and_then(|()| key.push_u32_be(member.row));
        debug_assert!(pushed.is_ok());
        key
    }

    /// The prefix of the keys of an owner's links in the index `members`.
    pub(crate) fn owner_key(owner: u32) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        let pushed = key.push_u32_be(owner);
        debug_assert!(pushed.is_ok());
        key
    }

    /// The whole key of a link in the index `members`.
    pub(crate) fn link_key(&self, link: &Link<'_>) -> Result<KeyBuffer> {
        let mut key = Self::owner_key(link.owner);
        if self.layout.sort.is_some() {
            let index: &IndexCore = self.relation.resolve(self.members_index(), false)?;
            let values = [Value::U32(link.owner), Value::Bytes(link.sort), Value::I64(link.place)];
            let encoded = index.plan.encode_values(&values, &mut key);
            encoded.map_err(|error| index.key_error(error))?;
        } else {
            // The bytes of an I64: big-endian, the highest bit flipped.
            let pushed = key.push_u64_be(link.place as u64 ^ 1 << 63);
            debug_assert!(pushed.is_ok());
        }
        Ok(key)
    }

    /// The sort key of a member's row, into `key`.
    pub(crate) fn sort_key(&self, table: u8, row: &[u8], key: &mut KeyBuffer) -> Result<()> {
        key.clear();
        match &self.members[usize::from(table)].sort {
            Some(plan) => Ok(plan.encode_row(row, key)?),
            None => Ok(()),
        }
    }

    pub(crate) fn link_len(&self, link: &Link<'_>) -> usize {
        self.layout.fixed_size + link.sort.len()
    }

    /// Writes a link as a row of the relation.
    pub(crate) fn write_link(&self, link: &Link<'_>, row: &mut [u8]) {
        let at = self.layout;
        row[at.owner..][..4].copy_from_slice(&link.owner.to_le_bytes());
        row[at.place..][..8].copy_from_slice(&link.place.to_le_bytes());
        row[at.member_table] = link.member.table;
        row[at.member..][..4].copy_from_slice(&link.member.row.to_le_bytes());
        if let Some(sort) = at.sort {
            let end = (at.fixed_size + link.sort.len()) as u32;
            row[sort..][..4].copy_from_slice(&end.to_le_bytes());
            row[at.fixed_size..].copy_from_slice(link.sort);
        }
    }

    /// Reads a row of the relation.
    #[inline]
    pub(crate) fn read_link<'t>(&self, row: &'t [u8]) -> Link<'t> {
        let at = self.layout;
        Link {
            owner: u32::from_le_bytes(head(&row[at.owner..])),
            sort: if at.sort.is_some() { &row[at.fixed_size..] } else { &[] },
            place: i64::from_le_bytes(head(&row[at.place..])),
            member: MemberRef {
                table: row[at.member_table],
                row: u32::from_le_bytes(head(&row[at.member..])),
            },
        }
    }
}

impl LinkLayout {
    fn of(relation: &TableCore) -> Self {
        let layout = &relation.layout;
        let offset = |name: &str| {
            let leaf = layout.leaf_by_path(name)?;
            Some(layout.leaves()[leaf].offset as usize)
        };
        // A relation's schema has been checked to be one.
        let required = |name: &str| offset(name).expect("a relation has this column");
        Self {
            owner: required("owner"),
            sort: offset("sort"),
            place: required("place"),
            member_table: required("member_table"),
            member: required("member"),
            fixed_size: layout.fixed_size(),
        }
    }
}

fn sort_plan(schema: &SetSchema, member: usize, table: &Table) -> Result<Option<KeyPlan>> {
    if !schema.order.is_sorted() {
        return Ok(None);
    }
    let key = IndexSchema::new(schema.name.as_str(), schema.sort_key(member));
    Ok(Some(KeyPlan::new(&table.core.layout, &key)?))
}

fn check_same_types(
    schema: &SetSchema,
    first: &MemberTable,
    table: &Table,
    sort: &KeyPlan,
) -> Result<()> {
    let types = |table: &Table, plan: &KeyPlan| {
        let leaves = table.core.layout.leaves();
        // How long text may be does not matter to its order.
        let unlimited = |column_type: &ColumnType| match column_type {
            ColumnType::String { .. } => ColumnType::STRING,
            ColumnType::Blob { .. } => ColumnType::BLOB,
            other => other.clone(),
        };
        let of = |leaf: usize| (unlimited(&leaves[leaf].column_type), leaves[leaf].nullable);
        plan.leaves().map(of).collect::<Vec<_>>()
    };
    let Some(first_sort) = &first.sort else { return Ok(()) };
    if types(&first.table, first_sort) == types(table, sort) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidSchema).because(format!(
        "set {}: `{}` and `{}` are sorted by columns of different types",
        schema.name,
        first.table.name(),
        table.name()
    )))
}

#[inline]
fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("a relation's row is as long as its fixed part")
}
