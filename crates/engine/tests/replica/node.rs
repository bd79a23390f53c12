//! Replicas for tests: one that leads and one that follows, in folders of their own.
//!
//! No group is there: a test hands entries from one to the other, and says what a majority has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use remanent_engine::schema::*;
use remanent_engine::{
    Applier, Database, Durability, ErrorKind, Folder, Options, Replica, RowId, Table,
};

/// Folders of replicas, which go at the end.
pub(crate) struct Home {
    path: PathBuf,
}

impl Home {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self { path }
    }

    pub(crate) fn folder(&self, name: &str) -> Arc<Folder> {
        Arc::new(Folder::create(self.path.join(name)).expect("a folder"))
    }

    pub(crate) fn open(&self, name: &str) -> Node {
        self.open_cut(name, None)
    }

    pub(crate) fn open_cut(&self, name: &str, last: Option<u64>) -> Node {
        let db = Database::open_replica(self.folder(name), options(), last).expect("a replica");
        let applier = Applier::new(&db).expect("an applier");
        Node { db: Arc::new(db), applier }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub(crate) fn options() -> Options {
    Options::new()
        .budget(64 << 20)
        .durability(Durability::Buffered)
        .log_file_size(64 << 10)
        .checkpoint_after(0)
}

/// A replica, and what applies to it.
pub(crate) struct Node {
    pub(crate) db: Arc<Database>,
    pub(crate) applier: Applier,
}

impl Node {
    pub(crate) fn last(&self) -> u64 {
        self.replica().last().index
    }

    pub(crate) fn replica(&self) -> Replica<'_> {
        Replica::of(&self.db).expect("a replica")
    }

    /// Gets what another has more, and applies it.
    pub(crate) fn follow(&mut self, other: &Node) {
        self.get(other, other.last());
        self.apply(other.last());
    }

    pub(crate) fn get(&self, other: &Node, upto: u64) {
        for index in self.last() + 1..=upto {
            let entry = other.replica().entry(index).expect("to be read").expect("to be held");
            self.replica().append(&[entry]).expect("to be appended");
        }
    }

    pub(crate) fn apply(&mut self, index: u64) {
        self.try_apply(index).expect("to be applied");
    }

    /// Applies what comes, unless somebody still reads what has to go.
    pub(crate) fn try_apply(&mut self, index: u64) -> Result<(), ErrorKind> {
        self.replica().note_replicated(index);
        self.applier.apply(&self.db, index).map(drop).map_err(|error| error.kind())
    }

    /// All rows of a table, with their numbers.
    pub(crate) fn rows(&self, table: &str) -> Vec<(RowId, Vec<u8>)> {
        let table = self.db.table(table).expect("a table");
        let tx = self.db.begin_read().expect("to begin");
        let rows = tx.scan(&table).expect("to scan");
        rows.map(|row| (row.id(), row.bytes().to_vec())).collect()
    }
}

pub(crate) fn schema(name: &str) -> TableSchema {
    TableSchema::new(name)
        .column("number", ColumnType::U32)
        .column("text", ColumnType::STRING)
        .primary_key(["number"])
}

pub(crate) fn insert(db: &Database, table: &Table, number: u32) {
    db.write(|tx| tx.insert_values(table, &[Some(number.into()), Some("some text".into())]))
        .expect("to be inserted");
}

/// A leader in term 1, and a follower, with one table `T`.
pub(crate) fn pair(home: &Home) -> (Node, Node, Table) {
    Replica::found(home.folder("a"), options(), b"members").expect("a group");
    let leader = home.open("a");
    leader.replica().copy_to(&*home.folder("b")).expect("a copy");
    leader.replica().lead(1).expect("to lead");
    let table = leader.db.create_table(schema("T")).expect("a table");
    let mut follower = home.open("b");
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    (leader, follower, table)
}
