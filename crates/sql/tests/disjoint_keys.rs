//! Serializable transactions on different keys do not refuse each other, however they say it.
//!
//! Two blocks each read and change rows of their own, which stand side by side in every index, and
//! both commit: one after the other in one thread, so each run is the same. And of each way the
//! counterpart: rows that the other one did change are a conflict.

use std::sync::Arc;

use remanent_sql::{Session, SqlDatabase};

/// Rows 0 to 399: `id` and `u` are the same number, `g` has ten rows each, `e` none an index.
const TABLES: &str = "
    create table t (id int primary key, u int unique, g int, e int, v int not null, s text);
    create index on t (g);
    create index on t (g, e);
    create table d (id int primary key, t_id int not null references t, w int);
    create index on d (t_id);
    insert into t select n, n, n / 10, n, 0, 'x' || n from generate_series(0, 399) as r (n);
    insert into d select n, n, 0 from generate_series(0, 399) as r (n);
";

/// Reads of the rows from `$k` on, at most ten, below `$z`.
const READS: &[&str] = &[
    "select v from t where id = $k",
    "select v + 1 from t where id = $k",
    "select * from t where u = $k",
    "select v from t where id = $k and v >= 0",
    "select v from t where u = $k and s like 'x%'",
    "select v from t where id in ($k, $k + 1, $k + 2)",
    "select v from t where id in ($k, $z - 1) order by v",
    "select sum(v) from t where id between $k and $z - 1",
    "select sum(v) from t where id >= $k and id < $z",
    "select sum(v) from t where id > $k and id < $z",
    "select sum(v) from t where u >= $k and u < $z and v < 10",
    "select sum(v) from t where g = $k / 10",
    "select sum(v) from t where g = $k / 10 and e > $k",
    "select sum(v) from t where g = $k / 10 and e between $k and $z - 1",
    "select sum(v) from t where e = $k",
    "select sum(v) from t where e >= $k and e < $z",
    "select sum(v) from t where id + 0 = $k",
    "select sum(v) from t where abs(id) = $k or e = $k + 1",
    "select sum(v) from t where s = 'x$k'",
    "select t.v, d.w from t join d on d.t_id = t.id where t.id = $k",
    "select t.v, d.w from t join d on d.id = t.id where t.id = $k",
    "select t.v, d.w from t left join d on d.t_id = t.id where t.u = $k",
    "select t.v, d.w from t, d where d.t_id = t.id and t.id between $k and $k + 3",
    "select v from t where id = (select t_id from d where id = $k)",
    "select v from t where id in (select t_id from d where id = $k)",
    "select v from t where id = $k and exists (select from d where t_id = t.id)",
    "select v from t where id = any (array[$k, $k + 1])",
    "select v from t where id >= $k and id < $z order by id limit 3",
    "select v from t where id >= $k and id < $z order by id desc limit 3",
    "select v from t where g = $k / 10 order by e limit 2",
    "select v from t where id = $k for update",
    "select v from t where g = $k / 10 and e = $k for update",
    "select count(*) from t where id = $k",
    "select max(v) from t where g = $k / 10",
    "select max(id) from t where id >= $k and id < $z",
    "with r as (select * from t where id = $k) select r.v from r join d on d.id = r.id",
    "select v from t where id = $k union all select w from d where id = $k",
    "select (select w from d where d.id = t.id) from t where t.id = $k",
    "select g, count(*) from t where id >= $k and id < $z group by g having count(*) > 0",
    "select rank() over (order by v) from t where g = $k / 10",
];

/// Changes of the rows from `$k` on, at most ten, below `$z`.
const CHANGES: &[&str] = &[
    "update t set v = v + 1 where id = $k",
    "update t set v = 7 where u = $k",
    "update t set v = v + 1 where g = $k / 10",
    "update t set v = v + 1 where id + 0 = $k",
    "update t set v = v + 1 where e between $k and $z - 1",
    "update t set v = v + 1 where id in ($k, $k + 1)",
    "update t set v = v + 1 where id = $k returning v, s",
    "update t set v = d.w + 1 from d where d.id = $k and t.id = d.t_id",
    "update t set v = (select max(w) from d where t_id = $k) + 1 where id = $k",
    "update t set u = u + 1000 where id = $k",
    "delete from d where id = $k",
    "delete from d where t_id = $k and w = 0",
    "delete from d using t where t.id = $k and d.t_id = t.id",
    "insert into d values (1000 + $k, $k, 1)",
    "insert into d values ($k, $k, 1) on conflict (id) do update set w = excluded.w",
    "insert into d select 1000 + id, id, v from t where id = $k",
    "merge into d using (select $k as k) as n on d.id = n.k when matched then update set w = 5",
];

fn of(text: &str, k: i32) -> String {
    text.replace("$k", &k.to_string()).replace("$z", &(k + 10).to_string())
}

fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

struct Pair {
    one: Session,
    two: Session,
}

impl Pair {
    fn new(database: &Arc<SqlDatabase>) -> Self {
        Self { one: database.session(), two: database.session() }
    }

    /// Runs two blocks at once, the second committing first; whether the first one commits.
    fn both(&mut self, one: [String; 2], two: [String; 2]) -> bool {
        run(&mut self.one, "begin isolation level serializable");
        run(&mut self.two, "begin isolation level serializable");
        for (first, second) in one.iter().zip(&two) {
            run(&mut self.one, first);
            run(&mut self.two, second);
        }
        run(&mut self.two, "commit");
        let ended = self.one.execute("commit");
        if let Err(error) = &ended {
            assert_eq!(error.state().as_str(), "40001", "{error}");
        }
        ended.is_ok()
    }
}

fn database(frozen: bool) -> Arc<SqlDatabase> {
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = database.session();
    run(&mut session, TABLES);
    if frozen {
        let engine = database.engine();
        for name in ["t", "d"] {
            let table = engine.table(name).expect("it is there");
            engine.freeze_all(&table).expect("it freezes");
        }
    }
    database
}

#[test]
fn reads_of_different_keys_do_not_meet() {
    for frozen in [false, true] {
        let mut pair = Pair::new(&database(frozen));
        let mut refused = Vec::new();
        for read in READS {
            for (k, l) in [(100, 110), (130, 120)] {
                let change = "update t set v = v + 1 where id = $k";
                let one = [of(read, k), of(change, k)];
                let two = [of(read, l), of(change, l)];
                if !pair.both(one, two) {
                    refused.push((read, k));
                }
            }
        }
        assert!(refused.is_empty(), "frozen: {frozen}: {refused:#?}");
    }
}

#[test]
fn changes_of_different_keys_do_not_meet() {
    for frozen in [false, true] {
        let mut pair = Pair::new(&database(frozen));
        let mut refused = Vec::new();
        for (place, change) in CHANGES.iter().enumerate() {
            let (k, l) = (20 * place as i32, 20 * place as i32 + 10);
            let read = "select v from t where id = $k";
            let one = [of(read, k), of(change, k)];
            let two = [of(read, l), of(change, l)];
            if !pair.both(one, two) {
                refused.push(change);
            }
        }
        assert!(refused.is_empty(), "frozen: {frozen}: {refused:#?}");
    }
}

#[test]
fn a_read_of_what_another_changes_is_refused() {
    for frozen in [false, true] {
        let mut pair = Pair::new(&database(frozen));
        for read in READS {
            // Rows with `id > $k` alone have not read the first of them.
            let l = if read.contains("> $k") { 151 } else { 150 };
            let one = [of(read, 150), "update t set v = v + 1 where id = 390".to_owned()];
            let two = ["select 1".to_owned(), format!("update t set v = v + 1 where id = {l}")];
            assert!(!pair.both(one, two), "frozen: {frozen}: {read}");
        }
    }
}

#[test]
fn a_read_of_rows_that_another_brings_is_refused() {
    for frozen in [false, true] {
        let database = database(frozen);
        let mut pair = Pair::new(&database);
        run(
            &mut pair.one,
            "delete from d where id in (150, 151); delete from t where id in (150, 151)",
        );
        let bring = [
            "insert into t values (150, 150, 15, 150, 0, 'x150')",
            "insert into t values (151, 151, 15, 151, 0, 'x151')",
            "insert into d values (150, 150, 0), (151, 151, 0)",
        ];
        for read in READS {
            let one = [of(read, 150), "update t set v = v + 1 where id = 390".to_owned()];
            let two = ["select 1".to_owned(), bring.join("; ")];
            assert!(!pair.both(one, two), "frozen: {frozen}: {read}");
            run(&mut pair.one, "delete from d where id in (150, 151)");
            run(&mut pair.one, "delete from t where id in (150, 151)");
        }
    }
}

#[test]
fn a_read_of_rows_that_another_moves_there_is_refused() {
    for frozen in [false, true] {
        let mut pair = Pair::new(&database(frozen));
        for (read, moved) in [
            ("select sum(v) from t where g = $k / 10", "update t set g = 15 where id = 7"),
            ("select sum(v) from t where e = $k", "update t set e = 150 where id = 7"),
            ("select sum(v) from t where s = 'x$k'", "update t set s = 'x150' where id = 7"),
            ("select sum(v) from t where u = $k + 1000", "update t set u = 1150 where id = 7"),
        ] {
            for (k, survives) in [(150, false), (160, true)] {
                let one = [of(read, k), "update t set v = v + 1 where id = 390".to_owned()];
                let two = ["select 1".to_owned(), moved.to_owned()];
                assert_eq!(pair.both(one, two), survives, "frozen: {frozen}: {read}");
                run(&mut pair.one, "update t set g = 0, e = 7, s = 'x7', u = 7 where id = 7");
            }
        }
    }
}

/// Transactions of each of four clients for each way to write it; REMANENT_DISJOINT says how many.
fn transactions() -> usize {
    std::env::var("REMANENT_DISJOINT").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// Runs transactions of one client on keys of its own, each tried once; how many were refused.
fn client(database: &Arc<SqlDatabase>, client: usize, texts: [&str; 2]) -> usize {
    let mut session = database.session();
    let mut refused = 0;
    for round in 0..transactions() {
        let k = (100 * client + 10 * (round % 9)) as i32;
        run(&mut session, "begin isolation level serializable");
        let done = texts.iter().try_for_each(|text| session.execute(&of(text, k)).map(drop));
        if let Err(error) = done.and_then(|()| session.execute("commit").map(drop)) {
            assert_eq!(error.state().as_str(), "40001", "{texts:?}: {error}");
            refused += 1;
            let _ = session.execute("rollback");
        }
    }
    refused
}

/// At most two of a hundred, and as a rule none, whatever the clients do at the same moment.
#[test]
fn four_clients_on_keys_of_their_own_are_not_refused() {
    let change = "update t set v = v + 1 where id = $k";
    // What is inserted is not there yet, and what is deleted is gone, only once.
    let again = |text: &&&str| {
        !text.starts_with("insert into d values (1") && !text.contains("select 1000")
    };
    let reads = READS.iter().map(|read| [*read, change]);
    let changes =
        CHANGES.iter().filter(again).map(|change| ["select v from t where id = $k", *change]);
    for texts in reads.chain(changes) {
        let database = database(false);
        let refused: usize = std::thread::scope(|scope| {
            let clients = (0..4).map(|number| {
                let database = Arc::clone(&database);
                scope.spawn(move || client(&database, number, texts))
            });
            let clients: Vec<_> = clients.collect();
            clients.into_iter().map(|client| client.join().expect("it does not panic")).sum()
        });
        let all = 4 * transactions();
        eprintln!("{:5.1} % {texts:?}", 100.0 * refused as f64 / all as f64);
        assert!(refused * 50 <= all, "{refused} of {all}: {texts:?}");
    }
}
