//! What is asked for is understood, rounds are drawn from seeds, and losses are counted.

use super::file_system::Kind;
use super::request::Request;
use super::round::{Level, Round, Verdict};
use super::{Count, shown};

fn parsed(line: &str) -> Result<Request, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Request::parse(&words)
}

#[test]
fn words_become_a_request() {
    let expected = Request { rounds: 7, kinds: vec![Kind::Xfs], seed: 3, help: false };
    assert_eq!(parsed("7 --fs xfs --seed 3"), Ok(expected));
    assert_eq!(parsed("").map(|request| request.kinds), Ok(vec![Kind::Ext4, Kind::Xfs]));
    assert!(parsed("help").is_ok_and(|request| request.help));
    for line in ["many", "7 --fs fat", "--seed", "--fs"] {
        assert!(parsed(line).is_err(), "{line}");
    }
}

#[test]
fn a_seed_draws_the_same_round() {
    for seed in 0..100 {
        let round = Round::draw(seed, false);
        assert_eq!((round.level, &round), (Level::Disk, &Round::draw(seed, false)));
        assert_ne!(Round::draw(seed, true).level, Level::Disk);
    }
    assert_ne!(Round::draw(1, false).shown(), Round::draw(2, false).shown());
}

#[test]
fn what_is_missing_is_counted() {
    let mut count = Count::default();
    count.add(Verdict { before: 10, acknowledged: 20, found: 20 });
    count.add(Verdict { before: 20, acknowledged: 30, found: 31 });
    count.add(Verdict { before: 31, acknowledged: 40, found: 35 });
    let expected = Count { rounds: 3, acknowledged: 29, lost: 5, rounds_lost: 1, more: 1 };
    assert_eq!(count, expected);
    assert!(shown(count, Count::default()).starts_with("3 rounds at level disk, 29 commits"));
}
