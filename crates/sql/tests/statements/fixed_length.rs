//! CHAR: blanks at the end of a value say nothing where it is compared, in keys and indexes, are
//! gone where it becomes text, and are there where it is shown. What is expected here is what
//! PostgreSQL 15 answers.

use remanent_sql::{Datum, Session, SqlDatabase};

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script = "create table t (id int primary key, c char(10), v varchar(10), x text); \
        insert into t values (1, 'ab', 'ab', 'ab'), (2, 'ab  ', 'ab  ', 'ab  '), \
            (3, 'abc', 'abc', 'abc'), (4, null, null, null), (5, 'a b', 'a b', 'a b'); \
        create table u (c char(5) primary key, n int); \
        insert into u values ('ab', 1), ('abc', 2), ('ü', 3)";
    session.execute(script).expect("rows");
    session
}

fn answer(session: &mut Session, text: &str, parameters: &[Datum]) -> String {
    let rows = match session.query(text, parameters) {
        Ok(answer) => answer.rows,
        Err(error) => return error.state().as_str().to_owned(),
    };
    let line = |row: &Vec<Datum>| {
        let values = row.iter().map(|value| value.to_text().unwrap_or("NULL".to_owned()));
        values.collect::<Vec<_>>().join("|")
    };
    rows.iter().map(line).collect::<Vec<_>>().join(";")
}

/// Conditions, and the rows of `t` that meet them.
const FOUND: [(&str, &str); 33] = [
    ("c = 'ab'", "1;2"),
    ("c = 'ab   '", "1;2"),
    ("'ab  ' = c", "1;2"),
    ("'ab  ' < c", "3"),
    ("c = 'ab'::text", "1;2"),
    ("c = 'ab  '::text", ""),
    ("c = x", "1;3;5"),
    ("c = v", "1;2;3;5"),
    ("c in ('ab', 'abc ')", "1;2;3"),
    ("c not in ('ab', 'abc ')", "5"),
    ("c in (select 'ab')", "1;2"),
    ("c between 'ab ' and 'abc '", "1;2;3"),
    ("c <> 'ab '", "3;5"),
    ("c is distinct from 'ab '", "3;4;5"),
    ("(c, id) = ('ab  ', 1)", "1"),
    ("(c, id) in (('ab  ', 1), ('abc ', 3))", "1;3"),
    ("case c when 'ab ' then id = 2 end", "2"),
    ("(select c from t where id = 2) = 'ab ' and id = 1", "1"),
    ("c in (select u.c from u)", "1;2;3"),
    ("c like 'ab'", ""),
    ("c like 'ab%'", "1;2;3"),
    ("c like 'ab_%'", "1;2;3"),
    ("c like 'abc_%'", "3"),
    ("c like '%b'", ""),
    ("c not like 'ab'", "1;2;3;5"),
    ("c ilike 'AB'", ""),
    ("c ~ 'b$'", ""),
    ("c ~ '^ab'", "1;2;3"),
    ("c similar to 'ab'", ""),
    ("c similar to 'ab +'", "1;2"),
    ("x like c", "1;3;5"),
    ("upper(c) = 'AB'", "1;2"),
    ("upper(c) = 'AB '", ""),
];

#[test]
fn blanks_at_the_end_say_nothing_where_values_are_compared() {
    let mut session = session();
    for index in ["", "create index on t (c)", "create index on t using hash (c)"] {
        session.execute(index).expect(index);
        for (condition, expected) in FOUND {
            // The later times by a plan for any constants.
            for _ in 0..8 {
                let text = format!("select id from t where {condition} order by id");
                assert_eq!(answer(&mut session, &text, &[]), expected, "{text} {index}");
            }
        }
    }
}

#[test]
fn values_are_shown_with_blanks_and_become_text_without() {
    let mut session = session();
    for (text, expected) in [
        ("select c from u order by n", "ab   ;abc  ;ü    "),
        ("select * from (select c from u where n = 1) s", "ab   "),
        ("select c from u where c = 'ab '", "ab   "),
        ("update u set n = 1 where c = 'ab ' returning c", "ab   "),
        ("select c from u where n = 3 union select c from u where n = 3", "ü    "),
        ("select length(c), octet_length(c), bit_length(c) from u where n = 3", "1|6|16"),
        (
            "select c || 'x', 'x' || c, c::text || '|', concat(c, '|') from u where n = 1",
            "abx|xab|ab||ab   |",
        ),
        (
            "select upper(c), left(c, 4), lpad(c, 3, '*'), md5(c) = md5('ab') from u \
             where n = 1",
            "AB|ab|*ab|t",
        ),
        ("select string_agg(c, ',' order by n) from u", "ab,abc,ü"),
        ("select c, count(*) from t where id < 3 group by c", "ab        |2"),
        ("select count(distinct c) from t", "3"),
        ("select 'ab'::char(4), 'abcdef'::char(3), 'ab  '::char(4) || 'x'", "ab  |abc|abx"),
        (
            "select 'abcdef'::varchar(3), 12345::varchar(2), cast('ab  ' as varchar(3)) || '|'", //
            "abc|12|ab |",
        ),
        (
            "select 'ab '::char(5) = 'ab', 'ab '::char(5) = 'ab'::char(9), 'x'::char = 'x '", //
            "t|t|t",
        ),
        ("select t.id, n from t join u on t.c = u.c order by t.id", "1|1;2|1;3|2"),
        ("select t.id, n from t join u on t.x = u.c order by t.id", "1|1;3|2"),
        ("select nullif(c, 'ab ') is null from u where n = 1", "t"),
    ] {
        assert_eq!(answer(&mut session, text, &[]), expected, "{text}");
    }
    let text = "select c, c::varchar(3), 'a'::char(2), date '2020-01-01'::varchar(4) from u";
    let columns = session.query(text, &[]).expect("columns").columns;
    let types: Vec<String> =
        columns.iter().map(|column| format!("{} {}", column.name, column.sql_type)).collect();
    let expected = [
        "c character(5)",
        "c character varying(3)",
        "bpchar character(2)",
        "varchar character varying(4)",
    ];
    assert_eq!(types, expected);
    assert_eq!(answer(&mut session, "select 'a'::char(0)", &[]), "22023");
    assert_eq!(answer(&mut session, "select 'a'::varchar(0)", &[]), "22023");
    // Conditions of tables are comparisons like any other.
    let checked = "create table k (c char(5) check (c in ('a', 'b '))); insert into k values ('b')";
    session.execute(checked).expect("b is one of them");
    assert_eq!(answer(&mut session, "insert into k values ('c')", &[]), "23514");
}

#[test]
fn parameters_lose_their_blanks() {
    let mut session = session();
    for (text, value, expected) in [
        ("select n from u where c = $1", "ab ", "1"),
        ("select n from u where c = $1", "ab", "1"),
        ("select n from u where c = $1", "ab       too long", ""),
        ("select id from t where c = $1 order by id", "ab           ", "1;2"),
        ("select id from t where c in ($1, 'abc ') order by id", "ab ", "1;2;3"),
        ("select id from t where x = $1 order by id", "ab  ", "2"),
        ("update u set n = n + 1 where c = $1 returning n", "abc ", "3"),
        ("delete from u where c = $1 returning c", "ü  ", "ü    "),
        ("insert into u values ($1, 7) returning c", "xyz         ", "xyz  "),
        ("insert into u values ($1, 7)", "xyz", "23505"),
        ("insert into u values ($1, 7)", "xyzuvw", "22001"),
    ] {
        let value = Datum::from(value);
        assert_eq!(answer(&mut session, text, std::slice::from_ref(&value)), expected, "{text}");
        let prepared = session.parse(text).and_then(|text| session.prepare(&text, &[]));
        assert_eq!(prepared.expect(text).parameters.len(), 1);
    }
    for _ in 0..8 {
        for (value, expected) in [("ab ", "1;2"), ("ab", "1;2"), ("abc  ", "3"), ("a", "")] {
            let text = "select id from t where c = $1 order by id";
            assert_eq!(answer(&mut session, text, &[Datum::from(value)]), expected, "{value}");
        }
    }
}

#[test]
fn keys_references_and_conversions_do_without() {
    let mut session = session();
    for (text, expected) in [
        ("insert into u values ('ab   ', 9)", "23505"),
        ("insert into u values ('abcdef', 9)", "22001"),
        ("insert into u values ('abcde      ', 9) returning c", "abcde"),
        ("create table r (c char(5) references u (c))", ""),
        ("insert into r values ('abcde ')", ""),
        ("insert into r values ('none')", "23503"),
        ("update u set c = 'abcd ' where c = 'abcde'", "23503"),
        ("alter table t alter column v type char(6)", ""),
        ("select id from t where v = 'ab ' order by id", "1;2"),
        ("select v from t where id = 2", "ab    "),
        ("alter table t alter column c type text", ""),
        ("select c || '|' from t where id = 2", "ab|"),
        ("create table k as select c, n from u", ""),
        ("select c from k where c = 'abc '", "abc  "),
    ] {
        assert_eq!(answer(&mut session, text, &[]), expected, "{text}");
    }
}

#[test]
fn similar_to_is_about_the_whole_text() {
    let mut session = session();
    for (text, expected) in [
        ("'abc' similar to 'ab'", "f"),
        ("'abc' similar to 'ab%'", "t"),
        ("'abc' similar to '%(b|d)%'", "t"),
        ("'abc' similar to '(b|c)%'", "f"),
        ("'abc' similar to 'a.c'", "f"),
        ("'a.c' similar to 'a.c'", "t"),
        ("'abc' similar to 'a_c'", "t"),
        ("E'a\\nc' similar to 'a_c'", "t"),
        (r"'a%' similar to 'a\%'", "t"),
        ("'a%' similar to 'a#%' escape '#'", "t"),
        ("'abc' not similar to 'ab'", "t"),
        ("'aab' similar to 'a{2}b'", "t"),
        ("'ab' similar to 'a|ab'", "t"),
        ("'ab' similar to ''", "f"),
        ("'a$' similar to 'a$'", "t"),
        ("'ab' similar to null", "NULL"),
        ("'ab' similar to 'a#b' escape '##'", "22023"),
        ("'ab' similar to 'a' || 'b'", "0A000"),
    ] {
        assert_eq!(answer(&mut session, &format!("select {text}"), &[]), expected, "{text}");
    }
}
