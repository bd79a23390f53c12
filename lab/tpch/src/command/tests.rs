//! What flags mean together: the grid of scales, contenders and queries.

use super::*;

fn chosen(flags: Flags) -> Outcome<Choice> {
    match understand(&flags)? {
        Command::Run { choice } => Ok(choice),
        _ => Err("not a run".into()),
    }
}

#[test]
fn without_flags_everything_is_run_at_a_tenth() -> Outcome<()> {
    let choice = chosen(Flags::default())?;
    assert_eq!(choice.scales, [0.1]);
    assert_eq!(choice.rounds, 3);
    assert_eq!(choice.queries, (1..=22).collect::<Vec<_>>());
    assert_eq!(choice.contenders.len(), contenders::ALL.len());
    Ok(())
}

#[test]
fn full_is_scale_one_and_can_have_another() -> Outcome<()> {
    let choice = chosen(Flags { full: true, ..Flags::default() })?;
    assert_eq!((choice.scales.as_slice(), choice.rounds), ([1.0].as_slice(), 5));
    let scales = Some(vec![10.0]);
    let choice = chosen(Flags { full: true, scales, rounds: Some(1), ..Flags::default() })?;
    assert_eq!((choice.scales.as_slice(), choice.rounds), ([10.0].as_slice(), 1));
    assert!(chosen(Flags { full: true, quick: true, ..Flags::default() }).is_err());
    Ok(())
}

#[test]
fn quick_is_small_and_short_and_can_have_more_rounds() -> Outcome<()> {
    let choice = chosen(Flags { quick: true, ..Flags::default() })?;
    assert_eq!((choice.scales.as_slice(), choice.rounds), ([0.01].as_slice(), 1));
    let choice = chosen(Flags { quick: true, rounds: Some(3), ..Flags::default() })?;
    assert_eq!(choice.rounds, 3);
    assert!(chosen(Flags { quick: true, scales: Some(vec![1.0]), ..Flags::default() }).is_err());
    Ok(())
}

#[test]
fn what_does_not_exist_is_refused() {
    let refused = [
        Flags { queries: Some(vec![23]), ..Flags::default() },
        Flags { queries: Some(vec![0]), ..Flags::default() },
        Flags { contenders: Some(vec!["nobody".to_owned()]), ..Flags::default() },
        Flags { scales: Some(vec![0.0]), ..Flags::default() },
        Flags { rounds: Some(0), ..Flags::default() },
        Flags { words: vec!["go".to_owned()], ..Flags::default() },
    ];
    assert!(refused.into_iter().all(|flags| understand(&flags).is_err()));
}
