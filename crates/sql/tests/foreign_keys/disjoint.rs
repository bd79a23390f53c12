//! Whoever takes a row away looks at the rows that refer to it and at no others: what another
//! transaction does with rows that refer elsewhere refuses neither, whatever leads to them.

use std::sync::Arc;

use remanent_sql::{Session, SqlDatabase};

use super::judge::run;

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// What leads to the rows that refer: nothing, and each kind of index.
const INDEXES: [&str; 5] = [
    "",
    "create index on c (x, y)",
    "create index on c (y, x, v)",
    "create index on c using hash (x, y)",
    "create unique index on c (x, y, id)",
];

/// What the other does with the rows beside, of the same ten: `$2` in place of `$1`.
const OTHERS: [&str; 7] = [
    "delete from p where x = $2",
    "update p set x = $7 where x = $2",
    "delete from c where id = $2",
    "insert into c values ($9, $2, 'a', 0)",
    "update c set v = v + 1 where id = $2",
    "update c set x = $3 where id = $2",
    "insert into p values ($4, 'a')",
];

/// Rows for so many cases, ten numbers for each.
const CASES: usize = 24;

fn of_case(text: &str, case: usize) -> String {
    text.replace('$', &(case + 1).to_string())
}

fn database(index: &str, action: &str, frozen: bool) -> Arc<SqlDatabase> {
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = database.session();
    let made = format!(
        "create table p (x int, y text, primary key (x, y)); \
         create table c (id int primary key, x bigint, y text, v int, \
           foreign key (x, y) references p (x, y) on delete {action} on update {action}); {index}"
    );
    run(&mut session, &made);
    let parents = "insert into p values ($1, 'a'), ($2, 'a'), ($3, 'a')";
    let children = "insert into c values ($1, $1, 'a', 0), ($2, $2, 'a', 0), ($5, null, 'a', 0)";
    for case in 0..CASES {
        run(&mut session, &of_case(&format!("{parents}; {children}"), case));
    }
    if frozen {
        run(&mut session, "vacuum full p; vacuum full c");
    }
    database
}

/// Runs both at once, the second committing first; the first one's error, if it has one.
fn both(database: &Arc<SqlDatabase>, level: &str, texts: [&str; 2], case: usize) -> Option<String> {
    let (mut one, mut two) = (database.session(), database.session());
    for session in [&mut one, &mut two] {
        run(session, &format!("begin isolation level {level}"));
    }
    run(&mut one, &of_case(texts[0], case));
    run(&mut two, &of_case(texts[1], case));
    run(&mut two, "commit");
    one.execute("commit").err().map(|error| format!("{}: {error}", error.state().as_str()))
}

#[test]
fn rows_that_refer_elsewhere_are_no_matter() {
    for index in INDEXES {
        for (action, change) in [
            ("cascade", "delete from p where x = $1"),
            ("set null", "delete from p where x = $1"),
            ("cascade", "update p set x = $8 where x = $1"),
            ("no action", "delete from c where id = $1; delete from p where x = $1"),
        ] {
            let others = if action == "no action" { &OTHERS[2..] } else { &OTHERS[..] };
            for frozen in [false, true] {
                let database = database(index, action, frozen);
                let cases = LEVELS.iter().flat_map(|level| others.iter().map(move |o| (level, o)));
                for (case, (level, other)) in cases.enumerate() {
                    let refused = both(&database, level, [change, other], case);
                    assert_eq!(refused, None, "{index}: {change}, {other}, {level}, {frozen}");
                }
            }
        }
    }
}

/// The counterpart: a row that comes to refer to what goes.
#[test]
fn rows_that_refer_to_it_are_one() {
    for index in INDEXES {
        let database = database(index, "cascade", false);
        let others = ["insert into c values ($9, $1, 'a', 0)", "update c set x = $1 where id = $2"];
        let cases = LEVELS.iter().flat_map(|level| others.iter().map(move |o| (level, o)));
        for (case, (level, other)) in cases.enumerate() {
            let refused = both(&database, level, ["delete from p where x = $1", other], case);
            assert!(refused.is_some_and(|text| text.starts_with("40001")), "{index}: {other}");
            let mut session: Session = database.session();
            let left = session.query(&of_case("select count(*) from c where x = $1", case), &[]);
            let left = left.expect("it is read").rows[0][0].as_i64();
            assert_eq!(left, Some(2), "{index}: {other}");
        }
    }
}
