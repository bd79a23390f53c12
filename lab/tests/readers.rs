//! The workloads about threads end to end: a short run of real contenders, and their records.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn readers_beside_a_writer_leave_verified_records_and_a_report() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let contenders = "remanent,btreemap,hashmap,lmdb,sqlite,redb";
    let flags = ["--quick", "--rows", "300", "--rounds", "1", "--contenders", contenders];
    let run = lab(out.path(), &[&["readers"][..], &flags].concat());
    assert!(run.status.success(), "{run:?}");

    let records = records(&out.path().join("readers.jsonl"));
    // A run of half a millisecond may end before the machine lets a reader begin.
    let mut get_on = false;
    for contender in contenders.split(',') {
        for (phase, readers) in [("insert", 0), ("update", 2), ("delete", 10), ("read", 2)] {
            for per_transaction in [1, 10, 100] {
                let record = records.iter().find(|record| {
                    record["contender"] == contender
                        && record["phase"] == phase
                        && record["readers"] == readers
                        && record["per_transaction"] == per_transaction
                });
                let record = record.unwrap_or_else(|| panic!("no {contender} {phase} {readers}"));
                assert_eq!(record["verified"], true, "{record}");
                assert!(record["wall_ns_per_op"]["median"].as_f64() > Some(0.0), "{record}");
                let looked = record["reader_cpu_ns_per_read"]["median"].as_f64() > Some(0.0);
                get_on |= looked && readers == 2 && contender == "remanent";
            }
        }
    }
    assert!(get_on, "two readers beside one writer get on");
    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    for part in ["300 rows, 10 operations a transaction", "update: wall time", "dash0 ours"] {
        assert!(page.contains(part), "{part}");
    }
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("of 27"), "the cases of a quick run are counted:\n{text}");
}

#[test]
fn a_long_reader_leaves_the_course_of_memory() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let run = lab(out.path(), &["long-reader", "--quick"]);
    assert!(run.status.success(), "{run:?}");
    let records = records(&out.path().join("long-reader.jsonl"));
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!((&record["verified"], &record["operations"]), (&true.into(), &200_000.into()));
    let course = record["course"].as_array().unwrap();
    assert_eq!(course.len(), 201);
    assert_eq!(course[200]["operations"], 200_000);
    assert!(course[200]["held_bytes"].as_u64() >= course[200]["rows_bytes"].as_u64());
    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains("200,000 updates beside a reader that stays open"));
}

fn records(path: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lab(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments).arg("--out").arg(out).output().unwrap()
}
