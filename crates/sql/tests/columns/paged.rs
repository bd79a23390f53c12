//! Tables of which columns leave memory: the same plans and the same answers as those in memory,
//! whatever the buffer cache has room for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use remanent_engine::{Database, Options, schema::TableStorage};
use remanent_sql::{Freezing, Session, SqlDatabase};

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("remanent-sql-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self) -> Arc<SqlDatabase> {
        let options = Options::new().budget(512 << 20).buffer_cache(256 << 10);
        SqlDatabase::new(Arc::new(Database::open_at(&self.0, options).unwrap())).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const COLUMNS: &str = "(id int primary key, day date, kind text, note text, amount numeric(12, 2), \
                       level double precision)";
const ROWS: usize = 200_000;

const QUERIES: [&str; 9] = [
    "select count(*), sum(id), sum(amount), min(note), max(note), count(level) from {t}",
    "select kind, count(*), avg(amount) from {t} group by kind order by kind",
    "select count(*), sum(amount) from {t} where day between '2020-03-01' and '2020-03-31'",
    "select id, note from {t} where note like '%777%' order by id limit 20",
    "select id, day, amount from {t} order by amount desc, id limit 10",
    "select a.kind, count(*) from {t} a join {t} b on a.id = b.id + 70000 where b.amount < 100 \
     group by a.kind order by 1",
    "select * from {t} where id in (3, 70000, 150001, 199999) order by id",
    "select count(distinct note) from {t} where level is null",
    "select kind, sum(amount) from {t} where id > 199000 group by kind order by kind",
];

fn load(session: &mut Session, table: &str, storage: &str) {
    session.execute(&format!("create table {table} {COLUMNS} with (storage = {storage})")).unwrap();
    for from in (0..ROWS).step_by(50_000) {
        let to = from + 49_999;
        let rows = format!(
            "insert into {table} select i, date '2020-01-01' + i / 500, 'kind ' || i % 9, \
             'note ' || (i * 7919::bigint) % 100003, (i * 31 % 100000) / 100.0, \
             case when i % 11 = 0 then null else i / 7.0 end \
             from generate_series({from}, {to}) s(i)"
        );
        session.execute(&rows).unwrap();
    }
}

fn rows(session: &mut Session, query: &str, table: &str) -> Vec<String> {
    let answer = session.query(&query.replace("{t}", table), &[]).unwrap();
    answer.rows.iter().map(|row| format!("{row:?}")).collect()
}

fn plan(session: &mut Session, query: &str, table: &str) -> String {
    rows(session, &format!("explain {query}"), table).join("\n").replace(table, "t")
}

fn compare(session: &mut Session) {
    for query in QUERIES {
        assert_eq!(plan(session, query, "in_pages"), plan(session, query, "in_memory"), "{query}");
        let paged = rows(session, query, "in_pages");
        assert!(!paged.is_empty());
        assert_eq!(paged, rows(session, query, "in_memory"), "{query}");
    }
}

/// Both tables, frozen and written.
fn filled(place: &Place) -> Arc<SqlDatabase> {
    let database = place.open();
    database.freezing(Freezing::Off);
    let mut session = database.session();
    load(&mut session, "in_pages", "paged");
    load(&mut session, "in_memory", "memory");
    for name in ["in_pages", "in_memory"] {
        let engine = database.engine();
        let names = engine.table_names();
        let name = names.iter().find(|it| it.contains(name)).unwrap();
        engine.freeze_all(&engine.table(name).unwrap()).unwrap();
    }
    session.execute("analyze").unwrap();
    database.engine().checkpoint().unwrap();
    database
}

#[test]
fn plans_and_answers_are_those_of_memory() {
    let place = Place::new("paged");
    let database = filled(&place);
    let memory = database.engine().memory();
    assert!(memory.evicted > 1 << 20 && memory.cached <= 256 << 10, "{memory:?}");
    let mut session = database.session();
    compare(&mut session);
    assert!(database.engine().memory().read_back > 4 * memory.evicted);
    // Changed rows are found beside the columns, and there again when they are frozen.
    for table in ["in_pages", "in_memory"] {
        session.execute(&format!("update {table} set amount = -1 where id % 1000 = 7")).unwrap();
        session.execute(&format!("delete from {table} where id % 1000 = 8")).unwrap();
    }
    compare(&mut session);
    drop(session);
    drop(database);
    let database = place.open();
    compare(&mut database.session());
}

/// Ends the readers, also where a check fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Scans that are under way when their table is emptied or dropped see all of it or nothing.
#[test]
fn tables_are_emptied_and_dropped_beside_scans() {
    let place = Place::new("truncated");
    let database = filled(&place);
    let query = "select count(*), sum(id), sum(amount), min(note), max(note) from {t}";
    let mut session = database.session();
    let full = rows(&mut session, query, "in_memory");
    let nothing = {
        session.execute("create table nothing (like in_memory)").unwrap();
        rows(&mut session, query, "nothing")
    };
    let (ended, seen) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 3]);
    std::thread::scope(|scope| {
        let _ending = Ending(&ended);
        let readers = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut session = database.session();
                while !ended.load(Relaxed) {
                    let what = match session.query(&query.replace("{t}", "in_pages"), &[]) {
                        Ok(answer) => {
                            let all = answer.rows.iter().map(|row| format!("{row:?}"));
                            let all: Vec<_> = all.collect();
                            assert!(all == full || all == nothing, "{all:?}");
                            usize::from(all == nothing)
                        }
                        Err(error) => {
                            assert_eq!(error.state().as_str(), "42P01", "{error}");
                            2
                        }
                    };
                    seen[what].fetch_add(1, Relaxed);
                }
            })
        });
        let create = format!("create table in_pages {COLUMNS} with (storage = paged)");
        for turn in 0..6 {
            let before = seen[0].load(Relaxed);
            while seen[0].load(Relaxed) < before + 2 {
                assert!(readers.iter().all(|reader| !reader.is_finished()), "one has failed");
                std::thread::yield_now();
            }
            if turn % 2 == 0 {
                session.execute("truncate in_pages").unwrap();
            } else {
                session.execute("drop table in_pages").unwrap();
                session.execute(&create).unwrap();
            }
            database.engine().checkpoint().unwrap();
            session.execute("insert into in_pages select * from in_memory").unwrap();
            session.execute("vacuum full in_pages").unwrap();
            database.engine().checkpoint().unwrap();
        }
    });
    assert!(seen[1].load(Relaxed) > 0, "{seen:?}");
    compare(&mut session);
    drop(session);
    drop(database);
    compare(&mut place.open().session());
}

#[test]
fn a_segment_whose_range_is_another_is_not_read() {
    let place = Place::new("unread");
    let database = filled(&place);
    let mut session = database.session();
    // Every segment has other days.
    let query = "select count(*), sum(amount), max(note) from {t} where day = '2020-01-05'";
    rows(&mut session, query, "in_pages");
    let before = database.engine().memory();
    rows(&mut session, query, "in_pages");
    let after = database.engine().memory();
    let whole = before.evicted + before.cached;
    assert!(after.read_back - before.read_back < whole / 3, "{before:?} {after:?}");
}

#[test]
fn a_table_moves_to_disk_and_back() {
    let place = Place::new("moves");
    let database = filled(&place);
    let mut session = database.session();
    let storage = |name: &str| {
        let engine = database.engine();
        let name = engine.table_names().into_iter().find(|it| it.contains(name)).unwrap();
        engine.table(&name).unwrap().schema().storage
    };
    let before = rows(&mut session, QUERIES[0], "in_memory");
    session.execute("alter table in_memory set (storage = paged)").unwrap();
    assert_eq!(storage("in_memory"), TableStorage::Paged);
    session.execute("alter table in_pages set (storage = memory)").unwrap();
    assert_eq!(storage("in_pages"), TableStorage::Memory);
    assert_eq!(rows(&mut session, QUERIES[0], "in_memory"), before);
    assert_eq!(rows(&mut session, QUERIES[0], "in_pages"), before);
    session.execute("alter table in_memory add column more int").unwrap();
    assert_eq!(storage("in_memory"), TableStorage::Paged);
}

#[test]
fn what_with_says_is_understood_or_refused() {
    let database = SqlDatabase::new(Arc::new(Database::open(Options::new()).unwrap())).unwrap();
    let mut session = database.session();
    let mut refused = |text: &str| {
        let error = session.execute(text).unwrap_err();
        (error.state().as_str(), error.to_string())
    };
    let (state, text) = refused("create table a (i int) with (storage = disk)");
    assert_eq!(state, "22023");
    assert!(text.contains("invalid value for parameter \"storage\": disk"), "{text}");
    let (state, text) = refused("create table a (i int) with (storag = paged)");
    assert_eq!(state, "22023");
    assert!(text.contains("unrecognized parameter \"storag\""), "{text}");
    session.execute("create table a (i int) with (fillfactor = 70, storage = 'paged')").unwrap();
    session.execute("create table b with (storage = paged) as select 1 as i").unwrap();
    session.execute("alter table a set (fillfactor = 80)").unwrap();
}
