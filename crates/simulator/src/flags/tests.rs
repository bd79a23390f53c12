//! What the command line understands, and what it refuses.

use super::{Command, help, parse};
use crate::run::Run;

fn parsed(line: &str) -> Result<Command, String> {
    parse(line.split_whitespace().map(Into::into)).map_err(|error| error.to_string())
}

#[test]
fn every_flag_of_the_list_has_a_meaning() {
    let line = "histories --count 1,000 --seed 7 --isolation mixed --steps 20 --show";
    let Ok(Command::Histories(run)) = parsed(line) else { panic!("it is understood") };
    assert_eq!((run.count, run.seed, run.steps_max, run.shows_all), (1000, Some(7), 20, true));
    assert!(super::FLAGS.iter().all(|flag| help().contains(flag.name)));
    assert_eq!(parsed("histories"), Ok(Command::Histories(Run::default())));
    assert_eq!(parsed(""), Ok(Command::Help));
}

#[test]
fn the_programs_for_power_loss_take_their_words() {
    assert!(matches!(parsed("powerloss-writer /d 7 disk"), Ok(Command::PowerLoss(_))));
    assert!(matches!(parsed("powerloss-judge /d 7"), Ok(Command::PowerLoss(_))));
    for line in ["powerloss-writer /d 7", "powerloss-writer /d 7 tape", "powerloss-judge /d x"] {
        assert!(parsed(line).is_err(), "{line}");
    }
}

#[test]
fn what_is_not_known_is_refused() {
    for line in ["history", "histories --seeds 1", "histories --count many", "histories --mode x"] {
        assert!(parsed(line).is_err(), "{line}");
    }
}
