use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;

#[test]
fn levels_are_interleaved_and_so_are_numbers_of_threads() {
    let groups = Ladder.plan(&choice(Scale::Full, None));
    let levels: BTreeSet<_> = groups[0].cases.iter().map(|case| case.setting.promise).collect();
    assert!(levels.contains(&Promise::None), "{levels:?}");
    assert!(groups[0].cases.iter().all(|case| case.pinned && case.parameters.is_empty()));
    for case in &groups[0].cases {
        let synced = case.setting.promise == Promise::Disk;
        assert_eq!(case.rows, if synced { 100_000 } else { 1_000_000 });
    }
    if cfg!(feature = "lmdb") {
        assert_eq!(levels.last(), Some(&Promise::Disk));
        let threads: BTreeSet<_> =
            groups[1].cases.iter().map(|case| case.parameters[THREADS].as_u64()).collect();
        assert_eq!(threads, CREWS.map(Some).into());
    }
}

#[test]
fn threads_commit_to_a_disk_and_are_not_pinned() {
    for group in Ladder.plan(&choice(Scale::Quick, None)).iter().skip(1) {
        for case in &group.cases {
            assert_eq!(case.setting.promise, Promise::Disk, "{}", group.title);
            assert_eq!(case.setting.medium, Medium::Disk, "{}", group.title);
            assert!(!case.pinned, "{}", group.title);
        }
    }
}

#[test]
fn a_size_that_is_asked_for_is_the_only_one() {
    let groups = Ladder.plan(&choice(Scale::Ordinary, Some(77)));
    assert!(groups.iter().all(|group| group.cases.iter().all(|case| case.rows == 77)));
}

#[test]
fn settings_of_a_contender_differ_in_what_a_cell_is_found_by() {
    for contender in contenders::with_pairs() {
        for settings in [contender.pair_settings(), contender.recovery_settings()] {
            let found_by = |s: &Setting| (s.variant, s.promise, s.medium);
            for (place, setting) in settings.iter().enumerate() {
                let again = settings[..place].iter().any(|s| found_by(s) == found_by(setting));
                assert!(!again, "{} {setting:?}", contender.name);
            }
        }
    }
}

fn choice(scale: Scale, rows: Option<u64>) -> Choice {
    Choice {
        scale,
        large: false,
        rows,
        promises: Vec::new(),
        media: Vec::new(),
        minutes: None,
        rounds: 2,
        contenders: Ladder.contenders(),
        out: PathBuf::new(),
    }
}
