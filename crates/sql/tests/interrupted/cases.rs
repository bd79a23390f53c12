//! A definition of every kind, and what is seen of a database.

use remanent_sql::Session;

use super::folder::{run, told};

/// What every case is made over; the number of rows is said elsewhere.
pub(super) const MADE: [&str; 9] = [
    "create role reader",
    "create table t (id int generated always as identity primary key, a int, b text default 'x', \
       c int generated always as (a + 1) stored, constraint positive check (a >= 0))",
    "create index t_b on t (b)",
    "comment on table t is 'rows'",
    "comment on column t.b is 'text'",
    "comment on index t_b is 'by text'",
    "grant select, update on t to reader",
    "create table child (t int references t, n int)",
    "create view v as select id, a, c from t",
];

/// One definition each.
pub(super) const DEFINITIONS: [&str; 24] = [
    "alter table t add column d text default 'd'",
    "alter table t add column d int generated always as (a * 2) stored",
    "alter table t add column d bigserial",
    "alter table t drop column b",
    "alter table t rename column b to z",
    "alter table t rename to u",
    "alter table t alter column b type varchar(30)",
    "alter table t alter column b set not null",
    "alter table t add constraint ab unique (id, a)",
    "alter table t add constraint small check (a < 1000000)",
    "alter table t drop constraint positive",
    "alter table child add constraint again foreign key (n) references t",
    "alter table child drop constraint child_t_fkey",
    "create index t_a on t (a, b)",
    "drop index t_b",
    "create table n as select id, a, b from t",
    "create table n (a serial primary key, t int references t)",
    "create view w as select count(*) as n from t",
    "create or replace view v as select id, a, c from t where a > 1",
    "create sequence q",
    "drop table child",
    "drop view v",
    "comment on table t is 'others'",
    "revoke select on t from reader",
];

/// Makes what the cases are made over, with so many rows.
pub(super) fn make(session: &mut Session, rows: usize) {
    MADE.iter().for_each(|text| run(session, text));
    run(
        session,
        &format!("insert into t (a, b) select i, 'b' || i from generate_series(1, {rows}) g(i)"),
    );
    run(session, "insert into child values (1, 1), (2, null)");
}

/// What is defined, and of what is in the tables as much as tells one state from another.
pub(super) fn seen(session: &mut Session) -> Vec<String> {
    let mut all = told(session);
    for query in [
        "select count(*), sum(id), sum(a), min(b), max(b), sum(c) from t",
        "select count(*), sum(id), sum(a), min(b), max(b), sum(c) from u",
        "select count(*), sum(d::bigint) from t",
        "select count(*), min(d) from t",
        "select count(*), min(z), max(z) from t",
        "select count(*), sum(id), sum(a), sum(c) from t",
        "select count(*), sum(id), sum(a), sum(c) from v",
        "select a from t where b = 'b7'",
        "select a from t where id = 7",
        "select count(*), sum(a), min(b) from n",
        "select count(*), sum(t), sum(n) from child",
        "select n from w",
    ] {
        all.push(match session.query(query, &[]) {
            Ok(answer) => format!("{:?}", answer.rows),
            Err(error) => error.state().as_str().to_owned(),
        });
    }
    all
}

/// That whatever state a definition has left can be worked with.
pub(super) fn go_on(session: &mut Session, what: &str) {
    let is_renamed = session.query("select 1 from u limit 1", &[]).is_ok();
    let table = if is_renamed { "u" } else { "t" };
    for text in [
        format!("begin; insert into {table} (a) values (5); rollback"),
        format!("insert into {table} (a) values (5)"),
        format!("delete from {table} where a = 5 and id > 5"),
        "create table later (a serial primary key); insert into later default values; \
         drop table later"
            .to_owned(),
    ] {
        let ran = session.execute(&text).map(drop);
        // A column that must not be NULL may have been made.
        assert!(ran.is_ok(), "{what}: {text}: {ran:?}");
    }
}
