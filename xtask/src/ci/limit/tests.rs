//! A run that takes too long names the steps that grew, and only on machines that the limit is for.
//! The usual times of all steps fit.

use std::time::Duration;

use super::{LIMIT, Timing, remark, table};
use crate::ci::steps;

fn timing(name: &'static str, usual_s: u64, [compile, run]: [u64; 2]) -> Timing {
    let seconds = Duration::from_secs;
    Timing { name, usual_s, compile: seconds(compile), run: seconds(run) }
}

#[test]
fn the_step_that_grew_is_named() {
    let long = [
        timing("large", 1000, [900, 100]),
        timing("grown", 100, [10, 1400]),
        timing("slow", 50, [0, 55]),
    ];
    let expected = "ci: slow: 41 minutes, more than 40: \
                    `grown` took 1410 s, usually 100; `slow` took 55 s, usually 50";
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    assert_eq!(remark(&long, minutes(41), 2).as_deref(), Some(expected));
    assert_eq!(remark(&long, minutes(41), 4), None);
    assert_eq!(remark(&long, minutes(40), 2), None);
}

/// A step that is added, or grows, finds its room in the others.
#[test]
fn the_usual_times_fit_into_the_limit() {
    let usual = steps::all().map(|step| step.usual_s).sum();
    let usual = Duration::from_secs(usual);
    assert!(usual <= LIMIT, "the steps usually take {usual:?}, more than {LIMIT:?}");
}

#[test]
fn compiling_and_running_stand_beside_each_other() {
    let text = table(&[timing("test", 60, [40, 2])]);
    assert!(text.contains("\ntest                   40.0      2.0     42.0       60\n"), "{text}");
    assert!(text.ends_with("ci: all 1 steps passed in 42.0 s"), "{text}");
}
