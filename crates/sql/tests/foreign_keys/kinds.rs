//! Keys of every type, and references between columns of different types: either both sides mean
//! the same by equal values, or the reference is refused when it is defined.

use super::judge::{database, orphans, run, state};

/// Values of each type, among them those that have more than one spelling.
const KINDS: [(&str, &[&str]); 16] = [
    ("smallint", &["1", "-1", "0"]),
    ("integer", &["1", "-1", "0"]),
    ("bigint", &["1", "-1", "0"]),
    ("decimal(10, 2)", &["1", "1.50", "0"]),
    ("decimal(12, 4)", &["1", "1.5000", "0"]),
    ("real", &["1", "0", "-0.0::real", "1.5"]),
    ("double", &["1", "0", "-0.0::double", "1.5"]),
    ("text", &["'1'", "'01'", "''", "'1.50'", "'-'", "' 1'"]),
    ("varchar(10)", &["'1'", "'01'", "''", "'-'"]),
    ("char(4)", &["'1'", "'1   '", "''"]),
    ("boolean", &["true", "false"]),
    ("date", &["'2020-01-01'", "'1999-12-31'"]),
    ("timestamp", &["'2020-01-01 00:00:00'", "'1999-12-31 23:59:59.5'"]),
    ("timestamptz", &["'2020-01-01 00:00:00+00'", "'2020-01-01 02:00:00+02'"]),
    ("bytea", &["'\\x31'", "'\\x'"]),
    ("uuid", &["'00000000-0000-0000-0000-000000000001'"]),
];

#[test]
fn keys_of_all_types_are_found_again() {
    for (parent, keys) in KINDS {
        for (child, values) in KINDS {
            let what = format!("{child} refers to {parent}");
            let (_, mut session) = database("create table nothing (id int)");
            if state(&mut session, &format!("create table p (k {parent} primary key)")).is_some() {
                continue;
            }
            let refers = format!("create table c (k {child} references p)");
            let refused = state(&mut session, &refers);
            if let Some(refused) = refused {
                assert_ne!(child, parent, "{what}: {refused}");
                assert!(["42804", "0A000", "42830"].contains(&refused), "{what}: {refused}");
                continue;
            }
            for key in keys {
                let _ = state(&mut session, &format!("insert into p values ({key})"));
            }
            for value in values {
                let _ = state(&mut session, &format!("insert into c values ({value})"));
            }
            // One at a time: those that are referred to stay.
            for key in keys {
                let _ = state(&mut session, &format!("delete from p where k = {key}"));
            }
            let left = orphans(&mut session, ("c", &["k"]), ("p", &["k"]));
            assert!(left.is_empty(), "{what}: {left:?}");
        }
    }
}

/// NULL and empty text are two things, also in keys of several columns.
#[test]
fn null_is_not_empty_text() {
    let tables = "create table p (x text, y text, unique (x, y)); \
         create table c (x text, y text, foreign key (y, x) references p (y, x)); \
         insert into p values ('', ''), ('a', ''), ('', 'a'), ('1:', '1')";
    let (_, mut session) = database(tables);
    run(&mut session, "insert into c values (null, ''), ('', null), (null, null), ('', '')");
    run(&mut session, "insert into c values ('a', '')");
    assert_eq!(state(&mut session, "insert into c values ('a', 'a')"), Some("23503"));
    assert_eq!(state(&mut session, "insert into c values ('1', ':1')"), Some("23503"));
    assert_eq!(state(&mut session, "delete from p where x = '' and y = ''"), Some("23503"));
    assert_eq!(state(&mut session, "delete from p where x = 'a'"), Some("23503"));
    run(&mut session, "delete from p where y = 'a'; delete from p where x = '1:'");
    run(&mut session, "delete from c where x = '' and y = ''; delete from p where x = ''");
    assert!(orphans(&mut session, ("c", &["x", "y"]), ("p", &["x", "y"])).is_empty());
    // Rows of one statement, of which each key is looked up once.
    run(&mut session, "create table e (x text primary key); create table d (x text references e)");
    assert_eq!(state(&mut session, "insert into d values (null), ('')"), Some("23503"));
    assert!(orphans(&mut session, ("d", &["x"]), ("e", &["x"])).is_empty());
}
