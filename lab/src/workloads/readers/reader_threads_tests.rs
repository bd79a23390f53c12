use super::*;

#[test]
fn a_moment_is_one_word() {
    for stage in Stage::ALL {
        for cycle in [0, 1, 401] {
            let moment = Moment { cycle, stage };
            assert_eq!(Moment::of(moment.word()), moment);
        }
    }
    assert_eq!(Board::default().now(), Moment { cycle: 0, stage: Stage::Between });
}

#[test]
fn tallies_are_added_stage_by_stage() {
    let booked = |reads, fault: Option<&str>| Booked {
        reads,
        cpu_ns: reads * 10,
        aborts: 1,
        fault: fault.map(str::to_owned),
    };
    let mut all = Tally::default();
    for (reads, fault) in [(100, None), (200, Some("torn")), (300, Some("later"))] {
        let mut one = Tally::default();
        one.stages[Stage::Update as usize] = booked(reads, fault);
        all.add(one);
    }
    let update = all.of(Stage::Update);
    assert_eq!((update.reads, update.cpu_ns, update.aborts), (600, 6_000, 3));
    assert_eq!(update.fault.as_deref(), Some("torn"));
    assert_eq!(all.of(Stage::Insert).reads, 0);
}
