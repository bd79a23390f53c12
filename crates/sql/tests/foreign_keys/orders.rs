//! All orders of two transactions, at each pair of levels, for each action of a reference.
//!
//! Each transaction is a block of one or two changes. Both run in one thread: where one would wait
//! for the other, it fails, which is one of the answers that are right. What is not right is an
//! orphan, or an error that says something else.

use std::sync::Arc;

use remanent_sql::{Session, SqlDatabase};

use super::judge::{orphans, rows, run};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const ACTIONS: [&str; 4] = ["no action", "cascade", "set null", "set default"];

/// What the one does to the rows that refer.
const CHILDREN: [&[&str]; 6] = [
    &["insert into c (id, x, y) values (10, 1, 'a')"],
    &["insert into c (id, x, y) select 10, x, y from p where x = 1"],
    &["update c set x = 1, y = 'a' where id = 2"],
    &["insert into c (id, x, y) values (10, null, 'a'), (11, 1, '')"],
    &["delete from c where id = 1", "insert into c (id, x, y) values (10, 1, 'a')"],
    &["insert into c (id, x, y) values (1, 1, 'a') on conflict (id) do update set x = 1, y = 'a'"],
];

/// What the other does to the rows that are referred to.
const PARENTS: [&[&str]; 5] = [
    &["delete from p where x = 1"],
    &["update p set x = 7 where x = 1 and y = 'a'"],
    &["delete from c where x = 1", "delete from p where x = 1 and y = 'a'"],
    &["update p set y = '' where x = 2", "delete from p where x = 1 and y = 'a'"],
    &["delete from p where x = 1 and y = ''", "insert into p values (1, 'b')"],
];

/// A key of two columns, in another order than the reference names them.
fn made(action: &str) -> String {
    format!(
        "create table p (x int, y text, primary key (y, x)); \
         create table c (id int primary key, x int default 3, y text default 'd', \
           foreign key (x, y) references p (x, y) on delete {action} on update {action})"
    )
}

const ROWS: &str = "delete from c; delete from p; \
         insert into p values (1, 'a'), (2, 'b'), (3, 'd'), (1, ''); \
         insert into c values (1, 1, 'a'), (2, 2, 'b'), (3, null, ''), (4, 1, '')";

/// A side of an order: a session and the statements that it has still to run.
struct Side {
    session: Session,
    left: Vec<String>,
    failed: Vec<(String, &'static str)>,
    ended: bool,
}

impl Side {
    fn new(database: &Arc<SqlDatabase>, level: &str, changes: &[&str]) -> Self {
        let mut left = vec![format!("begin isolation level {level}")];
        left.extend(changes.iter().map(|change| (*change).to_owned()));
        left.push("commit".to_owned());
        left.reverse();
        Self { session: database.session(), left, failed: Vec::new(), ended: false }
    }

    /// Runs the next statement; whoever has failed rolls back at once.
    fn step(&mut self) {
        let Some(text) = self.left.pop() else { return };
        if self.ended {
            return;
        }
        if let Err(error) = self.session.execute(&text) {
            self.failed.push((text, error.state().as_str()));
            self.ended = true;
            let _ = self.session.execute("rollback");
        }
    }
}

/// All ways to put so many steps of the one and of the other behind each other.
fn orders(first: usize, second: usize) -> Vec<Vec<bool>> {
    if first == 0 || second == 0 {
        return vec![[vec![true; first], vec![false; second]].concat()];
    }
    let put = |is_first: bool, rest: Vec<Vec<bool>>| {
        rest.into_iter().map(move |order| [vec![is_first], order].concat())
    };
    let begun_by_first = put(true, orders(first - 1, second));
    begun_by_first.chain(put(false, orders(first, second - 1))).collect()
}

fn judge(
    (database, action): (&Arc<SqlDatabase>, &str),
    (child, parent): (&[&str], &[&str]),
    levels: (&str, &str),
    order: &[bool],
) {
    run(&mut database.session(), ROWS);
    let mut first = Side::new(database, levels.0, child);
    let mut second = Side::new(database, levels.1, parent);
    // Nobody is to wait for somebody who cannot go on.
    for side in [&mut first, &mut second] {
        run(&mut side.session, "set statement_timeout = 30");
    }
    order.iter().for_each(|is_first| if *is_first { first.step() } else { second.step() });
    let what = format!("{action}, {levels:?}, {order:?}: {child:?} beside {parent:?}");
    for (text, state) in first.failed.iter().chain(&second.failed) {
        let is_right = ["23503", "40001", "57014", "55P03", "23505"].contains(state);
        assert!(is_right, "{what}: {text} fails with {state}");
    }
    let mut session = database.session();
    let left = orphans(&mut session, ("c", &["x", "y"]), ("p", &["x", "y"]));
    let all = rows(&mut session, "select * from p order by x, y");
    assert!(left.is_empty(), "{what}: orphans {left:?} over {all:?}");
    // What is there can be found by its key as well.
    let deep = rows(&mut session, "select id from c where id >= 0 order by id");
    assert_eq!(deep, rows(&mut session, "select id from c order by id"), "{what}");
}

/// Each of so many orders is run: all with REMANENT_FOREIGN_KEYS=all.
fn is_chosen(number: usize, of: usize) -> bool {
    std::env::var("REMANENT_FOREIGN_KEYS").is_ok_and(|all| all == "all") || number % of == 5
}

fn database(action: &str) -> Arc<SqlDatabase> {
    let database = SqlDatabase::in_memory().unwrap();
    run(&mut database.session(), &made(action));
    database
}

#[test]
fn no_order_of_two_sessions_leaves_an_orphan() {
    let mut number = 0;
    for action in ACTIONS {
        let database = database(action);
        for child in CHILDREN {
            for parent in PARENTS {
                for (one, other) in LEVELS.iter().flat_map(|one| LEVELS.map(|other| (one, other))) {
                    for order in orders(child.len() + 2, parent.len() + 2) {
                        number += 1;
                        if is_chosen(number, 311) {
                            judge((&database, action), (child, parent), (one, other), &order);
                        }
                    }
                }
            }
        }
    }
}

/// The orders in which both have begun and changed before either commits, at all levels: these are
/// the ones that need the commit to look again.
#[test]
fn no_overlap_of_two_sessions_leaves_an_orphan() {
    let orders: [&[bool]; 4] = [
        &[true, false, true, false, true, false],
        &[true, false, true, false, false, true],
        &[true, false, false, true, true, false],
        &[true, false, false, true, false, true],
    ];
    let mut number = 0;
    for action in ACTIONS {
        let database = database(action);
        for child in CHILDREN.into_iter().filter(|changes| changes.len() == 1) {
            for parent in PARENTS.into_iter().filter(|changes| changes.len() == 1) {
                for (one, other) in LEVELS.iter().flat_map(|one| LEVELS.map(|other| (one, other))) {
                    for order in orders {
                        number += 1;
                        if is_chosen(number, 29) {
                            judge((&database, action), (child, parent), (one, other), order);
                        }
                    }
                }
            }
        }
    }
}
