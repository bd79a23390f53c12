//! COPY with files of columns: what was written is read again, and wrong files change nothing.

use remanent_sql::{Datum, Session, SqlDatabase, SqlState};

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().unwrap().session();
    session
        .execute(
            "create table part (id int primary key, name text, price numeric(9,2), day date, \
             at timestamp, weight double precision, good boolean default true, raw bytea); \
             insert into part values \
             (1, 'bolt', 12.50, '2026-11-22', '2026-11-22 10:00:00.5', 0.25, true, '\\x00ff'), \
             (2, null, null, null, null, null, false, null), \
             (3, '', -1, '1969-12-31', '1900-01-01', -0.0, null, '')",
        )
        .unwrap();
    session
}

fn rows(session: &mut Session, table: &str) -> Vec<Vec<Datum>> {
    session.query(&format!("select * from {table} order by id"), &[]).unwrap().rows
}

#[test]
fn files_of_columns_keep_all_values() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["parquet", "arrow"] {
        let mut session = session();
        let path = folder.path().join(format);
        let path = path.display();
        let written = session.execute(&format!("copy part to '{path}' (format {format})")).unwrap();
        assert_eq!(written[0].tag.to_string(), "COPY 3");
        session.execute("create table again (like part)").unwrap();
        let read = session.execute(&format!("copy again from '{path}' (format {format})")).unwrap();
        assert_eq!(read[0].tag.to_string(), "COPY 3");
        assert_eq!(rows(&mut session, "again"), rows(&mut session, "part"), "{format}");

        let query =
            format!("copy (select id, id * 2 as twice from part) to '{path}' (format {format})");
        session.execute(&query).unwrap();
        session
            .execute("create table twice (twice bigint, id int, more text default 'x')")
            .unwrap();
        session.execute(&format!("copy twice from '{path}' (format {format})")).unwrap();
        let found = session.query("select id, twice, more from twice order by id", &[]).unwrap();
        assert_eq!(format!("{:?}", found.rows[2]), "[Int(3), Int(6), Text(\"x\")]", "{format}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "nothing but the two files: {left:?}");
}

#[test]
fn wrong_files_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session();
    let before = rows(&mut session, "part");
    let good = folder.path().join("good");
    let good = good.display();
    session.execute(&format!("copy part to '{good}' (format parquet)")).unwrap();
    let broken = folder.path().join("broken");
    std::fs::write(&broken, b"PAR1 and nothing more").unwrap();
    let mut refused = |text: String, state: SqlState| {
        let error = session.execute(&text).expect_err(&text);
        assert_eq!(error.state(), state, "{text}: {error}");
    };
    refused(format!("copy part from '{good}' (format parquet)"), SqlState::UNIQUE_VIOLATION);
    refused(
        format!("copy part (id, none) from '{good}' (format parquet)"),
        SqlState::UNKNOWN_COLUMN,
    );
    refused(format!("copy part from '{}' (format parquet)", broken.display()), SqlState::BAD_COPY);
    refused(format!("copy part from '{good}.not' (format parquet)"), SqlState::IO_ERROR);
    refused(format!("copy part to '{good}/below' (format arrow)"), SqlState::IO_ERROR);
    assert_eq!(rows(&mut session, "part"), before);
    session.execute("create table other (id int, unknown text)").unwrap();
    session.execute("begin; insert into other values (1, 'kept')").unwrap();
    let text = format!("copy other from '{good}' (format parquet)");
    assert_eq!(session.execute(&text).unwrap_err().state(), SqlState::UNKNOWN_COLUMN);
    session.execute("commit").unwrap();
    assert_eq!(session.query("select * from other", &[]).unwrap().rows.len(), 1);
}
