use std::path::PathBuf;

use super::*;

#[test]
fn close_is_of_the_same_bytes_in_few_rows_and_in_many() {
    for (asked, rounds) in [(1, 1), (3, 3), (9, 3)] {
        let group = close(&choice(asked));
        assert_eq!(group.rounds, rounds, "a load takes seconds");
        let parts = group.cases.iter().map(|case| (&case.parameters[PART], case.rows));
        let parts: Vec<_> = parts.collect();
        let (few, many) = (Value::from(PART_CLOSE), Value::from(PART_CLOSE_64));
        assert_eq!(parts, [(&few, ROWS_4_GIB), (&many, ROWS_4_GIB_64)]);
        assert!(group.cases.iter().all(|case| case.setting.variant.is_empty()));
    }
}

#[test]
fn only_the_full_run_closes_4_gib() {
    let closes = |choice: &Choice| plan(choice).iter().any(|group| group.title.contains("close"));
    assert!(closes(&choice(5)));
    assert!(!closes(&Choice { rows: Some(1000), ..choice(5) }));
    assert!(!closes(&Choice { scale: Scale::Quick, ..choice(5) }));
    assert!(!closes(&Choice { scale: Scale::Ordinary, ..choice(5) }));
    let in_c = contenders::all().into_iter().any(|known| contenders::is_in_c(known.name));
    assert!(!in_c || !closes(&Choice { contenders: contenders::all(), ..choice(5) }));
}

fn choice(rounds: u32) -> Choice {
    Choice {
        scale: Scale::Full,
        large: false,
        rows: None,
        rounds,
        promises: Vec::new(),
        media: Vec::new(),
        minutes: None,
        contenders: contenders::usual(),
        out: PathBuf::new(),
    }
}
