//! Aggregates on encoded columns answer as DataFusion's.
//!
//! Each query is asked twice: as it is, and with one more function, which only DataFusion has, so
//! that it computes all of them. Tables are hot, frozen, and frozen with changes. The seed is in
//! every message.

use std::sync::Arc;

use crate::random::{Random, seeds};
use remanent_engine::{Database, Options};
use remanent_sql::{Datum, Session, SqlDatabase};

/// What decides of which shape a table's values are.
#[derive(Clone, Copy)]
struct Shape {
    /// One value in so many is null; 0 if none is.
    nulls: u64,
    /// Whether numbers are so large that products of two do not fit.
    is_large: bool,
}

fn row(random: &mut Random, id: u64, shape: Shape) -> String {
    let number = random.next();
    let wide = if shape.is_large { number as i64 } else { number as i64 % 1_000_000 };
    let words = ["AIR", "RAIL", "SHIP", "a much longer word than twelve letters", ""];
    let values = [
        format!("{}", number % 7),
        format!("{}", id / 4),
        format!("{}", (number >> 7) % 60_000),
        format!("{wide}"),
        format!("'{}'", words[(number >> 3) as usize % 5]),
        format!("'note {} of some length'", (number >> 5) % 400),
        format!("{}.{:02}", (number >> 9) as i64 % 2_000 - 1_000, number % 100),
        format!("0.{:02}", number % 11),
        format!("{}.5", i128::from(wide) * 1_000_000_000_000_000),
        format!("'19{:02}-0{}-1{}'", 70 + number % 30, 1 + number % 9, number % 10),
        format!("'2024-01-{:02} {:02}:00:00.{:06}'", 1 + id % 28, id % 24, id),
        format!("{}", number.is_multiple_of(2)),
        format!("{}", (number % 1_000) as f64 / 8.0),
        "7".to_owned(),
    ];
    let mut nullable = |value: String| match shape.nulls {
        0 => value,
        nulls if random.below(nulls) == 0 => "null".to_owned(),
        _ => value,
    };
    let values = values.map(&mut nullable);
    format!("({id}, {})", values.join(", "))
}

const KEYS: [&str; 18] = [
    "tiny",
    "run",
    "small",
    "wide",
    "mode",
    "note",
    "price",
    "day",
    "at",
    "flag",
    "seven",
    "extract(year from day)",
    "upper(mode)",
    "tiny + small",
    "date_trunc('month', day)",
    "extract(month from day)",
    "case when small > 30000 then 'many' when tiny is null then 'none' end",
    "case tiny when 1 then 5 when 2 then 7 else 100 / (tiny - 9) end",
];

const FUNCTIONS: [&str; 35] = [
    "count(*)",
    "count(tiny)",
    "count(note)",
    "count(flag)",
    "sum(tiny)",
    "sum(small)",
    "sum(wide)",
    "sum(price)",
    "sum(huge)",
    "sum(half)",
    "sum(price * (1 - part))",
    "sum(price * (1 - part) * (1 + part))",
    "sum(small * 2 - tiny)",
    "sum(wide * small)",
    "sum(case when mode = 'AIR' then price else 0 end)",
    "avg(tiny)",
    "avg(price)",
    "avg(huge)",
    "avg(half)",
    "min(small)",
    "max(wide)",
    "min(price)",
    "max(huge)",
    "min(day)",
    "max(at)",
    "min(price * part)",
    "count(*) filter (where small > 30000)",
    "count(note) filter (where tiny > 2)",
    "sum(price) filter (where tiny = 2)",
    "avg(huge) filter (where flag)",
    "min(day) filter (where mode = 'AIR')",
    "sum(100 / (tiny - 3)) filter (where tiny <> 3)",
    "sum(100 / (tiny - 6))",
    "sum(coalesce(abs(tiny), 50))",
    "sum(extract(month from day)::int)",
];

const CONDITIONS: [&str; 7] = [
    "true",
    "true",
    "tiny <> 3",
    "small > 50000",
    "day < date '1998-01-01'",
    "mode = 'AIR' and note like '%1%'",
    "tiny < 0",
];

fn one_of<'c>(random: &mut Random, choices: &[&'c str]) -> &'c str {
    choices[random.below(choices.len() as u64) as usize]
}

/// A query, and the same for DataFusion.
fn query(random: &mut Random) -> [String; 2] {
    let keys: Vec<&str> = (0..random.below(4)).map(|_| one_of(random, &KEYS)).collect();
    let functions: Vec<&str> =
        (0..1 + random.below(6)).map(|_| one_of(random, &FUNCTIONS)).collect();
    let condition = one_of(random, &CONDITIONS);
    let positions: Vec<String> = (1..=keys.len()).map(|at| at.to_string()).collect();
    let by = match keys.is_empty() {
        true => String::new(),
        false => format!(" group by {}", positions.join(", ")),
    };
    let items = [keys, functions].concat();
    let items: Vec<String> =
        items.iter().zip(0..).map(|(item, at)| format!("{item} as c{at}")).collect();
    let items = items.join(", ");
    let with = |more: &str| format!("select {items}{more} from TABLE where {condition}{by}");
    [with(""), with(", bool_and(id >= 0) as extra")]
}

/// The rows of a query in an order of their own, without the extra column; or the state of its
/// error.
fn answer(
    session: &mut Session,
    text: &str,
    columns: Option<usize>,
) -> Result<Vec<String>, String> {
    let rows = session.query(text, &[]).map_err(|error| error.state().as_str().to_owned())?.rows;
    let texts = rows.into_iter().map(|mut row: Vec<Datum>| {
        row.truncate(columns.unwrap_or(row.len()));
        format!("{row:?}")
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    Ok(texts)
}

fn compare(session: &mut Session, [mine, other]: &[String; 2], table: &str, seed: u64) -> bool {
    let [mine, other] = [mine, other].map(|text| text.replace("TABLE", table));
    let columns = mine.matches(" as c").count();
    let found = answer(session, &mine, None);
    let expected = answer(session, &other, Some(columns));
    assert_eq!(found, expected, "seed {seed}: {mine}");
    found.is_err()
}

fn is_encoded(session: &mut Session, text: &str) -> bool {
    let plan = session.query(&format!("explain {text}"), &[]).expect("it is explained").rows;
    format!("{plan:?}").contains("Aggregate: ")
}

fn filled(seed: u64, rows: u64, shape: Shape) -> Arc<SqlDatabase> {
    let mut random = Random(seed);
    let db = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = db.session();
    let null = if shape.nulls == 0 { "not null" } else { "" };
    let rows: Vec<String> = (0..rows).map(|id| row(&mut random, id, shape)).collect();
    for table in ["hot", "cold", "mixed"] {
        let create = format!(
            "create table {table} (id int primary key, tiny smallint {null}, run int {null}, \
             small int {null}, wide bigint {null}, mode text {null}, note varchar(40) {null}, \
             price numeric(9,2) {null}, part numeric(4,2) {null}, huge numeric(38,2) {null}, \
             day date {null}, at timestamp {null}, flag boolean {null}, \
             half double precision {null}, seven int {null})"
        );
        session.execute(&create).expect(&create);
        if !rows.is_empty() {
            // Thousands of values are long to plan without optimisation.
            let insert = match table {
                "hot" => format!("insert into hot values {}", rows.join(", ")),
                _ => format!("insert into {table} select * from hot order by id"),
            };
            session.execute(&insert).expect("rows");
        }
    }
    session.execute("vacuum full cold").expect("a table freezes");
    session.execute("vacuum full mixed").expect("a table freezes");
    session.execute("update mixed set tiny = 3, mode = 'NEW' where id % 50 = 1").expect("it is");
    session.execute("delete from mixed where id % 70 < 3").expect("they are deleted");
    drop(session);
    db
}

#[test]
fn groups_are_those_of_datafusion() {
    let (mut failed, mut encoded, mut asked) = (0, 0, 0);
    let shapes = [(0, false), (6, false), (0, true), (5, true)];
    for seed in seeds("REMANENT_GROUPS_SEEDS", 1, 4) {
        let (nulls, is_large) = shapes[(seed as usize + 3) % 4];
        let db = filled(seed, 1_500, Shape { nulls, is_large });
        let mut session = db.session();
        let mut random = Random(seed * 77);
        for _ in 0..16 {
            let texts = query(&mut random);
            for table in ["hot", "cold", "mixed"] {
                failed += usize::from(compare(&mut session, &texts, table, seed));
            }
            asked += 1;
            encoded += usize::from(is_encoded(&mut session, &texts[0].replace("TABLE", "cold")));
            assert!(!is_encoded(&mut session, &texts[1].replace("TABLE", "cold")));
        }
    }
    assert!(failed > 4, "{failed} queries failed; numbers are to be too large now and then");
    assert_eq!(encoded, asked, "queries that were computed on encoded columns");
}

/// An argument is computed of rows that meet the filter alone, whatever other functions there are.
#[test]
fn filters_come_before_arguments() {
    let db = filled(7, 500, Shape { nulls: 6, is_large: false });
    let mut session = db.session();
    for more in ["", ", bool_and(id >= 0)", ", string_agg(mode, ',')"] {
        for table in ["hot", "cold", "mixed"] {
            let filtered = format!(
                "select sum(100 / (tiny - 3)) filter (where tiny <> 3), \
                 count(distinct 7 / tiny) filter (where tiny > 0), \
                 max(100 / tiny) filter (where tiny > 0 and id < 0){more} from {table} \
                 group by id < 0"
            );
            let row = session.query(&filtered, &[]).expect(&filtered).rows.remove(0);
            let below = |column: &str, condition: &str| {
                format!("(select {column} from {table} where {condition})")
            };
            let separate = format!(
                "select {}, {}, null",
                below("sum(100 / (tiny - 3))", "tiny <> 3"),
                below("count(distinct 7 / tiny)", "tiny > 0"),
            );
            let expected = session.query(&separate, &[]).expect(&separate).rows.remove(0);
            assert_eq!(row[..3], expected, "{filtered}");
            let fails =
                format!("select sum(100 / (tiny - 3)) filter (where tiny < 5){more} from {table}");
            let error = session.query(&fails, &[]).expect_err(&fails);
            assert_eq!(error.state().as_str(), "22012", "{fails}");
        }
    }
}

/// No rows, one row, and rows of nothing but nulls.
#[test]
fn few_rows_have_groups_too() {
    for (rows, nulls) in [(0, 0), (1, 0), (1, 1), (300, 1)] {
        let db = filled(9, rows, Shape { nulls, is_large: false });
        let mut session = db.session();
        let mut random = Random(rows + nulls);
        for _ in 0..8 {
            let texts = query(&mut random);
            for table in ["hot", "cold", "mixed"] {
                compare(&mut session, &texts, table, rows);
            }
        }
    }
}

/// Sums in words of 8 bytes move to wider ones before they overflow.
#[test]
fn sums_of_large_numbers_are_whole() {
    let db = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = db.session();
    session.execute("create table t (id int, n bigint not null)").expect("a table");
    let insert = "insert into t select i, 9000000000000000000 + i % 3 \
                  from generate_series(1, 5000) as s(i)";
    session.execute(insert).expect("rows");
    let sum = |remainder: i128| {
        let rows = (1..=5000).filter(|i| i % 2 == remainder);
        rows.map(|i| 9_000_000_000_000_000_000 + i % 3).sum::<i128>()
    };
    let all = sum(0) + sum(1);
    for freeze in ["select 1", "vacuum full t"] {
        session.execute(freeze).expect(freeze);
        let text = "select sum(n)::text, trunc(avg(n))::text from t";
        let rows = format!("{:?}", session.query(text, &[]).expect(text).rows);
        assert_eq!(rows, format!("[[Text(\"{all}\"), Text(\"{}\")]]", all / 5000));
        let by = "select sum(n)::text from t group by id % 2 order by 1";
        let rows = format!("{:?}", session.query(by, &[]).expect(by).rows);
        let [low, high] = [sum(0).min(sum(1)), sum(0).max(sum(1))];
        assert_eq!(rows, format!("[[Text(\"{low}\")], [Text(\"{high}\")]]"));
    }
}

/// The last digit is rounded, halves away from zero, as PostgreSQL 15 does it: by itself, in groups
/// of either kind, of different values, in windows, and of parts that are put together.
#[test]
fn averages_are_rounded() {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    session.execute("create table t (id int primary key, g int, n int, b bigint)").expect("t");
    let fill = "insert into t select i, i % 3, case when i % 3 = 1 then -i else i end, \
                9000000000000000000 - i from generate_series(1, 4000) g(i)";
    session.execute(fill).expect("rows");
    let mut texts = |sql: &str| -> Vec<String> {
        let answer = session.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let values = answer.rows.iter().flatten();
        values.map(|value| value.to_text().unwrap_or_default()).collect()
    };
    let thirteen = "(values (20), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0)) v(x)";
    for (what, expected) in [
        ("avg(x)", "1.5384615384615385"),
        ("avg(-x)", "-1.5384615384615385"),
        ("avg(x), bit_or(x)", "1.5384615384615385"),
        ("avg(distinct x)", "10.0000000000000000"),
        ("avg(x / 200.0)", "0.00769230769230769231"),
    ] {
        assert_eq!(texts(&format!("select {what} from {thirteen}"))[0], expected, "{what}");
    }
    let groups = ["6.1666666666666667", "-4.4285714285714286", "5.1666666666666667"];
    for sql in [
        "select avg(n % 13) from t where id < 20 group by g order by g",
        "select avg from (select g, avg(n % 13), bit_or(n) from t where id < 20 group by g) q \
         order by g",
        "select avg(n % 13) from t where id < 20 group by rollup (g, id) \
         having grouping(id) = 1 and grouping(g) = 0 order by g",
    ] {
        assert_eq!(texts(sql), groups, "{sql}");
    }
    let sums = texts("select avg(n), bit_or(g), sum(n), count(n) from t");
    let mean = sums[2].parse::<f64>().expect("a sum") / sums[3].parse::<f64>().expect("a count");
    assert!((sums[0].parse::<f64>().expect("a mean") - mean).abs() < 1e-9, "{sums:?}");
    let rolled = "select avg(n) from t group by rollup (g, id % 7) having grouping(g) = 1";
    assert_eq!(texts(rolled)[0], sums[0]);
    // 4,000 numbers of 19 digits, with 16 after the point, are more than 38.
    let large = "8999999999999997999.5000000000000000";
    for sql in [
        "select avg(b) from t",
        "select avg(b), bit_or(b) from t",
        "select avg(distinct b) from t",
        "select distinct avg(b) over () from t",
        "select avg(b) over (order by id rows between unbounded preceding and current row) \
         from t order by id desc limit 1",
        "select avg(b) from t group by grouping sets ((), (g)) having grouping(g) = 1",
    ] {
        assert_eq!(texts(sql)[0], large, "{sql}");
    }
    let sliding = "select avg(n) over (order by id rows between 2 preceding and current row) \
                   from t where id <= 4 order by id";
    let expected = ["-1.0000000000000000", "0.5000000000000000", "1.3333333333333333"];
    assert_eq!(texts(sliding)[..3], expected);
    assert_eq!(texts(sliding)[3], "0.3333333333333333");
}

/// Groups that the budget has no room for end the statement, and nothing else.
#[test]
fn groups_take_memory_of_the_budget() {
    let engine = Database::open(Options::new().budget(64 << 20)).expect("it opens");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a database in memory opens");
    let mut session = db.session();
    session.execute("create table t (id int primary key, n int)").expect("a table");
    session
        .execute("insert into t select i, i % 10 from generate_series(1, 300000) as s(i)")
        .expect("rows");
    session.execute("vacuum full t").expect("it freezes");
    // In no order, so that a table is needed.
    let text = "select id * 7919 % 1000003 as k, sum(n), min(n), max(n), avg(n), sum(n * 2), \
                sum(n * 3), sum(n * 4), sum(n * 5), sum(n * 6), sum(n * 7) from t group by 1";
    let failed = session.query(text, &[]).expect_err("there is no room for 300,000 groups");
    assert_eq!(failed.state().as_str(), "53200", "{failed}");
    let rows = session.query("select n, count(*) from t group by n", &[]).expect("it goes on").rows;
    assert_eq!(rows.len(), 10);
}

/// Rows are not grouped by what a key determines, if nobody asks for it; also where a key comes out
/// of a subquery.
#[test]
fn nobody_groups_by_what_is_not_asked_for() {
    let mut session = SqlDatabase::in_memory().expect("a database in memory opens").session();
    for text in [
        "create table item (id int primary key, name text, price int)",
        "create table sale (id int primary key, item int, amount int)",
        "insert into item select i, 'n' || i % 3, i from generate_series(1, 9) g(i)",
        "insert into sale select i, 1 + i % 9, i from generate_series(1, 90) g(i)",
    ] {
        session.execute(text).expect(text);
    }
    let of_table =
        "select item.id, count(*) from sale join item on item = item.id group by item.id";
    let of_query = "select short, s.id, count(*) from sale, \
                    (select substr(name, 1, 1) as short, * from item where price > 2) s \
                    where item = s.id group by short, s.id";
    for (text, keys, groups) in [(of_table, 1, 9), (of_query, 2, 7)] {
        let plan =
            format!("{:?}", session.query(&format!("explain {text}"), &[]).expect(text).rows);
        let by = plan.split("gby=[").nth(1).and_then(|rest| rest.split(']').next());
        assert_eq!(by.map(|by| by.split(", ").count()), Some(keys), "{plan}");
        assert_eq!(session.query(text, &[]).expect(text).rows.len(), groups, "{text}");
    }
    // Both sides have a row for each: the key of one is none of the joined rows.
    let twice = "select a.id, a.short from (select id, substr(name, 1, 1) as short from item) a \
                 join sale on item = a.id group by a.id, a.short";
    assert_eq!(session.query(twice, &[]).expect(twice).rows.len(), 9);
}
