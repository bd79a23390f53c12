//! What references do by themselves: everything that holds of a change by a statement holds of a
//! change by a reference too.

use super::judge::{database, orphans, rows, run, state};

/// A key that is changed by a reference is referred to itself.
#[test]
fn changes_go_on_to_the_rows_behind() {
    let tables = "create table a (id int primary key); \
         create table b (id int primary key references a on update cascade on delete cascade); \
         create table c (n int, id int references b on update cascade on delete cascade); \
         insert into a values (1), (2); insert into b values (1), (2); \
         insert into c values (1, 1), (2, 2)";
    let (_, mut session) = database(tables);
    run(&mut session, "update a set id = 9 where id = 1");
    assert_eq!(rows(&mut session, "select id from b order by id"), [["2"], ["9"]]);
    assert_eq!(rows(&mut session, "select id from c order by n"), [["9"], ["2"]]);
    run(&mut session, "delete from a where id = 9");
    assert_eq!(rows(&mut session, "select n from c"), [["2"]]);
}

#[test]
fn changes_are_refused_by_the_rows_behind() {
    for action in ["on update cascade", "on update set null", "on update set default"] {
        let tables = format!(
            "create table a (id int primary key); insert into a values (1), (2), (3); \
             create table b (n int primary key, id int default 3 unique references a {action}); \
             create table c (n int, id int references b (id)); \
             insert into b values (1, 1), (2, 2); insert into c values (1, 1), (2, 2)"
        );
        let (_, mut session) = database(&tables);
        let refused = state(&mut session, "update a set id = 9 where id = 1");
        assert_eq!(refused, Some("23503"), "{action}");
        assert!(orphans(&mut session, ("c", &["id"]), ("b", &["id"])).is_empty(), "{action}");
        assert_eq!(rows(&mut session, "select id from b order by n"), [["1"], ["2"]], "{action}");
    }
    for action in ["on delete set null", "on delete set default"] {
        let tables = format!(
            "create table a (id int primary key); insert into a values (1), (3); \
             create table b (n int primary key, id int default 3 unique references a {action}); \
             create table c (n int, id int references b (id)); \
             insert into b values (1, 1); insert into c values (1, 1)"
        );
        let (_, mut session) = database(&tables);
        assert_eq!(state(&mut session, "delete from a where id = 1"), Some("23503"), "{action}");
        assert!(orphans(&mut session, ("c", &["id"]), ("b", &["id"])).is_empty(), "{action}");
    }
}

/// Checks and generated columns of rows that a reference changes.
#[test]
fn rows_changed_by_a_reference_keep_their_checks() {
    let tables = "create table a (id int primary key); insert into a values (1), (2); \
         create table b (id int references a on update cascade check (id < 10), \
           twice int generated always as (id * 2) stored); \
         insert into b (id) values (1)";
    let (_, mut session) = database(tables);
    run(&mut session, "update a set id = 5 where id = 1");
    assert_eq!(rows(&mut session, "select id, twice from b"), [["5", "10"]]);
    assert_eq!(state(&mut session, "update a set id = 50 where id = 5"), Some("23514"));
    assert_eq!(rows(&mut session, "select id, twice from b"), [["5", "10"]]);
    let tables = "create table a (id int primary key); insert into a values (1); \
         create table b (id int references a on delete set null, check (id is not null)); \
         insert into b values (1)";
    let (_, mut session) = database(tables);
    assert_eq!(state(&mut session, "delete from a"), Some("23514"));
}

/// A column that is part of two references.
#[test]
fn a_change_by_one_reference_is_seen_by_the_other() {
    let tables = "create table a (id int primary key); create table b (id int primary key); \
         insert into a values (1), (2); insert into b values (1), (2); \
         create table c (id int references a on update cascade references b); \
         insert into c values (1)";
    let (_, mut session) = database(tables);
    assert_eq!(state(&mut session, "update a set id = 9 where id = 1"), Some("23503"));
    assert!(orphans(&mut session, ("c", &["id"]), ("b", &["id"])).is_empty());
    run(&mut session, "update a set id = 3 where id = 2; insert into a values (2)");
}

/// Trees: rows that refer to rows of their own table.
#[test]
fn a_table_refers_to_itself() {
    let table = "create table t (id int primary key, up int references t on delete cascade \
           on update cascade); \
         insert into t values (1, 1), (2, 1), (3, 2), (4, 3), (5, null), (6, 5)";
    let (_, mut session) = database(table);
    run(&mut session, "update t set id = id + 100 where id = 1");
    assert!(orphans(&mut session, ("t", &["up"]), ("t", &["id"])).is_empty());
    run(&mut session, "update t set id = -id");
    let left = orphans(&mut session, ("t", &["up"]), ("t", &["id"]));
    assert!(left.is_empty(), "{left:?} of {:?}", rows(&mut session, "select * from t"));
    run(&mut session, "delete from t where id = -101");
    assert_eq!(rows(&mut session, "select id from t order by id"), [["-6"], ["-5"]]);
    let table = "create table t (id int primary key, up int references t); \
         insert into t values (1, 2), (2, 1), (3, 1)";
    let (_, mut session) = database(table);
    assert_eq!(state(&mut session, "delete from t where id = 1"), Some("23503"));
    run(&mut session, "delete from t");
}

/// Every statement that takes rows away or changes them looks at references.
#[test]
fn all_ways_to_change_a_row_are_checked() {
    let tables = "create table p (id int primary key, v int); insert into p values (1, 1), (2, 2); \
         create table c (id int primary key, p int references p); insert into c values (1, 1)";
    for change in [
        "delete from p where id = 1",
        "delete from p where id + 0 = 1",
        "delete from p using c where c.p = p.id",
        "update p set id = 3 where id = 1",
        "update p set id = id + 10",
        "truncate p",
        "merge into p using (values (1)) s (id) on p.id = s.id when matched then delete",
        "merge into p using (values (1)) s (id) on p.id = s.id when matched then update set id = 8",
        "insert into p values (1, 5) on conflict (id) do update set id = 4",
        "insert into c values (5, 5)",
        "insert into c select 6, 6",
        "update c set p = 7 where id = 1",
        "update c set p = 7 where id + 0 = 1",
        "insert into c values (1, 1) on conflict (id) do update set p = 12",
        "merge into c using (values (9)) s (id) on c.id = s.id when not matched then \
         insert values (9, 9)",
        "merge into c using (values (1)) s (id) on c.id = s.id when matched then \
         update set p = 9",
        "drop table p",
        "alter table p drop column id",
        "alter table p drop constraint p_pkey",
    ] {
        let (_, mut session) = database(tables);
        let refused = state(&mut session, change);
        let is_right = refused.is_some_and(|it| ["23503", "2BP01", "0A000"].contains(&it));
        assert!(is_right, "{change}: {refused:?}");
        assert!(orphans(&mut session, ("c", &["p"]), ("p", &["id"])).is_empty(), "{change}");
    }
}
