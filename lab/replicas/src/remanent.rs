//! A member of our own: a replica, and the engine's calls on its database.
//!
//! Rows have a key, a number and a text of 18 bytes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lab_harness::Outcome;
use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{Database, Durability, IndexHandle, Options, Table, TransactionOptions};
use remanent_replication::{GroupOptions, Node};

use crate::member::{Member, spread};

/// How long a group may take to be there.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rows of a transaction that loads.
const LOADED_TOGETHER: u64 = 100;
/// The text of a row.
pub(crate) const TEXT: &str = "some text of a row";

pub(crate) struct Replica {
    node: Node,
    open: OnceLock<Open>,
}

/// The database, once it has the table.
struct Open {
    database: Arc<Database>,
    table: Table,
    primary: IndexHandle,
}

impl Replica {
    pub(crate) fn start(folder: &str, place: usize, ports: &[u16]) -> Outcome<Self> {
        let address = |place: usize| format!("127.0.0.1:{}", ports[place]);
        let mut group = GroupOptions::new(place as u64 + 1, address(place));
        let others = (0..ports.len()).filter(|other| *other != place);
        // Who is not among the first three joins them.
        match place < 3 {
            true => {
                for other in others.filter(|other| *other < 3) {
                    group = group.peer(other as u64 + 1, address(other));
                }
            }
            false => group = group.join(address(0)),
        }
        let options = || Options::new().durability(Durability::Buffered).budget(2 << 30);
        let node = Node::start(folder, options, group, None)?;
        node.wait_for_database(PATIENCE).ok_or("the database does not open")?;
        Ok(Self { node, open: OnceLock::new() })
    }

    fn open(&self) -> Outcome<&Open> {
        if let Some(open) = self.open.get() {
            return Ok(open);
        }
        let database = self.node.database().ok_or("the database is not open")?;
        let table = database.table("Event")?;
        let primary = table.index("primary")?;
        Ok(self.open.get_or_init(|| Open { database, table, primary }))
    }
}

impl Member for Replica {
    fn leads(&self) -> bool {
        self.node.leads()
    }

    fn define(&self) -> Outcome<()> {
        let database = self.node.database().ok_or("the database is not open")?;
        let schema = TableSchema::new("Event")
            .column("key", ColumnType::U64)
            .column("number", ColumnType::I32)
            .column("text", ColumnType::STRING)
            .primary_key(["key"]);
        database.create_table(schema)?;
        Ok(database.flush(Durability::ReplicatedDisk)?)
    }

    fn insert(&self, key: u64, level: &str) -> Outcome<()> {
        let Open { database, table, .. } = self.open()?;
        let level = match level.replace('_', " ").as_str() {
            "memory of a majority" => Durability::Replicated,
            "disks of a majority" => Durability::ReplicatedDisk,
            "one disk" => Durability::Disk,
            _ => Durability::Buffered,
        };
        let options = TransactionOptions::new().durability(level);
        let row = [Some(Value::U64(key)), Some(Value::I32(7)), Some(Value::String(TEXT))];
        Ok(database.write_with(&options, |tx| tx.insert_values(table, &row).map(drop))?)
    }

    fn load(&self, keys: std::ops::Range<u64>) -> Outcome<()> {
        let Open { database, table, .. } = self.open()?;
        for first in keys.clone().step_by(LOADED_TOGETHER as usize) {
            let keys = first..keys.end.min(first + LOADED_TOGETHER);
            database.write(|tx| {
                keys.clone().try_for_each(|key| {
                    let key = Some(Value::U64(spread(key)));
                    let row = [key, Some(Value::I32(7)), Some(Value::String(TEXT))];
                    tx.insert_values(table, &row).map(drop)
                })
            })?;
        }
        Ok(database.flush(Durability::Replicated)?)
    }

    fn count(&self) -> Outcome<u64> {
        let Open { database, table, .. } = self.open()?;
        Ok(database.read(|tx| Ok(tx.scan(table)?.count() as u64))?)
    }

    fn find(&self, key: u64) -> Outcome<bool> {
        let Open { database, table, primary } = self.open()?;
        let key = [Value::U64(key)];
        Ok(database.read(|tx| Ok(tx.find(table, *primary, &key)?.is_some()))?)
    }

    fn changes_applied(&self) -> u64 {
        self.node.status().applied_changes
    }
}
