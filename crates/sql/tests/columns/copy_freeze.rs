//! COPY: rows become columns at once unless FREEZE is off, and in every other respect are rows as
//! COPY has always made them: defaults, constraints, blocks and savepoints hold, and others see
//! them at the commit.

use std::sync::Arc;

use datafusion::arrow::array::{Int32Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use remanent_engine::{Database, Options, SEGMENT_ROWS};
use remanent_sql::{Error, Session, SqlDatabase, SqlState, Statement};

const SEGMENT: usize = SEGMENT_ROWS;

fn session() -> Session {
    session_in(Options::new().budget(512 << 20))
}

fn session_in(options: Options) -> Session {
    let engine = Arc::new(Database::open(options).unwrap());
    let mut session = SqlDatabase::new(engine).unwrap().session();
    session
        .execute(
            "create table kind (id int primary key); insert into kind values (0), (1), (2);
             create table part (id int primary key, name text, kind int not null references kind, \
             price numeric(9,2) check (price >= 0), made date default '2026-11-22')",
        )
        .unwrap();
    session
}

/// Lines of CSV for rows with these ids, of which none has a date.
fn lines(ids: std::ops::Range<usize>) -> String {
    let line = |id: usize| match id % 10 {
        7 => format!("{id},,{},\n", id % 3),
        _ => format!("{id},part {id},{},{}.25\n", id % 3, id % 100),
    };
    ids.map(line).collect()
}

/// Copies lines into the table, in pieces that do not end where lines do.
fn copy(session: &mut Session, text: &str, lines: &str) -> Result<String, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let statement = Statement::parse_all(text)?.remove(0);
    let mut into = session.copy_in(&statement.copy()?)?;
    let mut read = || {
        for mut piece in lines.as_bytes().chunks(1 << 20) {
            while into.read(&mut piece)? {
                runtime.block_on(session.copy_in_read(&mut into))?;
            }
        }
        into.read_end()?;
        runtime.block_on(session.copy_in_read(&mut into))
    };
    match read() {
        Ok(()) => Ok(session.copy_done(into)?.tag.to_string()),
        Err(error) => {
            session.copy_undo(into, &error)?;
            Err(error)
        }
    }
}

const COPY: &str = "copy part (id, name, kind, price) from stdin (format csv, freeze)";

fn answer(session: &mut Session, query: &str) -> String {
    let rows = session.query(query, &[]).unwrap().rows;
    let values: Vec<String> = rows.iter().flatten().map(ToString::to_string).collect();
    values.join(" ")
}

fn frozen_rows(session: &Session) -> u64 {
    let tables = session.database().engine().memory_by_table().unwrap();
    tables.iter().map(|table| table.frozen_rows).sum()
}

#[test]
fn rows_are_columns_at_once_with_their_defaults() {
    for options in [Options::new().budget(512 << 20), Options::new().budget(64 << 20)] {
        let mut session = session_in(options);
        let count = 2 * SEGMENT + 1000;
        let tag = copy(&mut session, COPY, &lines(0..count)).unwrap();
        assert_eq!(tag, format!("COPY {count}"));
        assert_eq!(frozen_rows(&session), 2 * SEGMENT as u64);
        let query = "select count(*), count(name), sum(id), min(made), max(made) from part";
        let names = (0..count).filter(|id| id % 10 != 7).count();
        let sum = count * (count - 1) / 2;
        let expected = format!("{count} {names} {sum} 2026-11-22 2026-11-22");
        assert_eq!(answer(&mut session, query), expected);
        assert_eq!(
            answer(&mut session, "select * from part where id = 70001"),
            "70001 part 70001 2 1.25 2026-11-22"
        );
        session.execute("update part set name = 'new' where id in (5, 70001)").unwrap();
        session.execute("delete from part where id = 6").unwrap();
        let query = "select count(*) from part where name = 'new'";
        assert_eq!(answer(&mut session, query), "2");
        assert_eq!(answer(&mut session, "select count(*) from part"), (count - 1).to_string());
    }
}

#[test]
fn rows_stay_rows_only_if_freeze_is_off() {
    let mut session = session();
    for (option, frozen) in [("", SEGMENT), (", freeze false", 0), (", freeze on", SEGMENT)] {
        let text = COPY.replace(", freeze", option);
        session.execute("truncate part").unwrap();
        copy(&mut session, &text, &lines(0..SEGMENT + 10)).unwrap();
        assert_eq!(frozen_rows(&session), frozen as u64, "{option}");
        session.execute("truncate part").unwrap();
        copy(&mut session, &text, &lines(0..SEGMENT - 1)).unwrap();
        assert_eq!(frozen_rows(&session), 0, "{option}");
    }
}

#[test]
fn what_is_refused_leaves_nothing() {
    let mut session = session();
    let many = lines(0..SEGMENT + 100);
    let last = SEGMENT + 100;
    for (line, state) in [
        (format!("{last},a,9,1\n"), SqlState::FOREIGN_KEY_VIOLATION),
        (format!("{last},a,,1\n"), SqlState::NOT_NULL_VIOLATION),
        (format!("{last},a,1,-1\n"), SqlState::CHECK_VIOLATION),
        ("5,a,1,1\n".to_owned(), SqlState::UNIQUE_VIOLATION),
        (format!("{last},a,x,1\n"), SqlState::BAD_TEXT),
    ] {
        for text in [format!("{many}{line}"), format!("{line}{many}")] {
            let text = text.as_str();
            // In the segment, and behind it.
            let error = copy(&mut session, COPY, text).unwrap_err();
            assert_eq!(error.state(), state, "{line}: {error}");
            assert_eq!(answer(&mut session, "select count(*) from part"), "0", "{line}");
        }
    }
    assert_eq!(frozen_rows(&session), 0);
    copy(&mut session, COPY, &many).unwrap();
    assert_eq!(answer(&mut session, "select count(*) from part"), last.to_string());
}

#[test]
fn a_block_sees_its_rows_and_takes_them_back() {
    let mut session = session();
    let mut other = session.database().session();
    session.execute("begin").unwrap();
    copy(&mut session, COPY, &lines(0..SEGMENT)).unwrap();
    session.execute("savepoint one; update part set price = 0 where id < 10").unwrap();
    copy(&mut session, COPY, &lines(SEGMENT..2 * SEGMENT)).unwrap();
    let query = "select count(*), sum(case when price = 0 then 1 else 0 end) from part";
    assert_eq!(answer(&mut session, query), format!("{} 10", 2 * SEGMENT));
    assert_eq!(answer(&mut other, "select count(*) from part"), "0");
    session.execute("rollback to one").unwrap();
    assert_eq!(answer(&mut session, query), format!("{SEGMENT} 0"));
    assert_eq!(answer(&mut other, "select count(*) from part"), "0");
    session.execute("commit").unwrap();
    assert_eq!(answer(&mut other, query), format!("{SEGMENT} 0"));
    session.execute("begin").unwrap();
    copy(&mut session, COPY, &lines(SEGMENT..2 * SEGMENT)).unwrap();
    session.execute("rollback").unwrap();
    assert_eq!(answer(&mut session, query), format!("{SEGMENT} 0"));
    // Those that were changed and changed back are rows by now.
    assert_eq!(frozen_rows(&session), SEGMENT as u64 - 10);
}

#[test]
fn files_of_columns_and_batches_are_frozen_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session();
    let count = SEGMENT + 5000;
    copy(&mut session, COPY, &lines(0..count)).unwrap();
    let before = "select count(*), count(name), sum(id), sum(price) from ";
    let expected = answer(&mut session, &format!("{before} part"));
    for format in ["parquet", "arrow"] {
        let path = folder.path().join(format);
        let path = path.display();
        session.execute(&format!("copy part to '{path}' (format {format})")).unwrap();
        session.execute("create table again (like part)").unwrap();
        let frozen = frozen_rows(&session);
        let text = format!("copy again from '{path}' (format {format}, freeze)");
        session.execute(&text).unwrap();
        assert_eq!(frozen_rows(&session) - frozen, SEGMENT as u64, "{format}");
        assert_eq!(answer(&mut session, &format!("{before} again")), expected, "{format}");
        session.execute("drop table again").unwrap();
    }
    session.execute("create table pair (id int primary key, name text)").unwrap();
    let fields =
        vec![Field::new("id", DataType::Int32, false), Field::new("name", DataType::Utf8, true)];
    let ids = Int32Array::from_iter_values(0..count as i32);
    let names = StringArray::from_iter((0..count).map(|id| (id % 2 == 0).then_some("even")));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(ids), Arc::new(names)]).unwrap();
    let frozen = frozen_rows(&session);
    assert_eq!(session.insert_frozen_batch("pair", &batch).unwrap(), count as u64);
    assert_eq!(frozen_rows(&session) - frozen, SEGMENT as u64);
    let found = answer(&mut session, "select count(*), count(name), max(id) from pair");
    assert_eq!(found, format!("{count} {} {}", count.div_ceil(2), count - 1));
    let twice = session.insert_frozen_batch("pair", &batch).unwrap_err();
    assert_eq!(twice.state(), SqlState::UNIQUE_VIOLATION);
    let found = answer(&mut session, "select count(*) from pair");
    assert_eq!(found, count.to_string());
}

#[test]
fn a_budget_takes_no_fewer_rows_as_columns() {
    let mut seen = [false; 2];
    for count in [SEGMENT, 2 * SEGMENT, 3 * SEGMENT, 4 * SEGMENT] {
        let fits = |option: &str| {
            let mut session = session_in(Options::new().budget(16 << 20));
            let copied = copy(&mut session, &COPY.replace(", freeze", option), &lines(0..count));
            if let Err(error) = &copied {
                assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
            }
            copied.is_ok()
        };
        let (rows, columns) = (fits(", freeze false"), fits(""));
        seen[usize::from(rows)] = true;
        assert!(columns || !rows, "{count} fit as rows alone");
    }
    assert_eq!(seen, [true; 2]);
}
