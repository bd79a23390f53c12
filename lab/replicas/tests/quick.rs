//! The whole program, small: groups of real processes, and a record of each figure.

use std::process::Command;

#[test]
fn all_is_measured_and_recorded() {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab-replicas"));
    let done = command.args(["--quick", "--out"]).arg(out.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let records = std::fs::read_to_string(out.path().join("replicas.jsonl")).unwrap();
    let of = |contender: &str, phase: &str| {
        let is_one = |line: &&str| {
            line.contains(&format!("\"contender\":\"{contender}\""))
                && line.contains(&format!("\"phase\":\"{phase}\""))
        };
        records.lines().filter(is_one).count()
    };
    assert_eq!(of("tcp", "transport"), 1, "{records}");
    assert_eq!(of("remanent", "commits"), 4, "{records}");
    for phase in ["apply", "read", "catch up"] {
        assert_eq!(of("remanent", phase), 1, "{phase}: {records}");
    }
    let served = if lab_postgresql::is_installed() { 2 } else { 0 };
    assert_eq!(of("postgresql", "commits"), served, "{records}");
    let others = if lab_berkeley_db::BERKELEY_DB.missing.is_some() { 0 } else { 2 };
    assert_eq!(of("berkeley-db", "commits"), others, "{records}");
}
