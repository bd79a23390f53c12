//! Items of a select list beside wildcards that give the same columns, or others of the same name,
//! and items that have one name by their alias: PostgreSQL takes them, and shows the name again.

use remanent_sql::{Session, SqlDatabase};

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().expect("a database opens").session();
    let made = "create table t (a int primary key, b text); \
                create table u (a int primary key, c text); \
                insert into t values (1, 'x'), (2, 'y'); \
                insert into u values (1, 'z'), (3, 'w'); \
                create view v as select a, b from t";
    session.execute(made).expect("tables are made");
    session
}

/// The names of the columns, and the rows as text, of one line.
fn answer(session: &mut Session, text: &str) -> String {
    let answer = session.query(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    let names: Vec<&str> = answer.columns.iter().map(|column| column.name.as_str()).collect();
    let rows = answer.rows.iter().map(|row| {
        let row = row.iter().map(|value| value.to_text().unwrap_or_default());
        row.collect::<Vec<_>>().join(" ")
    });
    let mut rows: Vec<String> = rows.collect();
    rows.insert(0, names.join(" "));
    rows.join("; ")
}

#[test]
fn what_a_wildcard_gives_may_stand_beside_it() {
    let mut session = session();
    for (text, expected) in [
        ("select a, t.* from t order by a", "a a b; 1 1 x; 2 2 y"),
        ("select *, a from t order by a", "a b a; 1 x 1; 2 y 2"),
        ("select t.b, a, t.* from t order by t.a desc", "b a a b; y 2 2 y; x 1 1 x"),
        ("select t.a, * from t join u on t.a = u.a", "a a b a c; 1 1 x 1 z"),
        ("select u.a, t.*, u.c, b from t join u on t.a = u.a", "a a b c b; 1 1 x z x"),
        ("select b, t.*, c from t join u on t.a = u.a", "b a b c; x 1 x z"),
        ("select o.a, o.* from t o where o.a = 2", "a a b; 2 2 y"),
        ("select v.a, v.* from v where a = 1", "a a b; 1 1 x"),
        ("select q.a, q.* from (select a, b from t) q where a = 1", "a a b; 1 1 x"),
        ("select distinct b, * from t order by b", "b a b; x 1 x; y 2 y"),
        ("with t as (select 7 as d) select d, * from t", "d d; 7 7"),
    ] {
        assert_eq!(answer(&mut session, text), expected, "{text}");
    }
}

#[test]
fn other_items_may_have_the_name_of_what_a_wildcard_gives() {
    let mut session = session();
    for (text, expected) in [
        ("select *, upper(b) as b from t order by t.a", "a b b; 1 x X; 2 y Y"),
        ("select a + 1 as a, t.* from t order by b", "a a b; 2 1 x; 3 2 y"),
        ("select *, b as a, a as b from t join u using (a)", "a b c a b; 1 x z x 1"),
        ("select 1 as n, 2 as n, a from t where a = 1", "n n a; 1 2 1"),
        ("select q.b from (select a, * from t) q order by q.b", "b; x; y"),
        ("select q.d from (select t.a as d, u.* from t join u on t.a = u.a) q", "d; 1"),
        ("select q.a from (select t.a, u.c from t join u on t.a = u.a) q", "a; 1"),
    ] {
        assert_eq!(answer(&mut session, text), expected, "{text}");
    }
    // What is kept under names needs each once.
    for text in ["create table k as select a, * from t", "create view w as select a, * from t"] {
        let error = session.execute(text).expect_err(text);
        assert_eq!(error.state().as_str(), "42701", "{text}");
    }
}
