//! Joins by keys answer as the same joins by comparisons, which find no key and look at all pairs.
//!
//! `x = y` is spelled `x >= y and x <= y` for the other side: the same of any values and of NULL.
//! Tables are hot, frozen, or frozen and changed, and every kind of join stands on every other.

use std::fmt::Write;

use crate::random::{Random, seeds};
use remanent_sql::{Session, SqlDatabase};

/// Columns that can be keys, of two tables, with the same type.
const KEYS: [&str; 6] = ["id", "k", "wide", "day", "word", "price"];

fn of<'c>(random: &mut Random, choices: &[&'c str]) -> &'c str {
    choices[random.below(choices.len() as u64) as usize]
}

/// Rows between two parts of a table that lie in different segments.
const SPREAD: i64 = 70_000;

/// Rows that go again, so that those behind them lie in another segment: threads read one each.
fn spread(session: &mut Session, table: &str) {
    let ids = format!("generate_series(1000000, {}) g(i)", 1_000_000 + SPREAD);
    let insert = format!("insert into {table} (id) select i from {ids}");
    session.execute(&insert).expect("rows are inserted");
}

/// Tables of so many rows at least.
pub(crate) fn tables(random: &mut Random, session: &mut Session, is_spread: bool, least: usize) {
    for table in ["a", "b", "c"] {
        let sql = format!(
            "create table {table} (id int primary key, k int, wide bigint, day date, word text, \
             price numeric(9,2), flag boolean)"
        );
        session.execute(&sql).expect("a table is made");
        let rows = [0, 1, 40, 90, 200][random.below(5) as usize].max(least);
        let mut values = Vec::new();
        for id in 0..rows {
            let mut row = format!("({}", id * 3);
            let null_in = [3, 8, 1000][random.below(3) as usize];
            let mut cell = |text: String, random: &mut Random| {
                let is_null = random.below(null_in) == 0;
                let text = if is_null { "null".to_owned() } else { text };
                write!(row, ", {text}").expect("a text grows");
            };
            let number = random.below(60);
            cell((number * 3).to_string(), random);
            cell((number as i64 * 1_234_567_890_123 - 7).to_string(), random);
            cell(format!("date '2024-01-01' + {}", random.below(50)), random);
            cell(format!("'word {} of many'", random.below(40)), random);
            cell(format!("{}.25", random.below(30)), random);
            cell((random.below(2) == 0).to_string(), random);
            row.push(')');
            values.push(row);
        }
        let part = if is_spread { values.len().div_ceil(3).max(1) } else { usize::MAX };
        for (at, values) in values.chunks(part.min(values.len().max(1))).enumerate() {
            if at > 0 {
                spread(session, table);
            }
            let sql = format!("insert into {table} values {}", values.join(", "));
            session.execute(&sql).expect("rows are inserted");
            let delete = format!("delete from {table} where id >= 1000000");
            session.execute(&delete).expect("rows go");
        }
        match random.below(3) {
            0 => {}
            state => {
                session.execute(&format!("vacuum full {table}")).expect("a table freezes");
                if state == 2 {
                    let update = format!("update {table} set k = k + 3 where id % 5 = 0");
                    session.execute(&update).expect("rows change");
                    let delete = format!("delete from {table} where id % 7 = 0");
                    session.execute(&delete).expect("rows go");
                    let insert = format!("insert into {table} (id, k) values (100000, 9)");
                    session.execute(&insert).expect("a row comes");
                }
            }
        }
    }
}

/// A query, in which `EQ(x;y)` stands for the equality of two columns, and `ND(x;y)` for the one
/// that finds NULL equal to NULL.
pub(crate) fn query(random: &mut Random) -> String {
    let on = |left: &str, right: &str, random: &mut Random| {
        let mut on = String::new();
        for _ in 0..=random.below(2) {
            let key = of(random, &KEYS);
            let other = if key == "id" { of(random, &["id", "k"]) } else { key };
            let and = if on.is_empty() { "" } else { " and " };
            let equality = of(random, &["EQ", "EQ", "EQ", "EQ", "ND"]);
            write!(on, "{and}{equality}({left}.{key};{right}.{other})").expect("a text grows");
        }
        match random.below(5) {
            0 => write!(on, " and {left}.price < {right}.price + 3").expect("a text grows"),
            1 => write!(on, " and {right}.flag").expect("a text grows"),
            _ => {}
        }
        on
    };
    let join = ["join", "left join", "right join", "full join", "join"];
    let mut from = format!("a {} b on {}", of(random, &join), on("a", "b", random));
    let has_third = random.below(3) > 0;
    if has_third {
        let left = of(random, &["a", "b"]);
        write!(from, " {} c on {}", of(random, &join), on(left, "c", random)).expect("a text");
    }
    let mut conditions = Vec::new();
    if random.below(2) == 0 {
        conditions
            .push(of(random, &["a.flag", "b.k > 60", "a.id < 200", "b.word like '%1%'"]).into());
    }
    if random.below(2) == 0 {
        let outer = of(random, &["a", "b"]);
        let inner = on(outer, "s", random);
        let not = of(random, &["", "not "]);
        conditions.push(format!("{not}exists (select 1 from c s where {inner})"));
    } else if random.below(3) == 0 {
        let not = of(random, &["", "not "]);
        let or = of(random, &["", " or a.flag"]);
        conditions.push(format!("(a.k {not}in (select k from c where c.id < 150){or})"));
    }
    let filter = match conditions.is_empty() {
        true => String::new(),
        false => format!(" where {}", conditions.join(" and ")),
    };
    let (list, group) = match random.below(4) {
        0 => ("count(*), sum(a.k), min(b.day), max(b.price), count(b.word)", ""),
        1 => ("a.id, count(*), sum(b.price)", " group by a.id"),
        2 => ("b.id, b.word, a.flag, count(a.k)", " group by b.id, b.word, a.flag"),
        _ if has_third => ("a.id, b.id, c.id, b.word, c.day, a.price + b.price", ""),
        _ => ("a.id, b.id, b.word, b.day, a.wide", ""),
    };
    format!("select {list} from {from}{filter}{group}")
}

pub(crate) fn spelled(query: &str, word: &str, equal: impl Fn(&str, &str) -> String) -> String {
    let mut spelled = String::new();
    let mut rest = query;
    while let Some((before, from)) = rest.split_once(word) {
        let (pair, behind) = from.split_once(')').expect("it is closed");
        let (left, right) = pair.split_once(';').expect("two columns");
        spelled.push_str(before);
        spelled.push_str(&equal(left, right));
        rest = behind;
    }
    spelled + rest
}

fn answer(session: &mut Session, text: &str) -> Vec<String> {
    let answer = session.query(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut rows: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn joins_by_keys_answer_as_joins_by_comparisons() {
    let (mut pipelines, mut asked) = (0, 0);
    for seed in seeds("REMANENT_JOINS_SEEDS", 0, 12) {
        let random = &mut Random(seed);
        let db = SqlDatabase::in_memory().expect("a database in memory opens");
        let mut session = db.session();
        // Some tables are read by several threads, whatever machine this is.
        let is_spread = seed % 4 == 3;
        tables(random, &mut session, is_spread, 0);
        let threads = if is_spread { 2 + seed % 3 } else { 1 };
        session.execute(&format!("set query_threads = {threads}")).expect("a setting");
        for _ in 0..40 {
            let query = query(random);
            let by_key = spelled(&query, "EQ(", |left, right| format!("{left} = {right}"));
            let by_key = spelled(&by_key, "ND(", |left, right| {
                format!("{left} is not distinct from {right}")
            });
            let both = |left: &str, right: &str| format!("{left} >= {right} and {left} <= {right}");
            let by_comparison = spelled(&query, "EQ(", both);
            let by_comparison = spelled(&by_comparison, "ND(", |left, right| {
                let are_null = format!("{left} is null and {right} is null");
                format!("(({}) is true or ({are_null}))", both(left, right))
            });
            let found = answer(&mut session, &by_key);
            let expected = answer(&mut session, &by_comparison);
            assert_eq!(found, expected, "seed {seed}: {by_key}");
            asked += 1;
            let plan = answer(&mut session, &format!("explain {by_key}"));
            pipelines += usize::from(plan.iter().any(|line| line.contains("Pipeline")));
        }
    }
    // Else nothing was tested; where a table is empty, a join may be none.
    assert!(pipelines * 10 > asked * 8, "{pipelines} of {asked} queries were pipelines");
}

/// A bit for each column of a key says whether it is null, and there are not as many as a table may
/// have columns.
#[test]
fn keys_of_many_columns_are_compared_as_a_whole() {
    let mut session = SqlDatabase::in_memory().expect("a database opens").session();
    let names: Vec<String> = (0..90).map(|column| format!("c{column}")).collect();
    let columns = names.iter().map(|name| format!("{name} int")).collect::<Vec<_>>().join(", ");
    for table in ["x", "y"] {
        session.execute(&format!("create table {table} ({columns})")).expect("a table is made");
    }
    // Each row is null in one column, and 7 elsewhere; the second table lacks some.
    let row = |null: usize| {
        let cells = (0..90).map(|column| if column == null { "null" } else { "7" });
        format!("({})", cells.collect::<Vec<_>>().join(", "))
    };
    for (table, step) in [("x", 1), ("y", 3)] {
        let rows: Vec<String> = (0..90).step_by(step).map(row).collect();
        let insert = format!("insert into {table} values {}", rows.join(", "));
        session.execute(&insert).expect("rows are inserted");
    }
    let count = |session: &mut Session, query: &str| {
        let text = format!("select count(*) from ({query}) q");
        session.query(&text, &[]).expect(query).rows[0][0].as_i64()
    };
    assert_eq!(count(&mut session, "select * from x intersect select * from y"), Some(30));
    assert_eq!(count(&mut session, "select * from x except select * from y"), Some(60));
    let all = names.iter().map(|name| format!("x.{name} = y.{name}"));
    let on = all.collect::<Vec<_>>().join(" and ");
    assert_eq!(count(&mut session, &format!("select x.c0 from x join y on {on}")), Some(0));
}

/// Rows that follow one another in runs go through a join of which no column is wanted.
#[test]
fn runs_of_rows_are_grouped_behind_a_join_that_adds_nothing() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let statements = [
        "create table days (id int primary key, week int)",
        "insert into days select i, i / 7 from generate_series(0, 79) g(i)",
        "create table t (id int primary key, day int, kind int, amount int)",
        "insert into t select i, i / 1000, i % 10, i % 13 from generate_series(0, 79999) g(i)",
        "vacuum full",
    ];
    for statement in statements {
        session.execute(statement).expect(statement);
    }
    for weeks in ["(1, 3, 4)", "(2)", "(0, 6)"] {
        let query = format!(
            "select kind, sum(amount), count(*) from t join days on day = days.id \
             where week in {weeks} group by kind order by 1"
        );
        let alone = format!(
            "select kind, sum(amount), count(*) from t where day / 7 in {weeks} \
             group by kind order by 1"
        );
        assert_eq!(answer(&mut session, &query), answer(&mut session, &alone), "{weeks}");
    }
}

/// No two rows of a build side have one key that another can equal; of those whose key is null
/// there are several, and they are one group.
#[test]
fn rows_without_a_key_are_one_group() {
    let mut session = SqlDatabase::in_memory().expect("a database opens").session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table r (k int, l int, n int)");
    run(
        "insert into r values (null, 1, 10), (null, 1, 20), (null, 2, 40), (5, 1, 80), (7, 1, 160)",
    );
    run("create table s (k int, l int)");
    run("insert into s select i, 1 from generate_series(0, 3000) g(i) where i <> 7");
    for (query, expected) in [
        (
            "select k, count(*), sum(n) from r \
             where not exists (select 1 from s where s.k = r.k) group by k",
            ["7 1 160", "null 3 70"].as_slice(),
        ),
        (
            "select k, l, count(*), sum(n) from r \
             where not exists (select 1 from s where s.k = r.k and s.l = r.l) group by k, l",
            &["7 1 1 160", "null 1 2 30", "null 2 1 40"],
        ),
        (
            "select r.k, count(s.k), sum(n) from r left join s on r.k = s.k group by r.k",
            &["5 1 80", "7 0 160", "null 0 70"],
        ),
        (
            "select r.k, r.k in (select k from s) as is_in, count(*), sum(n) from r \
             group by r.k, r.k in (select k from s)",
            &["5 t 1 80", "7 f 1 160", "null null 3 70"],
        ),
        (
            "select r.k, count(*) from s right join r using (k) group by r.k",
            &["5 1", "7 1", "null 3"],
        ),
    ] {
        let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
        let cell = |cell: &remanent_sql::Datum| match cell.to_string() {
            text if text.is_empty() => "null".to_owned(),
            text => text,
        };
        let row = |row: &Vec<_>| row.iter().map(cell).collect::<Vec<_>>().join(" ");
        let mut found: Vec<String> = answer.rows.iter().map(row).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn what_is_computed_on_a_side_without_a_row_is_null() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script = "create table a (id int primary key, k int); \
        create table b (id int primary key, word text, n int not null); \
        insert into a select i, i % 10 from generate_series(1, 30) g(i); \
        insert into b values (1, 'one', 1), (2, null, 2), (3, 'three', 3)";
    session.execute(script).expect("rows");
    // Either side may be the one that is hashed.
    let more = "insert into b select i, 'word', i from generate_series(100, 2000) g(i)";
    for rows in ["", more] {
        session.execute(rows).expect(rows);
        for computed in [
            "coalesce(word, 'none')",
            "concat_ws('-', 'x', word)",
            "case when word is null then 'no' else word end",
            "n * 2 + 1",
            "word is null",
            "n in (1, 2)",
            "5",
        ] {
            let side = format!("(select id, {computed} as made from b)");
            // Beside it, whether there is a row at all.
            for text in [
                format!(
                    "select count(*) from a left join {side} s on s.id = a.k \
                         where s.id is null and s.made is not null"
                ),
                format!(
                    "select count(*) from {side} s right join a on s.id = a.k \
                         where s.id is null and s.made is not null"
                ),
                format!("select count(made) - count(s.id) from a full join {side} s on s.id = a.k"),
                format!(
                    "select count(made) - count(s.id) from a left join (select s.id, made from \
                         {side} s join b on b.id = s.id) s on s.id = a.k + 0"
                ),
            ] {
                let rows = session.query(&text, &[]).expect(&text).rows;
                assert_eq!(rows[0][0].to_string(), "0", "{text}");
            }
            let text = format!("select made from a left join {side} s on s.id = a.k");
            let rows = session.query(&text, &[]).expect(&text).rows;
            let nulls = rows.iter().filter(|row| row[0].is_null()).count();
            assert_eq!((rows.len(), nulls), (30, 21), "{text}");
        }
    }
}
