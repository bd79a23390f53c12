//! Pictures on terminals that are not there.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::keys::Choice;
use super::super::metrics::parse;
use super::super::view::View;
use super::{Shown, budget_bar, draw};

const METRICS: &str = "\
remanent_info{version=\"0.1.0\"} 1
remanent_memory_bytes{purpose=\"rows\"} 67108864
remanent_memory_bytes{purpose=\"free\"} 1024
remanent_memory_held_bytes 67109888
remanent_memory_budget_bytes 134217728
remanent_memory_reserve_bytes 4194304
remanent_memory_committed_bytes 70000000
remanent_memory_reclaimable_bytes 0
remanent_commits_total 1000
remanent_conflicts_total 7
remanent_transactions{kind=\"reader\"} 2
remanent_transactions{kind=\"writer\"} 1
remanent_uptime_seconds 100
remanent_snapshots{name=\"report\",kind=\"reader\"} 1
remanent_snapshot_age_seconds{name=\"report\",kind=\"reader\"} 75
remanent_snapshot_pinned_bytes{name=\"report\",kind=\"reader\"} 2048
remanent_table_rows{table=\"Small\"} 12345
remanent_table_rows{table=\"Large\"} 5
remanent_table_row_bytes{table=\"Small\"} 100
remanent_table_row_bytes{table=\"Large\"} 3000000
remanent_index_bytes{table=\"Small\",index=\"primary\",kind=\"hash\"} 512
";

fn view(more: &str) -> View {
    View::of(&parse(&format!("{METRICS}{more}")).unwrap()).unwrap()
}

fn shown() -> Shown {
    Shown::new("db/metrics.sock".to_owned(), Duration::from_secs(1), view(""))
}

fn picture(shown: &Shown, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, shown)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect();
    (0..height).map(line).collect()
}

fn has(picture: &[String], text: &str) -> bool {
    picture.iter().any(|line| line.contains(text))
}

#[test]
fn everything_is_in_the_picture() {
    let picture = picture(&shown(), 120, 40);
    for text in [
        "db/metrics.sock",
        "open for 1 min 40 s",
        "memory: 64.0 MiB of 128.0 MiB",
        "rows",
        "free",
        "committed 66.8 MiB",
        "reserve 4.0 MiB",
        "1,000",
        "2 readers, 1 writers",
        "in memory alone",
        "tables: 2",
        "12,345",
        "2.9 MiB",
        "report",
        "1 min 15 s",
        "2.0 KiB",
        "q quit",
    ] {
        assert!(has(&picture, text), "{text}\n{}", picture.join("\n"));
    }
}

#[test]
fn rates_come_with_the_second_answer() {
    let mut shown = shown();
    assert!(!has(&picture(&shown, 120, 40), "/s"));
    let later = METRICS.replace("_total 1000", "_total 1500").replace("seconds 100", "seconds 101");
    shown.take(Ok(View::of(&parse(&later).unwrap()).unwrap()));
    assert!(has(&picture(&shown, 120, 40), "500/s"));
}

#[test]
fn a_log_is_shown_if_there_is_one() {
    let log = "remanent_log_syncs_total 10\nremanent_log_commits_total 25\n\
               remanent_log_bytes_total{durability=\"buffered\"} 5000\n\
               remanent_log_bytes_total{durability=\"disk\"} 904\n";
    let shown = Shown::new("x".to_owned(), Duration::from_secs(1), view(log));
    assert!(has(&picture(&shown, 120, 40), "4.0 KiB unsynced"));
}

#[test]
fn tables_are_sorted_as_was_chosen() {
    let mut shown = shown();
    let first_of = |shown: &Shown| {
        let picture = picture(shown, 120, 40);
        let at = |name: &str| picture.iter().position(|line| line.contains(name)).unwrap();
        if at("Small") < at("Large") { "Small" } else { "Large" }
    };
    assert_eq!(first_of(&shown), "Large");
    shown.choose(Some(Choice::Sort));
    assert_eq!(first_of(&shown), "Small");
    shown.choose(Some(Choice::Sort));
    assert_eq!(first_of(&shown), "Small");
    shown.choose(Some(Choice::Sort));
    assert_eq!(first_of(&shown), "Large");
    shown.choose(Some(Choice::Sort));
    assert_eq!(first_of(&shown), "Large");
}

#[test]
fn what_is_lost_is_said_until_it_is_back() {
    let mut shown = shown();
    shown.take(Err("nobody listens".to_owned()));
    let lost = picture(&shown, 120, 40);
    assert!(has(&lost, "nobody listens; asking again") && has(&lost, "memory: 64.0 MiB"));
    shown.take(Ok(view("")));
    assert!(!has(&picture(&shown, 120, 40), "nobody listens"));
}

#[test]
fn keys_pause_and_help() {
    let mut shown = shown();
    assert_eq!(shown.choose(Some(Choice::Pause)), Some(Choice::Pause));
    shown.choose(Some(Choice::Help));
    let both = picture(&shown, 120, 40);
    assert!(has(&both, "PAUSED") && has(&both, "sort tables by the next column"));
    shown.choose(Some(Choice::Pause));
    shown.choose(Some(Choice::Help));
    let none = picture(&shown, 120, 40);
    assert!(!has(&none, "PAUSED") && !has(&none, "sort tables by the next column"));
}

#[test]
fn every_size_of_terminal_will_do() {
    for (width, height) in [(1, 1), (10, 5), (40, 12), (80, 24), (300, 100)] {
        let mut shown = shown();
        shown.choose(Some(Choice::Help));
        picture(&shown, width, height);
    }
}

#[test]
fn the_bar_shows_what_there_is() {
    let bar = budget_bar(10, [3, 5, 2]);
    assert_eq!(bar, "\u{2588}\u{2588}\u{2588}\u{2592}\u{2592}\u{b7}\u{b7}\u{b7}\u{2591}\u{2591}");
}
