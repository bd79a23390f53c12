//! Queries in stages: what several tasks give, put together, is what one query gives; what tasks
//! cannot do is done where the query is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt};
use remanent_sql::{Datum, Session, SqlDatabase, Stage, Task, TaskRunner, Workers};

/// Tasks that run in this process, one after the other.
#[derive(Debug)]
struct Here {
    runner: Arc<TaskRunner>,
    tasks: usize,
    rows_min: usize,
    /// The number of batches after which a replica is lost.
    lost_after: AtomicUsize,
    stages: AtomicUsize,
}

impl Workers for Here {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn rows_min(&self) -> usize {
        self.rows_min
    }

    fn run(&self, stage: Stage) -> SendableRecordBatchStream {
        self.stages.fetch_add(1, Ordering::Relaxed);
        let schema = stage.plan.schema();
        let lost_after = self.lost_after.load(Ordering::Relaxed);
        let Stage { plan, tasks, segments, timestamp, .. } = stage;
        let runner = Arc::clone(&self.runner);
        let of_task = move |index| {
            let (runner, plan) = (Arc::clone(&runner), Arc::clone(&plan));
            let running = async move {
                let task = Task { index, tasks, segments, timestamp };
                let running = runner.begin_task(task).await?;
                running.operator(plan).execute(0, Arc::new(TaskContext::default()))
            };
            futures::stream::once(running).try_flatten()
        };
        let batches = futures::stream::iter(0..tasks).flat_map(of_task).enumerate();
        let batches = batches.map(move |(at, batch)| match at < lost_after {
            true => batch,
            false => Err(std::io::Error::other("a replica is lost").into()),
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

const ROWS: usize = 200_000;

pub(crate) struct Place {
    db: Arc<SqlDatabase>,
    workers: Arc<Here>,
    pub(crate) alone: Session,
    session: Session,
}

/// The same rows in a database with workers, and in one without.
fn place(tasks: usize) -> Place {
    let [db, other] = [(); 2].map(|()| SqlDatabase::in_memory().expect("a database"));
    let script = format!(
        "create table customer (id int primary key, name text not null, city text); \
         insert into customer select i, 'c' || i, case when i % 7 > 0 then 'city ' || i % 5 end \
           from generate_series(1, 500) as g(i); \
         create table sale (id int primary key, customer int, day date, price numeric(12, 2), \
           weight double precision, word text); \
         insert into sale select i, i % 600, date '2020-01-01' + i % 1000, (i % 997) / 8.0, \
           i % 31, case when i % 3 > 0 then 'w' || i % 11 end from generate_series(1, {ROWS}) \
           as g(i); \
         create table line (sale int, no int, amount int, primary key (sale, no)); \
         insert into line select case when i < 9 then i - 20 else i / 2 end, i, i % 97 \
           from generate_series(1, {ROWS}) as g(i); \
         insert into line values (2000000000, 1, 50), (-2000000000, 1, 60); \
         create table visit (id int primary key, customer int, seconds bigint); \
         insert into visit select i, case when i % 50 > 0 then i % 700 end, i % 1000 \
           from generate_series(1, {ROWS}) as g(i)"
    );
    for db in [&db, &other] {
        db.session().execute(&script).expect("rows");
    }
    with_workers(db, &other, tasks, 10_000)
}

/// A database whose tables of so many rows are divided among tasks, and one without.
pub(crate) fn with_workers(
    db: Arc<SqlDatabase>,
    other: &Arc<SqlDatabase>,
    tasks: usize,
    rows_min: usize,
) -> Place {
    let workers = Arc::new(Here {
        runner: Arc::new(TaskRunner::new(&db)),
        tasks,
        rows_min,
        lost_after: AtomicUsize::new(usize::MAX),
        stages: AtomicUsize::new(0),
    });
    workers.runner.divide_queries(Arc::clone(&workers) as Arc<dyn Workers>);
    workers.runner.retain_states().expect("a transaction");
    Place { session: db.session(), alone: other.session(), db, workers }
}

pub(crate) fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let rows = session.query(query, &[]).expect(query).rows;
    let line = |row: &Vec<Datum>| row.iter().map(Datum::to_string).collect::<Vec<_>>().join("|");
    rows.iter().map(line).collect()
}

/// Queries, and whether they have a stage.
const QUERIES: [(&str, bool); 23] = [
    ("select count(*), sum(price), avg(price), min(day), max(weight), avg(id) from sale", true),
    ("select sum(price), count(word) from sale where id < 0 or price < -1", true),
    (
        "select word, count(*), count(weight), sum(weight), avg(weight), min(price) from sale \
         where day >= date '2021-01-01' group by word order by word",
        true,
    ),
    (
        "select city, sum(price * 2), count(*) from sale join customer on customer = customer.id \
         where name like 'c1%' group by city order by city",
        true,
    ),
    (
        "select c.id, count(s.id), sum(s.price) from sale s left join customer c \
         on s.customer = c.id and c.city > 'city 2' group by c.id order by c.id limit 40",
        true,
    ),
    (
        "select count(*) from sale where exists (select 1 from customer c where c.id = customer \
         and c.city = 'city 1')",
        true,
    ),
    (
        "select count(*), sum(id) from sale where customer not in (select id from customer \
         where id % 2 = 0)",
        true,
    ),
    ("select distinct word from sale order by word", true),
    ("select word, extract(year from day), sum(price) from sale group by 1, 2 order by 1, 2", true),
    ("select id, price from sale order by price desc, id limit 10", true),
    ("select id, name from sale join customer using (id) order by name, id limit 5 offset 3", true),
    (
        "select word from sale group by word having sum(price) > (select avg(price) from sale) \
         order by word",
        true,
    ),
    (
        "select t.word, n from (select word, count(*) as n from sale group by word) as t \
         where n > 100 order by n, t.word",
        true,
    ),
    // An index has these rows.
    ("select max(id) from sale", false),
    ("select id, price from sale order by id desc limit 3", false),
    ("select count(distinct word) from sale", true),
    ("select stddev(weight) from sale", false),
    ("select count(*) from sale where id = 17", false),
    ("select count(*) from customer", false),
    ("select count(*) filter (where word = 'w1') from sale", true),
    ("select count(*) from sale where random() < 2", false),
    ("select string_agg(word, ',' order by id) from sale where id < 20 or price is null", false),
    (
        "select c.id, (select count(*) from sale s where s.customer = c.id) from customer c \
         where c.id < 5 order by c.id",
        true,
    ),
];

/// Queries that are divided by a key, and the tables of which a task reads a part.
const BY_KEYS: [(&str, &str); 16] = [
    ("select sale, sum(amount) from line group by sale order by 2 desc, 1 limit 9", "line"),
    (
        "select s.id, customer, sum(amount) from sale s join line l on l.sale = s.id where s.id in \
         (select sale from line group by sale having sum(amount) > 150) group by s.id, customer \
         order by 3 desc, 1 limit 7",
        "line, sale",
    ),
    (
        "select n, count(*) from (select s.id, count(l.no) as n from sale s left join line l \
         on l.sale = s.id and amount > 3 group by s.id) as q group by n order by n",
        "line, sale",
    ),
    (
        "select word, count(*) from sale s where exists (select 1 from line l where l.sale = s.id \
         and amount > 90) group by word order by word",
        "line, sale",
    ),
    (
        "select word, count(*) from sale s where not exists (select 1 from line l where \
         l.sale = s.id and amount > 90) group by word order by word",
        "line, sale",
    ),
    (
        "select count(*), sum(s.id), count(l.no) from sale s right join line l on l.sale = s.id",
        "line, sale",
    ),
    (
        "select word, count(*), sum(amount) from line a join sale s on a.sale = s.id where exists \
         (select 1 from line b where b.sale = a.sale and b.no <> a.no) and not exists (select 1 \
         from line c where c.sale = a.sale and c.amount > a.amount + 90) group by word \
         order by word",
        "line, sale",
    ),
    ("select count(*) from (select sale from line group by sale having count(*) = 2) as q", "line"),
    (
        "select v.customer, count(*), count(distinct s.word) from visit v join sale s \
         on s.customer = v.customer where v.id % 900 = 7 group by v.customer order by 1",
        "sale, visit",
    ),
    (
        "select count(*), sum(n), max(customer) from (select customer, count(*) as n, \
         max(seconds) from visit group by customer) as q",
        "visit",
    ),
    (
        "select s.id, l.no, amount from sale s join line l on l.sale = s.id and l.amount > weight \
         order by amount desc, s.id, l.no limit 6",
        "line, sale",
    ),
    (
        "select count(*) from (select s.id from sale s left join (select sale, max(amount) as most \
         from line group by sale) as m on m.sale = s.id where most is null) as q",
        "line, sale",
    ),
    (
        "select sum(t.id), count(*) from sale s join sale t on t.id = s.id join line l \
         on l.sale = t.id where s.price > 3",
        "line, sale",
    ),
    (
        "select count(*), sum(seconds) from visit v where customer in (select customer from sale)",
        "sale, visit",
    ),
    ("select count(*) from (select distinct customer, seconds % 3 from visit) as q", "visit"),
    (
        "select c.city, sum(n) from customer c join (select customer, count(*) as n from visit \
         group by customer) as v on v.customer = c.id group by c.city order by 1",
        "customer, visit",
    ),
];

/// Queries whose joins find few rows by a key, of which all have to be looked up: a range of its
/// values leaves nothing out that the join does not.
const BY_SEGMENTS: [&str; 2] = [
    "select sum(v.seconds), count(*) from visit v join customer c on c.id = v.customer \
     where c.city = 'city 1' \
     and v.seconds < (select 0.9 * avg(w.seconds) from visit w where w.customer = c.id)",
    "select count(*), sum(seconds) from visit v where customer in (select customer from sale \
     where weight > 20)",
];

#[test]
fn rows_that_a_join_finds_are_divided_by_segments() {
    let mut place = place(2);
    for query in BY_SEGMENTS {
        let expected = rows(&mut place.alone, query);
        assert_eq!(ran(&mut place, query), (1, expected), "{query}");
        let plan = rows(&mut place.session, &format!("explain {query}")).join("\n");
        assert!(!plan.contains(", divided by "), "{query}\n{plan}");
        assert!(plan.contains("Stage: tasks of several replicas, by visit\n"), "{query}\n{plan}");
    }
}

#[test]
fn tasks_of_a_range_of_keys_have_whole_groups() {
    for tasks in [2, 5] {
        let mut place = place(tasks);
        for (query, tables) in BY_KEYS {
            let expected = rows(&mut place.alone, query);
            assert_eq!(ran(&mut place, query), (1, expected), "{tasks} tasks: {query}");
            let plan = rows(&mut place.session, &format!("explain {query}")).join("\n");
            let stage = format!("Stage: tasks of several replicas, by {tables}");
            assert!(plan.contains(", divided by "), "{query}\n{plan}");
            assert!(plan.contains(&format!("{stage}\n")), "{query}\n{plan}");
        }
    }
}

/// Queries with parts that several of their parts read, and with subqueries that are run once.
const ONE_STAGE: [&str; 5] = [
    "with r as (select customer, sum(price) as total from sale group by customer) \
     select id, name, total from r join customer c on c.id = r.customer \
     where total = (select max(total) from r) order by id",
    "with r as (select word, count(*) as n from sale group by word) \
     select a.word, b.word from r a join r b on a.n = b.n order by 1, 2",
    "with r as (select word, count(*) as n from sale group by word) \
     select count(*), sum(a.n) from sale s join r a on a.word = s.word join r b on b.n = a.n",
    "select count(*) from customer where id > (select avg(weight) from sale)",
    "select name from customer c where id = (select 17 + min(amount) from line where amount > 1) \
     and exists (select 1 from customer d where d.id = c.id and d.name > c.city) order by 1",
];

#[test]
fn a_part_that_is_shared_is_divided_once() {
    for tasks in [2, 5] {
        let mut place = place(tasks);
        for query in ONE_STAGE {
            let expected = rows(&mut place.alone, query);
            for _ in 0..2 {
                assert_eq!(ran(&mut place, query), (1, expected.clone()), "{tasks}: {query}");
            }
            let plan = rows(&mut place.session, &format!("explain {query}")).join("\n");
            let reads = plan.matches("Shared: part 1").count();
            assert_eq!(reads, if query.starts_with("with") { 2 } else { 0 }, "{query}\n{plan}");
        }
    }
}

#[test]
fn null_among_keys_is_one_tasks() {
    let mut place = place(3);
    for (query, answer) in [
        ("select count(*) from sale where customer not in (select customer from visit)", "0"),
        (
            "select count(*) from sale s where not exists (select 1 from visit v \
             where v.customer = s.customer and v.customer > 10)",
            "7340",
        ),
        ("select count(*) from (select customer from visit group by customer) as q", "687"),
        (
            "select count(*) from visit v left join (select customer from sale group by 1) as s \
             on s.customer = v.customer where s.customer is null",
            "31930",
        ),
    ] {
        let expected = rows(&mut place.alone, query);
        assert_eq!(ran(&mut place, query).1, expected, "{query}");
        assert_eq!(expected, [answer], "{query}");
    }
}

#[test]
fn tasks_give_together_what_one_query_gives() {
    for tasks in [2, 3, 7] {
        let mut place = place(tasks);
        for (query, has_stage) in QUERIES {
            place.workers.runner.retain_states().expect("a transaction");
            let expected = rows(&mut place.alone, query);
            let stages = place.workers.stages.load(Ordering::Relaxed);
            for _ in 0..2 {
                assert_eq!(rows(&mut place.session, query), expected, "{tasks} tasks: {query}");
            }
            let stages = place.workers.stages.load(Ordering::Relaxed) - stages;
            let plan = rows(&mut place.session, &format!("explain verbose {query}")).join("\n");
            assert_eq!(stages > 0, has_stage, "{stages} stages: {query}\n{plan}");
        }
    }
}

/// How many stages a query has had, and its rows.
pub(crate) fn ran(place: &mut Place, query: &str) -> (usize, Vec<String>) {
    place.workers.runner.retain_states().expect("a transaction");
    let before = place.workers.stages.load(Ordering::Relaxed);
    let rows = rows(&mut place.session, query);
    (place.workers.stages.load(Ordering::Relaxed) - before, rows)
}

#[test]
fn a_replica_that_is_lost_is_not_noticed() {
    let mut place = place(3);
    let query = "select word, count(*), sum(price) from sale group by word order by word";
    let expected = rows(&mut place.alone, query);
    for lost_after in 0..3 {
        place.workers.lost_after.store(lost_after, Ordering::Relaxed);
        assert_eq!(ran(&mut place, query), (1, expected.clone()), "after {lost_after} batches");
    }
    // What is wrong with the query is said in its own words.
    place.workers.lost_after.store(usize::MAX, Ordering::Relaxed);
    let query = "select sum(10 / (id - 17)) from sale";
    let error = place.session.query(query, &[]).expect_err("17 is there");
    assert_eq!(error.state().as_str(), "22012", "{error}");
}

#[test]
fn what_others_cannot_see_is_read_where_it_is() {
    let mut place = place(2);
    let count = "select count(*), sum(price) from sale where id > 0 or word = 'w1'";
    let before = ran(&mut place, count);
    assert_eq!(before.0, 1);
    // A transaction that writes sees what nobody else does.
    place.session.execute("begin; insert into sale values (0, 1), (-1, 1)").expect("rows");
    let (stages, seen) = ran(&mut place, "select count(*), sum(price) from sale");
    assert_eq!(stages, 0);
    assert_eq!(seen[0].split('|').next(), Some((ROWS + 2).to_string().as_str()));
    place.session.execute("rollback").expect("an end");
    // An old snapshot is there as long as somebody retains its state; then it is read here.
    place.session.execute("begin isolation level repeatable read read only").expect("a begin");
    assert_eq!(ran(&mut place, count), before);
    place.db.session().execute("delete from sale where id % 2 = 0").expect("rows go");
    assert_eq!(ran(&mut place, count), before);
    place.workers.runner.release_states();
    assert_eq!(ran(&mut place, count), before);
    place.workers.runner.retain_states().expect("a transaction");
    assert_eq!(ran(&mut place, count), before);
    place.session.execute("commit").expect("an end");
    let (stages, after) = ran(&mut place, count);
    assert_eq!(stages, 1);
    assert_eq!(after[0].split('|').next(), Some((ROWS / 2).to_string().as_str()));
}

#[test]
fn a_plan_shows_what_its_tasks_do() {
    let mut place = place(2);
    let query = "explain select city, sum(price) from sale join customer on customer = customer.id \
         group by city";
    let plan = rows(&mut place.session, query);
    let found = |text: &str| plan.iter().position(|line| line.contains(text));
    let stage = found("Stage: tasks of several replicas, by sale").expect("a stage");
    let task = found("Task of stage 1:").expect("a task");
    let scan = found("Scan: sale, columns=[customer, price], divided").expect("a scan");
    assert!(stage < task && task < scan, "{plan:?}");
    let plan = rows(&mut place.session, &query.replace("explain", "explain (format json)"));
    let [stage, scan] = ["StageExec", "divided"].map(|text| plan[0].find(text).expect(text));
    assert!(stage < scan, "{plan:?}");
}
