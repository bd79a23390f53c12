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
    let of_item = lines.filter(|line| [" item,", " item by"].iter().any(|it| line.contains(it)));
    let of_item = of_item.collect::<Vec<_>>();
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

/// Keys of several columns: lines of orders by order, and within a tenant.
fn orders() -> Session {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let script = "
        create table item (tenant int, number bigint, line int, kind int,
            primary key (number, line));
        create index item_tenant on item (tenant, number desc);
        create index item_kind on item (kind, number);
        create index item_hash on item using hash (tenant, kind);
        insert into item select v % 7, v / 4, v % 4, v % 2 from generate_series(0, 39999) as g(v);
        create table basket (no int primary key, number bigint, tenant int, kind int);
        insert into basket values (1, 17, 5, 1), (2, 9999, 3, 0), (3, 20000, 3, 0), (4, null, 1, 1),
            (5, 17, 5, 1)";
    session.execute(script).expect("tables");
    session
}

#[test]
fn first_columns_of_an_index_are_looked_up() {
    let mut session = orders();
    let query = "select b.no, i.line, i.tenant from basket b join item i on i.number = b.number \
                 order by 1, 2";
    let line = |no, number: i64, line: i64| [no, line, (number * 4 + line) % 7].map(Datum::Int);
    let of = |no, number| (0..4).map(move |at| line(no, number, at).to_vec());
    let expected: Vec<_> = of(1, 17).chain(of(2, 9999)).chain(of(5, 17)).collect();
    for made in ["", "vacuum full item"] {
        session.execute(made).expect("frozen rows");
        assert_eq!(rows(&mut session, query).expect("rows"), expected);
        assert_eq!(keys(&mut session, query), Some(3), "{made}");
    }
    let semi = "select count(*) from item i where number in (select number from basket)";
    assert_eq!(rows(&mut session, semi).expect("rows"), [[Datum::Int(8)]]);
    assert_eq!(keys(&mut session, semi), Some(3));
    let script = "begin; delete from item where number = 17 and line = 2;
                  insert into item values (1, 20000, 9, 1)";
    session.execute(script).expect("changes");
    assert_eq!(rows(&mut session, semi).expect("rows"), [[Datum::Int(8)]]);
    assert_eq!(rows(&mut session, query).expect("rows").len(), 11);
}

#[test]
fn conditions_say_the_columns_before() {
    let mut session = orders();
    let query = "select b.no, i.line from basket b join item i on i.number = b.number \
                 where i.tenant = 5 order by 1, 2";
    // Four times these numbers, and no more, are 5 by the remainder of 7.
    let expected = [[1, 0], [2, 0], [5, 0]].map(|row| row.map(Datum::Int).to_vec());
    assert_eq!(rows(&mut session, query).expect("rows"), expected);
    assert_eq!(keys(&mut session, query), Some(3));
    let none = "select count(*) from basket b join item i on i.number = b.number \
                where i.tenant = 5 and i.number > 20000";
    assert_eq!(rows(&mut session, none).expect("rows"), [[Datum::Int(0)]]);
    // In the order of the range nothing else is looked up.
    let ordered = "select i.number, i.line from item i where i.tenant = 5 \
                   and exists (select 1 from basket b where b.number = i.number) \
                   order by i.number limit 3";
    let expected = [[17, 0], [9999, 0]].map(|row| row.map(Datum::Int).to_vec());
    assert_eq!(rows(&mut session, ordered).expect("rows"), expected);
}

/// A key that half of the rows have is not looked up, be it one key only.
#[test]
fn keys_of_many_rows_are_not_looked_up() {
    let mut session = orders();
    for query in [
        "select count(*) from basket b join item i on i.kind = b.kind where b.no = 1",
        "select count(*) from item where kind = (select kind from basket where no = 1)",
        "select count(*) from item where kind in (select kind from basket where no < 3)",
    ] {
        let found = rows(&mut session, query).expect("rows");
        assert!(found[0][0].as_i64() >= Some(20000), "{query}: {found:?}");
        assert_eq!(keys(&mut session, query), None, "{query}");
    }
    // The first columns of a hash index lead nowhere.
    let hashed = "select count(*) from item i join basket b on i.tenant = b.tenant where b.no = 4";
    session.execute("drop index item_tenant").expect("dropped");
    assert_eq!(keys(&mut session, hashed), None);
}

/// More keys than are looked up together, some of which nobody has.
#[test]
fn keys_are_looked_up_in_groups() {
    let mut session = orders();
    let script = "create table wide (id bigint primary key, note text);
                  insert into wide select v * 3, 'note ' || v from generate_series(1, 150000) g(v);
                  create table asked (id bigint);
                  insert into asked select v * 2 from generate_series(1, 200) g(v)";
    session.execute(script).expect("tables");
    let query = "select count(*), min(w.id), max(w.id), sum(length(note)) from asked a join wide w \
                 on w.id = a.id";
    for made in ["", "vacuum full wide"] {
        session.execute(made).expect("frozen rows");
        let found = rows(&mut session, query).expect("rows");
        assert_eq!(found[0][..3], [66, 6, 396].map(Datum::Int), "{made}");
        let plan = rows(&mut session, &format!("explain analyze {query}")).expect("a plan");
        let scan = plan.iter().map(|row| row[0].to_string()).find(|line| line.contains(" wide,"));
        assert!(scan.is_some_and(|scan| scan.contains(" keys=200]")), "{plan:?}");
    }
}
