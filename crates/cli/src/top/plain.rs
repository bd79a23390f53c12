//! One picture as a text, for scripts.
//!
//! All counts are since the database was opened: there is no earlier picture to compare with.

use std::fmt::Write;

use super::view::{Table, View};
use super::words::{count, in_words, name, time};
use crate::sizes::shown;

/// The text.
pub(crate) fn text(place: &str, view: &View) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = writeln!(text, "{place}: version {}, open for {}", view.version, time(view.uptime));
    let _ = write!(text, "{}{}{}", memory(view), transactions(view), log(view));
    if let Some(replica) = &view.replica {
        let _ = writeln!(text, "replica: {}", in_words(replica));
    }
    let _ = write!(text, "{}{}", tables(view), snapshots(view));
    text
}

fn memory(view: &View) -> String {
    let memory = &view.memory;
    let mut text = format!(
        "memory: {} of {} held, {} committed, {} kept in reserve\n",
        shown(memory.held),
        shown(memory.budget),
        shown(memory.committed),
        shown(memory.reserve)
    );
    for (purpose, bytes) in &memory.by_purpose {
        let _ = writeln!(text, "  {purpose:<9} {:>12}", shown(*bytes));
    }
    let _ = writeln!(
        text,
        "to reclaim: {}, {} entries, {} pinned rows",
        shown(memory.reclaimable),
        count(view.backlog),
        count(view.pinned_rows)
    );
    text
}

fn transactions(view: &View) -> String {
    let counts = &view.counts;
    let [commits, changes, rollbacks] =
        [counts.commits, counts.changes, counts.rollbacks].map(|value| count(value as u64));
    let [conflicts, retries] = [counts.conflicts, counts.retries].map(|v| count(v as u64));
    format!(
        "transactions: {commits} commits of {changes} changes, {rollbacks} rollbacks, \
         {conflicts} conflicts, {retries} retries\n\
         active: {} readers, {} writers\n\
         frozen: {} segments\n",
        view.readers,
        view.writers,
        count(counts.frozen_segments as u64)
    )
}

fn log(view: &View) -> String {
    if !view.has_log {
        return "log: none\n".to_owned();
    }
    let counts = &view.counts;
    let per_sync = counts.commits_per_sync();
    let per_sync = per_sync.map_or("-".to_owned(), |commits| format!("{commits:.1}"));
    format!(
        "log: {}, {} written, {} synced; {} syncs, {per_sync} commits a sync; {} checkpoints\n",
        shown(counts.log_bytes as u64),
        shown(counts.log_written as u64),
        shown(counts.log_synced as u64),
        count(counts.log_syncs as u64),
        count(counts.checkpoints as u64)
    )
}

fn tables(view: &View) -> String {
    let mut tables: Vec<&Table> = view.tables.iter().collect();
    tables.sort_by_key(|table| std::cmp::Reverse(table.bytes()));
    let mut text = format!("tables: {}, as of {} ago\n", tables.len(), time(view.tables_age));
    for table in tables {
        let _ = writeln!(
            text,
            "  {}: {} rows, {} versions; {} = rows {} + segments {} + {} indexes {}",
            name(&table.name),
            count(table.rows),
            count(table.versions),
            shown(table.bytes()),
            shown(table.row_bytes),
            shown(table.segment_bytes),
            table.indexes,
            shown(table.index_bytes)
        );
    }
    text
}

fn snapshots(view: &View) -> String {
    let held: u64 = view.snapshots.iter().map(|snapshot| snapshot.count).sum();
    let mut text = format!("snapshots: {held}\n");
    for snapshot in &view.snapshots {
        let expired = if snapshot.expired > 0 { ", expired" } else { "" };
        let _ = writeln!(
            text,
            "  {}: {} {}, for {}, pinning {}{expired}",
            name(&snapshot.name),
            snapshot.count,
            snapshot.kind,
            time(snapshot.age),
            shown(snapshot.pinned_bytes)
        );
    }
    text
}
