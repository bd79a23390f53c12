//! Definitions that fail late: at the last row, or for want of memory.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::SqlDatabase;

use super::cases::{DEFINITIONS, make, seen};
use super::folder::{is_chosen, run, state};

/// A row, the definition that it does not fit, and the state of the error.
const LATE: &[(&str, &str, &str)] = &[
    ("insert into t (a, b) values (7, null)", "alter table t alter column b set not null", "23502"),
    (
        "insert into t (a, b) values (7, 'no number')",
        "alter table t alter column b type int using substr(b, 2)::int",
        "22P02",
    ),
    (
        "insert into t (a, b) values (70000, 'y')",
        "alter table t alter column a type smallint",
        "22003",
    ),
    (
        "insert into t (a, b) values (0, 'y')",
        "alter table t add column d int generated always as (100 / a) stored",
        "22012",
    ),
    (
        "insert into t (a, b) values (0, 'y')",
        "create table n as select 100 / a as d from t",
        "22012",
    ),
    ("insert into t (a, b) values (7, 'b7')", "alter table t add constraint k unique (b)", "23505"),
    ("insert into t (a, b) values (7, 'b7')", "create unique index k on t (b, a)", "23505"),
    (
        "insert into t (a, b) values (null, 'y')",
        "alter table t drop constraint t_pkey, \
        add constraint k primary key (a)",
        "23502",
    ),
    (
        "insert into t (a, b) values (9999999, 'y')",
        "alter table t add constraint k check (a < 9999999)",
        "23514",
    ),
    (
        "insert into child values (1, 99999999)",
        "alter table child add constraint k foreign key (n) references t",
        "23503",
    ),
    (
        "insert into t (a, b) values (1, 'y')",
        "alter table t add column d int default 1, alter column a set default 5, \
         add constraint k unique (a)",
        "23505",
    ),
    (
        "insert into t (a, b) values (1, 'abcdefghijkl')",
        "alter table t alter column b type varchar(8)",
        "22001",
    ),
];

#[test]
fn a_late_row_that_does_not_fit_undoes_all() {
    for &(row, definition, refused) in LATE {
        let database = SqlDatabase::in_memory().unwrap();
        let mut session = database.session();
        make(&mut session, 3_000);
        run(&mut session, "drop view v");
        let is_child_kept = !definition.contains("t_pkey");
        if !is_child_kept {
            run(&mut session, "drop table child");
        }
        run(&mut session, row);
        let before = seen(&mut session);
        for begin in ["", "begin"] {
            if !begin.is_empty() {
                run(&mut session, begin);
            }
            assert_eq!(state(&mut session, definition), Some(refused), "{begin} {definition}");
            assert_eq!(seen(&mut session), before, "{begin} {definition}");
            if !begin.is_empty() {
                run(&mut session, "commit");
            }
            assert_eq!(seen(&mut database.session()), before, "{begin} {definition}");
        }
        run(&mut session, "insert into t (a) values (123)");
    }
}

#[test]
fn a_definition_without_memory_undoes_all() {
    let mut refused = 0;
    for (number, text) in DEFINITIONS.into_iter().enumerate() {
        if !is_chosen(number, 2) {
            continue;
        }
        let options = Options::new().budget(24 << 20).budget_max(24 << 20);
        let database = SqlDatabase::new(Arc::new(Database::open(options).unwrap())).unwrap();
        let mut session = database.session();
        make(&mut session, 4_000);
        let before = seen(&mut session);
        run(&mut session, "create table filler (a text)");
        // As much as there is, in pieces that become smaller.
        let mut count = 16_384;
        while count > 0 {
            let fill = format!(
                "insert into filler select repeat('x', 400) from generate_series(1, {count}) g(i)"
            );
            match state(&mut session, &fill) {
                None => {}
                Some("53200") => count /= 4,
                Some(other) => panic!("{other}"),
            }
        }
        // To look needs memory too.
        let failed = state(&mut session, text);
        run(&mut session, "drop table filler");
        let now = seen(&mut session);
        match failed {
            None => assert_ne!(now, before, "{text}"),
            Some(state) => {
                assert_eq!(state, "53200", "{text}");
                assert_eq!(now, before, "{text}");
                refused += 1;
            }
        }
        assert_eq!(seen(&mut database.session()), now, "{text}");
        if failed.is_some() {
            let again = state(&mut session, text);
            assert_eq!(again, None, "{text}: not even with memory");
            assert_ne!(seen(&mut session), before, "{text}");
        }
    }
    assert!(refused > 1, "only {refused} were refused");
}
