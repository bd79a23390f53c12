//! Statements that bring many rows make columns of as many as fill segments, by themselves; what
//! they answer, refuse and take back is what it is for rows.

use std::sync::Arc;

use datafusion::arrow::array::{Int32Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use remanent_engine::{Database, Options, SEGMENT_ROWS};
use remanent_sql::{Error, Session, SqlDatabase, SqlState};

const SEGMENT: usize = SEGMENT_ROWS;

fn session_of(engine: Database) -> Session {
    SqlDatabase::new(Arc::new(engine)).unwrap().session()
}

fn session() -> Session {
    session_of(Database::open(Options::new().budget(512 << 20)).unwrap())
}

fn answer(session: &mut Session, query: &str) -> String {
    let rows = session.query(query, &[]).unwrap().rows;
    let values: Vec<String> = rows.iter().flatten().map(ToString::to_string).collect();
    values.join(" ")
}

fn state(session: &mut Session, text: &str) -> SqlState {
    session.execute(text).map(drop).unwrap_err().state()
}

fn frozen_rows(session: &Session, table: &str) -> u64 {
    let tables = session.database().engine().memory_by_table().unwrap();
    let named = tables.iter().filter(|memory| memory.name.ends_with(table));
    named.map(|memory| memory.frozen_rows).sum()
}

#[test]
fn queries_fill_segments_whatever_the_batches() {
    let mut session = session();
    let count = 2 * SEGMENT + 1000;
    let made = session
        .execute(&format!(
            "create table made as select i as id, 'text ' || i % 100 as name \
             from generate_series(1, {count}) as s(i)"
        ))
        .unwrap();
    assert_eq!(made[0].tag.to_string(), format!("SELECT {count}"));
    assert_eq!(frozen_rows(&session, "made"), 2 * SEGMENT as u64);
    session
        .execute(
            "create table kept (id int primary key, name text not null, \
             twice int generated always as (id * 2) stored, \
             number bigint generated always as identity); create index on kept (name);
             insert into kept (id, name) values (-1, 'first')",
        )
        .unwrap();
    let inserted = session.query("insert into kept select * from made order by id desc", &[]);
    assert_eq!(inserted.unwrap().tag.to_string(), format!("INSERT 0 {count}"));
    assert_eq!(frozen_rows(&session, "kept"), 2 * SEGMENT as u64);
    let all = "select count(*), count(distinct number), sum(id), sum(twice) from kept";
    let sum = count * (count + 1) / 2 - 1;
    let expected = format!("{} {} {sum} {}", count + 1, count + 1, 2 * sum as i64);
    assert_eq!(answer(&mut session, all), expected);
    assert_eq!(answer(&mut session, "select id, twice from kept where id = 70000"), "70000 140000");
    let by_name = "select count(*) from kept where name = 'text 7'";
    assert_eq!(answer(&mut session, by_name), ((count + 93) / 100).to_string());
    // Batches need not end where segments do.
    session.execute("create table joined (like made)").unwrap();
    let both = "select * from made where id <= 1000 union all select * from made";
    session.execute(&format!("insert into joined {both}")).unwrap();
    assert_eq!(frozen_rows(&session, "joined"), 2 * SEGMENT as u64);
    let twice = sum + 1 + 1000 * 1001 / 2;
    assert_eq!(answer(&mut session, "select sum(id) from joined"), twice.to_string());
    // What is less than a segment stays rows.
    session.execute("create table few as select * from made where id < 60000").unwrap();
    assert_eq!(frozen_rows(&session, "few"), 0);
    // A table that is made anew is so in columns.
    session.execute("alter table made alter column id type bigint").unwrap();
    assert_eq!(frozen_rows(&session, "made"), 2 * SEGMENT as u64);
    assert_eq!(answer(&mut session, "select sum(id) from made"), (sum + 1).to_string());
}

#[test]
fn returning_and_conflicts_know_of_no_difference() {
    let mut session = session();
    session.execute("create table t (id int primary key, v int)").unwrap();
    let count = SEGMENT + 100;
    let text = format!("insert into t select i, i from generate_series(1, {count}) as s(i)");
    let rows = session.query(&format!("{text} returning v - id"), &[]).unwrap().rows;
    assert_eq!((rows.len(), rows[70].clone()), (count, rows[0].clone()));
    assert_eq!(frozen_rows(&session, "t"), SEGMENT as u64);
    let again = format!("{text} on conflict (id) do update set v = -1");
    session.execute(&again).unwrap();
    let values = answer(&mut session, "select count(*), min(v), max(v) from t");
    assert_eq!(values, format!("{count} -1 -1"));
    let more = text.replace("(1,", "(100,").replace(&count.to_string(), &(2 * count).to_string());
    session.execute(&format!("{more} on conflict do nothing")).unwrap();
    assert_eq!(answer(&mut session, "select count(*) from t"), (2 * count).to_string());
}

#[test]
fn what_is_refused_leaves_nothing() {
    let mut session = session();
    session
        .execute(
            "create table kind (id int primary key); insert into kind values (0), (1);
             create table t (id int primary key, kind int not null references kind, \
             v int check (v < 1000000), up int references t)",
        )
        .unwrap();
    let rows = |what: &str| {
        let n = 2 * SEGMENT + 10;
        format!("insert into t select {what} from generate_series(1, {n}) as s(i)")
    };
    for (what, expected) in [
        ("case when i = 70000 then 5 else i end, 0, i", SqlState::UNIQUE_VIOLATION),
        ("i, case when i = 70000 then 2 else i % 2 end, i", SqlState::FOREIGN_KEY_VIOLATION),
        ("i, case when i < 70000 then 0 end, i", SqlState::NOT_NULL_VIOLATION),
        ("i, 0, case when i = 70000 then 1000000 end", SqlState::CHECK_VIOLATION),
        ("i, 0, 0, i + 1", SqlState::FOREIGN_KEY_VIOLATION),
        ("i, 0, 1 / (i - 70000)", SqlState::DIVISION_BY_ZERO),
    ] {
        assert_eq!(state(&mut session, &rows(what)), expected, "{what}");
        assert_eq!(answer(&mut session, "select count(*) from t"), "0", "{what}");
        session.execute("begin; insert into t values (0, 0, 0)").unwrap();
        assert_eq!(state(&mut session, &rows(what)), expected, "{what}");
        session.execute("commit").unwrap();
        assert_eq!(answer(&mut session, "select count(*) from t"), "1", "{what}");
        session.execute("delete from t").unwrap();
    }
    assert_eq!(frozen_rows(&session, "t"), 0);
    // A row may refer to one that comes a segment later.
    session.execute(&rows("i, i % 2, 0, 131082 - i + 1")).unwrap();
    assert_eq!(frozen_rows(&session, "t"), 2 * SEGMENT as u64);
    assert_eq!(state(&mut session, "delete from kind"), SqlState::FOREIGN_KEY_VIOLATION);
}

#[test]
fn blocks_see_their_rows_and_take_them_back() {
    let mut session = session();
    let mut other = session.database().session();
    session.execute("create table t (id int primary key, v int)").unwrap();
    let load = |from: usize, to: usize| {
        format!("insert into t select i, 1 from generate_series({from}, {to}) as s(i)")
    };
    let count = "select count(*), sum(v) from t";
    session.execute("begin").unwrap();
    session.execute(&load(1, SEGMENT)).unwrap();
    session.execute("savepoint one; delete from t where id <= 10").unwrap();
    session.execute(&load(SEGMENT + 1, 2 * SEGMENT + 5)).unwrap();
    let both = 2 * SEGMENT - 5;
    assert_eq!(answer(&mut session, count), format!("{both} {both}"));
    assert_eq!(answer(&mut other, count), "0 ");
    session.execute("rollback to one").unwrap();
    assert_eq!(answer(&mut session, count), format!("{SEGMENT} {SEGMENT}"));
    session.execute("update t set v = 2 where id = 7; commit").unwrap();
    assert_eq!(answer(&mut other, count), format!("{SEGMENT} {}", SEGMENT + 1));
    session.execute("begin; create table u as select * from t; rollback").unwrap();
    assert_eq!(state(&mut session, "select * from u"), SqlState::UNKNOWN_TABLE);
    session.execute("begin; create table u as select * from t; commit").unwrap();
    assert_eq!(frozen_rows(&session, "u"), SEGMENT as u64);
    assert_eq!(answer(&mut other, "select sum(v) from u"), (SEGMENT + 1).to_string());
}

#[test]
fn batches_of_arrow_are_columns() {
    let mut session = session();
    session.execute("create table t (id int primary key)").unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
    let ids = Int32Array::from_iter_values(0..SEGMENT as i32 + 50);
    let batch = RecordBatch::try_new(schema, vec![Arc::new(ids)]).unwrap();
    assert_eq!(session.insert_batch("t", &batch).unwrap(), SEGMENT as u64 + 50);
    assert_eq!(frozen_rows(&session, "t"), SEGMENT as u64);
    let error: Error = session.insert_batch("t", &batch.slice(10, 10)).unwrap_err();
    assert_eq!(error.state(), SqlState::UNIQUE_VIOLATION);
}

/// Whether a statement of so many rows of random text fits into a budget; how many are columns.
fn fits(budget: u64, rows: usize) -> Option<u64> {
    let mut session = session_of(Database::open(Options::new().budget(budget)).unwrap());
    session.execute("create table t (id int primary key, v text)").unwrap();
    let text = "insert into t select i, md5(i::text) || md5((i + 1)::text)";
    let inserted = session.execute(&format!("{text} from generate_series(1, {rows}) as s(i)"));
    if let Err(error) = &inserted {
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
    }
    let there = if inserted.is_ok() { rows } else { 0 };
    assert_eq!(answer(&mut session, "select count(*) from t"), there.to_string());
    inserted.ok().map(|_| frozen_rows(&session, "t"))
}

#[test]
fn a_budget_takes_no_fewer_rows_than_before() {
    // Statements of less than a segment make rows, as all did before.
    let (mut as_rows, mut as_columns) = (0, 0);
    for budget in [20, 26, 28, 30, 32, 36, 64].map(|mib| mib << 20) {
        let (before, now) = (fits(budget, SEGMENT - 1), fits(budget, SEGMENT));
        assert!(now.is_some() || before.is_none(), "{budget}: {before:?}, then {now:?}");
        as_rows += usize::from(now == Some(0));
        as_columns += usize::from(now == Some(SEGMENT as u64));
    }
    assert!(as_rows > 0 && as_columns > 0, "{as_rows}, {as_columns}");
}

#[test]
fn a_crash_leaves_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        || session_of(Database::open_at(folder.path(), Options::new().budget(256 << 20)).unwrap());
    let count = SEGMENT + 10;
    {
        let mut session = open();
        session.execute("create table t (id int primary key, v text)").unwrap();
        let rows = "select i as id, 'v' || i % 7 as v";
        let rows = format!("{rows} from generate_series(1, {count}) as s(i)");
        session.execute(&format!("insert into t {rows}")).unwrap();
        session.execute(&format!("create table u as {rows}")).unwrap();
        session.execute("delete from t where id = 5; update t set v = 'new' where id = 6").unwrap();
        assert!(frozen_rows(&session, "t") > 0);
    }
    let mut session = open();
    // The log has them as rows, and opening has made columns of them again.
    assert_eq!(frozen_rows(&session, "t"), SEGMENT as u64 - 2);
    assert_eq!(frozen_rows(&session, "u"), SEGMENT as u64);
    let query = "select count(*), sum(id), count(distinct v) from ";
    let sum = count * (count + 1) / 2;
    let of_u = format!("{count} {sum} 7");
    assert_eq!(answer(&mut session, &format!("{query} u")), of_u);
    let of_t = format!("{} {} 8", count - 1, sum - 5);
    assert_eq!(answer(&mut session, &format!("{query} t")), of_t);
    session.execute("vacuum").unwrap();
    assert!(frozen_rows(&session, "t") > 0);
    assert_eq!(answer(&mut session, &format!("{query} t")), of_t);
}
