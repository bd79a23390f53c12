//! What binds, plans and runs a long statement takes time in proportion to its length.
//!
//! Each shape is run with so many parts and with twice as many. What is compared is the time that
//! the thread was on a processor, the least of some runs, and never by itself: twice as many parts
//! may take some more than twice the time, and four times is what time by the square of the length
//! would be. Whoever else uses the machine takes caches away for a while, from one length and not
//! from the other: what seems to take too long is run some more times.

use remanent_sql::{Session, SqlDatabase};

/// Twice the parts may take so many times as long.
const TIMES_MAX: f64 = 3.0;

/// Runs of which the least counts.
const RUNS: usize = 2;

/// As many while twice the parts take too long.
const RUNS_MAX: usize = 12;

/// A shape, how many parts it has at first, and its text.
type Shape = (&'static str, usize, fn(usize) -> String);

/// Different terms, for equal ones may be found to be the same.
fn terms(n: usize, link: &str, term: impl Fn(usize) -> String) -> String {
    (0..n).map(term).collect::<Vec<_>>().join(link)
}

/// Of the shapes, those that are chains of operators.
const OPERANDS: usize = 6;

const SHAPES: &[Shape] = &[
    ("sums of constants", 1500, |n| format!("select {}", terms(n, " + ", |_| "1".to_owned()))),
    ("sums of columns", 1500, |n| format!("select {} from t", terms(n, " - ", |_| "k".to_owned()))),
    ("sums of several types", 1500, |n| {
        format!(
            "select {} from t",
            terms(n, " + ", |i| ["k", "b", "1.5", "d"][i * 4 / n].to_owned())
        )
    }),
    ("products", 1500, |n| format!("select {} from t", terms(n, " * ", |_| "k".to_owned()))),
    ("aggregates", 1500, |n| format!("select {} from t", terms(n, " + ", |_| "sum(k)".to_owned()))),
    ("texts", 1500, |n| format!("select length({}) from t", terms(n, " || ", |_| "s".to_owned()))),
    ("OR", 1000, |n| {
        format!("select count(*) from t where {}", terms(n, " or ", |i| format!("k = {i} + b")))
    }),
    ("AND", 1000, |n| {
        format!("select count(*) from t where {}", terms(n, " and ", |i| format!("k <> {i} + b")))
    }),
    ("LIKE", 1000, |n| {
        format!("select count(*) from t where {}", terms(n, " or ", |i| format!("s like '%{i}%'")))
    }),
    ("IN", 5000, |n| {
        format!("select count(*) from t where b in ({})", terms(n, ", ", |i| i.to_string()))
    }),
    ("branches of a CASE", 1000, |n| {
        format!(
            "select case {} end from t",
            terms(n, " ", |i| format!("when b = {i} then {i} + k"))
        )
    }),
    ("elements of an array", 1500, |n| {
        format!("select cardinality(array[{}]) from t", terms(n, ", ", |i| format!("k + {i}")))
    }),
    ("arrays of arrays", 1000, |n| {
        format!(
            "select cardinality(array[{}]) from t",
            terms(n, ", ", |i| format!("array[k, {i}]"))
        )
    }),
    ("columns", 800, |n| format!("select {} from t", terms(n, ", ", |i| format!("k + {i}")))),
    ("columns of one name", 800, |n| {
        format!("select {} from t", terms(n, ", ", |_| "k".to_owned()))
    }),
    ("constants", 800, |n| format!("select {}", terms(n, ", ", |i| i.to_string()))),
];

/// Nanoseconds for which this thread was on a processor.
fn on_processor() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    text.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

fn nanoseconds(session: &mut Session, text: &str) -> u64 {
    // A definition makes the database forget the plans that it has kept.
    session.execute("create view forgets as select 1; drop view forgets").expect("a view");
    let before = on_processor();
    session.query(text, &[]).unwrap_or_else(|error| panic!("{}: {error}", &text[..60]));
    on_processor() - before
}

/// The least nanoseconds of both texts, and how many times those of the first the second takes.
fn least(session: &mut Session, once: &str, twice: &str) -> (u64, f64) {
    let (mut least_once, mut least_twice) = (u64::MAX, u64::MAX);
    let mut times = f64::INFINITY;
    for run in 0..RUNS_MAX {
        if run >= RUNS && times <= TIMES_MAX {
            break;
        }
        least_once = least_once.min(nanoseconds(session, once));
        least_twice = least_twice.min(nanoseconds(session, twice));
        times = least_twice as f64 / least_once as f64;
    }
    (least_once, times)
}

#[test]
fn twice_as_many_operands_take_twice_the_time() {
    compare(&SHAPES[..OPERANDS]);
}

#[test]
fn twice_as_many_items_take_twice_the_time() {
    compare(&SHAPES[OPERANDS..]);
}

fn compare(shapes: &[Shape]) {
    if !std::path::Path::new("/proc/thread-self/schedstat").exists() {
        return;
    }
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let made = "create table t (k int, b bigint, d double precision, s text);
                insert into t values (1, 1, 1, 'x')";
    session.execute(made).expect("the table is made");
    let only = std::env::var("SHAPE").ok();
    let mut found = Vec::new();
    for (name, n, shape) in shapes.iter().filter(|it| only.as_ref().is_none_or(|o| it.0 == o)) {
        let (once, times) = least(&mut session, &shape(*n), &shape(2 * n));
        let report =
            format!("{name}: {n} in {} ms, twice as many take {times:.2} times", once / 1_000_000);
        eprintln!("{report}");
        if times > TIMES_MAX {
            found.push(report);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
