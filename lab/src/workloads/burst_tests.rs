use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;

#[test]
fn contenders_of_a_variant_are_interleaved_and_pinned() {
    let groups = Burst.plan(&choice(Scale::Full, None));
    assert!(groups[0].title.starts_with("keys ascending, commit: 10,000,000 records"));
    for group in &groups {
        assert!(group.rounds <= 3, "{}", group.title);
        for case in &group.cases {
            assert!(case.pinned && case.rows == ROWS && case.per_transaction == ROWS);
            assert!(group.title.starts_with(&words(&case.parameters)), "{}", group.title);
        }
    }
    let titles: BTreeSet<_> = groups.iter().map(|group| &group.title).collect();
    assert_eq!(titles.len(), groups.len());
}

#[test]
fn nobody_is_asked_for_what_it_cannot_do() {
    for scale in [Scale::Full, Scale::All] {
        for case in cases(scale) {
            let is = |name, value: &str| case.parameters[name] == value;
            assert!(is(ORDER, ASCENDING) || case.setting.variant != APPENDS);
            assert!(is(ENDING, COMMIT) || case.setting.promise > Promise::None);
        }
    }
}

#[test]
fn a_full_run_has_disks_where_keys_ascend_and_all_of_them_everywhere() {
    let on_disks = |scale| {
        let all = cases(scale).into_iter();
        all.filter(|case| case.setting.promise > Promise::Memory).count()
    };
    assert!(on_disks(Scale::All) > 3 * on_disks(Scale::Full));
    let random_aborts = cases(Scale::Full)
        .into_iter()
        .filter(|case| case.parameters[ORDER] == RANDOM && case.parameters[ENDING] == ABORT);
    for case in random_aborts {
        assert_eq!(case.contender.name, "remanent");
    }
}

#[test]
fn a_size_that_is_asked_for_is_the_only_one() {
    let groups = Burst.plan(&choice(Scale::Quick, Some(77)));
    assert!(groups.iter().all(|group| group.cases.iter().all(|case| case.rows == 77)));
    assert_eq!(groups.iter().filter(|group| group.title.contains("100 snapshots")).count(), 1);
}

#[test]
fn settings_of_a_contender_differ_in_what_a_cell_is_found_by() {
    for contender in Burst.contenders() {
        let settings = contender.burst_settings();
        let found_by = |s: &Setting| (s.variant, s.promise, s.medium);
        for (place, setting) in settings.iter().enumerate() {
            let again = settings[..place].iter().any(|s| found_by(s) == found_by(setting));
            assert!(!again, "{} {setting:?}", contender.name);
        }
    }
}

fn cases(scale: Scale) -> Vec<Case> {
    Burst.plan(&choice(scale, None)).into_iter().flat_map(|group| group.cases).collect()
}

fn choice(scale: Scale, rows: Option<u64>) -> Choice {
    Choice {
        scale,
        large: false,
        rows,
        promises: Vec::new(),
        media: Vec::new(),
        minutes: None,
        rounds: 5,
        contenders: Burst.contenders(),
        out: PathBuf::new(),
    }
}
