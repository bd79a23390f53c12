use std::path::PathBuf;

use super::*;
use crate::parameters::{block_bytes, total_bytes};

#[test]
fn totals_are_groups_and_allocators_are_interleaved() {
    let groups = Memory.plan(&choice(Scale::Quick, None));
    let titles: Vec<_> = groups.iter().map(|group| group.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "10,000 blocks in touched memory",
            "64.0 MiB in blocks",
            "128.0 MiB in blocks",
            "256.0 MiB in blocks"
        ]
    );
    for case in groups[1..].iter().flat_map(|group| &group.cases) {
        let bytes = block_bytes(&case.parameters).unwrap();
        assert_eq!(Some(case.rows * bytes), total_bytes(&case.parameters));
        assert!(case.pinned && !case.parameters.contains_key(PREFAULTED));
    }
    for case in &groups[0].cases {
        assert_eq!((case.rows, total_bytes(&case.parameters)), (WARM_COUNT, None));
    }
}

#[test]
fn a_number_of_blocks_is_doubled_from_total_to_total() {
    let groups = Memory.plan(&choice(Scale::Quick, Some(100)));
    let counts: Vec<u64> = groups.iter().map(|group| group.cases[0].rows).collect();
    assert_eq!(counts, [100, 100, 200, 400]);
}

#[test]
fn a_total_for_which_there_is_not_the_memory_is_left_out() {
    let choice = choice(Scale::Full, None);
    let fits = |place| !cases(&choice, place, 5 * GIB).is_empty();
    assert_eq!([0, 1, 2, 3, 4].map(fits), [true, true, true, false, false]);
}

#[test]
fn small_blocks_that_keep_their_memory_are_measured_where_that_matters() {
    let groups = Memory.plan(&choice(Scale::Quick, None));
    let kept =
        |group: &Group| group.cases.iter().any(|case| case.setting.variant == ONLY_PREFAULTED);
    assert_eq!(kept(&groups[0]), cfg!(feature = "allocators"));
    assert!(!groups[1..].iter().any(kept));
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
        contenders: Memory.contenders(),
        out: PathBuf::new(),
    }
}
