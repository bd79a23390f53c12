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
