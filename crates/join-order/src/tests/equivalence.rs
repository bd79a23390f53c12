//! Random queries over small random tables with duplicates and NULLs: the rules change no result,
//! whatever the statistics say.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::prelude::SessionContext;

use super::provider::{Table, session};
use super::random::Random;

/// Each of its own tables and twenty queries; most of the time goes into plans.
const SEEDS: u64 = 20;
const TABLES: usize = 5;
const COLUMNS: [&str; 4] = ["a", "b", "c", "s"];

fn table(random: &mut Random, number: usize) -> (String, Arc<Table>) {
    let rows = random.below(12) as usize;
    let values = 1 + random.below(5);
    let nullable = random.below(2) == 0;
    let mut number_or_null = || {
        let value = random.below(values) as i32;
        (!nullable || random.below(4) != 0).then_some(value)
    };
    let numbers: Vec<Vec<Option<i32>>> =
        (0..3).map(|_| (0..rows).map(|_| number_or_null()).collect()).collect();
    let texts = numbers[0].iter().map(|value| value.map(|value| format!("text {}", value % 3)));
    let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
    let fields = vec![
        Field::new("a", DataType::Int32, nullable),
        Field::new("b", DataType::Int32, nullable),
        Field::new("c", DataType::Int32, nullable),
        Field::new("s", DataType::Utf8, nullable),
    ];
    let schema = Arc::new(Schema::new(fields));
    let mut arrays: Vec<ArrayRef> =
        numbers.into_iter().map(|column| Arc::new(Int32Array::from(column)) as ArrayRef).collect();
    arrays.push(texts);
    let batch =
        RecordBatch::try_new(Arc::clone(&schema), arrays).expect("columns are of one length");
    let statistics = (random.below(4) != 0).then(|| claims(random));
    (format!("t{number}"), Table::new(schema, vec![batch], statistics))
}

/// Statistics that have nothing to do with the rows, so that all orders are tried.
fn claims(random: &mut Random) -> Statistics {
    let rows = 10usize.pow(random.below(7) as u32);
    let mut column = || ColumnStatistics {
        distinct_count: Precision::Inexact(1 + random.below(rows as u64) as usize),
        ..ColumnStatistics::new_unknown()
    };
    Statistics {
        num_rows: Precision::Inexact(rows),
        total_byte_size: Precision::Absent,
        column_statistics: (0..4).map(|_| column()).collect(),
    }
}

/// One random query: joins in WHERE and ON, subqueries of all kinds, predicates.
fn query(random: &mut Random) -> String {
    let joined = 1 + random.below(5) as usize;
    let mut from = Vec::new();
    for at in 0..joined {
        let source = format!("t{}", random.below(TABLES as u64));
        from.push(match random.below(8) {
            0 => format!(
                "(select a as b, max(b) as a, count(*) as c, min(s) as s from {source} \
                 group by a) r{at}"
            ),
            1 => format!("(select x.a, y.b, x.c, x.s from {source} x, t0 y where x.b = y.a) r{at}"),
            _ => format!("{source} r{at}"),
        });
    }
    let column = |random: &mut Random| {
        let at = random.below(joined as u64);
        format!("r{at}.{}", random.pick(&COLUMNS[..3]))
    };
    let mut predicates = Vec::new();
    for at in 1..joined {
        if random.below(8) != 0 {
            let other = random.below(at as u64);
            let (mine, theirs) = (random.pick(&COLUMNS[..3]), random.pick(&COLUMNS[..3]));
            predicates.push(format!("r{at}.{mine} = r{other}.{theirs}"));
        }
    }
    for _ in 0..random.below(5) {
        predicates.push(predicate(random, &column));
    }
    let outer = match random.below(6) {
        0 => format!(" left join t1 o on o.a = {}", column(random)),
        1 => format!(" right join t2 o on o.b = {}", column(random)),
        _ => String::new(),
    };
    let mut picked = vec![format!("r{}.s as s", random.below(joined as u64))];
    picked.extend((0..3).map(|at| format!("{} as c{at}", column(random))));
    let condition =
        if predicates.is_empty() { "true".to_owned() } else { predicates.join(" and ") };
    // The outer join is over all of FROM; commas would bind it to the last table alone.
    format!(
        "select {} from {}{outer} where {condition}",
        picked.join(", "),
        from.join(" cross join ")
    )
}

fn predicate(random: &mut Random, column: &dyn Fn(&mut Random) -> String) -> String {
    let (one, other) = (column(random), column(random));
    let number = random.below(4);
    let table = random.below(TABLES as u64);
    let inner = *random.pick(&COLUMNS[..3]);
    let not = *random.pick(&["", "not "]);
    match random.below(11) {
        0 => format!("{one} = {number}"),
        1 => format!("{one} < {other}"),
        2 => format!("({one} = {number} or {other} > 1)"),
        3 => format!("{one} + {other} = {number}"),
        4 => format!("{one} {not}in (select {inner} from t{table})"),
        5 => format!("{one} {not}in (select {inner} from t{table} where {inner} is not null)"),
        6 => format!("{not}exists (select 1 from t{table} x where x.{inner} = {one})"),
        7 => format!(
            "{not}exists (select 1 from t{table} x where x.{inner} = {one} and x.b <> {other})"
        ),
        8 => format!("{one} <= (select max(x.b) from t{table} x where x.{inner} = {other})"),
        9 => format!(
            "{one} {not}in (select x.{inner} from t{table} x \
             group by x.{inner} having count(*) > 1)"
        ),
        _ => format!("{one} = {other}"),
    }
}

async fn rows(context: &SessionContext, query: &str) -> Result<Vec<String>, String> {
    let frame = context.sql(query).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    for batch in &batches {
        let options = FormatOptions::default().with_null("NULL");
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).expect("known types"))
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> =
                columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join("|"));
        }
    }
    rows.sort();
    Ok(rows)
}

#[test]
fn results_are_the_same_with_the_rules_and_without() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(compare_results());
}

async fn compare_results() {
    let (mut compared, mut not_empty) = (0, 0);
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let (plain, ordered) = (session(false), session(true));
        for number in 0..TABLES {
            let (name, table) = table(&mut random, number);
            plain.register_table(&name, Arc::clone(&table) as _).expect("a new name");
            ordered.register_table(&name, table).expect("a new name");
        }
        for _ in 0..20 {
            let query = query(&mut random);
            let expected = match rows(&plain, &query).await {
                Ok(rows) => rows,
                // Not every correlated subquery can be planned.
                Err(_) => continue,
            };
            let found = rows(&ordered, &query).await;
            assert_eq!(found.as_ref(), Ok(&expected), "seed {seed}: {query}");
            compared += 1;
            not_empty += u64::from(!expected.is_empty());
        }
    }
    assert!(
        compared > SEEDS * 15 && not_empty > SEEDS * 3,
        "{compared} compared, {not_empty} with rows"
    );
}
