//! The bounds of the cache, and what becomes of it when it is asked for too much.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::sql::sqlparser::ast;
use remanent_engine::{Database, Options};

use super::general::{Form, Tried};
use super::{Asked, KeptPlan, PlanCache};
use crate::catalog::role::Actor;
use crate::catalog::store::ObjectId;
use crate::database::SqlDatabase;
use crate::session::Session;
use crate::statement::Statement;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

fn with_table(budget: u64) -> Arc<SqlDatabase> {
    let engine = Database::open(Options::new().budget(budget)).expect("it opens");
    let database = SqlDatabase::new(Arc::new(engine)).expect("it is new");
    let made = database.session().execute("create table t (a int primary key, b int)");
    made.expect("a table is made");
    database
}

/// Keeps a plan for each of so many texts.
fn keep_many(cache: &PlanCache, count: usize) {
    let rows = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
    let plan = KeptPlan::new(rows, 1, Vec::new(), Vec::new());
    for number in 0..count {
        let statement = Statement::parse(&format!("select {number}")).expect("it is SQL");
        let ast::Statement::Query(query) = &*statement.ast else { panic!("it is a query") };
        let (actor, path) = (Actor::Program, &[][..]);
        let asked = Asked { query, own: None, actor, path, is_serializable: true };
        cache.put(&asked, 1, &plan, |_| true);
        assert!(cache.get(&asked, 1).is_some(), "the last one is there");
        let other = Asked { actor: Actor::Role(ObjectId(7)), ..asked };
        assert!(cache.get(&other, 1).is_none() && cache.get(&asked, 2).is_none());
    }
}

#[test]
fn ten_thousand_texts_are_bounded() {
    let database = with_table(1 << 30);
    for (budget, plans_max, bytes_max) in [(64 << 20, 100, 1 << 20), (1 << 40, 1024, 32 << 20)] {
        let cache = PlanCache::new(|what| database.hold(what), budget);
        keep_many(&cache, 10_000);
        let (plans, bytes) = cache.size();
        assert!(plans <= plans_max && bytes <= bytes_max, "{plans} plans of {bytes} bytes");
        assert!(plans > 10 && bytes > 1 << 18, "{plans} plans of {bytes} bytes");
        (0..10_000).for_each(|n| drop(cache.parse_all(&format!("select {n}")).expect("it is SQL")));
        let (texts, bytes) = cache.size_of_texts();
        assert!(texts > 10 && texts <= 1024 && bytes <= bytes_max, "{texts} of {bytes} bytes");
        cache.spare();
        assert_eq!((cache.size(), cache.size_of_texts()), ((0, 0), (0, 0)));
    }
}

#[test]
fn definitions_drop_all_plans() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    session.query("select sum(b) from t", &[]).expect("a sum is given");
    assert_eq!(database.plans.size().0, 1);
    session.execute("create table other (a int)").expect("a table is made");
    assert_eq!(database.plans.size(), (0, 0));
}

#[test]
fn no_memory_drops_all_plans() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    session.query("select sum(b) from t", &[]).expect("a sum is given");
    assert_eq!(database.plans.size().0, 1);
    let huge = "select count(distinct repeat(n::text, 100)) from generate_series(1, 3000000) s(n)";
    let refused = session.query(huge, &[]).expect_err("the budget has no room");
    assert_eq!(refused.state().as_str(), "53200", "{refused}");
    assert_eq!(database.plans.size(), (0, 0));
    // And there is room again.
    session.query("select sum(b) from t", &[]).expect("a sum is given");
    assert_eq!(database.plans.size().0, 1);
}

#[test]
fn what_depends_on_more_is_not_kept() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    session.execute("create sequence s; create view v as select current_user as u").expect("made");
    for text in [
        "select now(), a from t",
        "select current_date, a from t",
        "select random(), a from t",
        "select nextval('s'), b from t",
        "select current_user, b from t",
        "select u from v",
        "select current_setting('timezone'), b from t",
        "select has_table_privilege('t', 'select') from t",
        "select count(*) from pg_class",
        "select count(*) from generate_series(1, 3)",
        "with recursive r (n) as (select 1 union all select n + 1 from r where n < 3) \
         select sum(n) from r",
        "select (select sum(b) from t as i where i.a < o.a or i.a = 0 limit 1) from t as o",
    ] {
        session.query(text, &[]).expect(text);
        assert_eq!(database.plans.size(), (0, 0), "{text}");
    }
    let parameter = [1.into()];
    session.query("select sum(b) from t where b > $1", &parameter).expect("a sum is given");
    assert_eq!(database.plans.size(), (0, 0));
}

/// How often the general plan of the only query was the plan for values; `None` if it was another.
fn tried(database: &SqlDatabase) -> Option<u8> {
    let tried = database.plans.tried_all();
    let [tried] = tried.as_slice() else { panic!("{} queries were tried", tried.len()) };
    match tried {
        Tried::Same(_, times) => Some(*times),
        Tried::Once => Some(0),
        Tried::Other(_) => None,
    }
}

/// What a query answers if it is planned for this value.
fn planned_for(session: &mut Session, text: &str, value: &Datum) -> Vec<Vec<Datum>> {
    session.execute("set plan_cache_mode = force_custom_plan").expect("it is set");
    let rows = session.query(text, std::slice::from_ref(value)).expect(text).rows;
    session.execute("reset plan_cache_mode").expect("it is set");
    rows
}

#[test]
fn a_plan_for_any_values_is_tried_first() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    let insert = "insert into t select n, n % 10 from generate_series(1, 100) s(n)";
    session.execute(insert).expect("rows are inserted");
    for (text, has_operators) in [
        ("select count(*) from t where b = $1", true),
        ("select count(*) from t where a between $1 and 50 and b > 3 or a = $1", true),
        ("select count(*) from t as l join t as r on l.b = r.a where l.a = $1", true),
        ("select b, count(*) from t where a > $1 group by b order by b limit $1", false),
        ("select a from t where b in ($1, 3) order by a limit 3", true),
        ("select $1 + a from t where a < 3", true),
        ("select l.a, r.b from t l left join t r on r.a = l.a where l.a = $1", true),
        ("select l.a, r.b from t r right join t l on r.a = l.a where l.a = $1", true),
        ("select a from t where b = (select max(b) from t where a <= $1) order by a", false),
        (
            "select count(*) from t l where exists (select from t r where r.b = l.a and r.a > $1)",
            true,
        ),
    ] {
        database.plans.clear();
        for (value, times) in (3..).zip([0, 1, 2, 2, 2]) {
            let value = Datum::from(value);
            let wanted = planned_for(&mut session, text, &value);
            let rows = session.query(text, std::slice::from_ref(&value)).expect(text).rows;
            assert_eq!(rows, wanted, "{text} {value:?}");
            assert_eq!(tried(&database), Some(times), "{text}");
        }
        let Tried::Same(plan, _) = &database.plans.tried_all()[0] else { panic!("{text}") };
        assert_eq!(matches!(plan.form, Form::Physical(_)), has_operators, "{text}");
        // NULL is planned for, and so is a value of another type.
        let wanted = planned_for(&mut session, text, &Datum::Null);
        assert_eq!(session.query(text, &[Datum::Null]).expect(text).rows, wanted, "{text}");
        assert_eq!(tried(&database), Some(2), "{text}");
    }
}

#[test]
fn a_plan_that_depends_on_values_is_made_for_each() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    session.execute("create table small (k int primary key)").expect("a table is made");
    let rows = "insert into small select n from generate_series(1, 100) s(n); \
                insert into t select n, n % 100 from generate_series(1, 20000) s(n)";
    session.execute(rows).expect("rows are inserted");
    let text = "select count(*) from small join t on small.k = t.b where t.a < $1";
    let mut count = |value: i32| {
        let rows = session.query(text, &[value.into()]).expect(text).rows;
        (rows[0][0].as_i64(), tried(&database))
    };
    assert_eq!(count(5), (Some(4), Some(0)));
    // Few rows of t are the build side, and of any value it is small's.
    assert_eq!(count(6), (Some(5), None));
    assert_eq!(count(20_001), (Some(19_800), None));
    let more = "insert into t select n, n % 100 from generate_series(20001, 90000) s(n)";
    database.session().execute(more).expect("rows are inserted");
    // What is known of rows is no longer the same: it is tried again.
    assert_eq!(count(60_000), (Some(59_400), Some(1)));
    assert_eq!(count(70_000), (Some(69_300), Some(2)));
    assert_eq!(count(5), (Some(4), Some(2)));
    database.session().execute("create table more (a int)").expect("a table is made");
    assert!(database.plans.tried_all().is_empty());
}

#[test]
fn changes_have_plans_for_any_values() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    let insert = "insert into t select n, n % 10 from generate_series(1, 100) s(n)";
    session.execute(insert).expect("rows are inserted");
    session.execute("create table u (a int primary key, b int)").expect("a table is made");
    let mut changed = |text: &str, values: [i32; 2]| {
        let values = values.map(Datum::from);
        session.query(text, &values).expect(text).tag.to_string()
    };
    for times in 0..4 {
        let update = "update t set b = $1 where b = $2";
        assert_eq!(changed(update, [20 + times, times]), "UPDATE 10");
        assert_eq!(tried(&database), Some(u8::try_from(times).expect("it is small").min(2)));
    }
    // What it names is the same, and it is another table.
    assert_eq!(changed("update u as t set b = $1 where b = $2", [30, 20]), "UPDATE 0");
    assert_eq!(changed("update t as t set b = $1 where b = $2", [30, 20]), "UPDATE 10");
    database.plans.clear();
    for (b, times) in [(21, 0), (22, 1), (23, 2), (4, 2)] {
        let delete = "delete from t where b = $1 and a > $2";
        assert_eq!(changed(delete, [b, 10]), "DELETE 9", "{b}");
        assert_eq!(tried(&database), Some(times));
    }
}

#[test]
fn constants_beside_columns_are_parameters() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    let made = "create table s (a int primary key, b smallint, c text, d date, e numeric(6, 2), \
                f double precision); \
                insert into s select n, n % 10, 'text ' || n % 10, date '2024-01-01' + n % 10, \
                n * 0.25, n / 4.0 from generate_series(1, 100) s(n)";
    session.execute(made).expect("a table is made");
    for (text, constants, is_general) in [
        ("select count(*) from s where b = ?", ["3", "4", "5", "70000", "-3"], true),
        ("select count(*) from s where b in (?, 4)", ["3", "4", "5", "6", "7"], true),
        ("select a from s where a between ? and 8 order by a", ["3", "4", "5", "6", "9"], true),
        ("select count(*) from s where c = ?", ["'text 3'", "'text 4'", "''", "'x'", "'y'"], true),
        ("select count(*) from s where c like ?", ["'%3'", "'t%'", "'%'", "''", "'_%'"], true),
        (
            "select count(*) from s where d >= date ?",
            ["'2024-01-03'", "'2024-01-04'", "'2024-01-05'", "'2024-1-6'", "'2025-01-01'"],
            true,
        ),
        ("select count(*) from s where e < ?", ["10.25", "7.75", "8.5", "9", "8.125"], true),
        // What these are depends on how they are written.
        ("select count(*) from s where f < ?", ["3", "4", "5.5", "6", "7"], false),
        ("select count(*) from s where b = ?", ["'3'", "'4'", "'5'", "'6'", "'7'"], false),
        (
            "select count(*) from s where d = ?",
            ["'3.1.2024'", "'today'", "'x'", "''", "'1'"],
            false,
        ),
    ] {
        database.plans.clear();
        for (constant, times) in constants.into_iter().zip([0, 1, 2, 2, 2]) {
            let text = text.replace('?', constant);
            let mut rows = |mode: &str| {
                session.execute(&format!("set plan_cache_mode = {mode}")).expect("it is set");
                session.query(&text, &[]).map(|answer| answer.rows).map_err(|e| e.state())
            };
            let found = rows("auto");
            database.plans.clear_exact();
            let wanted = rows("force_custom_plan");
            assert_eq!(found, wanted, "{text}");
            let all = database.plans.tried_all();
            let times = if is_general || times == 0 { Some(times) } else { None };
            assert!(all.len() == 1 || wanted.is_err(), "{text}");
            if wanted.is_ok() && is_general {
                assert_eq!(tried(&database), times, "{text}");
            }
        }
        let is_same = database.plans.tried_all().iter().any(|it| matches!(it, Tried::Same(..)));
        assert_eq!(is_same, is_general, "{text}");
    }
}

#[test]
fn descriptions_hold_for_one_catalog_and_caller() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    let statement = Statement::parse("select b, $1 + a from t where b = $1").expect("it is SQL");
    let mut described = |given: &[SqlType]| {
        let prepared = session.prepare(&statement, given).expect("it is described");
        let columns = prepared.columns.iter().map(|column| column.sql_type.clone());
        (prepared.parameters, columns.collect::<Vec<_>>(), database.plans.size_of_described())
    };
    let first = described(&[]);
    assert_eq!(first, (vec![SqlType::Integer], vec![SqlType::Integer, SqlType::Integer], 1));
    assert_eq!(described(&[]), first);
    let given = described(&[SqlType::BigInt]);
    assert_eq!(given, (vec![SqlType::BigInt], vec![SqlType::Integer, SqlType::BigInt], 2));
    assert_eq!(described(&[]).0, first.0);
    let altered = "alter table t alter column b type bigint; create role other login";
    database.session().execute(altered).expect("it is altered");
    assert_eq!(described(&[SqlType::BigInt]).1, [SqlType::BigInt, SqlType::BigInt]);
    let mut other = database.session();
    other.act_as("other").expect("there is such a role");
    let refused = other.prepare(&statement, &[SqlType::BigInt]).expect_err("it may not read t");
    assert_eq!(refused.state().as_str(), "42501");
}

#[test]
fn uncommitted_definitions_keep_nothing() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    session.execute("begin; alter table t add column c int").expect("a column is added");
    session.execute("select sum(c) from t").expect("a sum is given");
    assert_eq!(database.plans.size(), (0, 0));
    session.execute("rollback").expect("it is rolled back");
}

#[test]
fn a_plan_for_an_empty_table_does_not_stay() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    session.execute("create table small (k int primary key)").expect("a table is made");
    let some = "insert into small select n from generate_series(1, 100) s(n)";
    session.execute(some).expect("rows are inserted");
    let text = "select count(*) from small join t on small.k = t.b";
    let mut counted = || {
        let answer = session.query(text, &[]).expect("rows are counted");
        (answer.rows[0][0].as_i64(), database.plans.shown())
    };
    let (none, few) = counted();
    assert_eq!((none, few.len()), (Some(0), 1));
    let again = counted();
    assert_eq!(again, (none, few.clone()), "the same plan");
    let many = "insert into t select n, n % 100 from generate_series(1, 20000) s(n)";
    database.session().execute(many).expect("rows are inserted");
    let (all, other) = counted();
    assert_eq!((all, other.len()), (Some(19_800), 1));
    // The build side comes behind the source.
    let is_first = |plan: &str| plan.find("Scan: t") > plan.find("Scan: small");
    assert!(is_first(&few[0]) && !is_first(&other[0]), "{}\n{}", few[0], other[0]);
}

#[test]
fn plans_whose_operators_keep_something_are_kept() {
    let database = with_table(64 << 20);
    let mut session = database.session();
    for text in [
        "select l.b from t as l left join t as r on l.a = r.b and r.a > 100 order by 1 limit 5",
        "select min(b), max(b) from t where b > 3",
        "select count(*) from t as l, t as r where l.b < r.b",
        "select count(*) from t where b > (select avg(b) from t)",
        "select a, row_number() over (order by b) from t union all select a, b from t",
        "select count(*) from t where b in (select a from t) and b not in (select a from t)",
    ] {
        database.plans.clear();
        session.query(text, &[]).expect(text);
        assert_eq!(database.plans.size().0, 1, "{text}");
    }
}
