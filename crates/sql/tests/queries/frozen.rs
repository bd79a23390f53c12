//! A table with frozen rows, one without, and one with both answer the same.
//!
//! Three tables get the same rows and changes; one is frozen in between, of another the first half.
//! Random conditions over all types are asked of all. The seed is in every message.

use crate::random::{Random, seeds};
use remanent_sql::{Session, SqlDatabase};

fn row(random: &mut Random, id: u64) -> String {
    let mut value = |text: String| if random.below(9) == 0 { "null".to_owned() } else { text };
    let word = ["AIR", "RAIL", "SHIP", "a much longer word than twelve letters"][(id % 4) as usize];
    let columns = [
        value(format!("{}", id % 5)),
        value(format!("{}", id * 37 % 1000)),
        value(format!("{}", 5_000_000_000 + id * 7919)),
        value(format!("{}.{:02}", id % 300, id % 100)),
        value(format!("'19{:02}-0{}-1{}'", 70 + id % 30, 1 + id % 9, id % 10)),
        value(format!("'{word}'")),
        value(format!("'text {} of some length'", id * 31 % 977)),
        value(format!("{}", id.is_multiple_of(2))),
        value(format!("{}", id as f64 / 8.0)),
        value("7".to_owned()),
        value(format!("{}", id * 4099)),
        value(format!("'19{:02}-0{}-1{}'", 70 + id * 7 % 30, 1 + id % 9, id % 10)),
        value(format!("{}.{:02}", id * 13 % 300, id % 100)),
        value(format!("'2024-01-{:02} {:02}:00:00.{id:06}'", 1 + id % 28, id % 24)),
        value(format!("'2024-01-{:02} {:02}:00:00.{id:06}+00'", 1 + id * 3 % 28, id % 24)),
        value(format!("{}", (id * 4099 + id % 3).saturating_sub(1))),
    ];
    format!("({id}, {})", columns.join(", "))
}

fn condition(random: &mut Random) -> String {
    let (a, b) = (random.below(1000), random.below(300));
    let simple = [
        format!("tiny = {}", a % 6),
        format!("tiny <> {}", a % 6),
        format!("small > {a}"),
        format!("small between {b} and {a}"),
        format!("big <= {}", 5_000_000_000 + a * 7919),
        format!("price < {b}.5"),
        format!("price = {}.{:02}", a % 300, a % 100),
        format!("day >= date '19{:02}-05-05'", 70 + a % 30),
        format!("mode in ('AIR', 'SHIP{}')", a % 2),
        "mode like '%I%'".to_owned(),
        "mode is null".to_owned(),
        "mode <> 'RAIL'".to_owned(),
        "mode = 'SHIP' or 'AIR' = mode".to_owned(),
        "mode <> 'SHIP' and mode not in ('AIR', 'a much longer word than twelve letters')"
            .to_owned(),
        format!("note = 'text {} of some length'", a % 977),
        format!("note in ('text {a} of some length', 'text {b} of some length', null)"),
        "note not like '%1%'".to_owned(),
        "note like '%7% length' and flag".to_owned(),
        "mode is not null and small is null".to_owned(),
        format!("note like 'text {}%'", a % 10),
        format!("note > 'text {a}'"),
        format!("substr(note, 1, 6) in ('text {}', 'tex', 'text{}')", a % 10, b % 10),
        format!("substr(note, 1, 6) not in ('text {}', 'text {}')", a % 10, b % 10),
        "substring(mode from 1 for 2) in ('AI', 'SH')".to_owned(),
        "flag".to_owned(),
        "not flag".to_owned(),
        format!("half > {b}.25"),
        format!("seven = {}", 6 + a % 3),
        "seven is null".to_owned(),
        format!("coalesce(tiny, 0) + small > {a}"),
        format!("far > {}", a * 4099),
        format!("far between {} and {}", b * 4099, a * 8000),
        format!("far in ({}, 4099, {b})", a * 4099),
        format!("far <> {}", a * 4099),
        format!("far not in ({}, 4099, {})", a * 4099, b * 4099),
        format!("not (far between {} and {} or far = {a})", b * 4099, a * 8000),
        format!("small not between {b} and {a}"),
        "day < due".to_owned(),
        "due <> day".to_owned(),
        format!("due < date '19{}-01-01' + interval '{} month'", 70 + a % 30, b % 20),
        "price >= paid".to_owned(),
        "paid = price".to_owned(),
        "at < '2024-01-15 07:00:00'".to_owned(),
        format!("at <> '2024-01-{:02} {:02}:00:00.{a:06}'", 1 + a % 28, a % 24),
        "seen >= '2024-01-15 07:00:00+00' or seen < '2024-01-02 00:00:00+00'".to_owned(),
        "far > near".to_owned(),
        "far <= near".to_owned(),
        "seven <> small".to_owned(),
    ];
    let pick = |random: &mut Random| simple[random.below(simple.len() as u64) as usize].clone();
    match random.below(4) {
        0 => format!("({}) and ({})", pick(random), pick(random)),
        1 => format!("({}) or ({})", pick(random), pick(random)),
        _ => pick(random),
    }
}

/// Rows of the table that is frozen, in columns.
fn frozen_rows(db: &SqlDatabase, name: &str) -> u64 {
    let tables = db.engine().memory_by_table().expect("memory is measured");
    tables.iter().find(|table| table.name == name).map_or(0, |table| table.frozen_rows)
}

fn all(session: &mut Session, text: &str) {
    for table in ["hot", "cold", "mixed"] {
        session.execute(&text.replace("TABLE", table)).expect(text);
    }
}

fn compare(session: &mut Session, condition: &str, seed: u64) {
    let of_one = format!("select * from TABLE where {condition} order by id");
    let of_two = format!(
        "select id, other from TABLE join \
         (select id as other, tiny as wanted from TABLE where {condition} order by id limit 40) b \
         on small = wanted order by id, other"
    );
    for query in [of_one, of_two] {
        let mut ask = |table: &str| {
            let text = query.replace("TABLE", table);
            session.query(&text, &[]).expect(&text).rows
        };
        let hot = ask("hot");
        for table in ["cold", "mixed"] {
            let other = ask(table);
            assert_eq!(hot.len(), other.len(), "seed {seed}, {table}: {query}");
            assert_eq!(hot, other, "seed {seed}, {table}: {query}");
        }
    }
}

/// Makes the tables, of 3,000 rows.
fn fill(db: &SqlDatabase, session: &mut Session, random: &mut Random) {
    all(
        session,
        "create table TABLE (id int primary key, tiny smallint, small int, big bigint, \
         price numeric(9,2), day date, mode text, note varchar(40), flag boolean, \
         half double precision, seven int, far int, due date, paid numeric(9,2), \
         at timestamp, seen timestamptz, near int)",
    );
    for ids in [0..1500, 1500..3000] {
        let first = ids.start;
        let rows: Vec<String> = ids.map(|id| row(random, id)).collect();
        let insert = format!("insert into hot values {}", rows.join(", "));
        session.execute(&insert).expect("rows are inserted");
        // Thousands of values are long to plan without optimisation.
        for table in ["cold", "mixed"] {
            let copy =
                format!("insert into {table} select * from hot where id >= {first} order by id");
            session.execute(&copy).expect("the same rows are inserted");
        }
        if frozen_rows(db, "mixed") == 0 {
            session.execute("vacuum full mixed").expect("a table freezes");
        }
    }
    session.execute("vacuum full cold").expect("a table freezes");
    let frozen = ["hot", "cold", "mixed"].map(|table| frozen_rows(db, table));
    assert_eq!(frozen, [0, 3000, 1500]);
}

#[test]
fn frozen_rows_answer_as_hot_ones() {
    for seed in seeds("REMANENT_FROZEN_SEEDS", 1, 2) {
        let mut random = Random(seed);
        let db = SqlDatabase::in_memory().expect("a database in memory opens");
        let mut session = db.session();
        fill(&db, &mut session, &mut random);
        let join = "explain analyze select * from hot join cold on hot.id = cold.tiny \
                    where hot.small = 5";
        let plan = session.query(join, &[]).expect("a join is explained").rows;
        assert!(format!("{plan:?}").contains("key_sets=1"), "{plan:?}");
        for round in 0..3 {
            for _ in 0..8 {
                let condition = condition(&mut random);
                compare(&mut session, &condition, seed);
            }
            let at = random.below(2500);
            all(&mut session, &format!("update TABLE set small = 5, mode = 'NEW' where id = {at}"));
            all(&mut session, &format!("delete from TABLE where id between {at} and {}", at + 20));
            let fresh = row(&mut random, 10_000 + round);
            all(&mut session, &format!("insert into TABLE values {fresh}"));
            if round == 1 {
                session.execute("vacuum full cold").expect("a table freezes again");
                assert!(frozen_rows(&db, "cold") > 2900, "seed {seed}");
            }
        }
    }
}

/// A transaction that has changed rows sees them as they are now, and one whose snapshot is older
/// than changes sees them as they were, whatever of it is frozen.
#[test]
fn own_changes_and_old_snapshots_are_seen_in_hot_rows() {
    let mut random = Random(7);
    let db = SqlDatabase::in_memory().expect("a database in memory opens");
    let [mut old, mut session] = [db.session(), db.session()];
    fill(&db, &mut session, &mut random);
    let conditions: Vec<String> = (0..6).map(|_| condition(&mut random)).collect();
    let ask = |session: &mut Session| {
        let answers = conditions.iter().map(|condition| {
            compare(session, condition, 7);
            let query = format!("select * from hot where {condition} order by id");
            session.query(&query, &[]).expect(condition).rows
        });
        answers.collect::<Vec<_>>()
    };
    old.execute("begin isolation level repeatable read").expect("a snapshot");
    let before = ask(&mut old);
    session.execute("begin").expect("a transaction");
    for id in (0..3000).step_by(50) {
        let fresh = row(&mut random, 20_000 + id);
        all(&mut session, &format!("insert into TABLE values {fresh}"));
        all(&mut session, &format!("update TABLE set small = 5, mode = 'NEW' where id = {id}"));
        all(&mut session, &format!("delete from TABLE where id between {id} + 7 and {id} + 9"));
    }
    let within = ask(&mut session);
    assert_ne!(before, within);
    assert_eq!(before, ask(&mut old), "nothing is committed");
    session
        .execute("savepoint here; delete from hot; delete from cold; delete from mixed")
        .expect("all");
    assert!(ask(&mut session).iter().all(Vec::is_empty));
    session.execute("rollback to here; commit").expect("it commits");
    assert_eq!(within, ask(&mut session));
    assert_eq!(before, ask(&mut old), "the snapshot is older");
    old.execute("rollback").expect("it ends");
    assert_eq!(within, ask(&mut old));
}

/// A condition on arrays leaves few rows of each batch of hot ones, which wait for one another.
#[test]
fn few_rows_of_many_batches_are_all_given_out() {
    const ROWS: i64 = 60_000;
    let db = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = db.session();
    let script = format!(
        "create table hot (id int primary key, far bigint, note text);
         insert into hot select value, value * 7919 % 60013, 'note ' || (value % 100)
             from generate_series(0, {}) as g(value)",
        ROWS - 1
    );
    session.execute(&script).expect("rows");
    assert_eq!(frozen_rows(&db, "hot"), 0);
    let mut ids = |query: &str| -> Vec<i64> {
        let rows = session.query(query, &[]).expect(query).rows;
        rows.iter().map(|row| row[0].as_i64().expect("a number")).collect()
    };
    let some = ids("select id from hot where id % 1000 = 7");
    assert_eq!(some, (0..ROWS).filter(|id| id % 1000 == 7).collect::<Vec<_>>());
    let most = ids("select id from hot where id % 1000 <> 7 and note <> 'note 8'");
    let met = |id: &i64| id % 1000 != 7 && id % 100 != 8;
    assert_eq!(most, (0..ROWS).filter(met).collect::<Vec<_>>());
    let none = ids("select id from hot where id % 1000 > 1000");
    assert!(none.is_empty());
    // What a sort wants is known while it runs.
    let mut sorted: Vec<i64> = (0..ROWS).collect();
    sorted.sort_by_key(|id| id * 7919 % 60_013);
    assert_eq!(ids("select id from hot order by far limit 20"), sorted[..20]);
}
