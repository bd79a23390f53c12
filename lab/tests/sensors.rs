//! The laboratory end to end: a short run of real contenders, and the records it leaves.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn a_quick_run_leaves_verified_records_and_a_report() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let contenders = "btreemap,lmdb,sqlite,redb";
    let run =
        lab(out.path(), &["sensors", "--quick", "--rows", "2000", "--contenders", contenders]);
    assert!(run.status.success(), "{run:?}");

    let lines = fs::read_to_string(out.path().join("sensors.jsonl")).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for contender in contenders.split(',') {
        for phase in ["write", "read", "read_random", "close"] {
            let of_phase =
                |record: &&Value| record["contender"] == contender && record["phase"] == phase;
            let record = records.iter().find(of_phase);
            let record = record.unwrap_or_else(|| panic!("no {contender} {phase} in\n{lines}"));
            assert_eq!(record["verified"], true, "{record}");
            assert_eq!(record["rows"], 2000);
            assert!(record["cpu_ns_per_op"]["median"].as_f64().unwrap() > 0.0, "{record}");
            assert!(record["bytes_per_data_byte"].as_f64().unwrap() > 0.5, "{record}");
        }
    }
    for medium in ["ramdisk", "disk"] {
        assert!(records.iter().any(|record| record["medium"] == medium), "{medium}");
    }

    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains("2,000 rows") && page.contains("lmdb"));
    let left: Vec<_> = fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "databases are removed: {left:?}");
}

#[test]
fn every_interface_leaves_verified_records_beside_rust() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let flags = ["--quick", "--rows", "2000", "--interface", "c,mco", "--interface", "d"];
    let run = lab(out.path(), &[&["sensors"][..], &flags].concat());
    assert!(run.status.success(), "{run:?}");
    let lines = fs::read_to_string(out.path().join("sensors.jsonl")).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let contenders = ["remanent", "remanent-c", "remanent-mco", "remanent-d", "remanent-d-strings"];
    for contender in contenders {
        for phase in ["write", "read", "read_random", "close"] {
            let of_phase =
                |record: &&Value| record["contender"] == contender && record["phase"] == phase;
            let record = records.iter().find(of_phase);
            let record = record.unwrap_or_else(|| panic!("no {contender} {phase} in\n{lines}"));
            assert_eq!(record["verified"], true, "{record}");
            assert!(record["bytes_per_data_byte"].as_f64().unwrap() > 0.5, "{record}");
        }
    }
    assert!(records.iter().all(|record| record["contender"] != "btreemap"));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("write, 2,000 rows: CPU time, remanent-mco / remanent"), "{text}");
    assert!(text.contains("read, 2,000 rows: text in pieces / string"), "{text}");
}

#[test]
fn the_list_names_everything() {
    let listed = lab(Path::new("."), &["list"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    for word in [
        "sensors",
        "readers",
        "long-reader",
        "sets",
        "remanent-mco",
        "remanent-d-strings",
        "btreemap",
        "berkeley-db",
        "lmdb",
        "sqlite-packed",
        "redb",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
}

#[test]
fn a_mistake_ends_with_a_sentence() {
    let refused = lab(Path::new("."), &["sensors", "--contenders", "oracle"]);
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.starts_with("lab: no contender 'oracle'; there is: "), "{text}");
}

#[test]
fn a_measured_process_that_cannot_start_says_why() {
    let request = r#"{"workload":"sensors","contender":"oracle","variant":"","promise":"none",
        "medium":"memory","rows":10,"parameters":{}}"#;
    let case = lab(Path::new("."), &["case", request]);
    let text = String::from_utf8(case.stdout).unwrap();
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(line["line"], "failed", "{text}");
    assert_eq!(line["reason"], "no such contender");
}

fn lab(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments);
    if out != Path::new(".") {
        command.arg("--out").arg(out);
    }
    command.output().unwrap()
}
