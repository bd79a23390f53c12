//! The engines that are linked in, over the smallest data there is: each answers all queries, and
//! with the rules for join order as without them.

use std::path::PathBuf;

use lab_harness::Outcome;

use crate::answer::difference;
use crate::contenders::find;
use crate::data::Data;
use crate::{queries, serve};

const SCALE: f64 = 0.01;

#[test]
fn linked_engines_agree_on_every_query() -> Outcome<()> {
    let out = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/lab"));
    let data = Data::at(&out, SCALE)?;
    let mut engines = Vec::new();
    for name in ["datafusion", "datafusion-ordered"] {
        let mut engine = find(name)?.open()?;
        engine.load(&data)?;
        engine.prepare()?;
        engines.push(engine);
    }
    let mut rows = 0;
    for number in 1..=queries::COUNT {
        let query = queries::text(number, SCALE);
        let expected = serve::text(&engines[0].query(&query)?)?;
        let found = serve::text(&engines[1].query(&query)?)?;
        assert_eq!(difference(&found, &expected, queries::order(number)), None, "query {number}");
        rows += found.0.len();
    }
    assert!(rows > 500, "{rows}");
    Ok(())
}
