//! Random queries over tables with NULLs, outliers and keys of two kinds, divided among tasks by
//! keys: joins of all kinds on each other, grouped derived tables, conditions with subqueries.
//! Tasks together give what one query gives.

use std::fmt::Write;

use remanent_sql::{Session, SqlDatabase};

use crate::stages::{Place, ran, rows, with_workers};

const QUERIES: u64 = 50;
const SEED: u64 = 20_261_128;
/// Of a hundred queries so many are divided, at least.
const DIVIDED_MIN: u64 = 15;

/// Steele, Lea, Flood (2014), SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }

    fn of<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn fill(random: &mut Random, sessions: &mut [Session]) {
    let mut script = String::new();
    for (table, key) in [("a", "int"), ("b", "int"), ("c", "int"), ("w", "bigint")] {
        writeln!(script, "create table {table} (id int primary key, k {key}, l {key}, v int);")
            .expect("a text");
        let rows = 200 + random.below(200);
        for id in 0..rows {
            let mut cell = |most: u64| match random.below(12) {
                0 => "null".to_owned(),
                1 if most > 50 => "-1000000".to_owned(),
                _ => random.below(most).to_string(),
            };
            let (k, l, v) = (cell(150), cell(100), cell(9));
            writeln!(script, "insert into {table} values ({}, {k}, {l}, {v});", id * 2)
                .expect("a text");
        }
    }
    for session in sessions {
        session.execute(&script).expect("rows");
        session.execute("analyze").expect("statistics");
    }
}

/// A table, or groups of one: both have the columns `id`, `k`, `l` and `v`.
fn relation(random: &mut Random) -> String {
    let table = random.of(&["a", "b", "c", "a", "b"]);
    match random.below(5) {
        0 => format!("(select k as id, k, max(l) as l, count(*) as v from {table} group by k)"),
        1 => format!("(select max(id) as id, k, l, sum(v) as v from {table} group by k, l)"),
        2 => format!("(select * from {table} where v {} 4)", random.of(&["<", ">", "<>"])),
        _ => table.to_owned(),
    }
}

fn condition(random: &mut Random, alias: &str) -> String {
    let key = random.of(&["k", "id", "l"]);
    let table = random.of(&["a", "b", "c"]);
    let not = random.of(&["", "not "]);
    match random.below(6) {
        0 => format!("{alias}.{key} {not}in (select {key} from {table})"),
        1 => format!("{alias}.{key} {not}in (select k from {table} where k is not null)"),
        2 => format!("{not}exists (select 1 from {table} z where z.k = {alias}.{key} and z.v > 3)"),
        3 => format!(
            "{not}exists (select 1 from {table} z where z.{key} = {alias}.{key} \
             and z.l > {alias}.l)"
        ),
        4 => format!("{alias}.v > {}", random.below(9)),
        _ => format!("{alias}.{key} is {not}null"),
    }
}

fn query(random: &mut Random) -> String {
    let mut from = format!("{} as t0", relation(random));
    let joined = 1 + random.below(3);
    for place in 1..=joined {
        let kind = random.of(&["join", "join", "left join", "right join", "full join"]);
        let (one, other) = (random.of(&["k", "id", "k"]), random.of(&["k", "id", "l"]));
        let before = random.below(place);
        write!(
            from,
            " {kind} {} as t{place} on t{place}.{one} = t{before}.{other}",
            relation(random)
        )
        .expect("a text");
        if kind != "full join" && random.below(4) == 0 {
            write!(from, " and t{place}.v < {}", random.below(9)).expect("a text");
        }
    }
    let alias = format!("t{}", random.below(joined + 1));
    if random.below(2) == 0 {
        write!(from, " where {}", condition(random, &alias)).expect("a text");
    }
    let key = random.of(&["k", "id", "l"]);
    match random.below(5) {
        0 => format!(
            "select {alias}.{key}, count(*), sum(t0.v), count(distinct t1.l) from {from} \
             group by {alias}.{key} order by 2 desc, 1 limit 9"
        ),
        1 => format!(
            "select count(*), sum(t0.v), min(t1.k), max({alias}.l), count(t1.id) from {from}"
        ),
        2 => format!(
            "select n, count(*) from (select {alias}.{key}, count(t1.id) as n from {from} \
             group by {alias}.{key}) as q group by n order by n"
        ),
        3 => format!(
            "select {alias}.v, count(*), avg(t0.k) from {from} group by {alias}.v order by 1"
        ),
        _ => format!(
            "select t0.id, t1.id, {alias}.v, {alias}.k from {from} order by 1, 2, 3, 4 limit 12"
        ),
    }
}

#[test]
fn tasks_by_keys_give_together_what_one_query_gives() {
    let said = std::env::var("REMANENT_STAGES_SEED").ok();
    let seed = said.and_then(|text| text.parse().ok()).unwrap_or(SEED);
    let mut random = Random(seed);
    let [db, other] = [(); 2].map(|()| SqlDatabase::in_memory().expect("a database"));
    fill(&mut random, &mut [db.session(), other.session()]);
    let mut place: Place = with_workers(db, &other, 3, 1);
    let mut divided = 0;
    for number in 0..QUERIES {
        let query = query(&mut random);
        let expected = rows(&mut place.alone, &query);
        let (stages, found) = ran(&mut place, &query);
        assert_eq!(found, expected, "seed {seed}, query {number}: {query}");
        divided += u64::from(stages > 0);
    }
    assert!(divided * 100 >= DIVIDED_MIN * QUERIES, "{divided} of {QUERIES} queries were divided");
}
