//! From metrics to a view, and from one view to the next.

use std::time::Duration;

use super::super::metrics::parse;
use super::View;

fn view(text: &str) -> Result<View, String> {
    View::of(&parse(text)?)
}

#[test]
fn metrics_of_something_else_are_refused() {
    assert!(view("node_load1 0.5\n").is_err());
    assert!(view("remanent_info{version=\"1\"} 1\n").is_ok());
}

#[test]
fn rates_are_of_the_databases_own_time() {
    let at = |uptime: f64, commits: u64, syncs: u64| {
        view(&format!(
            "remanent_info 1\nremanent_uptime_seconds {uptime}\nremanent_commits_total {commits}\n\
             remanent_log_commits_total {commits}\nremanent_log_syncs_total {syncs}\n\
             remanent_log_bytes_total{{durability=\"disk\"}} {commits}\n"
        ))
        .unwrap()
    };
    let (before, now) = (at(10.0, 100, 5), at(12.0, 300, 25));
    let rates = now.rates_since(&before).unwrap();
    assert_eq!((rates.commits, rates.log_syncs), (100.0, 10.0));
    assert_eq!(rates.commits_per_sync(), Some(10.0));
    assert_eq!(now.rates_since(&now), None);
    // It was opened anew.
    assert_eq!(before.rates_since(&now), None);
}

#[test]
fn snapshots_that_keep_most_come_first() {
    let text = "remanent_info 1\n\
        remanent_snapshots{name=\"a\",kind=\"reader\"} 1\n\
        remanent_snapshots{name=\"a\",kind=\"writer\"} 2\n\
        remanent_snapshot_pinned_bytes{name=\"a\",kind=\"reader\"} 0\n\
        remanent_snapshot_pinned_bytes{name=\"a\",kind=\"writer\"} 700\n\
        remanent_snapshot_age_seconds{name=\"a\",kind=\"reader\"} 1.5\n";
    let view = view(text).unwrap();
    let kinds: Vec<_> = view.snapshots.iter().map(|held| held.kind.as_str()).collect();
    assert_eq!(kinds, ["writer", "reader"]);
    assert_eq!(view.snapshots[1].age, Duration::from_millis(1500));
    assert_eq!((view.snapshots[0].count, view.snapshots[0].pinned_bytes), (2, 700));
}
