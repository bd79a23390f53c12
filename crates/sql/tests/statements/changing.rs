//! However rows are changed, by a statement of any kind, a COPY or a batch, the same holds: what is
//! read-only refuses, a failure undoes the whole and no more, another transaction that was first is
//! waited for or ends the block, and `now()` is when the transaction began.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{Array, Int32Array, RecordBatch, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use remanent_sql::{Error, Session, SqlDatabase, SqlState, Statement, TransactionStatus};

/// A way to change the row with the key 1, or to bring one with the key 9.
#[derive(Clone, Copy, Debug)]
enum Way {
    Text(&'static str),
    Copy,
    CopyFile,
    Batch,
    FrozenBatch,
}

const WAYS: &[Way] = &[
    Way::Text("update t set v = v + 1 where k = 1"),
    Way::Text("update t set v = v + 1 where k + 0 = 1"),
    Way::Text("delete from t where k = 1"),
    Way::Text("insert into t values (9, 90)"),
    Way::Text("insert into t select 9, 90"),
    Way::Text("merge into t using (select 1 as k) as n on t.k = n.k when matched then delete"),
    Way::Text("truncate t"),
    Way::Copy,
    Way::CopyFile,
    Way::Batch,
    Way::FrozenBatch,
];

fn database() -> Arc<SqlDatabase> {
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let made = "create table t (k int primary key, v int, made timestamptz default now());
                insert into t values (1, 10), (2, 20)";
    database.session().execute(made).expect("the table is made");
    database
}

fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

fn rows(session: &mut Session) -> Vec<(i64, i64)> {
    let answer = session.query("select k, v from t order by k", &[]).expect("it is read");
    let number = |datum: &remanent_sql::Datum| datum.as_i64().expect("it is a number");
    answer.rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect()
}

/// A batch of the table's rows with these keys.
fn batch(keys: Vec<i32>) -> RecordBatch {
    let made = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let fields = [("k", DataType::Int32), ("v", DataType::Int32), ("made", made)];
    let fields = fields.map(|(name, of)| Field::new(name, of, true));
    let values = Int32Array::from(vec![90; keys.len()]);
    let times = TimestampMicrosecondArray::new_null(keys.len()).with_timezone("UTC");
    let arrays: Vec<Arc<dyn Array>> =
        vec![Arc::new(Int32Array::from(keys)), Arc::new(values), Arc::new(times)];
    RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), arrays).expect("it is a batch")
}

/// Copies rows with these keys.
fn copy(session: &mut Session, keys: std::ops::Range<i32>) -> Result<(), Error> {
    let lines: String = keys.map(|key| format!("{key}\t90\n")).collect();
    copy_lines(session, "copy t (k, v) from stdin", &lines)
}

fn copy_lines(session: &mut Session, text: &str, lines: &str) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let text = Statement::parse(text)?;
    let mut into = session.copy_in(&text.copy()?)?;
    let mut read = || {
        let mut piece = lines.as_bytes();
        while into.read(&mut piece)? {
            runtime.block_on(session.copy_in_read(&mut into))?;
        }
        runtime.block_on(session.copy_in_read(&mut into))
    };
    match read() {
        Ok(()) => session.copy_done(into).map(drop),
        Err(error) => {
            session.copy_undo(into, &error)?;
            Err(error)
        }
    }
}

impl Way {
    fn run(self, session: &mut Session) -> Result<(), Error> {
        match self {
            Self::Text(text) => session.execute(text).map(drop),
            Self::Copy => copy(session, 9..10),
            Self::CopyFile => {
                let file = tempfile::NamedTempFile::new().expect("a file");
                let name = file.path().display();
                let query = format!("copy (select 9 as k, 90 as v) to '{name}' (format parquet)");
                let mut other = session.database().session();
                other.execute(&query).expect("it is written");
                session.execute(&format!("copy t (k, v) from '{name}' (format parquet)")).map(drop)
            }
            Self::Batch => session.insert_batch("t", &batch(vec![9])).map(drop),
            Self::FrozenBatch => session.insert_frozen_batch("t", &batch(vec![9])).map(drop),
        }
    }

    /// Whether it brings a row, and changes none that is there.
    fn brings(self) -> bool {
        !matches!(self, Self::Text(text) if !text.starts_with("insert"))
    }

    /// What another transaction does with the same row.
    fn first(self) -> &'static str {
        if self.brings() {
            "insert into t values (9, 1)"
        } else {
            "update t set v = 11 where k = 1"
        }
    }
}

#[test]
fn what_is_read_only_refuses_every_way() {
    let settings = [
        ("set default_transaction_read_only = on", ""),
        ("set session characteristics as transaction read only", ""),
        ("begin read only", "rollback"),
        ("set default_transaction_read_only = on; begin", "rollback"),
    ];
    for (begin, end) in settings {
        for way in WAYS {
            let database = database();
            let mut session = database.session();
            run(&mut session, begin);
            let refused = way.run(&mut session).expect_err("it is read-only");
            assert_eq!(refused.state(), SqlState::READ_ONLY, "{begin}: {way:?}");
            run(&mut session, end);
            assert_eq!(rows(&mut session), [(1, 10), (2, 20)], "{begin}: {way:?}");
        }
    }
}

#[test]
fn outside_a_block_another_that_was_first_is_waited_for() {
    for way in WAYS {
        for end in ["commit", "rollback"] {
            let database = database();
            let mut first = database.session();
            run(&mut first, "begin");
            run(&mut first, way.first());
            let mut session = database.session();
            let thread = std::thread::spawn(move || way.run(&mut session));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!thread.is_finished(), "{way:?} waits");
            run(&mut first, end);
            let done = thread.join().expect("it does not panic");
            let state = done.err().map(|error| error.state());
            let expected = way.brings() && end == "commit";
            assert_eq!(state, expected.then_some(SqlState::UNIQUE_VIOLATION), "{way:?}, {end}");
        }
    }
}

#[test]
fn in_a_block_it_is_waited_for_at_read_committed() {
    for way in WAYS {
        let database = database();
        let mut first = database.session();
        run(&mut first, "begin");
        run(&mut first, way.first());
        let mut session = database.session();
        run(&mut session, "begin isolation level read committed");
        let thread = std::thread::spawn(move || (way.run(&mut session), session));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!thread.is_finished(), "{way:?} waits");
        run(&mut first, "rollback");
        let (done, mut session) = thread.join().expect("it does not panic");
        done.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        run(&mut session, "commit");
    }
}

#[test]
fn at_serializable_it_ends_the_block() {
    for way in WAYS {
        let database = database();
        let mut first = database.session();
        run(&mut first, "begin");
        run(&mut first, way.first());
        let mut session = database.session();
        run(&mut session, "begin isolation level serializable; select count(*) from t");
        let refused = way.run(&mut session).expect_err("another was first");
        assert_eq!(refused.state(), SqlState::SERIALIZATION_FAILURE, "{way:?}");
        assert_eq!(session.status(), TransactionStatus::Failed, "{way:?}");
        let refused = Way::Batch.run(&mut session).expect_err("the block has failed");
        assert_eq!(refused.state(), SqlState::IN_FAILED_TRANSACTION, "{way:?}");
        run(&mut session, "rollback");
        assert_eq!(rows(&mut session), [(1, 10), (2, 20)], "{way:?}");
    }
}

#[test]
fn what_is_stopped_half_way_undoes_itself_and_no_more() {
    const COUNT: i32 = 60_000;
    let all = i64::from(COUNT);
    type Work = fn(&mut Session) -> Result<(), Error>;
    let ways: [(&str, Work); 4] = [
        ("update", |session| session.execute("update t set v = v + 1").map(drop)),
        ("delete", |session| session.execute("delete from t").map(drop)),
        ("truncate", |session| session.execute("truncate t").map(drop)),
        ("copy", |session| copy(session, COUNT + 5..COUNT + 60_000)),
    ];
    for (name, work) in ways {
        let database = database();
        let mut session = database.session();
        run(&mut session, "truncate t");
        session.insert_batch("t", &batch((0..COUNT).collect())).expect("rows are inserted");
        run(&mut session, "begin; insert into t values (-1, 1)");
        run(&mut session, "set statement_timeout = 4");
        let stopped = work(&mut session);
        run(&mut session, "set statement_timeout = 0");
        let Err(error) = stopped else { panic!("{name}: 60,000 rows in 4 ms") };
        assert_eq!(error.state(), SqlState::CANCELLED, "{name}: {error}");
        assert_eq!(session.status(), TransactionStatus::Active, "{name}");
        let text = "select count(*), count(*) filter (where v = 90) from t";
        let answer = session.query(text, &[]).expect("the block goes on");
        let numbers: Vec<_> = answer.rows[0].iter().filter_map(|it| it.as_i64()).collect();
        assert_eq!(numbers, [all + 1, all], "{name}");
        run(&mut session, "commit");
    }
}

#[test]
fn the_clock_is_that_of_the_transaction() {
    let times = "select count(distinct made), count(*), min(made) = now() from t where k > 2";
    for (begin, distinct, same) in [("select 1", 3, false), ("begin", 1, true)] {
        let database = database();
        let mut session = database.session();
        run(&mut session, begin);
        let pause = || std::thread::sleep(Duration::from_millis(5));
        pause();
        copy(&mut session, 3..4).expect("a row is copied");
        pause();
        copy(&mut session, 4..5).expect("a row is copied");
        pause();
        run(&mut session, "insert into t (k, v) values (5, 1)");
        let answer = session.query(times, &[]).expect("it is read");
        let found = (answer.rows[0][0].as_i64(), answer.rows[0][1].as_i64());
        assert_eq!(found, (Some(distinct), Some(3)), "{begin}");
        assert_eq!(answer.rows[0][2], remanent_sql::Datum::Bool(same), "{begin}");
    }
}

#[test]
fn a_copied_row_may_refer_to_one_that_comes_much_later() {
    let database = database();
    let mut session = database.session();
    run(&mut session, "create table chain (id int primary key, next int references chain)");
    let lines = |from: i32, last: &str| {
        let next = |i: i32| if i < from + 19_999 { (i + 1).to_string() } else { last.to_owned() };
        (from..from + 20_000).map(|i| format!("{i}\t{}\n", next(i))).collect::<String>()
    };
    let text = "copy chain from stdin";
    let error = copy_lines(&mut session, text, &lines(1, "7777777")).expect_err("no such row");
    assert_eq!(error.state(), SqlState::FOREIGN_KEY_VIOLATION, "{error}");
    assert!(error.to_string().contains("chain_next_fkey"), "{error}");
    let count = |session: &mut Session| {
        let answer = session.query("select count(*) from chain", &[]).expect("it is counted");
        answer.rows[0][0].as_i64()
    };
    assert_eq!(count(&mut session), Some(0));
    copy_lines(&mut session, text, &lines(1, "\\N")).expect("each refers to the next");
    assert_eq!(count(&mut session), Some(20_000));
    // In a block that goes on without it.
    run(&mut session, "begin");
    run(&mut session, "insert into chain values (500000, null)");
    let error = copy_lines(&mut session, text, &lines(100_000, "7777777")).expect_err("no row");
    assert_eq!(error.state(), SqlState::FOREIGN_KEY_VIOLATION, "{error}");
    run(&mut session, "commit");
    assert_eq!(count(&mut session), Some(20_001));
}
