//! Changing the tables and indexes of a running database.
//!
//! A change holds the definition lock, so there is one at a time, and a transaction slot to
//! allocate from. Where rows or writers are concerned it also closes the gate: writers that are
//! active finish first, new ones wait. Readers go on throughout; what they may still be reading is
//! freed when the last of them that can know of it has ended. A change happens whole or not at
//! all.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use remanent_schema::{IndexKind, IndexSchema, KeyBuffer, SetSchema, TableSchema};

use crate::error::{Error, ErrorKind, Result};
use crate::index::build::{self, BuildEntry};
use crate::index::node::Leaf;
use crate::index::ordered::{Placement, create_key_block};
use crate::instance::Instance;
use crate::memory::atomic::{Relaxed, Release, SeqCst, pause};
use crate::memory::{Entitlement, Heap, Purpose, Ref};
use crate::snapshot::Snapshot;
use crate::table::constraint::check_unique;
use crate::table::segment::{is_frozen, last_of, newest_of};
use crate::table::set::{SetCore, SetTables};
use crate::table::table::{IndexCore, TableAt, TableCore, TableRoot, hash_of};
use crate::table::version::{Version, bytes_at, chain, visible};
use crate::transaction::clock::{self, HeldSlot};
use crate::transaction::commit::{self, LoggedDefinition};
use crate::transaction::gate::{self, ClosedGate};
use crate::transaction::stamping;

/// How long a change waits for active transactions.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// A change as it is logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Definition {
    CreateTable {
        table: u32,
        schema: TableSchema,
    },
    DropTable {
        table: u32,
    },
    /// The schema has one index, the one that is created.
    CreateIndex {
        table: u32,
        schema: TableSchema,
    },
    DropIndex {
        table: u32,
        name: String,
    },
}

/// One change of tables or indexes: a slot, its heap, a snapshot of everything committed.
struct Change<'d> {
    db: &'d Instance,
    held: HeldSlot<'d>,
    heap: Heap<'d>,
    snapshot: Snapshot,
}

/// Creates a table with its indexes.
pub(crate) fn create_table(db: &Instance, schema: TableSchema) -> Result<Arc<TableCore>> {
    let _lock = db.definition_lock().lock().unwrap_or_else(PoisonError::into_inner);
    let schema = schema.build()?;
    if schema.set.is_some() {
        return Err(Error::new(ErrorKind::RelationOfSet).because("create the set instead"));
    }
    create_table_locked(db, schema)
}

fn create_table_locked(db: &Instance, schema: TableSchema) -> Result<Arc<TableCore>> {
    if db.catalog().contains(&schema.name) {
        return Err(Error::new(ErrorKind::TableExists).because(format!("`{}`", schema.name)));
    }
    let change = Change::begin(db)?;
    let id = db.catalog().next_id()?;
    let root = change.create_root(id, &schema)?;
    let core = TableCore::new(id, root, Arc::clone(db.identity()), schema.clone());
    for index in &schema.indexes {
        if let Err(error) = change.create_empty_index(&core, index.clone()) {
            change.free_root(&core);
            return Err(error);
        }
    }
    let header = change.heap.memory.header();
    let root_words = change.heap.memory.get(root);
    root_words.next.store(header.tables.load(Relaxed), Relaxed);
    header.tables.store(root.offset(), Release);
    let created = Definition::CreateTable { table: id, schema };
    let logged = match record(db, &created) {
        Ok(logged) => logged,
        Err(error) => {
            change.unlink_root(&core);
            change.free_root(&core);
            return Err(error);
        }
    };
    let core = Arc::new(core);
    db.catalog().add(Arc::clone(&core));
    logged.endure(db)?;
    Ok(core)
}

/// Creates a set and the table that holds it.
pub(crate) fn create_set(db: &Instance, schema: SetSchema) -> Result<Arc<SetCore>> {
    let _lock = db.definition_lock().lock().unwrap_or_else(PoisonError::into_inner);
    let relation = schema.relation().build()?;
    // Whatever is wrong is found before there is anything to take back.
    let tables = SetTables::find(&schema, |name| db.catalog().by_name(name))?;
    let relation = create_table_locked(db, relation)?;
    let set = Arc::new(SetCore::new(schema, tables, relation));
    db.catalog().add_set(Arc::clone(&set));
    Ok(set)
}

/// Drops a set: its members are none then, and all rows stay.
pub(crate) fn drop_set(db: &Instance, set: &SetCore) -> Result<()> {
    let _lock = db.definition_lock().lock().unwrap_or_else(PoisonError::into_inner);
    set.relation.core.check_live()?;
    db.check_owner(&set.relation.core)?;
    drop_table_locked(db, &set.relation.core)?;
    db.catalog().remove_set(set);
    Ok(())
}

/// Drops a table with all its rows.
pub(crate) fn drop_table(db: &Instance, core: &TableCore) -> Result<()> {
    let _lock = db.definition_lock().lock().unwrap_or_else(PoisonError::into_inner);
    core.check_live()?;
    db.check_owner(core)?;
    check_no_relation(core)?;
    if let Some(set) = db.catalog().sets_of(core.id).first() {
        return Err(Error::new(ErrorKind::TableInSet)
            .because(format!("`{}` in `{}`", core.schema.name, set.schema.name)));
    }
    drop_table_locked(db, core)
}

fn drop_table_locked(db: &Instance, core: &TableCore) -> Result<()> {
    let mut change = Change::begin(db)?;
    let _gate = change.close_gate()?;
    core.set_dropped(true);
    let dropped = Definition::DropTable { table: core.id };
    let waited = change.wait_for_readers().and_then(|()| record(db, &dropped));
    let logged = waited.inspect_err(|_| core.set_dropped(false))?;
    db.catalog().remove(core);
    change.unlink_root(core);
    change.free_rows(core);
    change.free_root(core);
    logged.endure(db)
}

/// Creates an index on a table with rows.
pub(crate) fn create_index(db: &Instance, core: &TableCore, index: IndexSchema) -> Result<()> {
    let _lock = db.definition_lock().lock().unwrap_or_else(PoisonError::into_inner);
    core.check_live()?;
    db.check_owner(core)?;
    check_no_relation(core)?;
    if core.indexes().any(|other| other.schema.name == index.name) {
        return Err(Error::new(ErrorKind::IndexExists)
            .because(format!("`{}` of `{}`", index.name, core.schema.name)));
    }
    let mut schema = core.schema.clone();
    schema.indexes = vec![index.clone()];
    schema.build()?;
    let mut change = Change::begin(db)?;
    let _gate = change.close_gate()?;
    change.build_index(core, index)
}

/// Drops an index.
pub(crate) fn drop_index(db: &Instance, core: &TableCore, ordinal: usize) -> Result<()> {
    let _lock = db.definition_lock().lock().unwrap_or_else(PoisonError::into_inner);
    core.check_live()?;
    db.check_owner(core)?;
    check_no_relation(core)?;
    let mut change = Change::begin(db)?;
    let _gate = change.close_gate()?;
    let Some(index) = core.index(ordinal) else {
        return Err(Error::new(ErrorKind::UnknownIndex).because("it was dropped"));
    };
    index.set_dropped(true);
    let dropped = Definition::DropIndex { table: core.id, name: index.schema.name.clone() };
    let waited = change.wait_for_readers().and_then(|()| record(db, &dropped));
    let logged = waited.inspect_err(|_| index.set_dropped(false))?;
    change.heap.memory.get(core.root).indexes[ordinal].store(0, Release);
    IndexCore::destroy(change.heap, index.schema.kind, index.root);
    logged.endure(db)
}

/// Logs a change, which nobody sees yet. From here on it is made, whatever becomes of the log.
fn record(db: &Instance, definition: &Definition) -> Result<LoggedDefinition> {
    match db.log() {
        Some(log) => commit::log_definition(db, log, &definition.to_bytes()),
        None => Ok(LoggedDefinition::default()),
    }
}

/// Makes a change that was logged once more.
pub(crate) fn repeat(db: &Instance, definition: Definition) -> Result<()> {
    let table = |id| {
        let gone = || Error::new(ErrorKind::UnknownTable).because(format!("number {id}"));
        db.catalog().by_id(id).ok_or_else(gone)
    };
    match definition {
        Definition::CreateTable { table, schema } => {
            db.catalog().skip_to(table);
            if db.catalog().next_id()? != table {
                return Err(Error::new(ErrorKind::TableExists).because(format!("number {table}")));
            }
            match schema.set.clone() {
                Some(set) => create_set(db, set).map(|_| ()),
                None => create_table(db, schema).map(|_| ()),
            }
        }
        Definition::DropTable { table: id } => {
            let core = table(id)?;
            match db.catalog().set_of_relation(id) {
                Some(set) => drop_set(db, &set),
                None => drop_table(db, &core),
            }
        }
        Definition::CreateIndex { table: id, mut schema } => {
            let index = schema.indexes.pop();
            let index = index.ok_or_else(|| Error::new(ErrorKind::InvalidSchema))?;
            create_index(db, &*table(id)?, index)
        }
        Definition::DropIndex { table: id, name } => {
            let core = table(id)?;
            let index = core.indexes().find(|index| index.schema.name == name);
            let ordinal = index
                .map(|index| index.ordinal)
                .ok_or_else(|| Error::new(ErrorKind::UnknownIndex).because(format!("`{name}`")))?;
            drop_index(db, &core, ordinal)
        }
    }
}

/// A change that was logged, in words: the table's number, its name if that is known from the
/// change, and what becomes of it.
pub(crate) fn in_words(bytes: &[u8]) -> Option<(u32, Option<String>, String)> {
    Some(match Definition::from_bytes(bytes)? {
        Definition::CreateTable { table, schema } => {
            let what = if schema.set.is_some() { "set" } else { "table" };
            let words = format!("create {what} {}", schema.name);
            (table, Some(schema.name), words)
        }
        Definition::DropTable { table } => (table, None, "drop the table".to_owned()),
        Definition::CreateIndex { table, schema } => {
            let name = schema.indexes.first().map_or("", |index| index.name.as_str());
            (table, Some(schema.name.clone()), format!("create index {name} of {}", schema.name))
        }
        Definition::DropIndex { table, name } => (table, None, format!("drop index {name}")),
    })
}

impl Definition {
    /// The bytes that are logged: a byte for the kind, the table's number, then the schema, the
    /// schema with the index alone, or the index's name.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (kind, table, rest) = match self {
            Self::CreateTable { table, schema } => (1_u8, table, schema.to_bytes()),
            Self::DropTable { table } => (2, table, Vec::new()),
            Self::CreateIndex { table, schema } => (3, table, schema.to_bytes()),
            Self::DropIndex { table, name } => (4, table, name.clone().into_bytes()),
        };
        [&[kind][..], &table.to_le_bytes(), &rest].concat()
    }

    /// What was logged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(5)?;
        let table = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        Some(match head[0] {
            1 => Self::CreateTable { table, schema: TableSchema::from_bytes(rest).ok()? },
            2 => Self::DropTable { table },
            3 => Self::CreateIndex { table, schema: TableSchema::from_bytes(rest).ok()? },
            4 => Self::DropIndex { table, name: String::from_utf8(rest.to_vec()).ok()? },
            _ => return None,
        })
    }
}

impl<'d> Change<'d> {
    fn begin(db: &'d Instance) -> Result<Self> {
        let (held, snapshot) = stamping::with_slot(db, clock::begin_exclusive)?;
        let heap = db.memory().heap(held.cache());
        Ok(Self { db, held, heap, snapshot })
    }

    /// Keeps new writers out and waits for the active ones, then sees what they committed.
    fn close_gate(&mut self) -> Result<ClosedGate<'d>> {
        let memory = self.db.memory();
        let Some(gate) = gate::close(memory, self.held.number(), WAIT_MAX) else {
            return Err(busy("transactions that write"));
        };
        // Whoever is left with a part of it looks tables up, which are about to change.
        stamping::all(self.db);
        self.snapshot.timestamp = memory.header().clock.0.load(SeqCst);
        Ok(gate)
    }

    /// Waits until every transaction that began before now has ended. The clock moves first, so
    /// that a slot taken anew in between looks different.
    fn wait_for_readers(&self) -> Result<()> {
        let start = Instant::now();
        let memory = self.db.memory();
        commit::advance_clock(memory);
        let slots = memory.header().slots_used.load(SeqCst) as usize;
        for number in (0..slots).filter(|&number| number != self.held.number()) {
            let state = &crate::slot::slot(memory, number).state;
            let first = state.load(SeqCst);
            let mut turn = 0;
            while crate::slot::is_held(first) && state.load(SeqCst) == first {
                check_time(start, "transactions that read")?;
                pause(turn);
                turn += 1;
            }
        }
        Ok(())
    }

    fn create_root(&self, id: u32, schema: &TableSchema) -> Result<Ref<TableRoot>> {
        let heap = self.heap;
        let bytes = schema.to_bytes();
        let root = heap.create::<TableRoot>(Purpose::Internal)?;
        let at = heap
            .allocate(bytes.len(), Purpose::Internal, Entitlement::Ordinary)
            .inspect_err(|_| heap.free_block(root.offset(), Purpose::Internal))?;
        heap.region().fresh_bytes(at, bytes.len()).copy_from_slice(&bytes);
        let words = heap.memory.get(root);
        words.schema.store(at, Relaxed);
        words.schema_len.store(bytes.len() as u32, Relaxed);
        words.id.store(id, Relaxed);
        Ok(root)
    }

    fn create_empty_index(&self, core: &TableCore, schema: IndexSchema) -> Result<()> {
        let ordinal = core.next_ordinal()?;
        let root = IndexCore::create_root(self.heap, schema.kind)?;
        self.publish_index(core, ordinal, schema, root)
    }

    fn publish_index(
        &self,
        core: &TableCore,
        ordinal: usize,
        schema: IndexSchema,
        root: u64,
    ) -> Result<()> {
        let kind = schema.kind;
        let index = IndexCore::new(core, ordinal, schema, root)
            .inspect_err(|_| IndexCore::destroy(self.heap, kind, root))?;
        self.heap.memory.get(core.root).indexes[ordinal].store(root, Release);
        core.publish_index(index);
        Ok(())
    }

    /// Builds an index over every version of every row, so that older snapshots can use it too.
    fn build_index(&self, core: &TableCore, schema: IndexSchema) -> Result<()> {
        let ordinal = core.next_ordinal()?;
        let index = IndexCore::new(core, ordinal, schema, 0)?;
        let root = match index.schema.kind {
            IndexKind::Ordered => self.build_ordered(core, &index)?,
            IndexKind::Hash => self.build_hash(core, &index)?,
        };
        let index = IndexCore::new(core, ordinal, index.schema, root)?;
        if index.schema.unique
            && let Err(error) = self.check_all_unique(core, &index)
        {
            IndexCore::destroy(self.heap, index.schema.kind, root);
            return Err(error);
        }
        let indexes = vec![index.schema.clone()];
        let schema = TableSchema { indexes, ..core.schema.clone() };
        let created = Definition::CreateIndex { table: core.id, schema };
        let logged = record(self.db, &created)
            .inspect_err(|_| IndexCore::destroy(self.heap, index.schema.kind, root))?;
        self.publish_index(core, ordinal, index.schema, root)?;
        logged.endure(self.db)
    }

    fn build_ordered(&self, core: &TableCore, index: &IndexCore) -> Result<u64> {
        let mut entries: Vec<BuildEntry> = Vec::new();
        let collected = self.each_key(core, index, |key, row, version, keyed| {
            let leaf = if keyed {
                create_key_block(self.heap, key, row)?
            } else {
                Leaf::plain(row, version)
            };
            entries.push(BuildEntry { key: key.to_vec(), row, leaf });
            Ok(())
        });
        entries.sort_unstable_by(|a, b| (&a.key, a.row).cmp(&(&b.key, b.row)));
        collected.and_then(|()| build::build(self.heap, &entries)).inspect_err(|_| {
            for block in entries.iter().filter_map(|entry| entry.leaf.block()) {
                self.heap.free_block(block, Purpose::Indexes);
            }
        })
    }

    fn build_hash(&self, core: &TableCore, index: &IndexCore) -> Result<u64> {
        let root = IndexCore::create_root(self.heap, IndexKind::Hash)?;
        let hash = crate::index::hash::HashIndex::at(self.heap.region(), root);
        let built = self.each_key(core, index, |key, row, version, _| {
            hash.insert(self.heap, hash_of(key), row, version).map(|_| ())
        });
        built.inspect_err(|_| hash.destroy(self.heap, root))?;
        Ok(root)
    }

    /// Calls `add` with every different key of every row, its newest version, and whether the row
    /// has more than one key.
    fn each_key(
        &self,
        core: &TableCore,
        index: &IndexCore,
        mut add: impl FnMut(&[u8], u32, u64, bool) -> Result<()>,
    ) -> Result<()> {
        let memory = self.heap.memory;
        let mut key = KeyBuffer::new();
        let table = TableAt { memory, core };
        self.each_row(core, |row, newest| {
            if newest == 0 {
                let add = |bytes: &[u8]| {
                    let encoded = index.plan.encode_row(bytes, &mut key);
                    encoded.map_err(|error| index.key_error(error))?;
                    add(key.as_slice(), row, 0, false)
                };
                return table.with_frozen_key(row, &index.plan, add).unwrap_or(Ok(()));
            }
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for (at, version) in chain(memory, newest) {
                if version.is_tombstone() {
                    continue;
                }
                let encoded = index.plan.encode_row(bytes_at(memory, at), &mut key);
                encoded.map_err(|error| index.key_error(error))?;
                if !keys.iter().any(|other| other == key.as_slice()) {
                    keys.push(key.as_slice().to_vec());
                }
            }
            let keyed = keys.len() > 1;
            keys.iter().try_for_each(|key| add(key, row, newest, keyed))
        })
    }

    fn check_all_unique(&self, core: &TableCore, index: &IndexCore) -> Result<()> {
        let memory = self.heap.memory;
        let table = TableAt { memory, core };
        let mut key = KeyBuffer::new();
        self.each_row(core, |row, newest| {
            let mut check = |bytes: &[u8]| {
                if index.plan.has_null(bytes) {
                    return Ok(());
                }
                index.plan.encode_row(bytes, &mut key).map_err(|error| index.key_error(error))?;
                let (changed, placement) = ((row, bytes), Placement::Shared);
                check_unique(table, index, key.as_slice(), changed, placement, self.snapshot)
            };
            if newest == 0 {
                return table.with_frozen_key(row, &index.plan, check).unwrap_or(Ok(()));
            }
            let Some(at) = visible(memory, newest, self.snapshot) else { return Ok(()) };
            check(bytes_at(memory, at))
        })
    }

    /// Calls `visit` with each row and its newest version, or 0 if it is as it was frozen.
    fn each_row(
        &self,
        core: &TableCore,
        mut visit: impl FnMut(u32, u64) -> Result<()>,
    ) -> Result<()> {
        self.each_word(core, |row, word| match newest_of(word) {
            0 if !is_frozen(word) => Ok(()),
            newest => visit(row, newest),
        })
    }

    /// Calls `visit` with the word of each row's slot.
    fn each_word(
        &self,
        core: &TableCore,
        mut visit: impl FnMut(u32, u64) -> Result<()>,
    ) -> Result<()> {
        let memory = self.heap.memory;
        let directory = &memory.get(core.root).directory;
        let limit = directory.limit();
        let mut next = 0;
        while next < limit {
            let slots = directory.stretch(memory, &mut next, (limit, u64::MAX));
            for (row, slot) in (next as u32..).zip(slots) {
                visit(row, slot.load(Relaxed))?;
                next = u64::from(row) + 1;
            }
        }
        Ok(())
    }

    fn unlink_root(&self, core: &TableCore) {
        let memory = self.heap.memory;
        let mut link = &memory.header().tables;
        while link.load(Relaxed) != core.root.offset() {
            link = &memory.get(Ref::<TableRoot>::new(link.load(Relaxed))).next;
        }
        link.store(memory.get(core.root).next.load(Relaxed), Release);
    }

    fn free_rows(&self, core: &TableCore) {
        let freed = self.each_word(core, |_, word| {
            let mut at = last_of(word);
            while at != 0 {
                let older = Version::at(self.heap.memory, at).older.load(Relaxed);
                Version::free(self.heap, at);
                at = older;
            }
            Ok(())
        });
        debug_assert!(freed.is_ok());
        self.heap.memory.get(core.root).directory.destroy(self.heap);
    }

    /// Frees a table's root and indexes; its rows are gone already, or there never were any.
    fn free_root(&self, core: &TableCore) {
        let words = self.heap.memory.get(core.root);
        for index in core.indexes() {
            IndexCore::destroy(self.heap, index.schema.kind, index.root);
        }
        self.heap.free_block(words.schema.load(Relaxed), Purpose::Internal);
        self.heap.free_block(core.root.offset(), Purpose::Internal);
    }
}

/// The table that holds a set has the columns and indexes that this takes.
fn check_no_relation(core: &TableCore) -> Result<()> {
    if core.schema.set.is_none() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::RelationOfSet).because(format!("`{}`", core.schema.name)))
}

fn check_time(start: Instant, who: &str) -> Result<()> {
    if start.elapsed() < WAIT_MAX { Ok(()) } else { Err(busy(who)) }
}

fn busy(who: &str) -> Error {
    let seconds = WAIT_MAX.as_secs();
    Error::new(ErrorKind::TableBusy).because(format!("{who} did not end within {seconds} seconds"))
}
