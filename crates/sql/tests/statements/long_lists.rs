//! INSERT of a long list of values: the rows and the errors of one statement for each row.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{Datum, Session, SqlDatabase};

const COLUMNS: &str = "id int primary key, small smallint, large bigint, price numeric(8, 2), \
    any_number numeric, ratio double precision, name varchar(6), fixed char(4), day date, \
    moment timestamp, flag boolean, about jsonb, made int generated always as (id * 2) stored, \
    given int default 7";
const NAMED: &str = "(id, small, large, price, any_number, ratio, name, fixed, day, moment, flag, \
    about, given)";

fn session() -> Session {
    let engine = Database::open(Options::new().budget(64 << 20)).expect("a database");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a catalog");
    let mut session = db.session();
    for table in ["one", "all_at_once"] {
        session.execute(&format!("create table {table} ({COLUMNS})")).expect("a table");
    }
    session
}

/// Each column has its kinds of values, and which come together changes from row to row.
fn row(id: usize) -> String {
    let of = |values: &[&str]| values[(id * 7 + id / 5) % values.len()].to_owned();
    let values = [
        of(&["1", "-3", "null", "'12'"]),
        of(&["5000000000", "-1", "null", "2"]),
        of(&["1.5", "2", "2.345", "-0.005", "'3.1'", "null"]),
        of(&["1", "99999999999999999999", "0.000001", "null"]),
        of(&["1", "2.5", "1e10", "null"]),
        of(&["'abc'", "''", "'\u{e9}t\u{e9}'", "'it''s'", "null"]),
        of(&["'ab'", "'ab  '", "null"]),
        of(&["'2024-02-29'", "null", "'0001-01-01'"]),
        of(&["'2024-02-29 12:00'", "null", "'2020-01-01 00:00:00.5'"]),
        of(&["true", "false", "null"]),
        of(&["'{\"a\": 1}'", "null", "'[]'"]),
        of(&["default", "3", "null"]),
    ];
    format!("({id}, {})", values.join(", "))
}

fn rows(session: &mut Session, table: &str) -> Vec<Vec<String>> {
    let rows = session.query(&format!("select * from {table} order by id"), &[]).expect("rows");
    rows.rows.iter().map(|row| row.iter().map(Datum::to_string).collect()).collect()
}

#[test]
fn its_rows_are_those_of_one_statement_each() {
    let session = &mut session();
    let all: Vec<String> = (0..200).map(row).collect();
    for row in &all {
        session.execute(&format!("insert into one {NAMED} values {row}")).expect(row);
    }
    session
        .execute(&format!("insert into all_at_once {NAMED} values {}", all.join(", ")))
        .expect("all");
    let one = rows(session, "one");
    assert_eq!((rows(session, "all_at_once"), one.len()), (one, 200));
}

#[test]
fn lists_of_one_type_are_too() {
    let session = &mut session();
    for column in 0..12 {
        // The first kind of value of a column or none, so that all are constants of one type.
        let name = NAMED.trim_matches(['(', ')']).split(", ").nth(column + 1).expect("a column");
        let value =
            row(0)[1..].trim_end_matches(')').split(", ").nth(column + 1).map(str::to_owned);
        let value = value.expect("a value").replace("default", "3");
        let of = |id: usize| if id.is_multiple_of(3) { "null" } else { &value };
        let list: Vec<String> = (0..40).map(|id| format!("({id}, {})", of(id))).collect();
        for (table, lists) in [("one", list.chunks(1)), ("all_at_once", list.chunks(40))] {
            for list in lists {
                let list = list.join(", ");
                session
                    .execute(&format!("insert into {table} (id, {name}) values {list}"))
                    .expect(name);
            }
        }
        assert_eq!(rows(session, "all_at_once"), rows(session, "one"), "{name}");
        session.execute("truncate one; truncate all_at_once").expect("none is left");
    }
}

#[test]
fn its_errors_are_those_of_the_row_that_is_wrong() {
    let session = &mut session();
    let wrong = [
        "(id, small) values (1000, 40000)",
        "(id, price) values (1000, 12345678.9)",
        "(id, name) values (1000, 'too long a name')",
        "(id, day) values (1000, '2024-02-30')",
        "(id, large) values (1000, 99999999999999999999)",
        "(id, small) values (null, 1)",
        "(id, small) values (1, 1)",
        "(id, small) values (1000, 1 / 0)",
    ];
    for wrong in wrong {
        session.execute("insert into one (id) values (1)").expect("one row");
        session.execute("insert into all_at_once (id) values (1)").expect("one row");
        let (columns, last) = wrong.split_once(" values ").expect("a list");
        let good = (100..150).map(|id| format!("({id}, null)")).collect::<Vec<_>>().join(", ");
        let one = session.execute(&format!("insert into one {wrong}")).expect_err(wrong);
        let all = format!("insert into all_at_once {columns} values {good}, {last}");
        let all = session.execute(&all).expect_err(wrong);
        assert_eq!(all.state(), one.state(), "{wrong}: {all} and {one}");
        assert_eq!(rows(session, "all_at_once").len(), 1, "nothing of it is left");
        session.execute("truncate one; truncate all_at_once").expect("none is left");
    }
}

#[test]
fn it_returns_rows_and_updates_those_that_conflict() {
    let session = &mut session();
    let list = (0..40).map(|id| format!("({id}, {})", id % 7)).collect::<Vec<_>>().join(", ");
    let insert = format!("insert into one (id, small) values {list}");
    let returned = session.query(&format!("{insert} returning id + small"), &[]).expect("rows");
    let sums: Vec<String> = returned.rows.iter().map(|row| row[0].to_string()).collect();
    assert_eq!(sums, (0..40).map(|id| (id + id % 7).to_string()).collect::<Vec<_>>());
    session
        .execute(&format!(
            "{insert} on conflict (id) do update set small = one.small + excluded.id"
        ))
        .expect("each conflicts");
    let sum = session.query("select sum(small) from one", &[]).expect("a sum").rows;
    let wanted: i64 = (0..40).map(|id| id + id % 7).sum();
    assert_eq!(sum[0][0].to_string(), wanted.to_string());
    let values: Vec<String> = (0..40).map(|at| format!("(${}, $41)", at + 1)).collect();
    let parameters: Vec<Datum> = (100..140).chain([5]).map(Datum::Int).collect();
    let insert = format!("insert into one (id, small) values {}", values.join(", "));
    session.query(&insert, &parameters).expect("values of parameters");
    let count = session.query("select count(*) from one where small = 5 and id >= 100", &[]);
    assert_eq!(count.expect("a count").rows[0][0].to_string(), "40");
}
