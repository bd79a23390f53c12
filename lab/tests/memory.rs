//! Blocks of memory end to end: a short run of every allocator, and the records it leaves.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn every_allocator_leaves_verified_records_and_curves() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let run = lab(out.path(), &["memory", "--quick", "--rows", "200"]);
    assert!(run.status.success(), "{run:?}");

    let records = records(&out.path().join("memory.jsonl"));
    let usual = ["allocate", "allocate_calls", "free", "free_reverse", "end"];
    for contender in ["remanent", "remanent-ahead", "malloc", "mimalloc", "jemalloc", "mmap"] {
        let at_once: &[&str] = match contender.starts_with("remanent") {
            true => &["open", "reset", "drop"],
            false => &[],
        };
        for &phase in usual.iter().chain(at_once) {
            for count in [200, 400, 800] {
                let record = records.iter().find(|record| {
                    record["contender"] == contender
                        && record["phase"] == phase
                        && record["total_bytes"] == count * 65_536
                });
                let record = record.unwrap_or_else(|| panic!("no {contender} {phase} {count}"));
                assert_eq!(record["verified"], true, "{record}");
                assert!(record["wall_s"].as_f64() > Some(0.0), "{record}");
                assert_eq!(record["rows"], count);
            }
        }
    }
    for contender in ["remanent", "malloc", "malloc-kept", "mimalloc", "jemalloc"] {
        for phase in ["allocate_warm", "free_warm"] {
            let record = records.iter().find(|record| {
                record["contender"] == contender
                    && record["phase"] == phase
                    && record["block_bytes"] == 32
            });
            let record = record.unwrap_or_else(|| panic!("no {contender} {phase}"));
            assert!(record["cpu_ns_per_op"]["median"].as_f64() > Some(0.0), "{record}");
        }
    }
    let small = records
        .iter()
        .find(|record| record["contender"] == "mmap" && record["block_bytes"] == 1024);
    assert!(small.unwrap()["skipped"].as_str().unwrap().contains("whole pages"));

    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    for part in
        ["free reverse: CPU time over the total", "free: jemalloc", "dash0 ours", "exponent"]
    {
        assert!(page.contains(part), "{part}");
    }
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("the dearest block up to 4 KiB, remanent"), "{text}");
}

fn records(path: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lab(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments).arg("--out").arg(out).output().unwrap()
}
