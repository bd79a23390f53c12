//! Every function of the catalogue, called with what a hostile or careless client gives it: too
//! little, too much, nothing, the ends of all types, text that means nothing.
//!
//! Whatever is wrong with a call is the caller's and is answered so: no call is a fault of the
//! server, none ends a session, and none takes long.

use std::time::{Duration, Instant};

use crate::harness::Running;
use crate::raw::{Raw, soon};

/// Lists of arguments, each tried on every function.
const HOSTILE: &[&str] = &[
    "",
    "null",
    "null, null",
    "null, null, null",
    "1",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999999999999999999999::numeric(38,0)",
    "1e308::double precision",
    "'nan'::double precision",
    "'-infinity'::double precision",
    "1.5::real",
    "''",
    "'x'",
    "'a(b[c'",
    "'%Y-%m-%d %Q'",
    "repeat('x', 100000)",
    "true",
    "date '9999-12-31'",
    "timestamp '9999-12-31 23:59:59.999999'",
    "timestamptz '0001-01-01 00:00:00+00'",
    "interval '178956970 years'",
    "'\\x00ff'::bytea",
    "array[1, 2, null]",
    "array[]::int[]",
    "array['a', '']",
    "1, 1",
    "9223372036854775807, 9223372036854775807",
    "-9223372036854775808, -1",
    "1, 0",
    "1.5, -2147483648",
    "'nan'::double precision, 1",
    "'x', 'x'",
    "'x', ''",
    "'a(b[c', '(*'",
    "'x', '(*'",
    "'x', 1",
    "'x', -1",
    "'x', -9223372036854775808",
    "1, 'x'",
    "'day', timestamp '0001-01-01 00:00:00'",
    "'nonsense', timestamp '2000-01-01 00:00:00'",
    "timestamp '9999-12-31', interval '100000 years'",
    "interval '1 month', timestamp '2000-01-01'",
    "array[1, 2], 1",
    "array[1, 2], 9223372036854775807",
    "array[1, 2], -9223372036854775808",
    "array['a'], 'x'",
    "array[1], array[2]",
    "array[1], array['a']",
    "1, 2, 3",
    "1, 1000000000000, 0",
    "-9223372036854775808, 9223372036854775807, 1",
    "9223372036854775800, 9223372036854775807, 9223372036854775807",
    "'x', 1, -1",
    "'x', -9223372036854775808, 9223372036854775807",
    "'x', 9223372036854775807, 'y'",
    "'x', 'y', 9223372036854775807",
    "'x', '(*', 'y'",
    "'x', 'y', 'z'",
    "'a', 'a', '\\9'",
    "array[1, 2], 9223372036854775807, -1",
    "array[1], 0, array[1]",
    "date '2000-01-01', date '9999-12-31', interval '0 days'",
    "'x', '(*', 'y', 'q'",
    "'x', 'x', 1, 'q'",
    "1, 1, 1, 1",
    "1, 'x', true, null, array[1]",
    "1, 1, 1, 1, 1, 1, 1",
];

/// Of the lists of arguments, each function is tried with one of so many: the next function with
/// the next ones. All are tried where the environment has this name.
const SHARE: usize = 8;
const ALL: &str = "REMANENT_EVERY_CALL";

/// The time that one call may take, in a build without optimisation on a busy machine.
const CALL_MAX: Duration = Duration::from_secs(10);

/// Calls each function with each list of arguments; what is wrong.
fn attack(port: u16, calls: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut raw = Raw::ready(port, "attacker");
    raw.query("set statement_timeout = 10000").unwrap();
    for call in calls {
        let began = Instant::now();
        match raw.query(call) {
            Ok(state) if state.starts_with("XX") || state.starts_with("57") => {
                faults.push(format!("{state}: {call}"));
            }
            Ok(_) => {}
            Err(error) => faults.push(format!("{error}: {call}")),
        }
        if began.elapsed() > CALL_MAX {
            faults.push(format!("took {:?}: {call}", began.elapsed()));
        }
        if faults.last().is_some_and(|fault| fault.ends_with(call.as_str())) {
            soon("a new connection", || {
                raw = Raw::silent(port);
                raw.send(&crate::raw::startup("attacker"));
                raw.answer().is_ok()
            });
        }
    }
    faults
}

fn run(calls: &[String]) {
    let running = Running::trusting();
    let mut raw = Raw::ready(running.port, "tester");
    let made = "create table rows_ (i int, t text, a int[]); create sequence s; \
                insert into rows_ values (1, 'x', array[1]), (null, null, null), (2, '', array[2])";
    assert_eq!(raw.query(made).unwrap(), "");
    let port = running.port;
    let halves: Vec<_> = calls.chunks(calls.len().div_ceil(2)).map(<[String]>::to_vec).collect();
    let threads = halves.into_iter().map(|half| std::thread::spawn(move || attack(port, &half)));
    let threads: Vec<_> = threads.collect();
    let faults: Vec<String> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), calls.len(), faults.join("\n"));
    assert_eq!(raw.query("select 1").unwrap(), "");
}

fn names(of: usize) -> Vec<String> {
    let all = remanent_sql::SqlDatabase::in_memory().unwrap().functions();
    // They do what they are asked to; `thrown_out.rs` has their attacks.
    let stops = |name: &String| name.starts_with("pg_") && name.ends_with("_backend");
    all[of].iter().filter(|name| !stops(name)).cloned().collect()
}

/// The part of all calls that is made.
fn share(calls: Vec<String>) -> Vec<String> {
    let all = std::env::var_os(ALL).is_some();
    // No multiple of the number of lists, so that other functions get other ones.
    let kept = calls.into_iter().enumerate().filter(|(place, _)| all || place % SHARE == 0);
    kept.map(|(_, call)| call).collect()
}

/// The call by a name that may be no word of SQL.
fn call(name: &str, args: &str) -> String {
    format!("\"{name}\"({args})")
}

#[test]
fn functions_of_rows_blame_who_calls_them() {
    let calls: Vec<String> = names(0)
        .iter()
        .flat_map(|name| HOSTILE.iter().map(move |args| format!("select {}", call(name, args))))
        .collect();
    run(&share(calls));
}

#[test]
fn functions_of_rows_are_as_careful_with_columns() {
    let columns = ["i", "t", "a", "i, i", "t, t", "t, i", "a, i", "t, t, t", "t, i, i", "i, i, i"];
    let calls: Vec<String> = names(0)
        .iter()
        .flat_map(|name| {
            let call = move |args: &&str| format!("select {} from rows_", call(name, args));
            columns.iter().map(call)
        })
        .collect();
    run(&share(calls));
}

#[test]
fn functions_of_groups_and_windows_blame_who_calls_them() {
    let lists = [
        "",
        "i",
        "t",
        "a",
        "null",
        "i, 0",
        "i, 0.5",
        "i, -1",
        "i, 2",
        "t, ','",
        "i, t",
        "a, i",
        "i, 'nan'::double precision",
        "i, 9223372036854775807",
        "i, -9223372036854775808",
        "i, 0, 0",
        "i, 1, t",
        "i, 0.5, 9223372036854775807",
        "i, i, i, i",
        "distinct i",
        "distinct t, t",
        "i order by t",
        "*",
    ];
    let mut calls = Vec::new();
    for name in names(1).iter().chain(&names(2)) {
        for args in lists {
            // Window functions without an argument that they need are planned elsewhere.
            if args.is_empty() && name.ends_with("_value") {
                continue;
            }
            let call = call(name, args);
            calls.push(format!("select {call} from rows_"));
            calls.push(format!("select {call} over () from rows_"));
            calls.push(format!("select {call} over (order by t rows 1 preceding) from rows_"));
            calls.push(format!("select {call} filter (where i > 5) from rows_ group by t"));
        }
    }
    run(&share(calls));
}
