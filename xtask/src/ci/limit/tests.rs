//! A run that takes too long names the steps that grew, and only on machines that the limit is for.

use std::time::Duration;

use super::{Timing, judge, table};

fn timing(name: &'static str, usual_s: u64, [compile, run]: [u64; 2]) -> Timing {
    let seconds = Duration::from_secs;
    Timing { name, usual_s, compile: seconds(compile), run: seconds(run) }
}

#[test]
fn the_step_that_grew_is_named() {
    let long = [
        timing("large", 1000, [900, 100]),
        timing("grown", 100, [10, 1700]),
        timing("slow", 50, [0, 55]),
    ];
    let reason = judge(&long, 2).expect_err("46 minutes are too many");
    let expected = "all steps passed, but in 46 minutes, more than 45: \
                    `grown` took 1710 s, usually 100; `slow` took 55 s, usually 50";
    assert_eq!(reason, expected);
    assert_eq!(judge(&long, 4), Ok(()));
    assert_eq!(judge(&long[..2], 2).map_err(|_| ()), Err(()));
    assert_eq!(judge(&long[1..], 2), Ok(()));
}

#[test]
fn compiling_and_running_stand_beside_each_other() {
    let text = table(&[timing("test", 60, [40, 2])]);
    assert!(text.contains("\ntest                   40.0      2.0     42.0       60\n"), "{text}");
    assert!(text.ends_with("ci: all 1 steps passed in 42.0 s"), "{text}");
}
