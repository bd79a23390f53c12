//! The workload of sets end to end: a short run in Rust and in C, and the records it leaves.

use std::fs;
use std::process::Command;

use serde_json::Value;

#[test]
fn sets_leave_verified_records_for_every_order() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut lab = Command::new(env!("CARGO_BIN_EXE_lab"));
    lab.args(["sets", "--quick", "--rows", "500", "--rounds", "1", "--out"]).arg(out.path());
    let run = lab.output().unwrap();
    assert!(run.status.success(), "{run:?}");

    let lines = fs::read_to_string(out.path().join("sets.jsonl")).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (contender, order) in [
        ("remanent", "last"),
        ("remanent", "first"),
        ("remanent", "next"),
        ("remanent", "ascending"),
        ("remanent-d", "last"),
    ] {
        for phase in ["connect_100", "next", "siblings_random", "disconnect_100", "connect_1"] {
            let record = records.iter().find(|record| {
                record["contender"] == contender
                    && record["order"] == order
                    && record["phase"] == phase
            });
            let record = record.unwrap_or_else(|| panic!("no {contender} {phase} in\n{lines}"));
            assert_eq!(record["verified"], true, "{record}");
            assert!(record["cpu_ns_per_op"]["median"].as_f64() > Some(0.0), "{record}");
        }
    }
    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains("500 rows, order last") && page.contains("remanent-d"));
}
