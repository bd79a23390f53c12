//! Serializable transactions on different keys do not refuse each other, however they say it.
//!
//! Two blocks each read and change rows of their own, which stand side by side in every index, and
//! both commit: one after the other in one thread, so each run is the same. And of each way the
//! counterpart: rows that the other one did change are a conflict.

use std::sync::Arc;

use remanent_sql::{Session, SqlDatabase};

/// Rows 0 to 399, as the laboratory has them with more rows.
const TABLES: &str = include_str!("../../../../tests/conflicts/tables.sql");

/// Reads of the rows from `$k` on, at most ten, below `$z`.
fn reads() -> impl Iterator<Item = &'static str> {
    lines(include_str!("../../../../tests/conflicts/reads.sql"))
}

/// Changes of the rows from `$k` on, at most ten, below `$z`.
fn changes() -> impl Iterator<Item = &'static str> {
    lines(include_str!("../../../../tests/conflicts/changes.sql"))
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with("--"))
}

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
    run(&mut session, &TABLES.replace("$n", "400"));
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
        for read in reads() {
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
        for (place, change) in changes().enumerate() {
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
        for read in reads() {
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
        for read in reads() {
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
    let again = |text: &&str| !text.ends_with("-- once");
    let reads = reads().map(|read| [read, change]);
    let changes = changes().filter(again).map(|change| ["select v from t where id = $k", change]);
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
