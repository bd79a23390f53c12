//! A database in a folder that can be killed: what a process had handed to the system by then is
//! copied, and opened by somebody else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use remanent_engine::{Database, Durability, Options};
use remanent_sql::{Session, SqlDatabase};
use tempfile::TempDir;

/// A database whose commits are handed to the system at once.
pub(crate) struct Folder {
    _within: TempDir,
    path: PathBuf,
    pub(crate) database: Arc<SqlDatabase>,
}

fn options() -> Options {
    Options::new().durability(Durability::Os)
}

impl Folder {
    pub(crate) fn new() -> Self {
        let within = TempDir::new().unwrap();
        let path = within.path().join("data");
        let database = SqlDatabase::open_at(&path, options()).unwrap();
        Self { _within: within, path, database }
    }

    /// A folder in which a program has written by the engine alone.
    pub(crate) fn made_by(write: impl FnOnce(&Database)) -> Self {
        let within = TempDir::new().unwrap();
        let path = within.path().join("data");
        let engine = Database::open_at(&path, options()).unwrap();
        write(&engine);
        drop(engine);
        let database = SqlDatabase::open_at(&path, options()).unwrap();
        Self { _within: within, path, database }
    }

    pub(crate) fn session(&self) -> Session {
        self.database.session()
    }

    /// What is found if the process dies now.
    pub(crate) fn killed(&self) -> Self {
        let within = TempDir::new().unwrap();
        let path = within.path().join("data");
        copy(&self.path, &path);
        let database = SqlDatabase::open_at(&path, options())
            .unwrap_or_else(|error| panic!("it does not open again: {error:?}"));
        Self { _within: within, path, database }
    }

    /// Closed in order, changed by a program that uses the engine alone, and opened again.
    pub(crate) fn changed_by(self, write: impl FnOnce(&Database)) -> Self {
        let Self { _within, path, database } = self;
        drop(database);
        let engine = Database::open_at(&path, options()).unwrap();
        write(&engine);
        drop(engine);
        let database = SqlDatabase::open_at(&path, options())
            .unwrap_or_else(|error| panic!("it does not open again: {error:?}"));
        Self { _within, path, database }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Whether a case is one of those that always run, each of so many; all do with
/// REMANENT_DEFINITIONS.
pub(crate) fn is_chosen(number: usize, of: usize) -> bool {
    std::env::var("REMANENT_DEFINITIONS").is_ok() || number.is_multiple_of(of)
}

/// Runs what must succeed.
pub(crate) fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

/// The state with which a text fails, if it does.
pub(crate) fn state(session: &mut Session, text: &str) -> Option<&'static str> {
    session.execute(text).err().map(|error| error.state().as_str())
}

/// The rows of an answer as text.
pub(crate) fn rows(session: &mut Session, query: &str) -> Vec<Vec<String>> {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let text = |datum: &remanent_sql::Datum| datum.to_text().unwrap_or_else(|| "NULL".to_owned());
    answer.rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

/// The one value of an answer.
pub(crate) fn value(session: &mut Session, query: &str) -> String {
    rows(session, query).pop().and_then(|mut row| row.pop()).unwrap_or_default()
}

/// Everything that the catalogue says of what was defined, one thing a line.
pub(crate) fn told(session: &mut Session) -> Vec<String> {
    let queries = [
        "select 'relation', n.nspname, c.relname, c.relkind, \
           coalesce(obj_description(c.oid, 'pg_class'), '-') \
         from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         where n.nspname not in ('pg_catalog', 'information_schema', 'sql')",
        "select 'column', table_schema, table_name, ordinal_position, column_name, data_type, \
           is_nullable, column_default, is_identity, identity_generation, is_generated, \
           generation_expression \
         from information_schema.columns \
         where table_schema not in ('pg_catalog', 'information_schema', 'sql')",
        "select 'constraint', r.relname, c.conname, c.contype, pg_get_constraintdef(c.oid) \
         from pg_constraint c join pg_class r on r.oid = c.conrelid",
        "select 'index', schemaname, tablename, indexname, indexdef from pg_indexes \
         where schemaname not in ('pg_catalog', 'information_schema', 'sql')",
        "select 'view', schemaname, viewname, definition from pg_views \
         where schemaname not in ('pg_catalog', 'information_schema', 'sql')",
        "select 'sequence', sequence_schema, sequence_name, start_value, increment, minimum_value, \
           maximum_value, cycle_option from information_schema.sequences",
        "select 'right', r.rolname, n.nspname, c.relname, p.p \
         from pg_roles r cross join pg_class c join pg_namespace n on n.oid = c.relnamespace \
         cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) p (p) \
         where c.relkind in ('r', 'v') and \
           case r.rolname when 'remanent' then false \
           else has_table_privilege(r.rolname, c.oid, p.p) end \
           and n.nspname not in ('pg_catalog', 'information_schema', 'sql')",
        "select 'schema', nspname, coalesce(obj_description(oid, 'pg_namespace'), '-') \
         from pg_namespace",
        "select 'comment', objsubid, description from pg_description",
        "select 'role', rolname, rolcanlogin, rolsuper from pg_roles",
    ];
    let mut all = Vec::new();
    for query in queries {
        let mut told: Vec<String> =
            rows(session, query).into_iter().map(|row| row.join(" | ")).collect();
        told.sort();
        all.extend(told);
    }
    all
}
