//! Which metrics there are: names with their units, and what each says.
//!
//! `docs/observing.md` has the same list for people. A name that is here once stays what it is:
//! rules and dashboards are built on it.

use std::collections::BTreeMap;
use std::time::Duration;

use remanent_engine::schema::IndexKind;
use remanent_engine::{
    ColumnReads, Database, MemoryUse, Replica, SnapshotInfo, Statistics, TableMemory,
};

use crate::families::Families;

/// Names of snapshots that are told apart; the rest is added up under the name "(others)".
const NAMES_MAX: usize = 50;
const OTHERS: &str = "(others)";

/// The memory of tables when they were last measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) tables: Vec<TableMemory>,
    /// How long ago that was.
    pub(crate) age: Duration,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Everything that is said of a database.
pub(crate) fn text_of(db: &Database, tables: Option<&Tables>) -> String {
    let mut families = Families::default();
    families.gauges(
        "remanent_info",
        "Always 1; the version is in the label.",
        [(&[("version", env!("CARGO_PKG_VERSION"))][..], 1.0)],
    );
    memory(&mut families, &db.memory());
    let statistics = db.statistics();
    column_reads(&mut families, &statistics.column_reads);
    transactions(&mut families, &statistics);
    log(&mut families, &statistics);
    replica(&mut families, db);
    snapshots(&mut families, &db.snapshots());
    if let Some(tables) = tables {
        by_table(&mut families, tables);
    }
    families.to_text()
}

fn memory(families: &mut Families, memory: &MemoryUse) {
    let purposes = [
        ("rows", memory.rows),
        ("segments", memory.segments),
        ("indexes", memory.indexes),
        ("internal", memory.internal),
        ("columns", memory.columns),
        ("log", memory.log),
        ("overhead", memory.overhead),
        ("free", memory.free),
    ];
    let labels = purposes.map(|(purpose, _)| [("purpose", purpose)]);
    families.gauges(
        "remanent_memory_bytes",
        "Memory that is held, by purpose; the sum is remanent_memory_held_bytes.",
        labels.iter().zip(purposes).map(|(labels, (_, bytes))| (&labels[..], bytes as f64)),
    );
    let all = [
        ("held", memory.held, "Memory that is held: what the budget limits."),
        ("budget", memory.budget, "The most that may be held."),
        (
            "reserve",
            memory.reserve,
            "The part of the budget that only delete, rollback and reclamation may use.",
        ),
        ("committed", memory.committed, "Memory got from the system, held or not."),
        ("reserved", memory.reserved, "Addresses that the budget may be raised to."),
        (
            "cached",
            memory.cached,
            "Of the columns, what is in the buffer cache: it can be evicted.",
        ),
        ("evicted", memory.evicted, "Columns of paged tables that are not in memory."),
        (
            "reclaimable",
            memory.reclaimable,
            "Of the rows, about how much was superseded or deleted and waits to be freed.",
        ),
    ];
    for (name, bytes, help) in all {
        families.gauge(&format!("remanent_memory_{name}_bytes"), help, bytes as f64);
    }
    let help = "Bytes of columns that were read again after they were evicted.";
    families.counter("remanent_read_back_bytes_total", help, memory.read_back);
}

fn column_reads(families: &mut Families, reads: &ColumnReads) {
    let help = "Reads of files for columns that had been evicted.";
    families.counter("remanent_column_reads_total", help, reads.count);
    let times = [
        ("waiting", reads.waiting, "Time that these reads were waited for."),
        ("unpacking", reads.unpacking, "Time that checksums and decompression took after them."),
    ];
    for (name, time, help) in times {
        let name = format!("remanent_column_{name}_seconds_total");
        families.counters(&name, help, [(&[][..], time.as_secs_f64())]);
    }
}

fn transactions(families: &mut Families, statistics: &Statistics) {
    let counts = [
        ("commits", statistics.commits, "Transactions whose changes were committed."),
        ("changes", statistics.changes, "Changes of rows in committed transactions."),
        (
            "rollbacks",
            statistics.rollbacks,
            "Transactions that write which ended without a commit.",
        ),
        ("conflicts", statistics.conflicts, "Statements and commits refused with a conflict."),
        ("retries", statistics.retries, "Attempts after the first one, after a conflict."),
        (
            "frozen_segments",
            statistics.frozen_segments,
            "Segments of rows that were made columns by freezing.",
        ),
        ("checkpoints", statistics.checkpoints, "Checkpoints that were made."),
    ];
    for (name, count, help) in counts {
        families.counter(&format!("remanent_{name}_total"), help, count);
    }
    families.gauges(
        "remanent_transactions",
        "Transactions that are active.",
        [
            (&[("kind", "reader")][..], statistics.readers as f64),
            (&[("kind", "writer")][..], statistics.writers as f64),
        ],
    );
    families.gauge(
        "remanent_uptime_seconds",
        "For how long the database has been open.",
        statistics.uptime.as_secs_f64(),
    );
    families.gauge(
        "remanent_backlog",
        "Blocks and rows that wait to be freed or inspected.",
        statistics.backlog as f64,
    );
    families.gauge(
        "remanent_pinned_rows",
        "Rows of which an old snapshot needs a version that nobody else does.",
        statistics.pinned_rows as f64,
    );
    families.gauge(
        "remanent_oldest_snapshot_age_seconds",
        "The age of the oldest snapshot that is held; 0 if there is none.",
        statistics.oldest_snapshot.unwrap_or_default().as_secs_f64(),
    );
}

fn log(families: &mut Families, statistics: &Statistics) {
    let Some(log) = &statistics.log else { return };
    families.counters(
        "remanent_log_bytes_total",
        "Bytes of log since the database was made, by how far they have come.",
        [
            (&[("durability", "buffered")][..], log.bytes as f64),
            (&[("durability", "os")][..], log.bytes_written as f64),
            (&[("durability", "disk")][..], log.bytes_synced as f64),
        ],
    );
    families.counter("remanent_log_commits_total", "Commits that the log has taken.", log.commits);
    families.counter("remanent_log_writes_total", "Writes to files of the log.", log.writes);
    families.counter("remanent_log_syncs_total", "Syncs of files of the log.", log.syncs);
}

/// What a replica says, if the database is one of a group.
fn replica(families: &mut Families, db: &Database) {
    let Ok(replica) = Replica::of(db) else { return };
    let leads = replica.leads();
    families.gauge(
        "remanent_replica_leads",
        "1 for the replica of a group that takes changes, 0 for those that follow.",
        f64::from(u8::from(leads)),
    );
    let (had, _) = replica.positions();
    // A leader has applied all that it has.
    let applied = if leads { Some(had) } else { replica.end_of(replica.applied().index) };
    let replicated = replica.end_of(replica.replicated());
    let states = [("had", Some(had)), ("replicated", replicated), ("applied", applied)];
    let labels = states.map(|(state, _)| [("state", state)]);
    families.gauges(
        "remanent_replica_log_bytes",
        "Bytes of the group's log: had here, known here to be with a majority, applied here.",
        labels
            .iter()
            .zip(states)
            .map(|(labels, (_, bytes))| (&labels[..], bytes.unwrap_or_default() as f64)),
    );
    families.gauge(
        "remanent_replica_newest_commit",
        "The timestamp of the newest commit that can be read here; the same in all replicas.",
        replica.newest_commit() as f64,
    );
}

/// Snapshots of one name and kind.
#[derive(Default)]
struct Held {
    count: u64,
    age: Duration,
    pinned_bytes: u64,
    expired: u64,
}

fn snapshots(families: &mut Families, held: &[SnapshotInfo]) {
    let mut names: BTreeMap<(&str, &str), Held> = BTreeMap::new();
    // The oldest come first, so it is they that are told apart.
    for snapshot in held {
        let kind = if snapshot.writes { "writer" } else { "reader" };
        let mut name = (snapshot.name.as_str(), kind);
        if names.len() >= NAMES_MAX && !names.contains_key(&name) {
            name.0 = OTHERS;
        }
        let of_name = names.entry(name).or_default();
        of_name.count += 1;
        of_name.age = of_name.age.max(snapshot.age);
        of_name.pinned_bytes += snapshot.pinned_bytes;
        of_name.expired += u64::from(snapshot.expired);
    }
    let labels: Vec<_> =
        names.keys().map(|&(name, kind)| [("name", name), ("kind", kind)]).collect();
    let mut add = |name: &str, help: &str, value: &dyn Fn(&Held) -> f64| {
        let samples = labels.iter().zip(names.values());
        families.gauges(name, help, samples.map(|(labels, held)| (&labels[..], value(held))));
    };
    add("remanent_snapshots", "Snapshots that are held.", &|held| held.count as f64);
    add("remanent_snapshot_age_seconds", "The age of the oldest snapshot of the name.", &|held| {
        held.age.as_secs_f64()
    });
    add(
        "remanent_snapshot_pinned_bytes",
        "Bytes of old row versions that are kept for snapshots of the name.",
        &|held| held.pinned_bytes as f64,
    );
    add("remanent_snapshots_expired", "Of these snapshots, those that have expired.", &|held| {
        held.expired as f64
    });
}

fn by_table(families: &mut Families, found: &Tables) {
    let Tables { tables, age, took } = found;
    let labels: Vec<_> = tables.iter().map(|table| [("table", table.name.as_str())]).collect();
    let mut add = |name: &str, help: &str, value: fn(&TableMemory) -> u64| {
        let samples = labels.iter().zip(tables);
        families.gauges(
            name,
            help,
            samples.map(|(labels, table)| (&labels[..], value(table) as f64)),
        );
    };
    add("remanent_table_rows", "Rows of the table.", |table| table.rows);
    add("remanent_table_versions", "Versions of rows, old ones and deletions included.", |table| {
        table.versions
    });
    add("remanent_table_row_bytes", "Bytes of row versions.", |table| table.row_bytes);
    add("remanent_table_segment_bytes", "Bytes of the directory of rows.", |table| {
        table.segment_bytes
    });
    let indexes = || tables.iter().flat_map(|t| t.indexes.iter().map(move |index| (t, index)));
    let labels: Vec<_> = indexes()
        .map(|(table, index)| {
            let kind = match index.kind {
                IndexKind::Ordered => "ordered",
                IndexKind::Hash => "hash",
            };
            [("table", table.name.as_str()), ("index", index.name.as_str()), ("kind", kind)]
        })
        .collect();
    families.gauges(
        "remanent_index_bytes",
        "Bytes of the index.",
        labels.iter().zip(indexes()).map(|(labels, (_, index))| (&labels[..], index.bytes as f64)),
    );
    families.gauge(
        "remanent_tables_age_seconds",
        "How long ago the tables were gone through.",
        age.as_secs_f64(),
    );
    families.gauge(
        "remanent_tables_walk_seconds",
        "How long it took to go through the tables.",
        took.as_secs_f64(),
    );
}
