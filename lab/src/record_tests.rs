use super::*;

#[test]
fn medians_of_odd_and_even_numbers_of_samples() {
    let spread = Spread::of(vec![5.0, 1.0, 9.0]).unwrap();
    assert_eq!((spread.min, spread.median, spread.max), (1.0, 5.0, 9.0));
    let spread = Spread::of(vec![4.0, 1.0, 2.0, 9.0]).unwrap();
    assert_eq!((spread.min, spread.median, spread.max), (1.0, 3.0, 9.0));
    assert_eq!(Spread::of(vec![7.04]).unwrap().median, 7.0);
    assert_eq!(Spread::of(Vec::new()), None);
}

#[test]
fn a_record_is_one_line_in_the_agreed_words() {
    let line = serde_json::to_string(&record()).unwrap();
    assert!(line.starts_with(
        r#"{"workload":"sensors","contender":"lmdb","version":"1","setting":"memory","#
    ));
    assert!(line.contains(r#""medium":"ramdisk","phase":"write","rows":30000"#), "{line}");
    assert!(line.contains(r#""cpu_ns_per_op":{"min":1.0,"median":2.0,"max":3.0}"#), "{line}");
    assert!(line.contains(r#""part":"close""#), "{line}");
    assert!(!line.contains("skipped") && !line.contains('\n'), "{line}");
}

#[test]
fn what_is_appended_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    append(directory.path(), "sensors", &[record()]).unwrap();
    append(directory.path(), "sensors", &[record()]).unwrap();
    assert_eq!(read_all(directory.path()).unwrap(), vec![record(), record()]);
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("x.jsonl"), "{}\n").unwrap();
    let failure = read_all(directory.path()).unwrap_err().to_string();
    assert!(failure.contains("x.jsonl:1"), "{failure}");
}

#[test]
fn an_unverified_record_has_no_time() {
    let mut wrong = record();
    assert_eq!(wrong.cpu_ns(), Some(2.0));
    wrong.verified = Some(false);
    assert_eq!(wrong.cpu_ns(), None);
}

fn record() -> Record {
    Record {
        workload: "sensors".to_owned(),
        contender: "lmdb".to_owned(),
        version: "1".to_owned(),
        setting: Some(Promise::Memory),
        medium: Some(Medium::Ramdisk),
        phase: "write".to_owned(),
        rows: Some(30_000),
        cpu_ns_per_op: Spread::of(vec![1.0, 2.0, 3.0]),
        verified: Some(true),
        extra: BTreeMap::from([("part".to_owned(), Value::from("close"))]),
        ..Record::default()
    }
}
