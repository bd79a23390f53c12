//! Groups that are too many for one table are partitioned, and are the same groups.
//!
//! Keys come in no order, and each comes again when its group has long left the table; some are
//! null, and texts are among them. One thread partitions, or two do; memory may be refused.

use std::collections::HashMap;
use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{Session, SqlDatabase};

const ROWS: i64 = 1_250_000;

/// A prime: as many rows as this one after the other have different keys.
const KEYS: i64 = 620_003;

type Key = (Option<i64>, Option<String>);

/// The key of a row, and a number.
fn row(i: i64) -> (Key, i64) {
    let k = i * 7_919 % KEYS;
    let name = (k % 10 != 0).then(|| format!("the name {}", k % 1_000));
    (((k % 7 != 0).then_some(k), name), i * 31 % 1_009 - 500)
}

fn session(budget: u64, threads: usize) -> Session {
    let engine = Database::open(Options::new().budget(budget)).expect("a database opens");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a database");
    let mut session = db.session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table t (k bigint, name text, n bigint)");
    run(&format!(
        "insert into t select case when k % 7 <> 0 then k end, \
         case when k % 10 <> 0 then 'the name ' || k % 1000 end, i * 31 % 1009 - 500 \
         from (select i, i * 7919 % {KEYS} as k from generate_series(1, {ROWS}::bigint) g(i)) q"
    ));
    run("vacuum full");
    run(&format!("set query_threads = {threads}"));
    session
}

/// How many groups there are, and sums of what is said of each.
const QUERY: &str = "select count(*), count(k), count(name), sum(c), sum(c * c), sum(s * c), \
                     sum(lo), sum(hi * c) from (select k, name, count(*) as c, sum(n) as s, \
                     min(n) as lo, max(n) as hi from t group by k, name) q";

fn expected() -> String {
    let mut groups: HashMap<Key, Vec<i64>> = HashMap::new();
    for (key, n) in (1..=ROWS).map(row) {
        groups.entry(key).or_default().push(n);
    }
    let mut all = [0_i64; 8];
    for ((k, name), numbers) in groups {
        let count = numbers.len() as i64;
        let least = numbers.iter().min().copied().unwrap_or_default();
        let greatest = numbers.iter().max().copied().unwrap_or_default();
        let sum: i64 = numbers.iter().sum();
        let of = [
            1,
            i64::from(k.is_some()),
            i64::from(name.is_some()),
            count,
            count * count,
            sum * count,
            least,
            greatest * count,
        ];
        all.iter_mut().zip(of).for_each(|(all, of)| *all += of);
    }
    all.map(|number| number.to_string()).join(" ")
}

fn answer(session: &mut Session, query: &str) -> String {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    answer.rows[0].iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn groups_are_those_of_all_rows() {
    let expected = expected();
    for threads in [1, 3] {
        let mut session = session(2 << 30, threads);
        assert_eq!(answer(&mut session, QUERY), expected, "{threads} threads");
        // A group by one column alone; the texts of all partitions are the same ones.
        let by_name = "select count(*), sum(c), min(name), max(name) from \
                       (select name, k, count(*) as c from t group by name, k) q where c = 2";
        let by_join = "select count(*), sum(c), min(name), max(name) from \
                       (select a.name, a.k, count(*) as c from t a, t b \
                       where a.k = b.k and a.n = b.n group by a.name, a.k) q where c >= 1";
        for query in [by_name, by_join] {
            let one = answer(&mut session, query);
            session.execute("set query_threads = 1").expect("a setting");
            assert_eq!(answer(&mut session, query), one, "{query}");
        }
    }
}

#[test]
fn groups_without_room_are_refused_and_nothing_else() {
    let (expected, mut refused) = (expected(), 0);
    let mut session = session(2 << 30, 2);
    for megabytes in [20, 50, 100, 150, 2_000] {
        session.execute(&format!("set query_memory = '{megabytes}MB'")).expect("a setting");
        match session.query(QUERY, &[]) {
            Ok(_) => assert_eq!(answer(&mut session, QUERY), expected),
            Err(error) => {
                assert_eq!(error.state().as_str(), "53200", "{error}");
                refused += 1;
            }
        }
    }
    assert!((1..5).contains(&refused), "{refused} of 5");
}
