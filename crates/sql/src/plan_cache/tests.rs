//! The bounds of the cache, and what becomes of it when it is asked for too much.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::sql::sqlparser::ast;
use remanent_engine::{Database, Options};

use super::{Asked, KeptPlan, PlanCache};
use crate::catalog::role::Actor;
use crate::catalog::store::ObjectId;
use crate::database::SqlDatabase;
use crate::statement::Statement;

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
        let asked = Asked { query, actor, path, is_serializable: true };
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
