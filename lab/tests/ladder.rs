//! Small pairs end to end: short runs of real contenders, and the records they leave.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn the_ladder_leaves_verified_records_on_every_level() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let contenders = "remanent,btreemap,hashmap,array,lmdb,sqlite,redb,berkeley-db,rocksdb";
    let flags = ["--quick", "--rows", "500", "--rounds", "1", "--contenders", contenders];
    let run = lab(out.path(), &[&["ladder"][..], &flags].concat());
    assert!(run.status.success(), "{run:?}");

    let records = records(&out.path().join("ladder.jsonl"));
    let absent = |contender: &str| {
        records
            .iter()
            .any(|record| record["contender"] == contender && record["skipped"] != Value::Null)
    };
    for (contender, setting, phases) in [
        ("array", "none", &["write", "read", "bulk_read", "write_random"][..]),
        ("hashmap", "none", &["write", "read", "write_random"]),
        ("btreemap", "none", &["write", "read", "bulk_read", "write_random"]),
        ("remanent", "none", &["write", "read", "bulk_read", "write_random"]),
        ("remanent-hash", "memory", &["write", "read", "write_random"]),
        ("lmdb", "memory", &["write", "read", "bulk_read", "write_random"]),
        ("lmdb", "os", &["write", "read", "bulk_read", "write_random"]),
        ("sqlite", "memory", &["write", "read", "bulk_read", "write_random"]),
        ("sqlite", "disk", &["write", "write_random"]),
        ("redb", "buffered", &["write", "read", "bulk_read", "write_random"]),
        ("redb", "disk", &["write", "write_random", "commit"]),
        ("berkeley-db", "none", &["write", "read", "bulk_read", "write_random"]),
        ("berkeley-db", "buffered", &["write", "read", "bulk_read", "write_random"]),
        ("berkeley-db-32mb", "none", &["write", "read", "bulk_read", "write_random"]),
        ("berkeley-db", "disk", &["write", "write_random", "commit"]),
        ("rocksdb", "memory", &["write", "read", "bulk_read", "write_random"]),
        ("rocksdb", "disk", &["write", "write_random", "commit"]),
    ] {
        if absent(contender.trim_end_matches("-32mb")) {
            continue;
        }
        for &phase in phases {
            let record = records.iter().find(|record| {
                record["contender"] == contender
                    && record["setting"] == setting
                    && record["phase"] == phase
            });
            let record = record.unwrap_or_else(|| panic!("no {contender} {setting} {phase}"));
            assert_eq!(record["verified"], true, "{record}");
            assert!(record["wall_ns_per_op"]["median"].as_f64() > Some(0.0), "{record}");
        }
    }
    for contender in ["berkeley-db", "rocksdb", "redb"] {
        let counted = |record: &&Value| {
            record["contender"] == contender
                && record["threads"] == 16
                && record["commits_per_sync"].as_f64() > Some(0.0)
        };
        assert!(absent(contender) || records.iter().any(|r| counted(&r)), "{contender}");
    }
    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    for part in ["Small pairs by promise", "read: pairs a second", "by threads", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_killed_process_leaves_everything_that_comes_back() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let run = lab(out.path(), &["recovery", "--quick", "--rows", "1000", "--rounds", "1"]);
    assert!(run.status.success(), "{run:?}");
    let records = records(&out.path().join("recovery.jsonl"));
    for (contender, phase) in [
        ("remanent", "load"),
        ("lmdb", "replay"),
        ("sqlite", "replay"),
        ("redb", "replay"),
        ("berkeley-db", "replay"),
        ("rocksdb", "replay"),
    ] {
        let record = records.iter().find(|record| record["contender"] == contender);
        let record = record.unwrap_or_else(|| panic!("no {contender}"));
        if record["phase"] == Value::Null && record["skipped"] != Value::Null {
            assert!(["berkeley-db", "rocksdb"].contains(&contender), "{record}");
            continue;
        }
        assert_eq!((&record["phase"], &record["verified"]), (&phase.into(), &true.into()));
        assert!(record["bytes"].as_u64() > Some(30_000), "{record}");
        assert!(record["wall_s_per_gb"].as_f64() > Some(0.0), "{record}");
    }
    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains("seconds for each GB"));
}

fn records(path: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lab(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments).arg("--out").arg(out).output().unwrap()
}
