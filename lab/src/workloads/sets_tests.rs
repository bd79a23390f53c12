use std::path::PathBuf;

use super::*;

#[test]
fn every_order_is_measured_at_both_sizes() {
    let groups = Sets.plan(&choice(Scale::Ordinary, None));
    if Sets.contenders().is_empty() {
        return;
    }
    let titles: Vec<_> = groups.iter().map(|group| group.title.as_str()).collect();
    assert_eq!(titles.len(), 8, "{titles:?}");
    assert_eq!(titles[0], "10,000 members, order last");
    assert_eq!(titles[7], "1,000,000 members, order ascending");
}

#[test]
fn who_lacks_an_order_is_not_asked_for_it() {
    for group in Sets.plan(&choice(Scale::Quick, None)) {
        for case in &group.cases {
            let order = case.parameters[ORDER].as_str().and_then(SetOrder::of_word).unwrap();
            assert!(case.contender.set_orders.contains(&order), "{}", group.title);
        }
    }
}

#[test]
fn a_size_that_is_asked_for_is_the_only_one() {
    let groups = Sets.plan(&choice(Scale::Ordinary, Some(77)));
    assert!(groups.iter().all(|group| group.cases.iter().all(|case| case.rows == 77)));
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
        contenders: Sets.contenders(),
        out: PathBuf::new(),
    }
}
