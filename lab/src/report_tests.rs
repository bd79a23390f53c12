use std::collections::BTreeMap;

use lab_harness::{Medium, Promise};

use super::*;
use crate::record::Spread;

#[test]
fn the_page_has_the_figures_and_nothing_outside_itself() {
    let directory = tempfile::tempdir().unwrap();
    record::append(directory.path(), "sensors", &records("2026-01-01T00:00:00Z 1")).unwrap();
    let page = fs::read_to_string(write(directory.path()).unwrap()).unwrap();
    for part in [
        "1,234",             // the median of a contender
        "6.17x",             // its ratio to ours
        "30,000 rows",       // the section
        "1.13",              // bytes held
        "a &lt;machine&gt;", // escaped
        "not &quot;installed&quot;",
        "6.2x lmdb", // a figure
        "class=\"yes\">yes",
        "prefers-color-scheme",
        "<svg",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is not in\n{page}"));
    assert!(place("<svg") < place("1,234") && place("1,234") < place("Goals of Remanent"));
    for outside in ["http:", "https:", "src=", "@import", "NaN", "inf"] {
        assert!(!page.contains(outside), "{outside} is in the page");
    }
}

#[test]
fn a_disk_is_drawn_beside_a_ram_disk() {
    let on = |contender, medium, ns| Record {
        medium: Some(medium),
        setting: Some(if medium == Medium::Memory { Promise::Memory } else { Promise::Os }),
        ..record("r", contender, ns)
    };
    let mut records = vec![
        on("remanent", Medium::Memory, 200.0),
        on("sqlite", Medium::Disk, 9_000.0),
        on("lmdb", Medium::Ramdisk, 3_000.0),
    ];
    let both = page::page(&runs(records.clone()));
    let drawing = |words: &str| {
        let begin = both.find(&format!("memory beside {words}")).expect("it is drawn");
        let end = both[begin..].find("</figure>").expect("it ends");
        both[begin..begin + end].to_owned()
    };
    let (disk, ram) = (drawing("files on a disk"), drawing("files on a RAM disk"));
    assert!(disk.contains("remanent memory") && disk.contains("sqlite os"), "{disk}");
    assert!(ram.contains("remanent memory") && ram.contains("lmdb os"), "{ram}");
    assert!(!disk.contains("lmdb") && !ram.contains("sqlite"));
    assert!(both.contains("db.linux, the document's disk database, is not here"));
    records.pop();
    assert!(!page::page(&runs(records)).contains("db.linux"));
}

#[test]
fn the_newest_run_is_open_and_earlier_ones_are_folded() {
    let mut all = records("2026-01-01T00:00:00Z 1");
    all.extend(records("2026-01-02T00:00:00Z 2"));
    let runs = runs(all);
    let names: Vec<_> = runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["2026-01-02T00:00:00Z 2", "2026-01-01T00:00:00Z 1"]);
    let page = page::page(&runs);
    assert_eq!(page.matches("<details>").count(), 1);
    assert!(page.contains("earlier run, 2026-01-01"));
}

#[test]
fn an_unverified_phase_shows_the_word_and_no_time() {
    let mut records = records("r");
    records[1].verified = Some(false);
    let page = page::page(&runs(records));
    assert!(page.contains("unverified"));
    assert!(!page.contains("1,234"));
}

#[test]
fn contenders_over_readers_have_tables_and_lines() {
    let of_readers = |name: &str, readers, wall_ns| Record {
        workload: "readers".to_owned(),
        readers: Some(readers),
        per_transaction: Some(10),
        phase: "update".to_owned(),
        wall_ns_per_op: Spread::of(vec![wall_ns]),
        reader_cpu_ns_per_read: (readers > 0).then(|| Spread::of(vec![50.0])).flatten(),
        ..record("r", name, 321.0)
    };
    let records = vec![
        of_readers("remanent", 0, 222.0),
        of_readers("remanent", 10, 2_345.0),
        of_readers("lmdb", 0, 777.0),
        of_readers("lmdb", 10, 76_543.0),
    ];
    let page = page::page(&runs(records));
    for part in [
        "30,000 rows, 10 operations a transaction",
        "update: wall time of one operation, ns, over readers",
        "update: writer's CPU time",
        "<td class=\"number\">2,345</td>",
        "<td class=\"number\">76,543</td>",
        "20M", // look-ups
        "class=\"line dash0 ours\"",
        "<title>lmdb, 10: 76.5 µs</title>",
        "writer's wall time", // the list of figures
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn the_course_of_memory_is_drawn() {
    let point = |operations: u64| crate::protocol::Point {
        operations,
        wall_ms: 5,
        held_bytes: operations * 1024,
        rows_bytes: operations * 512,
    };
    let record = Record {
        workload: "long-reader".to_owned(),
        operations: Some(100_000),
        time_series: (0..=100).map(|number| point(number * 1_000)).collect(),
        ..record("r", "remanent", 321.0)
    };
    let page = page::page(&runs(vec![record]));
    for part in [
        "100,000 updates beside a reader that stays open",
        "97.7 MiB", // held at the end
        "class=\"line dash0 memory\"",
        "at most 8.0 MiB more",
        "class=\"no\">no",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
}

#[test]
fn a_directory_without_records_is_said_so() {
    let directory = tempfile::tempdir().unwrap();
    assert!(write(directory.path()).unwrap_err().to_string().contains("no records"));
}

fn records(run: &str) -> Vec<Record> {
    let ours = record(run, "remanent", 200.0);
    let theirs = Record { medium: Some(Medium::Ramdisk), ..record(run, "lmdb", 1_234.0) };
    let skipped = Record {
        phase: String::new(),
        skipped: Some("not \"installed\"".to_owned()),
        ..record(run, "berkeley-db", 1.0)
    };
    vec![ours, theirs, skipped]
}

fn record(run: &str, contender: &str, cpu_ns: f64) -> Record {
    Record {
        workload: "sensors".to_owned(),
        contender: contender.to_owned(),
        version: "1".to_owned(),
        setting: Some(Promise::Memory),
        medium: Some(Medium::Memory),
        phase: "write".to_owned(),
        rows: Some(30_000),
        rounds: Some(5),
        wall_ns_per_op: Spread::of(vec![cpu_ns]),
        cpu_ns_per_op: Spread::of(vec![cpu_ns]),
        bytes_per_data_byte: Some(1.13),
        empty_bytes: Some(4096),
        verified: Some(true),
        machine: "a <machine>".to_owned(),
        run: run.to_owned(),
        extra: BTreeMap::new(),
        ..Record::default()
    }
}
