//! A plan for any values of parameters answers as one that is made for these values.
//!
//! Random joins have conditions with parameters. Three sessions ask the same: one plans for values,
//! one for any values, and one as sessions do if nobody says how. Two more have the values in the
//! text, of which the second may take them out.

use std::fmt::Write;

use remanent_sql::{Datum, Session, SqlDatabase};

use crate::joins::{query, spelled, tables};
use crate::random::{Random, seeds};

/// What a parameter is compared with.
#[derive(Clone, Copy)]
enum Kind {
    Key,
    Wide,
    Day,
    Word,
    Pattern,
    Price,
    Flag,
    Count,
}

impl Kind {
    fn value(self, random: &mut Random) -> Datum {
        // Now and then nothing, and values that no row has.
        if random.below(12) == 0 && !matches!(self, Self::Count) {
            return Datum::Null;
        }
        match self {
            Self::Key => Datum::Int(random.below(70) as i64 * 3 - 6),
            Self::Wide => Datum::Int(random.below(60) as i64 * 1_234_567_890_123 - 7),
            Self::Day => Datum::Date(19_700 + random.below(80) as i32),
            Self::Word => format!("word {} of many", random.below(45)).into(),
            Self::Pattern => {
                ["%1%", "word 2%", "%", "", "w_rd%many", "%\\"][random.below(6) as usize].into()
            }
            Self::Price => Datum::Decimal(i128::from(random.below(32)) * 100 + 25, 2),
            Self::Flag => Datum::Bool(random.below(2) == 0),
            Self::Count => Datum::Int(random.below(30) as i64),
        }
    }
}

/// Conditions on the table `T`, with `?` in the places of parameters.
const CONDITIONS: [(&str, &[Kind]); 17] = [
    ("T.id = ?", &[Kind::Key]),
    ("T.id > ?", &[Kind::Key]),
    ("T.id >= ? and T.id < ? + 90", &[Kind::Key, Kind::Key]),
    ("T.id between ? and 300", &[Kind::Key]),
    ("T.k in (?, ?, 9)", &[Kind::Key, Kind::Key]),
    ("T.k not in (?, ?)", &[Kind::Key, Kind::Key]),
    ("T.k = ? + 3", &[Kind::Wide]),
    ("T.k % 7 = ? % 7", &[Kind::Wide]),
    ("(T.k = ? or T.wide <= ?)", &[Kind::Key, Kind::Wide]),
    ("T.day >= ?", &[Kind::Day]),
    ("T.day < ?::date + 20", &[Kind::Day]),
    ("T.word = ?", &[Kind::Word]),
    ("T.word like ?", &[Kind::Pattern]),
    ("T.price <> ?", &[Kind::Price]),
    ("T.price * 2 < ? + T.k", &[Kind::Price]),
    ("T.flag = ?", &[Kind::Flag]),
    ("(? or T.k > 30)", &[Kind::Flag]),
];

/// A query with parameters, and what these are.
fn with_parameters(random: &mut Random) -> (String, Vec<Kind>) {
    // Joins by several columns find few rows, and a plan that finds none is hardly tried.
    let query = match random.below(4) {
        0 => query(random),
        1 => "select a.id, b.id, b.word, a.price from a left join b on EQ(a.id;b.id)".to_owned(),
        2 => "select a.k, count(*), sum(b.price) from a join b on EQ(a.k;b.k) group by a.k"
            .to_owned(),
        _ => "select a.id, b.k, b.day from a, b where EQ(a.id;b.id) and a.k >= 0".to_owned(),
    };
    let query = spelled(&query, "EQ(", |left, right| format!("{left} = {right}"));
    let query =
        spelled(&query, "ND(", |left, right| format!("{left} is not distinct from {right}"));
    let (head, group) = query.split_once(" group by ").unwrap_or((&query, ""));
    let mut text = head.to_owned();
    let mut kinds = Vec::new();
    for _ in 0..=random.below(3) {
        let (condition, of) = CONDITIONS[random.below(CONDITIONS.len() as u64) as usize];
        let word = if text.contains(" where ") { "and" } else { "where" };
        write!(text, " {word} ").expect("a text grows");
        let table = if random.below(2) == 0 { "a" } else { "b" };
        let mut of = of.iter();
        for letter in condition.chars() {
            match letter {
                'T' => text.push_str(table),
                '?' => {
                    kinds.extend(of.next());
                    write!(text, "${}", kinds.len()).expect("a text grows");
                }
                letter => text.push(letter),
            }
        }
    }
    if !group.is_empty() {
        write!(text, " group by {group}").expect("a text grows");
        if random.below(3) == 0 {
            kinds.push(Kind::Count);
            write!(text, " having count(*) < ${}", kinds.len()).expect("a text grows");
        }
    }
    if random.below(4) == 0 {
        kinds.push(Kind::Count);
        // How many rows there are is the same, whichever these are.
        text = format!("select count(*) from (select 1 from ({text}) q limit ${}) l", kinds.len());
    }
    (text, kinds)
}

/// The same with values in the places of the parameters.
fn with_constants(text: &str, values: &[Datum]) -> String {
    let constant = |value: &Datum| match value {
        Datum::Date(_) => format!("date '{value}'"),
        Datum::Text(text) => format!("'{text}'"),
        Datum::Bool(truth) => truth.to_string(),
        Datum::Null => "null".to_owned(),
        other => other.to_string(),
    };
    let numbered = values.iter().enumerate().rev();
    numbered.fold(text.to_owned(), |text, (place, value)| {
        text.replace(&format!("${}", place + 1), &constant(value))
    })
}

fn answer(session: &mut Session, text: &str, values: &[Datum]) -> Result<Vec<String>, String> {
    let answer = session.query(text, values).map_err(|error| error.state().as_str().to_owned())?;
    let mut rows: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    Ok(rows)
}

#[test]
fn plans_for_any_values_answer_as_those_for_values() {
    let (mut failed, mut asked, mut with_rows) = (0, 0, 0);
    for seed in seeds("REMANENT_GENERAL_SEEDS", 0, 3) {
        let random = &mut Random(seed);
        let db = SqlDatabase::in_memory().expect("a database in memory opens");
        tables(random, &mut db.session(), false, 60);
        let modes =
            ["force_custom_plan", "force_generic_plan", "auto", "force_custom_plan", "auto"];
        let mut sessions = modes.map(|mode| {
            let mut session = db.session();
            session.execute(&format!("set plan_cache_mode = {mode}")).expect("a setting");
            // What one session finds of a plan is another's where both look for names alike.
            let path = if mode == "force_generic_plan" { "public, elsewhere" } else { "public" };
            session.execute(&format!("set search_path = {path}")).expect("a setting");
            session
        });
        for _ in 0..12 {
            let (text, kinds) = with_parameters(random);
            for _ in 0..4 {
                let values: Vec<Datum> = kinds.iter().map(|kind| kind.value(random)).collect();
                let written = with_constants(&text, &values);
                let [custom, general, auto, of_text, of_shape] = &mut sessions;
                let [custom, general, auto] =
                    [custom, general, auto].map(|session| answer(session, &text, &values));
                let [of_text, of_shape] =
                    [of_text, of_shape].map(|session| answer(session, &written, &[]));
                failed += usize::from(custom.is_err());
                asked += 1;
                with_rows += usize::from(custom.as_ref().is_ok_and(|rows| rows.len() > 1));
                assert_eq!(custom, general, "seed {seed}: {text} {values:?}");
                assert_eq!(custom, auto, "seed {seed}: {text} {values:?}");
                assert_eq!(of_text, of_shape, "seed {seed}: {written}");
            }
        }
    }
    assert_eq!(failed, 0, "queries that failed");
    assert!(with_rows * 8 > asked, "{with_rows} of {asked} answers had several rows");
}
