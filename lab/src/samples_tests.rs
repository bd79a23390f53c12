use super::*;

#[test]
fn times_are_divided_before_the_median_is_taken() {
    let mut samples = Samples::default();
    samples.add(vec![phase(10, 1000, true), held()]);
    samples.add(vec![phase(5, 1000, true)]);
    samples.add(vec![phase(10, 3000, true)]);
    let records = samples.records(&about());
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record.cpu_ns_per_op.unwrap().median, 200.0);
    assert_eq!(record.cpu_ns_per_op.unwrap().max, 300.0);
    assert_eq!(record.wall_ns_per_op.unwrap().median, 400.0);
    assert_eq!((record.cpu_s, record.wall_s), (Some(1e-6), Some(2e-6)));
    assert_eq!((record.rounds, record.operations), (Some(3), Some(10)));
    assert_eq!(record.bytes_per_data_byte, Some(1.5));
    assert_eq!(record.empty_bytes, Some(7));
}

#[test]
fn one_wrong_answer_takes_the_times_away() {
    let mut samples = Samples::default();
    samples.add(vec![phase(10, 1000, true)]);
    samples.add(vec![phase(10, 1000, false)]);
    let record = samples.records(&about()).remove(0);
    assert_eq!(record.verified, Some(false));
    assert_eq!((record.cpu_ns_per_op, record.wall_ns_per_op), (None, None));
}

#[test]
fn a_failure_is_one_record_with_its_first_reason() {
    let mut samples = Samples::default();
    samples.add(vec![phase(10, 1000, true)]);
    samples.add(vec![Line::Failed { reason: "no disk".to_owned() }]);
    samples.fail("later".to_owned());
    assert!(samples.failed());
    let records = samples.records(&about());
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].skipped.as_deref(), Some("no disk"));
    assert_eq!(records[0].cpu_ns_per_op, None);
}

#[test]
fn syncs_and_bytes_are_divided_sample_by_sample() {
    let mut samples = Samples::default();
    for (syncs, bytes) in [(10, 4000), (5, 2000), (2, 500)] {
        let Line::Phase(sample) = phase(10, 1000, true) else { unreachable!() };
        let (syncs, bytes) = (Some(syncs), Some(bytes));
        samples.add(vec![Line::Phase(PhaseSample { syncs, bytes, ..sample })]);
    }
    let record = &samples.records(&about())[0];
    assert_eq!(record.commits_per_sync, Some(2.0));
    assert_eq!((record.bytes, record.cpu_s_per_gb), (Some(2000), Some(0.5)));
    assert_eq!(record.wall_s_per_gb, Some(1.0));
    samples.add(vec![phase(10, 1000, false)]);
    let record = &samples.records(&about())[0];
    assert_eq!((record.commits_per_sync, record.cpu_s_per_gb), (None, None));
}

#[test]
fn look_ups_of_readers_have_their_own_time() {
    let mut samples = Samples::default();
    for (reads, reader_cpu_ns) in [(100, 5_000), (300, 12_000), (200, 20_000)] {
        let Line::Phase(sample) = phase(10, 1000, true) else { unreachable!() };
        let (reads, reader_cpu_ns) = (Some(reads), Some(reader_cpu_ns));
        samples.add(vec![Line::Phase(PhaseSample { reads, reader_cpu_ns, ..sample })]);
    }
    let record = &samples.records(&about())[0];
    assert_eq!((record.reads, record.reader_cpu_ns()), (Some(200), Some(50.0)));
    assert_eq!(record.cpu_ns(), Some(100.0));
}

#[test]
fn each_thing_is_said_once() {
    let mut samples = Samples::default();
    for _ in 0..2 {
        let Line::Phase(mut sample) = phase(10, 1000, true) else { unreachable!() };
        sample.note = "stopped".to_owned();
        samples.add(vec![Line::Phase(sample)]);
    }
    assert_eq!(samples.records(&about())[0].note, "how; stopped");
}

fn about() -> Record {
    Record { note: "how".to_owned(), ..Record::default() }
}

fn held() -> Line {
    Line::Held(Held { empty_bytes: 7, held_bytes: 150, data_bytes: 100, ..Held::default() })
}

fn phase(operations: u64, cpu_ns: u64, verified: bool) -> Line {
    Line::Phase(PhaseSample {
        phase: "write".to_owned(),
        per_transaction: 1,
        operations,
        wall_ns: cpu_ns * 2,
        cpu_ns,
        verified,
        ..PhaseSample::default()
    })
}
