//! The engines that are linked in, over the smallest data there is: each answers all queries, with
//! the rules for join order as without them, of rows as they were inserted, frozen, and changed
//! since.

use std::path::PathBuf;

use lab_harness::Outcome;

use crate::answer::difference;
use crate::contenders::find;
use crate::data::{Data, Kind};
use crate::{queries, serve};

const SCALE: f64 = 0.01;

#[test]
fn linked_engines_agree_on_every_query() -> Outcome<()> {
    agree(Kind::Specified)
}

#[test]
fn linked_engines_agree_on_sparse_keys_in_no_order() -> Outcome<()> {
    agree(Kind::Scrambled)
}

fn agree(kind: Kind) -> Outcome<()> {
    let out = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/lab"));
    let data = Data::at(&out, SCALE, kind)?;
    let open = |name: &str| {
        let mut engine = find(name)?.open(1)?;
        engine.load(&data)?;
        engine.prepare()?;
        Ok::<_, lab_harness::Failure>(engine)
    };
    let mut first = open("datafusion")?;
    let numbers = || 1..=queries::COUNT;
    let answers = numbers().map(|number| serve::text(&first.query(&queries::text(number, SCALE))?));
    let answers = answers.collect::<Outcome<Vec<_>>>()?;
    assert!(answers.iter().map(|answer| answer.0.len()).sum::<usize>() > 500);
    for name in ["datafusion-ordered", "remanent", "remanent-rows", "remanent-changed"] {
        let mut engine = open(name)?;
        for (number, expected) in numbers().zip(&answers) {
            let found = serve::text(&engine.query(&queries::text(number, SCALE))?)?;
            let differs = difference(&found, expected, queries::order(number));
            assert_eq!(differs, None, "{name}, query {number}");
        }
    }
    Ok(())
}
