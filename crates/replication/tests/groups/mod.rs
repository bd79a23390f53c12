//! Groups of replicas in one process, on loopback.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Durability, Options, Replica, Table};
use remanent_replication::{GroupOptions, Node, NodeId};

pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A group whose folders go at the end.
pub(crate) struct Group {
    home: tempfile::TempDir,
    pub(crate) ports: Vec<u16>,
    pub(crate) nodes: Vec<Option<Node>>,
}

pub(crate) fn options() -> Options {
    Options::new().budget(64 << 20).durability(Durability::Buffered).checkpoint_after(0)
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Group {
    /// So many replicas, started.
    pub(crate) fn start(count: usize) -> Self {
        let mut group = Self::closed(count);
        (0..count).for_each(|place| group.open(place));
        group
    }

    /// So many replicas, none of which is started.
    pub(crate) fn closed(count: usize) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let ports = (0..count).map(|_| free_port()).collect();
        Self { home, ports, nodes: (0..count).map(|_| None).collect() }
    }

    pub(crate) fn address(&self, place: usize) -> String {
        format!("127.0.0.1:{}", self.ports[place])
    }

    pub(crate) fn folder(&self, place: usize) -> std::path::PathBuf {
        self.home.path().join(place.to_string())
    }

    pub(crate) fn group_options(&self, place: usize) -> GroupOptions {
        let mut options = GroupOptions::new(place as NodeId + 1, self.address(place));
        for other in (0..self.ports.len()).filter(|&other| other != place) {
            options = options.peer(other as NodeId + 1, self.address(other));
        }
        options
    }

    /// Starts a replica that is not running.
    pub(crate) fn open(&mut self, place: usize) {
        let options_of_group = self.group_options(place);
        self.open_with(place, options_of_group);
    }

    pub(crate) fn open_with(&mut self, place: usize, group: GroupOptions) {
        let node = Node::start(self.folder(place), options, group, None).expect("a node");
        self.nodes[place] = Some(node);
    }

    pub(crate) fn node(&self, place: usize) -> &Node {
        self.nodes[place].as_ref().expect("it runs")
    }

    /// The place of the replica that leads, when one does.
    pub(crate) fn leader(&self) -> usize {
        let begin = Instant::now();
        loop {
            let leads = |place: &usize| self.nodes[*place].as_ref().is_some_and(Node::leads);
            if let Some(place) = (0..self.nodes.len()).find(leads) {
                return place;
            }
            assert!(begin.elapsed() < LONG, "no leader: {:#?}", self.statuses());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn statuses(&self) -> Vec<String> {
        let of = |node: &Node| format!("{:?} {:?}", node.status(), node.failure());
        self.nodes.iter().map(|node| node.as_ref().map_or("none".to_owned(), of)).collect()
    }

    pub(crate) fn database(&self, place: usize) -> Arc<Database> {
        let database = self.node(place).wait_for_database(LONG);
        database.unwrap_or_else(|| panic!("no database: {:#?}", self.statuses()))
    }

    /// Waits until all replicas that run have applied what the leader has.
    pub(crate) fn wait_until_equal(&self) {
        let leader = self.leader();
        Replica::of(&self.database(leader)).expect("a replica").write().expect("to be written");
        let begin = Instant::now();
        loop {
            let last = self.node(leader).status().last;
            let is_there = |node: &Node| node.status().applied >= last;
            if self.nodes.iter().flatten().all(is_there) {
                return;
            }
            assert!(begin.elapsed() < LONG, "they differ: {:#?}", self.statuses());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

pub(crate) fn schema() -> TableSchema {
    TableSchema::new("T")
        .column("number", ColumnType::U32)
        .column("text", ColumnType::STRING)
        .primary_key(["number"])
}

/// Inserts a row, and waits for a level.
pub(crate) fn insert(
    db: &Database,
    table: &Table,
    number: u32,
    durability: Durability,
) -> remanent_engine::Result<()> {
    let options = remanent_engine::TransactionOptions::new().durability(durability);
    let tx = db.begin_write_with(&options)?;
    tx.insert_values(table, &[Some(number.into()), Some("text".into())])?;
    tx.commit().map(|_| ())
}

/// The numbers in `T`, in order.
pub(crate) fn numbers(db: &Database) -> Vec<u32> {
    let table = db.table("T").expect("a table");
    let number = table.column("number").expect("a column");
    let tx = db.begin_read().expect("to begin");
    let rows = tx.scan(&table).expect("to scan");
    let mut numbers: Vec<u32> = rows.map(|row| row.get(number).expect("a number")).collect();
    numbers.sort_unstable();
    numbers
}
