//! Soaks: the command line, a short run that goes well, and what the judge refuses.

use std::ffi::OsString;

use remanent_engine::{Database, Options};

use super::{FRAGMENTATION_MAX, FRAGMENTATION_MEAN_MAX, Seen, Soak, judge};

fn parse(words: &[&str]) -> Result<Option<Soak>, String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    Soak::parse(&words).map_err(|error| error.to_string())
}

#[test]
fn flags_are_numbers_and_known() {
    let asked = parse(&["soak", "--operations", "7", "--budget", "8", "--threads", "3"]);
    let wanted = Soak { operations: 7, budget: 8, threads: 3, seed: 1 };
    assert_eq!(asked, Ok(Some(wanted)));
    assert_eq!(parse(&["histories"]), Ok(None));
    assert!(parse(&["soak", "--budget", "much"]).is_err());
    assert!(parse(&["soak", "--colour", "1"]).unwrap_err().contains("--colour"));
}

#[test]
fn a_short_soak_goes_well() {
    let soak = Soak { operations: 180_000, budget: 48, threads: 2, seed: 3 };
    assert!(soak.run());
}

#[test]
fn what_is_not_well_is_refused() -> remanent_engine::Result<()> {
    let well = |fragmentation: f64, mean: f64, filled: f64| Seen {
        fragmentation,
        sum: mean * 10.0,
        looks: 10.0,
        filled,
    };
    let mut left = Database::open(Options::new())?.memory();
    assert!(judge(&well(1.4, 1.1, 0.97), &left).is_ok());
    assert!(judge(&well(FRAGMENTATION_MAX + 0.1, 1.1, 0.97), &left).is_err());
    assert!(judge(&well(1.4, FRAGMENTATION_MEAN_MAX + 0.1, 0.97), &left).is_err());
    assert!(judge(&well(1.4, 1.1, 0.5), &left).is_err());
    left.rows = 1;
    assert!(judge(&well(1.4, 1.1, 0.97), &left).is_err());
    left.rows = 0;
    left.held = 100 << 20;
    assert!(judge(&well(1.4, 1.1, 0.97), &left).is_err());
    Ok(())
}
