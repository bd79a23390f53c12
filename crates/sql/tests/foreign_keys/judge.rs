//! What is asked of a database afterwards: that each reference of each table finds its row.
//!
//! The question is put to the rows, by joins that use no index, and not to whatever keeps the
//! references.

use std::sync::Arc;

use remanent_sql::{Session, SqlDatabase};

/// A session over a new database in which these statements have run.
pub(super) fn database(text: &str) -> (Arc<SqlDatabase>, Session) {
    let database = SqlDatabase::in_memory().unwrap();
    let mut session = database.session();
    run(&mut session, text);
    (database, session)
}

/// Runs what must succeed.
pub(super) fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

/// The state with which a text fails, if it does.
pub(super) fn state(session: &mut Session, text: &str) -> Option<&'static str> {
    session.execute(text).err().map(|error| error.state().as_str())
}

/// The rows of an answer as text.
pub(super) fn rows(session: &mut Session, query: &str) -> Vec<Vec<String>> {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let text = |datum: &remanent_sql::Datum| datum.to_text().unwrap_or_else(|| "NULL".to_owned());
    answer.rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

/// Rows of `child` that refer by these columns to no row of `parent`.
pub(super) fn orphans(
    session: &mut Session,
    (child, from): (&str, &[&str]),
    (parent, to): (&str, &[&str]),
) -> Vec<Vec<String>> {
    let set: Vec<String> = from.iter().map(|column| format!("c.{column} is not null")).collect();
    let same: Vec<String> =
        from.iter().zip(to).map(|(from, to)| format!("c.{from} = p.{to}")).collect();
    let query = format!(
        "select c.* from {child} c left join (select *, true as found from {parent}) p on {} \
         where {} and p.found is null",
        same.join(" and "),
        set.join(" and ")
    );
    rows(session, &query)
}
