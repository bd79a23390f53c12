//! `remanent_backup()`: what it gives is a database, as it was when the statement began; who may
//! have it, and what is left when nobody takes the rest.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::{Folder, Options, Storage};
use remanent_sql::{Datum, SqlDatabase};

/// How long a thread may take to end, on a machine that others use.
const PATIENCE: Duration = Duration::from_secs(60);

fn filled(db: &Arc<SqlDatabase>) {
    let script = "create table part (id int primary key, name text); create view v as select 1; \
                  insert into part select i, repeat('x', 200) || i from \
                  generate_series(1, 30000) as g(i)";
    db.session().execute(script).expect("it runs");
}

/// Writes the pieces of a backup where it says.
fn write(rows: &[Vec<Datum>], folder: &Path) {
    let folder = Folder::create(folder).expect("a folder");
    let Some((last, pieces)) = rows.split_last() else { panic!("there are no rows") };
    let Datum::Text(name) = &last[2] else { panic!("no name: {last:?}") };
    let file = folder.create(name).expect("a file");
    let mut end = 0;
    for piece in pieces {
        let [Datum::Int(position), Datum::Bytes(bytes), Datum::Null] = &piece[..] else {
            panic!("no piece: {piece:?}")
        };
        assert_eq!(*position as u64, end);
        let taken = file.write_at(end, bytes).expect("it is written");
        assert_eq!(taken, bytes.len());
        end += taken as u64;
    }
    assert_eq!(last[0], Datum::Int(end as i64));
}

#[test]
fn what_it_gives_is_a_database() {
    let place = tempfile::tempdir().expect("a folder");
    let in_folder = SqlDatabase::open_at(place.path().join("db"), Options::new());
    let in_memory = SqlDatabase::in_memory();
    for (number, db) in [in_folder, in_memory].into_iter().enumerate() {
        let db = db.expect("a database");
        filled(&db);
        let mut session = db.session();
        let rows = session.query("select * from remanent_backup()", &[]).expect("a backup").rows;
        assert!(rows.len() > 5, "{} pieces", rows.len());
        session.execute("delete from part").expect("it goes on");
        let copy = place.path().join(number.to_string());
        write(&rows, &copy);
        let copy = SqlDatabase::open_at(&copy, Options::new()).expect("a database");
        let query = "select count(*), sum(length(name)), (select * from v) from part";
        let rows = copy.session().query(query, &[]).expect("it is there").rows;
        let found: Vec<String> = rows[0].iter().map(Datum::to_string).collect();
        assert_eq!(found, ["30000", "6138894", "1"]);
        copy.session().execute("insert into part values (0, 'more')").expect("it takes changes");
    }
}

#[test]
fn who_wants_no_more_of_it_leaves_nothing_behind() {
    let db = SqlDatabase::in_memory().expect("a database");
    filled(&db);
    let users = Arc::strong_count(&db);
    let mut session = db.session();
    let first = session.query("select position from remanent_backup() limit 1", &[]);
    assert_eq!(first.expect("it begins").rows, [[Datum::Int(0)]]);
    drop(session);
    let until = Instant::now() + PATIENCE;
    while Arc::strong_count(&db) > users {
        assert!(Instant::now() < until, "somebody still makes a backup");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn it_is_for_superusers_and_takes_nothing() {
    let db = SqlDatabase::in_memory().expect("a database");
    db.session().execute("create role guest login").expect("a role");
    let mut guest = db.session();
    guest.act_as("guest").expect("there is such a role");
    let refused = guest.query("select name from remanent_backup()", &[]).unwrap_err();
    assert_eq!(refused.state().as_str(), "42501");
    let refused = db.session().query("select name from remanent_backup(1)", &[]).unwrap_err();
    assert_eq!(refused.state().as_str(), "42883");
}
