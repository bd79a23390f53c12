//! Subqueries within subqueries, as deep as anybody writes them, are answered at every level, by
//! whatever words each of them is one.

use remanent_sql::{Session, SqlDatabase};

const LEVELS_MAX: usize = 6;

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().unwrap().session();
    let tables = "create table t (k int primary key, v int); \
                  create table u (k int primary key, v int); \
                  insert into t select i, i % 10 from generate_series(1, 100) g(i); \
                  insert into u select i, i % 10 from generate_series(1, 50) g(i)";
    session.execute(tables).expect("tables");
    session
}

/// Ways to ask whether a row of table `a{level}` is kept by what stands within.
const WAYS: [fn(usize, &str) -> String; 7] = [
    |level, within| format!("a{level}.k in (select b{level}.k from u b{level} where {within})"),
    |level, within| {
        format!("exists (select 1 from u b{level} where b{level}.k = a{level}.k and {within})")
    },
    |level, within| {
        format!(
            "a{level}.k = \
             (select max(b{level}.k) from u b{level} where b{level}.k = a{level}.k and {within})"
        )
    },
    |level, within| {
        format!(
            "not exists (select 1 from t b{level} where b{level}.k = a{level}.k and not ({within}))"
        )
    },
    |level, within| {
        format!(
            "(a{level}.v < 0 or a{level}.k in (select b{level}.k from u b{level} where {within}))"
        )
    },
    |level, within| format!("a{level}.k = any (select b{level}.k from u b{level} where {within})"),
    |level, within| {
        format!("(select count(*) from u b{level} where b{level}.k = a{level}.k and {within}) = 1")
    },
];

#[test]
fn subqueries_within_subqueries_are_answered() {
    let mut session = session();
    for seed in 0..24 {
        let levels = 1 + seed % LEVELS_MAX;
        // What the innermost asks: 15 of the rows that both tables have meet it.
        let mut condition = format!("a{levels}.v < 3 and a{levels}.k <= 50");
        for level in (0..levels).rev() {
            let way = WAYS[(seed / LEVELS_MAX + level * (seed % 5 + 1)) % WAYS.len()];
            // The table of the next level is that of this one's subquery.
            let next =
                format!("b{level}.k in (select a{0}.k from t a{0} where {condition})", level + 1);
            condition = way(level, &next);
        }
        let query = format!("select a0.k from t a0 where {condition} order by 1");
        let answer = session.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(answer.rows.len(), 15, "{query}");
    }
}

/// What all alternatives of a condition have in common makes a join of a subquery, and its answers
/// stay the same, with NULL among the values as without.
#[test]
fn alternatives_with_a_key_in_common_are_joined() {
    let mut session = session();
    let script = "create table w (k int, v int, m int);
                  insert into w select nullif(i % 37, 3), nullif(i % 11, 5), nullif(i % 5, 1)
                  from generate_series(1, 3000) g(i)";
    session.execute(script).expect("a table");
    let key = "w.k = t.k";
    for (alternatives, plain) in [
        ("({key} and w.v = 1) or ({key} and w.m = 2)", "(w.v = 1 or w.m = 2)"),
        (
            "(w.v = 1 and {key}) or (w.m = 2 and w.v < 7 and {key})",
            "(w.v = 1 or w.m = 2 and w.v < 7)",
        ),
        ("({key} and w.v = 1) or {key} or ({key} and w.m = 0)", "true"),
        (
            "w.m > 0 and (({key} and w.v = 1) or ({key} and (w.v = 2 or w.m = 3)))",
            "w.m > 0 and (w.v = 1 or w.v = 2 or w.m = 3)",
        ),
    ] {
        let alternatives = alternatives.replace("{key}", key);
        for wrapped in [
            "select t.k from t where (select count(*) from w where {it}) > 30 order by 1",
            "select t.k from t where exists (select 1 from w where {it}) order by 1",
            "select t.k, (select sum(w.v) from w where {it}) from t order by 1",
        ] {
            let (query, other) = (
                wrapped.replace("{it}", &alternatives),
                wrapped.replace("{it}", &format!("{key} and {plain}")),
            );
            let found = session.query(&query, &[]).expect(&query).rows;
            assert_eq!(found, session.query(&other, &[]).expect(&other).rows, "{query}");
            let plan = session.query(&format!("explain {query}"), &[]).expect("a plan").rows;
            let plan: Vec<_> = plan.iter().map(|line| line[0].to_string()).collect();
            let is_joined = plan.iter().any(|line| line.contains(" join on k@"));
            assert!(is_joined && !plan.iter().any(|line| line.contains("subquery")), "{plan:?}");
        }
    }
}
