//! Joins that find rows by an index: the same answers, and fewer rows read.
//!
//! The side that is read first has few keys; what EXPLAIN ANALYZE says of the scan of the other
//! tells by how many keys it found its rows.

use remanent_sql::{Datum, Result, Session, SqlDatabase};

const LAST: u64 = 2999;

fn tables() -> Session {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let script = format!(
        "create table item (id int primary key, kind int, owner bigint);
         create index item_owner on item (owner);
         insert into item select value, value % 10, value % 300
             from generate_series(0, {LAST}) as g(value);
         create table basket (no int primary key, item int, note text);
         insert into basket values (1, 7, 'a'), (2, 7, 'again'), (3, 2999, 'b'), (4, null, 'c'),
             (5, 9999, 'not there')"
    );
    session.execute(&script).expect("tables");
    session
}

fn rows(session: &mut Session, query: &str) -> Result<Vec<Vec<Datum>>> {
    Ok(session.query(query, &[])?.rows)
}

/// The keys by which the scan of a table found its rows, if by keys.
fn keys(session: &mut Session, query: &str) -> Option<u64> {
    let plan = rows(session, &format!("explain analyze {query}")).expect("a plan");
    let lines = plan.iter().map(|row| row[0].to_string());
    let of_item = lines.filter(|line| line.contains(" item,")).collect::<Vec<_>>();
    let (_, rest) = of_item.first()?.split_once("keys=")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|keys| *keys > 0)
}

#[test]
fn few_keys_are_looked_up() {
    let mut session = tables();
    let joined = "select b.no, i.id, i.owner from basket b join item i on i.id = b.item order by 1";
    let expected = [[1, 7, 7], [2, 7, 7], [3, 2999, 299]];
    let expected = expected.map(|row| row.map(Datum::Int).to_vec());
    assert_eq!(rows(&mut session, joined).expect("rows"), expected);
    assert_eq!(keys(&mut session, joined), Some(3));
    session.execute("vacuum full item").expect("frozen rows");
    assert_eq!(rows(&mut session, joined).expect("rows of frozen segments"), expected);
    assert_eq!(keys(&mut session, joined), Some(3));
}

#[test]
fn an_index_may_have_many_rows_for_a_key() {
    let mut session = tables();
    let query = "select count(*), min(i.id), max(i.id) from basket b join item i \
                 on i.owner = b.item where i.kind < 8";
    let expected = [[20, 7, 2707].map(Datum::Int).to_vec()];
    assert_eq!(rows(&mut session, query).expect("rows"), expected);
}

#[test]
fn many_keys_are_not() {
    let mut session = tables();
    let query = "select count(*) from item i join (select id from item where kind < 5) f \
                 on f.id = i.id";
    let expected = [[Datum::Int(1500)].to_vec()];
    assert_eq!(rows(&mut session, query).expect("rows"), expected);
    assert_eq!(keys(&mut session, query), None);
}

#[test]
fn rows_of_the_block_itself_are_found() {
    let mut session = tables();
    let script = "begin; delete from item where id = 7; insert into item values (9999, 1, 1);";
    session.execute(script).expect("changes");
    let query = "select b.no from basket b join item i on i.id = b.item order by 1";
    let expected = [3, 5].map(|no| vec![Datum::Int(no)]);
    assert_eq!(rows(&mut session, query).expect("rows"), expected);
}
