use std::path::PathBuf;

use super::*;

#[test]
fn rungs_come_first_and_then_threads() {
    let groups = Ladder.plan(&choice(Scale::Ordinary, None));
    let titles: Vec<_> = groups.iter().map(|group| group.title.as_str()).collect();
    assert_eq!(titles[0], "none: 1,000,000 pairs of 8 and 32 bytes");
    if cfg!(feature = "lmdb") {
        assert!(titles.contains(&"disk: 100,000 pairs of 8 and 32 bytes"), "{titles:?}");
        assert_eq!(titles.last(), Some(&"disk: 64 threads commit"));
    }
}

#[test]
fn a_rung_has_one_promise_and_threads_commit_to_a_disk() {
    for group in Ladder.plan(&choice(Scale::Quick, None)) {
        for cell in &group.cells {
            assert!(group.title.starts_with(&cell.setting.promise.to_string()), "{}", group.title);
            let threads = cell.parameters.contains_key(THREADS);
            assert_eq!(cell.pinned, !threads, "{}", group.title);
            assert!(!threads || cell.setting.medium == Medium::Disk, "{}", group.title);
        }
    }
}

#[test]
fn a_size_that_is_asked_for_is_the_only_one() {
    let groups = Ladder.plan(&choice(Scale::Ordinary, Some(77)));
    assert!(groups.iter().all(|group| group.cells.iter().all(|cell| cell.rows == 77)));
}

#[test]
fn settings_of_a_contender_differ_in_what_a_cell_is_found_by() {
    for contender in contenders::with_pairs() {
        for settings in [contender.pair_settings(), contender.return_settings()] {
            let found_by = |s: &Setting| (s.variant, s.promise, s.medium);
            for (place, setting) in settings.iter().enumerate() {
                let again = settings[..place].iter().any(|s| found_by(s) == found_by(setting));
                assert!(!again, "{} {setting:?}", contender.name());
            }
        }
    }
}

fn choice(scale: Scale, rows: Option<u64>) -> Choice {
    Choice {
        scale,
        large: false,
        rows,
        minutes: None,
        rounds: 2,
        contenders: Ladder.contenders(),
        out: PathBuf::new(),
    }
}
