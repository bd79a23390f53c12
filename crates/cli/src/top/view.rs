//! What the metrics say, as one thing to look at; and what happened from one such to the next.
//!
//! A metric that is missing counts as 0: an older exporter has fewer. Rates go by the database's
//! own clock, so that an answer which came late does not look like a pause.

use std::time::Duration;

use super::metrics::Metrics;

/// A database as its exporter described it.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct View {
    pub(crate) version: String,
    pub(crate) uptime: Duration,
    pub(crate) memory: Memory,
    pub(crate) counts: Counts,
    pub(crate) readers: u64,
    pub(crate) writers: u64,
    pub(crate) backlog: u64,
    pub(crate) pinned_rows: u64,
    pub(crate) has_log: bool,
    /// Of a replica of a group.
    pub(crate) replica: Option<Replica>,
    pub(crate) tables: Vec<Table>,
    /// How long ago the tables were inspected.
    pub(crate) tables_age: Duration,
    pub(crate) snapshots: Vec<Snapshot>,
}

/// A replica of a group, in bytes of log.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Replica {
    pub(crate) leads: bool,
    pub(crate) had: u64,
    pub(crate) replicated: u64,
    pub(crate) applied: u64,
}

/// Bytes of memory.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Memory {
    pub(crate) by_purpose: Vec<(String, u64)>,
    pub(crate) held: u64,
    pub(crate) budget: u64,
    pub(crate) reserve: u64,
    pub(crate) committed: u64,
    pub(crate) reclaimable: u64,
}

/// What only grows.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Counts {
    pub(crate) commits: f64,
    pub(crate) changes: f64,
    pub(crate) rollbacks: f64,
    pub(crate) conflicts: f64,
    pub(crate) retries: f64,
    pub(crate) frozen_segments: f64,
    pub(crate) checkpoints: f64,
    pub(crate) log_commits: f64,
    pub(crate) log_bytes: f64,
    pub(crate) log_written: f64,
    pub(crate) log_synced: f64,
    pub(crate) log_writes: f64,
    pub(crate) log_syncs: f64,
}

/// A table.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) rows: u64,
    pub(crate) versions: u64,
    pub(crate) row_bytes: u64,
    pub(crate) segment_bytes: u64,
    pub(crate) index_bytes: u64,
    pub(crate) indexes: u64,
}

/// Snapshots of one name.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Snapshot {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) age: Duration,
    pub(crate) pinned_bytes: u64,
    pub(crate) expired: u64,
}

impl View {
    /// What the metrics say.
    ///
    /// # Errors
    /// If they are not those of a database.
    pub(crate) fn of(metrics: &Metrics) -> Result<Self, String> {
        let Some(info) = metrics.all("remanent_info").first() else {
            return Err("there is no remanent_info".to_owned());
        };
        let number = |name: &str| metrics.get(name).unwrap_or(0.0);
        let level =
            |level| metrics.with("remanent_log_bytes_total", "durability", level).unwrap_or(0.0);
        let active =
            |kind| metrics.with("remanent_transactions", "kind", kind).unwrap_or(0.0) as u64;
        Ok(Self {
            version: info.label("version").to_owned(),
            uptime: seconds(number("remanent_uptime_seconds")),
            memory: memory(metrics),
            counts: Counts {
                commits: number("remanent_commits_total"),
                changes: number("remanent_changes_total"),
                rollbacks: number("remanent_rollbacks_total"),
                conflicts: number("remanent_conflicts_total"),
                retries: number("remanent_retries_total"),
                frozen_segments: number("remanent_frozen_segments_total"),
                checkpoints: number("remanent_checkpoints_total"),
                log_commits: number("remanent_log_commits_total"),
                log_bytes: level("buffered"),
                log_written: level("os"),
                log_synced: level("disk"),
                log_writes: number("remanent_log_writes_total"),
                log_syncs: number("remanent_log_syncs_total"),
            },
            readers: active("reader"),
            writers: active("writer"),
            backlog: number("remanent_backlog") as u64,
            pinned_rows: number("remanent_pinned_rows") as u64,
            has_log: metrics.get("remanent_log_syncs_total").is_some(),
            replica: replica(metrics),
            tables: tables(metrics),
            tables_age: seconds(number("remanent_tables_age_seconds")),
            snapshots: snapshots(metrics),
        })
    }

    /// What happened since `before`, each second; `None` if the database was opened since, or no
    /// time has gone by.
    pub(crate) fn rates_since(&self, before: &Self) -> Option<Counts> {
        let time = self.uptime.checked_sub(before.uptime)?.as_secs_f64();
        (time > 0.0).then(|| self.counts.since(&before.counts, time))
    }
}

impl Counts {
    fn since(&self, before: &Self, seconds: f64) -> Self {
        let rate = |now: f64, before: f64| (now - before).max(0.0) / seconds;
        Self {
            commits: rate(self.commits, before.commits),
            changes: rate(self.changes, before.changes),
            rollbacks: rate(self.rollbacks, before.rollbacks),
            conflicts: rate(self.conflicts, before.conflicts),
            retries: rate(self.retries, before.retries),
            frozen_segments: rate(self.frozen_segments, before.frozen_segments),
            checkpoints: rate(self.checkpoints, before.checkpoints),
            log_commits: rate(self.log_commits, before.log_commits),
            log_bytes: rate(self.log_bytes, before.log_bytes),
            log_written: rate(self.log_written, before.log_written),
            log_synced: rate(self.log_synced, before.log_synced),
            log_writes: rate(self.log_writes, before.log_writes),
            log_syncs: rate(self.log_syncs, before.log_syncs),
        }
    }

    /// How many commits one sync served; `None` if there was none.
    pub(crate) fn commits_per_sync(&self) -> Option<f64> {
        let synced = self.log_syncs > 0.0 && self.log_synced > 0.0;
        synced.then(|| self.log_commits / self.log_syncs)
    }
}

impl Table {
    /// Bytes of everything that it has.
    pub(crate) fn bytes(&self) -> u64 {
        self.row_bytes + self.segment_bytes + self.index_bytes
    }
}

fn memory(metrics: &Metrics) -> Memory {
    let bytes = |name: &str| metrics.get(name).unwrap_or(0.0) as u64;
    let purposes = metrics.all("remanent_memory_bytes").iter();
    Memory {
        by_purpose: purposes
            .map(|sample| (sample.label("purpose").to_owned(), sample.value as u64))
            .collect(),
        held: bytes("remanent_memory_held_bytes"),
        budget: bytes("remanent_memory_budget_bytes"),
        reserve: bytes("remanent_memory_reserve_bytes"),
        committed: bytes("remanent_memory_committed_bytes"),
        reclaimable: bytes("remanent_memory_reclaimable_bytes"),
    }
}

fn replica(metrics: &Metrics) -> Option<Replica> {
    let leads = metrics.get("remanent_replica_leads")? > 0.0;
    let bytes =
        |state| metrics.with("remanent_replica_log_bytes", "state", state).unwrap_or(0.0) as u64;
    let (had, replicated, applied) = (bytes("had"), bytes("replicated"), bytes("applied"));
    Some(Replica { leads, had, replicated, applied })
}

fn tables(metrics: &Metrics) -> Vec<Table> {
    let tables = metrics.all("remanent_table_rows").iter();
    tables
        .map(|sample| {
            let name = sample.label("table");
            let number = |metric| metrics.with(metric, "table", name).unwrap_or(0.0) as u64;
            let indexes = metrics.all("remanent_index_bytes").iter();
            let indexes: Vec<_> = indexes.filter(|index| index.label("table") == name).collect();
            Table {
                name: name.to_owned(),
                rows: sample.value as u64,
                versions: number("remanent_table_versions"),
                row_bytes: number("remanent_table_row_bytes"),
                segment_bytes: number("remanent_table_segment_bytes"),
                index_bytes: indexes.iter().map(|index| index.value as u64).sum(),
                indexes: indexes.len() as u64,
            }
        })
        .collect()
}

/// Those that keep most first, then the oldest.
fn snapshots(metrics: &Metrics) -> Vec<Snapshot> {
    let counts = metrics.all("remanent_snapshots").iter();
    let mut snapshots: Vec<_> = counts
        .map(|sample| {
            let (name, kind) = (sample.label("name"), sample.label("kind"));
            let number = |metric| {
                let mut all = metrics.all(metric).iter();
                let own = all.find(|s| s.label("name") == name && s.label("kind") == kind);
                own.map_or(0.0, |sample| sample.value)
            };
            Snapshot {
                name: name.to_owned(),
                kind: kind.to_owned(),
                count: sample.value as u64,
                age: seconds(number("remanent_snapshot_age_seconds")),
                pinned_bytes: number("remanent_snapshot_pinned_bytes") as u64,
                expired: number("remanent_snapshots_expired") as u64,
            }
        })
        .collect();
    snapshots.sort_by_key(|held| std::cmp::Reverse((held.pinned_bytes, held.age)));
    snapshots
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
