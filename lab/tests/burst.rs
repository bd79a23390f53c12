//! One large transaction end to end: a short run of real contenders, and the records it leaves.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn a_burst_leaves_verified_records_in_every_variant() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let run = lab(out.path(), &["burst", "--quick", "--rows", "3000", "--rounds", "1"]);
    assert!(run.status.success(), "{run:?}");

    let records = records(&out.path().join("burst.jsonl"));
    let absent = |contender: &str| {
        let skipped = |r: &&Value| r["contender"] == contender && r["phase"] == Value::Null;
        records.iter().any(|r| skipped(&r) && r["order"] == Value::Null)
    };
    for (contender, setting, order, ending, snapshots) in [
        ("remanent", "memory", "ascending", "commit", 0),
        ("remanent", "memory", "random", "commit", 0),
        ("remanent", "memory", "random", "abort", 0),
        ("remanent", "memory", "ascending", "commit", 100),
        ("remanent-ahead", "memory", "ascending", "abort", 0),
        ("remanent", "buffered", "ascending", "commit", 0),
        ("remanent", "os", "ascending", "commit", 0),
        ("remanent", "disk", "ascending", "commit", 0),
        ("btreemap", "none", "random", "commit", 0),
        ("lmdb", "memory", "ascending", "abort", 0),
        ("lmdb", "memory", "ascending", "commit", 100),
        ("lmdb", "disk", "ascending", "commit", 0),
        ("lmdb-append", "memory", "ascending", "commit", 0),
        ("sqlite", "memory", "random", "commit", 0),
        ("sqlite", "memory", "ascending", "commit", 100),
        ("sqlite", "os", "ascending", "commit", 0),
        ("redb", "memory", "ascending", "abort", 0),
        ("redb", "memory", "ascending", "commit", 100),
        ("berkeley-db", "none", "ascending", "commit", 0),
        ("berkeley-db", "memory", "ascending", "abort", 0),
        ("berkeley-db", "disk", "ascending", "commit", 0),
    ] {
        if absent(contender) {
            continue;
        }
        let ended = if ending == "abort" { "rollback" } else { "commit" };
        for phase in ["open", "insert", ended, "close"] {
            if setting == "none" && phase == "commit" {
                continue;
            }
            let record = records.iter().find(|record| {
                record["contender"] == contender
                    && record["setting"] == setting
                    && (record["order"] == order && record["ending"] == ending)
                    && record["snapshots"].as_u64().unwrap_or(0) == snapshots
                    && record["phase"] == phase
            });
            let record = record.unwrap_or_else(|| panic!("no {contender} {setting} {phase}"));
            assert_eq!(record["verified"], true, "{record}");
            assert!(record["wall_s"].as_f64() > Some(0.0), "{record}");
            assert!(record["bytes_per_data_byte"].as_f64() > Some(0.5), "{record}");
        }
    }
    let alone = records
        .iter()
        .find(|record| record["contender"] == "btreemap" && record["snapshots"] == 100);
    assert!(alone.unwrap()["skipped"].as_str().unwrap().contains("nobody reads"));

    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    for part in ["keys random, abort: 3,000 records", "rollback: wall time", "<rect class=\"ours\""]
    {
        assert!(page.contains(part), "{part}");
    }
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("rollback beside insert, keys ascending"), "{text}");
}

fn records(path: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lab(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments).arg("--out").arg(out).output().unwrap()
}
