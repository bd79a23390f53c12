//! The change feed in SQL: what statements did, as rows of `remanent_changes` and as batches of
//! Arrow, to whom it is shown, and where it goes on.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{ChangeKind, Datum, Session, SqlDatabase};

struct Place {
    // Before the folder, which goes with it.
    db: Arc<SqlDatabase>,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new().budget(256 << 20).log_old_rows(true);
        let engine = Database::open_at(folder.path(), options).expect("a database");
        let db = SqlDatabase::new(Arc::new(engine)).expect("a catalog");
        Self { db, _folder: folder }
    }
}

fn text(session: &mut Session, query: &str) -> Vec<Vec<String>> {
    let rows = session.query(query, &[]).expect(query).rows;
    rows.iter().map(|row| row.iter().map(Datum::to_string).collect()).collect()
}

fn run(session: &mut Session, script: &str) {
    session.execute(script).expect(script);
}

fn lsn(session: &mut Session) -> String {
    text(session, "show remanent.lsn").remove(0).remove(0)
}

/// Kind, table, and rows, of what has come since a position.
fn since(session: &mut Session, from: &str) -> Vec<String> {
    let query = format!(
        "select kind, table_schema, table_name, old_row, new_row, definition from \
         remanent_changes({from})"
    );
    let rows = text(session, &query);
    rows.into_iter().map(|row| row.join("|")).collect()
}

/// The same, of rows alone.
fn rows_since(session: &mut Session, from: &str) -> Vec<String> {
    since(session, from).into_iter().filter(|line| line.contains('{')).collect()
}

#[test]
fn statements_are_seen_as_rows() {
    let place = Place::new();
    let session = &mut place.db.session();
    let from = lsn(session);
    run(
        session,
        "create schema s; \
         create table s.part (id int primary key, name varchar(10), price numeric(8, 2), \
         since timestamptz, about jsonb); \
         insert into s.part values (1, 'bolt', 0.50, '2024-01-01 00:00:00+00', '{\"a\": 1}'), \
         (2, 'nut', null, null, null); \
         begin; update s.part set price = price * 2 where id = 1; delete from s.part where id = 2; \
         commit; \
         begin; insert into s.part values (9); rollback; \
         create index on s.part (price)",
    );
    let bolt = |price: &str| {
        format!(
            "{{\"id\":1,\"name\":\"bolt\",\"price\":{price},\
             \"since\":\"2024-01-01T00:00:00+00:00\",\"about\":{{\"a\": 1}}}}"
        )
    };
    let nut = "{\"id\":2,\"name\":\"nut\",\"price\":null,\"since\":null,\"about\":null}";
    let seen = since(session, &from);
    let wanted = [
        format!("insert|s|part||{}|", bolt("0.50")),
        format!("insert|s|part||{nut}|"),
        "commit|||||".to_owned(),
        format!("update|s|part|{}|{}|", bolt("0.50"), bolt("1.00")),
        format!("delete|s|part|{nut}||"),
        "commit|||||".to_owned(),
    ];
    let first = seen.iter().position(|line| line.starts_with("insert")).expect("an insert");
    assert_eq!(seen[first..first + wanted.len()], wanted);
    let definitions = seen.iter().filter(|line| line.starts_with("definition|s|part|"));
    assert_eq!(definitions.count(), 2, "{seen:#?}");

    // From behind any commit, what comes then.
    let query = format!("select lsn, kind from remanent_changes({from})");
    let places = text(session, &query);
    for (place, row) in places.iter().enumerate().filter(|(_, row)| row[1] == "commit") {
        assert_eq!(since(session, &row[0]), seen[place + 1..], "from {}", row[0]);
    }
    // Read once more, it has nothing else to say: what was read was no change.
    let end = lsn(session);
    assert_eq!(since(session, &end), Vec::<String>::new());
    assert_eq!(places.last().expect("a commit")[0], end);
}

#[test]
fn tables_have_the_names_that_they_have_now() {
    let place = Place::new();
    let session = &mut place.db.session();
    run(session, "create table t (id int primary key, a text); create table gone (id int)");
    let from = lsn(session);
    run(session, "insert into t values (1, 'x'); insert into gone values (1), (2)");
    run(session, "alter table t rename column a to b; alter table t rename to u");
    run(session, "insert into u values (2, 'y'); truncate u; drop table gone");
    let rows = rows_since(session, &from);
    let of_u: Vec<_> = rows.iter().filter(|line| line.contains("|u|")).collect();
    assert!(of_u.iter().any(|line| line.contains("\"b\":\"y\"")), "{rows:#?}");
    // A feed that was begun while the table was there has its rows; a later one cannot know them.
    assert!(!rows.iter().any(|line| line.contains("|gone|")), "{rows:#?}");
    run(session, "create table soon (id int)");
    let mut feed = place.db.change_feed(lsn(session).parse().expect("a number")).expect("a feed");
    run(session, "insert into soon values (7); drop table soon");
    let mut seen = Vec::new();
    while let Some(change) = feed.next_change().expect("a change") {
        match change.kind {
            ChangeKind::Insert { table, new } => seen.push(table.to_json(&new)),
            ChangeKind::Definition { table, words, .. } => seen.push(format!("{table}: {words}")),
            _ => {}
        }
    }
    assert_eq!(seen, ["{\"id\":7}", "soon: drop the table"]);
}

#[test]
fn batches_have_the_types_of_the_table() {
    let place = Place::new();
    let session = &mut place.db.session();
    let from = lsn(session);
    run(
        session,
        "create table a (id int primary key, at timestamp, n numeric(6, 1), list int[]); \
         create table b (id bigint); \
         insert into a select g, '2024-01-01', g / 10.0, array[g, 1] from generate_series(1, 5000) \
         as s(g); \
         insert into b values (1); update a set n = n + 1 where id <= 100",
    );
    let mut feed = place.db.change_feed(from.parse().expect("a number")).expect("a feed");
    let (mut sizes, mut last) = (Vec::new(), None);
    while let Some(batch) = feed.next_batch(2000).expect("a batch") {
        sizes.push((batch.table.name.clone(), batch.rows.num_rows()));
        last = Some(batch);
    }
    let of = |table: &str, rows: usize| (table.to_owned(), rows);
    let wanted = [of("a", 2000), of("a", 2000), of("a", 1000), of("b", 1), of("a", 100)];
    assert_eq!(sizes, wanted);
    let last = last.expect("there were some");
    let schema = last.rows.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["lsn", "position", "number", "kind", "old", "new"]);
    let kind = schema.field(5).data_type().to_string();
    for part in ["Int32", "Timestamp", "Decimal128(6, 1)", "List"] {
        assert!(kind.contains(part), "{kind}");
    }
    assert_eq!(feed.lsn(), lsn(session).parse::<u64>().expect("a number"));
}

#[test]
fn what_is_not_to_be_seen_is_not() {
    let place = Place::new();
    let session = &mut place.db.session();
    run(
        session,
        "create role guest login; create table secret (a text); \
                  insert into secret values ('x')",
    );
    let refused = |state: &str| Err(state.to_owned());
    let mut guest = place.db.session();
    guest.act_as("guest").expect("there is such a role");
    let answer = guest.query("select * from remanent_changes(0)", &[]);
    assert_eq!(answer.unwrap_err().state().as_str(), "42501");

    let session = &mut place.db.session();
    let mut state = |query: &str| {
        session.query(query, &[]).map(|_| ()).map_err(|error| error.state().as_str().to_owned())
    };
    assert_eq!(state("select * from remanent_changes(0)"), Ok(()));
    for query in ["remanent_changes()", "remanent_changes(-1)", "remanent_changes('x')"] {
        assert_eq!(state(&format!("select * from {query}")), refused("42883"), "{query}");
    }
    // No commit begins or ends there.
    assert_eq!(state("select * from remanent_changes(1)"), refused("22023"));
    assert_eq!(state("select * from remanent_changes(9000000000000)"), refused("22023"));
    // Nothing of the catalog itself is shown.
    let shown = since(session, "0");
    assert!(!shown.iter().any(|line| line.contains("|sql|")), "{shown:#?}");
    assert!(shown.iter().any(|line| line == "insert|public|secret||{\"a\":\"x\"}|"));

    let in_memory = SqlDatabase::in_memory().expect("a database");
    let error = in_memory.session().query("select * from remanent_changes(0)", &[]);
    assert_eq!(error.unwrap_err().state().as_str(), "22023");
}

#[test]
fn large_transactions_come_in_pieces() {
    let place = Place::new();
    let session = &mut place.db.session();
    run(session, "create table t (id int primary key, a text)");
    let from = lsn(session);
    run(
        session,
        "insert into t select g, repeat('x', 200) from generate_series(1, 60000) as s(g); \
         update t set a = 'y'; delete from t where id % 2 = 0",
    );
    let counted = format!(
        "select kind, count(*), count(distinct number), max(octet_length(old_row::text)) \
         from remanent_changes({from}) where table_name = 't' or kind = 'commit' \
         group by kind order by kind"
    );
    let counts = text(session, &counted);
    let words: Vec<String> = counts.into_iter().map(|row| row.join(" ")).collect();
    let wanted =
        ["commit 3 2 ", "delete 30000 30000 20", "insert 60000 60000 ", "update 60000 60000 219"];
    assert_eq!(words, wanted);
    // Who needs the first rows alone reads no more than those.
    let first = format!("select kind from remanent_changes({from}) limit 2");
    assert_eq!(text(session, &first), [["insert"], ["insert"]]);
}
