//! Rows that have no room in memory go to files, if there is a folder for them: the answers are the
//! same, nothing is left, and limits, full folders and cancelling hold.

use std::sync::Arc;
use std::time::Duration;

use remanent_engine::{Database, Options};
use remanent_sql::{Answer, Session, SqlDatabase};

/// Rows of about 60 bytes, some of them longer, with nulls.
const ROWS: usize = 150_000;

fn database() -> Arc<SqlDatabase> {
    let engine = Database::open(Options::new().budget(1 << 30)).expect("a database opens");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a database");
    let mut session = db.session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table t (id int primary key, k bigint, name text, price numeric(12, 2))");
    run(&format!(
        "insert into t select i, i * 7919::bigint % 100003, \
         case when i % 11 <> 0 then repeat('name ', i % 9) || i * 31 % 1009 end, i % 977 / 100.0 \
         from generate_series(1, {ROWS}) g(i)"
    ));
    db
}

/// What sorts, sorts before a window, groups with functions that are DataFusion's, and sorts pairs
/// of a join; what groups by numbers, by texts with nulls, in the order of the table, and by rows
/// of a join, and what is left of groups; each with memory that is too little for it.
const QUERIES: [(&str, &str); 10] = [
    ("4MB", "select id, k, name, price from t order by name desc nulls last, k, id"),
    ("4MB", "select id, price from t order by price, name, id desc offset 1000"),
    (
        "4MB",
        "select id, row_number() over (partition by k % 7 order by name, id) from t order by id",
    ),
    ("4MB", "select k, bit_or(id), max(price) from t group by k"),
    ("4MB", "select k, count(*), sum(id), avg(price), min(id % 7) from t group by k order by 3, k"),
    (
        "6MB",
        "select name, id % 19 as part, count(name), sum(price), max(k) from t \
         group by name, id % 19 order by name, part",
    ),
    ("5MB", "select id, sum(k), max(price), count(*) from t group by id order by id"),
    (
        "8MB",
        "select a.id, count(*), sum(b.price) from t a join t b on a.k = b.id \
         group by a.id, a.name order by a.id",
    ),
    ("3MB", "select k, count(*), sum(price) from t group by k having count(*) > 1 order by k"),
    ("15MB", "select a.id, b.name from t a join t b on a.k = b.id order by b.name, a.price, a.id"),
];

/// All rows of an answer, of which this is a value for each that nobody gets otherwise; in any
/// order if none was asked for.
fn digest(session: &mut Session, query: &str) -> (usize, u64) {
    let answer = session.query(query, &[]);
    digest_of(&answer.unwrap_or_else(|error| panic!("{query}: {error:?}")), query)
}

fn digest_of(answer: &Answer, query: &str) -> (usize, u64) {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let texts = answer.rows.iter().map(|row| row.iter().map(|value| value.to_text()).collect());
    let mut texts: Vec<Vec<_>> = texts.collect();
    if !query.contains("order by") {
        texts.sort_unstable();
    }
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    (answer.rows.len(), hasher.finish())
}

/// How many files operators of a plan say that they wrote.
fn spilled(session: &mut Session, query: &str) -> usize {
    spilled_by(session, query, "")
}

/// The same of those with a name.
fn spilled_by(session: &mut Session, query: &str, operator: &str) -> usize {
    let plan = session.query(&format!("explain analyze {query}"), &[]).expect(query);
    let lines = plan.rows.iter().filter_map(|row| row[0].to_text());
    let lines = lines.filter(|line| line.contains(operator));
    let counts = lines.filter_map(|line| {
        let (_, rest) = line.split_once("spill_count=")?;
        let digits = rest.split(|it: char| !it.is_ascii_digit()).next()?;
        digits.parse::<usize>().ok()
    });
    counts.sum()
}

#[test]
fn answers_are_those_of_memory() {
    let db = database();
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = db.session();
    let expected = QUERIES.map(|(_, query)| digest(&mut session, query));
    assert!(expected.iter().all(|(rows, _)| *rows > 1000), "{expected:?}");
    // Without a folder what needs more is refused.
    session.execute("set query_memory = '4MB'").expect("a setting");
    let refused = session.query(QUERIES[0].1, &[]).expect_err("no room");
    assert_eq!(refused.state().as_str(), "53200");
    db.spill_to(folder.path(), 1 << 30).expect("a folder");
    for threads in [1, 2] {
        session.execute(&format!("set query_threads = {threads}")).expect("a setting");
        for ((memory, query), expected) in QUERIES.iter().zip(&expected) {
            session.execute("reset query_memory").expect("a setting");
            assert_eq!(spilled(&mut session, query), 0, "{query}");
            session.execute(&format!("set query_memory = '{memory}'")).expect("a setting");
            assert_eq!(digest(&mut session, query), *expected, "{query}");
            let operator = if query.contains("group by") { "Aggregate" } else { "" };
            assert!(spilled_by(&mut session, query, operator) > 0, "{query}");
        }
    }
    // Files have no names.
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

/// The budget of the whole database refuses, too, and then rows go to files.
#[test]
fn a_database_that_is_full_spills() {
    let engine = Database::open(Options::new().budget(40 << 20)).expect("a database opens");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a database");
    let mut session = db.session();
    session.execute("create table t (id int primary key, name text)").expect("a table");
    for first in (0..15).map(|part| part * 10_000) {
        let fill = format!(
            "insert into t select i, repeat('name ', 12) || i * 31 % 1009 \
             from generate_series({first}, {first} + 9999) g(i)"
        );
        session.execute(&fill).expect("rows");
    }
    let query = "select max(id) from (select id, name from t order by name, id offset 10) q";
    let wide = "select max(at), count(s) from (select row_number() over (order by s, id) as at, s \
                from (select id, name || name || name || name as s from t) p) q";
    let refused = session.query(wide, &[]).expect_err("no room");
    assert_eq!(refused.state().as_str(), "53200", "{refused}");
    let folder = tempfile::tempdir().expect("a folder");
    db.spill_to(folder.path(), 1 << 30).expect("a folder");
    assert_eq!(digest(&mut session, query).0, 1);
    let found = session.query(wide, &[]).expect(wide);
    assert_eq!(found.rows[0][0].as_i64(), Some(150_000));
    assert!(spilled(&mut session, wide) > 0);
}

#[test]
fn files_have_a_limit_and_a_folder_that_is_there() {
    let db = database();
    for bad in ["/no/such/folder", "/proc/self", "/dev/null"] {
        let error = db.spill_to(bad, 1 << 30).expect_err(bad);
        assert_eq!(error.state().as_str(), "58030", "{bad}: {error}");
        assert!(error.detail_text().is_some_and(|detail| detail.contains(bad)), "{bad}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    db.spill_to(folder.path(), 1 << 20).expect("a folder");
    let mut session = db.session();
    session.execute("set query_memory = '2MB'").expect("a setting");
    for (_, query) in [QUERIES[0], QUERIES[4], QUERIES[0], QUERIES[4]] {
        let error = session.query(query, &[]).expect_err("a megabyte of files");
        assert_eq!(error.state().as_str(), "53400", "{query}: {error}");
    }
    // What was written is not counted any longer.
    let little = "select id, price from t where id < 40000 order by price, id offset 10";
    session.execute("set query_memory = '1MB'").expect("a setting");
    assert!(spilled(&mut session, little) > 0);
    assert_eq!(digest(&mut session, little).0, 39_989);
}

/// A query that writes files is stopped as others are, and what it wrote is gone.
#[test]
fn a_query_that_spills_is_cancelled() {
    let db = database();
    let folder = tempfile::tempdir().expect("a folder");
    db.spill_to(folder.path(), 1 << 30).expect("a folder");
    let mut session = db.session();
    session.execute("set query_memory = '16MB'").expect("a setting");
    let endless = "select max(id) from (select a.id from t a, t b \
                   order by b.name, a.name, a.id offset 10) q";
    session.execute("set statement_timeout = 400").expect("a setting");
    let error = session.query(endless, &[]).expect_err("it is stopped");
    assert_eq!(error.state().as_str(), "57014", "{error}");
    session.execute("reset statement_timeout").expect("a setting");
    let cancel = session.cancel_handle();
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        cancel.cancel();
    });
    let error = session.query(endless, &[]).expect_err("it is stopped");
    assert_eq!(error.state().as_str(), "57014", "{error}");
    stopping.join().expect("the other thread");
    assert_eq!(digest(&mut session, "select count(*) from t").0, 1);
}

/// However little memory there is, an answer is right or refused, and nothing else is said.
#[test]
fn little_memory_gives_right_answers_or_none() {
    let db = database();
    let folder = tempfile::tempdir().expect("a folder");
    db.spill_to(folder.path(), 1 << 30).expect("a folder");
    let mut session = db.session();
    let queries = [
        "select count(*), sum(id), avg(price), min(k), max(name) from t",
        "select count(*), sum(price) from t",
        "select k % 3000 as part, count(*), avg(price) from t group by k % 3000 order by part",
        "select name, count(*), sum(id) from t group by name order by name",
        "select k, id % 2 as half, max(price) from t where id < 40000 \
         group by k, id % 2 order by k, half",
        "select count(*), sum(n) from (select id, count(*) as n from t group by id) q",
        "select name, k % 5 as part, avg(id) from t group by rollup (name, k % 5) order by 1, 2, 3",
        "select count(distinct k), avg(distinct price) from t",
        "select max(s), min(r) from (select sum(id) over (order by k % 10) as s, \
         rank() over (order by k % 10) as r from t) q",
    ];
    let [mut right, mut refused] = [0; 2];
    for query in queries {
        session.execute("reset query_memory").expect("a setting");
        session.execute("set query_threads = 1").expect("a setting");
        let expected = digest(&mut session, query);
        for threads in [1, 2] {
            session.execute(&format!("set query_threads = {threads}")).expect("a setting");
            for kilobytes in [1, 8, 20, 40, 70, 130, 300, 700, 1500, 3000, 6000] {
                session.execute(&format!("set query_memory = '{kilobytes}kB'")).expect("it is set");
                match session.query(query, &[]) {
                    Ok(answer) => {
                        assert_eq!(digest_of(&answer, query), expected, "{kilobytes} kB: {query}");
                        right += 1;
                    }
                    Err(error) => {
                        assert_eq!(
                            error.state().as_str(),
                            "53200",
                            "{kilobytes} kB: {query}: {error}"
                        );
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(right > 60 && refused > 20, "{right} right, {refused} refused");
}
