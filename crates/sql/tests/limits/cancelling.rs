//! Statements stop when they are told to, also those that work long between two rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use remanent_sql::{Session, SqlDatabase, SqlState};

/// 2,000 rows: pairs of pairs of them keep any machine busy for hours.
fn numbers() -> Session {
    let mut session = SqlDatabase::in_memory().unwrap().session();
    session.execute("create table n (i integer primary key, same integer)").unwrap();
    let rows: Vec<String> = (0..2_000).map(|i| format!("({i}, 1)")).collect();
    session.execute(&format!("insert into n values {}", rows.join(", "))).unwrap();
    session
}

/// Runs a statement that is told to stop again and again from the moment it starts.
fn stops(session: &mut Session, query: &str) {
    let (cancel, over) = (session.cancel_handle(), Arc::new(AtomicBool::new(false)));
    let (canceller, seen) = (Arc::clone(&cancel), Arc::clone(&over));
    let thread = std::thread::spawn(move || {
        while !seen.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            canceller.cancel();
        }
    });
    let error = session.query(query, &[]).expect_err(query);
    over.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    assert_eq!(error.state(), SqlState::CANCELLED, "{query}: {error}");
}

#[test]
fn joins_stop_when_they_are_told_to() {
    let mut session = numbers();
    for query in [
        "select count(*) from n a, n b, n c, n d",
        "select count(*) from n a, n b, n c, n d where a.i + b.i + c.i + d.i < 0",
        "select count(*) from n a join n b on a.i < b.i join n c on b.i <> c.i \
         join n d on c.i <> d.i",
        "select count(*) from n a join n b using (same) join n c on c.same = a.same \
         join n d on d.same = a.same",
        "select sum(a.i) from n a left join n b on a.i * b.i < 0 left join n c on a.i + c.i < 0 \
         left join n d on a.i * d.i < 0 left join n e on a.i + b.i + c.i + d.i + e.i < 0 \
         cross join n f cross join n g",
    ] {
        stops(&mut session, query);
    }
    let left = session.query("select count(*) from n", &[]).unwrap();
    assert_eq!(left.rows[0][0].as_i64(), Some(2_000));
}

#[test]
fn a_statement_timeout_reaches_into_joins() {
    let mut session = numbers();
    session.execute("set statement_timeout = 50").unwrap();
    let query = "select count(*) from n a, n b, n c, n d where a.i + b.i + c.i + d.i < 0";
    let error = session.query(query, &[]).expect_err(query);
    assert_eq!(error.state(), SqlState::CANCELLED, "{error}");
}

/// How long a statement may go on after its time, on a slow and busy machine.
const AFTER_MAX: Duration = Duration::from_secs(5);

/// Runs a statement that would take much longer than the time that it has.
fn ends_in_time(session: &mut Session, query: &str) {
    session.execute("set statement_timeout = 100").unwrap();
    let begun = std::time::Instant::now();
    let error = session.query(query, &[]).expect_err(query);
    let took = begun.elapsed();
    session.execute("set statement_timeout = 0").unwrap();
    assert_eq!(error.state(), SqlState::CANCELLED, "{query}: {error}");
    assert!(took < AFTER_MAX, "{query}: {took:?}");
}

#[test]
fn a_match_of_a_regular_expression_stops_within_a_text() {
    let mut session = SqlDatabase::in_memory().unwrap().session();
    session.execute("create table texts (t text)").unwrap();
    let made = "insert into texts select string_agg(md5(i::text), '') \
                from generate_series(1, 60000) as s(i)";
    session.execute(made).unwrap();
    // Each letter is the begin of a match that may still become one, for two thousand letters.
    let pattern = "[0-7][0-9a-f]{2000}x";
    for query in [
        format!("select t ~ '{pattern}' from texts"),
        format!("select t !~* '{pattern}' from texts"),
        format!("select regexp_replace(t, '{pattern}', '', 'g') from texts"),
        format!("select regexp_match(t, '({pattern})') from texts"),
        format!("select regexp_count(t, '{pattern}') from texts"),
        format!("select count(*) from texts where t ~ '{pattern}'"),
        // Groups are found by another machine.
        "select regexp_match(t, '(([0-9a-f]?){500}[0-7]([0-9a-f]{300}))+$') from texts".to_owned(),
    ] {
        ends_in_time(&mut session, &query);
    }
}

#[test]
fn a_window_over_large_texts_stops_within_its_rows() {
    let mut session = numbers();
    // A terabyte that is compared with itself, of a few texts that many rows share.
    let texts = "select repeat('x', 5000000) t, a.i from n a, generate_series(1, 100)";
    for window in ["max(t) over ()", "min(t) over (order by i)", "max(t) over (partition by i % 2)"]
    {
        let query = format!("select count(m) from (select {window} m from ({texts}) x) y");
        ends_in_time(&mut session, &query);
    }
}

#[test]
fn a_large_batch_stops_when_its_time_is_over() {
    use datafusion::arrow::array::{Int32Array, RecordBatch};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};

    let mut session = SqlDatabase::in_memory().unwrap().session();
    session.execute("create table n (i integer primary key)").unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("i", DataType::Int32, false)]));
    let numbers = Int32Array::from_iter_values(0..1_000_000);
    let batch = RecordBatch::try_new(schema, vec![Arc::new(numbers)]).unwrap();
    session.execute("set statement_timeout = 20").unwrap();
    let error = session.insert_batch("n", &batch).expect_err("it takes longer");
    assert_eq!(error.state(), SqlState::CANCELLED, "{error}");
    session.execute("set statement_timeout = 0").unwrap();
    assert_eq!(session.query("select * from n limit 1", &[]).unwrap().rows.len(), 0);
    assert_eq!(session.insert_batch("n", &batch.slice(0, 20_000)).unwrap(), 20_000);
}

#[test]
fn a_statement_that_is_prepared_stops_when_its_time_is_over() {
    let mut session = numbers();
    let chain = vec!["i::float8"; 240].join(" / ");
    let statement = remanent_sql::Statement::parse(&format!("select {chain} from n")).unwrap();
    session.execute("set statement_timeout = 10").unwrap();
    let error = session.prepare(&statement, &[]).expect_err("it takes longer");
    assert_eq!(error.state(), SqlState::CANCELLED, "{error}");
    session.execute("set statement_timeout = 0").unwrap();
}
