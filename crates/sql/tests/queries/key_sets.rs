//! Joins tell the scans of their larger sides which keys they have, which are compared with encoded
//! values: the answers are the same, whatever the encoding, and fewer rows come out of the scan.

use remanent_sql::{Datum, Session, SqlDatabase};

/// Rows of the larger side: several segments.
const ROWS: i64 = 140_000;

/// A small side whose keys are even numbers, and a large one, frozen, with columns of keys that are
/// kept in 1 to 4 bytes, as one constant, with NULL, and as days.
fn tables() -> Session {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let script = format!(
        "create table small (k int primary key, day date);
         insert into small select value * 20 - 50, date '2020-01-01' + value * 3
             from generate_series(0, 49) as g(value);
         create table large (id int primary key, one int, two int, three int, four int,
             same int, maybe int, day date);
         insert into large select value, value % 200 - 100, value % 3000 - 500,
             value * 7919 % 70001, value * 7919 % 70001 * 300 - 50, 10,
             case when value % 3 = 0 then null else value % 500 end,
             date '2020-01-01' + value % 400
             from generate_series(0, {last}) as g(value);
         vacuum full large",
        last = ROWS - 1
    );
    session.execute(&script).expect("tables");
    session
}

fn numbers(session: &mut Session, query: &str) -> Vec<i64> {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let row = answer.rows.first().expect("one row");
    row.iter().map(|datum| datum.as_i64().expect("a number")).collect()
}

/// How many sets of keys the scan of the large table was given, and how many rows came out of it.
fn of_scan(session: &mut Session, query: &str) -> (u64, u64) {
    of_table(session, query, "large")
}

/// The same of another table.
fn of_table(session: &mut Session, query: &str, table: &str) -> (u64, u64) {
    let plan = session.query(&format!("explain analyze {query}"), &[]).expect("a plan");
    let mut lines = plan.rows.iter().map(|row| row[0].to_string());
    let line =
        lines.find(|line| line.contains(&format!("Scan: {table}"))).expect("it reads the table");
    let number = |name: &str| {
        let (_, rest) = line.split_once(name).unwrap_or_else(|| panic!("{name} in {line}"));
        let spelled = rest.split([',', ']']).next().expect("a number");
        let (digits, factor) = match spelled.trim().strip_suffix(" K") {
            Some(digits) => (digits, 1000.0),
            None => (spelled.trim(), 1.0),
        };
        (digits.parse::<f64>().expect(spelled) * factor) as u64
    };
    (number("key_sets="), number("output_rows="))
}

fn key(value: i64) -> bool {
    (0..50).any(|small| small * 20 - 50 == value)
}

#[test]
fn every_encoding_gives_the_rows_whose_keys_are_wanted() {
    let mut session = tables();
    let rows = || 0..ROWS;
    let cases = [
        ("l.one = s.k", rows().filter(|row| key(row % 200 - 100)).count()),
        ("l.two = s.k", rows().filter(|row| key(row % 3000 - 500)).count()),
        ("l.three = s.k", rows().filter(|row| key(row * 7919 % 70_001)).count()),
        ("l.four = s.k", rows().filter(|row| key(row * 7919 % 70_001 * 300 - 50)).count()),
        ("l.same = s.k", ROWS as usize),
        ("l.maybe = s.k", rows().filter(|row| row % 3 != 0 && key(row % 500)).count()),
        ("l.day = s.day", rows().filter(|row| row % 400 % 3 == 0 && row % 400 < 150).count()),
    ];
    for (on, expected) in cases {
        let query = format!("select count(*) from small s join large l on {on}");
        assert_eq!(numbers(&mut session, &query), [expected as i64], "{on}");
        let (sets, out) = of_scan(&mut session, &query);
        assert_eq!(sets, 1, "{on}");
        assert!(out <= expected as u64 + expected as u64 / 100, "{on}: {out} rows came out");
    }
}

#[test]
fn rows_changed_since_they_were_frozen_are_found_by_what_they_are_now() {
    let mut session = tables();
    let query = "select count(*), sum(l.id) from small s join large l on l.two = s.k";
    let [count, sum] = numbers(&mut session, query)[..] else { panic!("two numbers") };
    // 600 is none of the keys in its first row, 10 is one; and a row goes, and one comes.
    session.execute("begin; update large set two = 10 where id = 1100").expect("a key");
    session.execute("update large set two = 11 where id = 510").expect("no key");
    session.execute("insert into large (id, two) values (1000000, 30)").expect("a hot row");
    assert_eq!(numbers(&mut session, query), [count + 1, sum + 1100 - 510 + 1_000_000]);
    session.execute("rollback").expect("nothing remains");
    assert_eq!(numbers(&mut session, query), [count, sum]);
}

#[test]
fn rows_without_a_partner_stay_where_they_are_asked_for() {
    let mut session = tables();
    let without = "select count(*) from large l where not exists \
                   (select 1 from small s where s.k = l.two)";
    let with = "select count(*) from large l where l.two in (select k from small)";
    let [without, with] = [without, with].map(|query| numbers(&mut session, query)[0]);
    assert_eq!(without + with, ROWS);
    let outer = "select count(*), count(s.k) from large l left join small s on s.k = l.two";
    assert_eq!(numbers(&mut session, outer), [ROWS, with]);
    let from_small = "select count(*), count(l.id) from small s left join large l on s.k = l.maybe";
    let answer = numbers(&mut session, from_small);
    let partners = (0..ROWS).filter(|row| row % 3 != 0 && key(row % 500)).count() as i64;
    let alone = (0..50).filter(|small| !(0..500).contains(&(small * 20 - 50))).count() as i64;
    assert_eq!(answer, [partners + alone, partners]);
}

#[test]
fn keys_that_lie_far_apart_are_told_as_a_sketch() {
    let mut session = tables();
    session.execute("insert into small values (2000000000, null)").expect("a far key");
    let query = "select count(*) from small s join large l on l.two = s.k";
    let expected = (0..ROWS).filter(|row| key(row % 3000 - 500)).count() as i64;
    assert_eq!(numbers(&mut session, query), [expected]);
    let (sets, rows) = of_scan(&mut session, query);
    assert!(sets == 1 && rows < ROWS as u64 / 4, "{sets} sets, {rows} rows");
    assert_eq!(
        session.query("select k from small where day is null", &[]).expect("it").rows[0][0],
        Datum::Int(2_000_000_000)
    );
}

/// A join on several columns says of each which numbers it wants, and compares whole keys itself.
#[test]
fn keys_of_several_columns_are_wanted_column_by_column() {
    let mut session = tables();
    let script = "create table pairs (a int, b int, c text);
         insert into pairs values (50, 250, 'x'), (0, 1000, 'y'), (7, 900, 'y'), (null, 20, 'z'),
             (20, null, 'z')";
    session.execute(script).expect("pairs");
    let query = "select count(*) from pairs p join large l on l.one = p.a and l.two = p.b";
    let of = |row: i64| (row % 200 - 100, row % 3000 - 500);
    let equal = |row: &i64| [(50, 250), (0, 1000), (7, 900)].contains(&of(*row));
    let expected = (0..ROWS).filter(equal).count() as i64;
    assert!(expected > 80, "{expected} rows");
    assert_eq!(numbers(&mut session, query), [expected]);
    let (sets, out) = of_scan(&mut session, query);
    // Keys of which a part is NULL equal none.
    let wanted =
        |row: &i64| [50, 0, 7].contains(&of(*row).0) && [250, 1000, 900].contains(&of(*row).1);
    assert_eq!((sets, out), (2, (0..ROWS).filter(wanted).count() as u64));
    // A column of text has no numbers: the others are compared, and the join compares all.
    let query = "select count(*) from pairs p join (select l.*, 'x' || (l.id % 2)::text as c \
                 from large l) l on l.one = p.a and l.c = p.c || '0'";
    let expected = (0..ROWS).filter(|row| row % 2 == 0 && of(*row).0 == 50).count();
    assert_eq!(numbers(&mut session, query), [expected as i64]);
    // Whoever compares NULL with NULL wants rows that have it.
    let query = "select count(*) from pairs p join large l \
                 on l.one = p.a and l.maybe is not distinct from p.b";
    let maybe = |row: i64| (row % 3 != 0).then_some(row % 500);
    let pairs = [(50, Some(250)), (0, Some(1000)), (7, Some(900)), (20, None)];
    let equal = |row: &i64| pairs.contains(&(of(*row).0, maybe(*row)));
    let expected = (0..ROWS).filter(equal).count() as i64;
    assert!(expected > 200, "{expected} rows");
    assert_eq!(numbers(&mut session, query), [expected]);
}

/// What a plan collects in one run says nothing of the next.
#[test]
fn keys_are_those_of_the_run() {
    let mut session = tables();
    let walk = "with recursive walk(k, depth) as (select 10, 0 union all \
                select l.same + depth * 20 + 20, depth + 1 \
                from walk join large l on l.three = walk.k where depth < 4) \
                select count(*), max(k) from walk";
    let rows_of = |k: i64| (0..ROWS).filter(|row| row * 7919 % 70_001 == k).count() as i64;
    let steps = [10, 30, 50, 70].into_iter().scan(1, |rows, k| {
        *rows *= rows_of(k);
        Some(*rows)
    });
    assert_eq!(numbers(&mut session, walk), [1 + steps.sum::<i64>(), 90]);
    let wanted = "prepare wanted as select count(*) from small s join large l on l.two = s.k \
                  where s.k < $1";
    session.execute(wanted).expect("a statement");
    let mut count = |bound: i64| {
        let query = format!("execute wanted({bound})");
        let expected = (0..ROWS).filter(|row| key(row % 3000 - 500) && row % 3000 - 500 < bound);
        let answer = session.query(&query, &[]).expect("it runs");
        assert_eq!(answer.rows[0][0].as_i64(), Some(expected.count() as i64), "{bound}");
    };
    [1000, 100, 0, 1000].into_iter().for_each(&mut count);
}

/// Keys are asked of rows that were never frozen, too.
#[test]
fn hot_rows_are_those_whose_keys_are_wanted() {
    let mut session = tables();
    let script = "set freeze = off;
         create table hot (id int primary key, one int, two int, maybe int, day date);
         insert into hot select id, one, two, maybe, day from large where id < 50000";
    session.execute(script).expect("hot rows");
    let rows = || 0..50_000_i64;
    let cases = [
        ("l.one = s.k", rows().filter(|row| key(row % 200 - 100)).count()),
        ("l.two = s.k", rows().filter(|row| key(row % 3000 - 500)).count()),
        ("l.maybe = s.k", rows().filter(|row| row % 3 != 0 && key(row % 500)).count()),
        ("l.day = s.day", rows().filter(|row| row % 400 % 3 == 0 && row % 400 < 150).count()),
    ];
    for (on, expected) in cases {
        let query = format!("select count(*) from small s join hot l on {on}");
        assert_eq!(numbers(&mut session, &query), [expected as i64], "{on}");
        let query = query.replace("hot l", "large l").replace("on l", "on l.id < 50000 and l");
        assert_eq!(numbers(&mut session, &query), [expected as i64], "{on}, frozen");
        let query = format!("select count(*) from small s join hot l on {on}");
        let (sets, out) = of_table(&mut session, &query, "hot");
        assert_eq!(sets, 1, "{on}");
        // Of numbers above a thousand, the plan shows three digits.
        assert!(
            out.abs_diff(expected as u64) <= expected as u64 / 100,
            "{on}: {out} rows came out"
        );
    }
}

/// The inputs of a UNION ALL are told the keys that a join wants of its rows.
#[test]
fn inputs_of_a_union_are_told_keys() {
    let mut session = tables();
    let of_large = "select one as k, id from large";
    let both = format!("select * from ({of_large} union all select k, 0 from small) u");
    let query = format!("select count(*), sum(id) from ({both}) u join small on u.k = small.k");
    let plain =
        format!("select count(*), sum(id) from ({both}) u where k in (select k from small)");
    let (sets, rows) = of_scan(&mut session, &query);
    assert!(sets > 0 && rows < ROWS as u64, "{sets} sets, {rows} rows");
    let expected = (0..ROWS).filter(|id| (id % 200 - 100 + 50) % 20 == 0 && id % 200 >= 50);
    let (count, sum) = expected.fold((0, 0), |(count, sum), id| (count + 1, sum + id));
    assert_eq!(numbers(&mut session, &query), [count + 50, sum]);
    assert_eq!(numbers(&mut session, &plain), [count + 50, sum]);
}

/// Keys of 62 bits: no offsets, no bit for each number between two.
#[test]
fn sparse_keys_keep_rows_away() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let sparse = |of: &str| format!("({of})::bigint * 4611686018427 % 4611686018427387847");
    let script = format!(
        "create table dim (k bigint primary key, n int);
         insert into dim select {dim}, i from generate_series(1, 6000) g(i);
         create table large (id int primary key, k bigint, maybe bigint);
         insert into large select i, {fact}, case when i % 3 > 0 then {fact} end
             from generate_series(1, {ROWS}) g(i);
         vacuum full",
        dim = sparse("i * 7"),
        fact = sparse("i % 42000"),
    );
    session.execute(&script).expect("tables");
    for (key, is_kept) in
        [("k", &|_| true), ("maybe", &|id: i64| id % 3 > 0)] as [(&str, &dyn Fn(i64) -> bool); 2]
    {
        for most in [6000, 5000, 50] {
            let query = format!(
                "select count(*), sum(id) from large l join dim on l.{key} = dim.k \
                 where n <= {most}"
            );
            let expected = (1..=ROWS).filter(|id| is_kept(*id) && id % 42_000 % 7 == 0);
            let expected = expected.filter(|id| (1..=most).contains(&(id % 42_000 / 7)));
            let (count, sum) = expected.fold((0, 0), |(count, sum), id| (count + 1, sum + id));
            assert_eq!(numbers(&mut session, &query), [count, sum], "{query}");
            let (sets, rows) = of_scan(&mut session, &query);
            let most_rows = (count + ROWS / 10) as u64;
            assert!(sets == 1 && rows <= most_rows, "{query}: {sets} sets, {rows} rows of {count}");
        }
    }
    let without = "select count(*) from large l where not exists (select from dim where k = l.k)";
    let none = (1..=ROWS).filter(|id| id % 42_000 % 7 != 0 || id % 42_000 == 0).count() as i64;
    assert_eq!(numbers(&mut session, without), [none]);
}
