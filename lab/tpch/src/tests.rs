//! The engines that are linked in, over the smallest data there is: each answers all queries, with
//! the rules for join order as without them, of rows as they were inserted, frozen, and changed
//! since.

use std::path::PathBuf;

use lab_harness::Outcome;

use crate::answer::difference;
use crate::benchmark::Benchmark;
use crate::contenders::{Engine, Setting, find};
use crate::data::{Data, Kind};
use crate::serve;

const SCALE: f64 = 0.01;

#[test]
fn linked_engines_agree_on_every_query() -> Outcome<()> {
    agree(Benchmark::tpch(), Kind::Specified)
}

#[test]
fn linked_engines_agree_on_sparse_keys_in_no_order() -> Outcome<()> {
    agree(Benchmark::tpch(), Kind::Scrambled)
}

#[test]
fn linked_engines_agree_on_stars() -> Outcome<()> {
    agree(Benchmark::find("ssb").ok_or("no such benchmark")?, Kind::Specified)
}

#[test]
fn linked_engines_agree_on_shapes() -> Outcome<()> {
    agree(Benchmark::find("shapes").ok_or("no such benchmark")?, Kind::Specified)
}

fn agree(benchmark: &'static Benchmark, kind: Kind) -> Outcome<()> {
    let out = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/lab"));
    let data = Data::at(&out, benchmark, SCALE, kind)?;
    let open = |name: &str| {
        let folder = out.join(format!("test-{}-{}-{name}", benchmark.name, kind.name(benchmark)));
        let mut engine = find(name)?.open(&Setting::of_one_thread(folder)?)?;
        engine.load(&data)?;
        engine.prepare(&data)?;
        Ok::<_, lab_harness::Failure>(engine)
    };
    let mut first = open("datafusion")?;
    let queries = data.queries(SCALE)?;
    let answers = queries.iter().map(|query| serve::text(&first.query(&query.text)?));
    let answers = answers.collect::<Outcome<Vec<_>>>()?;
    assert!(answers.iter().map(|answer| answer.0.len()).sum::<usize>() > 300);
    let plans = |engine: &mut dyn Engine| {
        let plans = queries.iter().map(|query| engine.explain(&query.text));
        plans.collect::<Outcome<Vec<String>>>()
    };
    let in_memory = plans(open("remanent")?.as_mut())?;
    for name in [
        "datafusion-ordered",
        "remanent",
        "remanent-rows",
        "remanent-copied",
        "remanent-changed",
        "remanent-paged-warm",
        "remanent-paged-cold",
        "remanent-paged-unkeyed",
    ] {
        let mut engine = open(name)?;
        if name.ends_with("warm") || name.ends_with("cold") {
            assert_eq!(plans(engine.as_mut())?, in_memory, "{name}");
        }
        for (query, expected) in queries.iter().zip(&answers) {
            engine.before_query()?;
            let found = serve::text(&engine.query(&query.text)?)?;
            let differs = difference(&found, expected, &query.order);
            assert_eq!(differs, None, "{name}, query {}", query.number);
        }
    }
    Ok(())
}
