use std::path::PathBuf;

use super::*;

#[test]
fn one_cell_with_all_updates_and_one_with_a_pace() {
    for (scale, minutes, updates) in
        [(Scale::Ordinary, None, UPDATES), (Scale::Quick, Some(10), UPDATES_QUICK)]
    {
        let groups = LongReader.plan(&choice(scale, minutes));
        if crate::contenders::find(CONTENDER).is_none() {
            assert!(groups.is_empty());
            continue;
        }
        let [Group { cases, rounds: 1, .. }] = &groups[..] else { panic!("one group") };
        let [case] = &cases[..] else { panic!("one case") };
        assert_eq!((case.contender.name, case.rows), (CONTENDER, 1_000));
        assert_eq!(case.parameters[UPDATES_WORD], Value::from(updates));
        assert_eq!(case.parameters.get(MINUTES).and_then(Value::as_u64), minutes.map(u64::from));
        assert!(case.seconds_max > minutes.map(|minutes| f64::from(minutes) * 60.0));
    }
}

#[test]
fn others_have_no_snapshot_that_stays_open() {
    let others = crate::contenders::all().into_iter().filter(|other| other.name != CONTENDER);
    let choice = Choice { contenders: others.collect(), ..choice(Scale::Ordinary, None) };
    assert!(LongReader.plan(&choice).is_empty());
}

fn choice(scale: Scale, minutes: Option<u32>) -> Choice {
    Choice {
        scale,
        large: false,
        rows: None,
        rounds: 5,
        promises: Vec::new(),
        media: Vec::new(),
        minutes,
        contenders: crate::contenders::all(),
        out: PathBuf::new(),
    }
}
