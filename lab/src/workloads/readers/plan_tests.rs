use std::path::PathBuf;

use super::*;

/// Three phases of every case of the plan make the 54 that the document's test has.
#[test]
fn a_contender_has_54_cells() {
    let groups = plan(&choice(Scale::Full, &["btreemap"]));
    let cases: Vec<_> = groups
        .iter()
        .flat_map(|group| &group.cases)
        .map(|case| (case.per_transaction, case.readers))
        .collect();
    assert_eq!(cases.len() * 3, 54);
    for per_transaction in [1, 10, 100] {
        for readers in [0, 2, 4, 6, 8, 10] {
            let of_case = |&&case: &&(u64, u64)| case == (per_transaction, readers);
            assert_eq!(cases.iter().filter(of_case).count(), 1, "{per_transaction}, {readers}");
        }
    }
}

#[test]
fn a_cell_has_the_documents_rows_a_time_limit_and_all_cores() {
    for group in plan(&choice(Scale::Full, &["btreemap", "hashmap"])) {
        assert_eq!(group.rounds, 5);
        for case in &group.cases {
            assert_eq!(case.rows, 10_000);
            assert!(!case.pinned, "the workload is about threads");
            assert!(case.seconds_max.is_some());
        }
        let neighbours: Vec<_> = group.cases[..2].iter().map(|c| c.contender.name).collect();
        assert_eq!(neighbours, ["btreemap", "hashmap"], "interleaved beside as many readers");
    }
}

#[test]
fn rows_are_whole_transactions_of_every_size() {
    let few = Choice { rows: Some(130), ..choice(Scale::Full, &["btreemap"]) };
    assert!(plan(&few).iter().flat_map(|group| &group.cases).all(|case| case.rows == 200));
}

#[test]
fn an_ordinary_run_has_both_ends_of_the_document() {
    let readers: Vec<u64> = plan(&choice(Scale::Ordinary, &["btreemap"]))
        .iter()
        .flat_map(|group| &group.cases)
        .map(|case| case.readers)
        .collect();
    assert_eq!(readers, [0, 2, 10].repeat(PER_TRANSACTION.len()));
}

#[test]
fn a_quick_run_is_a_part_of_the_whole_one() {
    let named = plan(&choice(Scale::Quick, &["hashmap"]));
    assert_eq!(named.iter().map(|group| group.cases.len()).sum::<usize>(), 9);
    let everybody = Choice { contenders: contenders::all(), ..choice(Scale::Quick, &[]) };
    for case in plan(&everybody).iter().flat_map(|group| &group.cases) {
        assert!(QUICK.contains(&case.contender.name), "{}", case.contender.name);
    }
}

fn choice(scale: Scale, names: &[&str]) -> Choice {
    Choice {
        scale,
        large: false,
        rows: None,
        rounds: 5,
        promises: Vec::new(),
        media: Vec::new(),
        minutes: None,
        contenders: names.iter().filter_map(|name| contenders::find(name)).collect(),
        out: PathBuf::new(),
    }
}
