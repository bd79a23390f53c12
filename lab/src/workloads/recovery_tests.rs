use std::path::PathBuf;

use super::*;

#[test]
fn images_are_loaded_and_logs_replayed() {
    let groups = Recovery.plan(&choice(Scale::Ordinary));
    for group in &groups {
        let load = group.title.starts_with("load");
        assert!(group.cases.iter().all(|case| is_image(case.setting) == load), "{}", group.title);
        assert!(group.title.contains("1,000,000 pairs"), "{}", group.title);
    }
    if cfg!(feature = "remanent") {
        assert!(groups[0].title.starts_with("load"));
    }
}

#[test]
fn whoever_comes_back_can_be_asked() {
    let names: Vec<_> = Recovery.contenders().iter().map(|contender| contender.name).collect();
    assert!(!names.contains(&"btreemap") && !names.contains(&"array"), "{names:?}");
}

fn choice(scale: Scale) -> Choice {
    Choice {
        scale,
        large: false,
        rows: None,
        promises: Vec::new(),
        media: Vec::new(),
        minutes: None,
        rounds: 2,
        contenders: Recovery.contenders(),
        out: PathBuf::new(),
    }
}
