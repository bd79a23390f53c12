//! A database with something of every kind, all of it one role's, and what is asked of it.

use std::sync::Arc;

use remanent_sql::{Session, SqlDatabase, SqlState};

/// What `owner` makes in the schema `s`, which is its own.
const OBJECTS: &str = "create table s.u (a int primary key, b text); \
     insert into s.u values (1, 'one'), (2, 'two'); \
     create table s.t (a int primary key, b text); \
     insert into s.t values (1, 'secret'); \
     create index t_b on s.t (b); \
     create view s.v as select a, b from s.t; \
     create sequence s.q;";

/// All rights that can be given on these.
pub(crate) const GRANTS: &[(&str, &[&str])] = &[
    ("table s.t", &["select", "insert", "update", "delete", "truncate", "references"]),
    ("table s.u", &["select", "insert", "update", "delete", "truncate", "references"]),
    ("table s.v", &["select", "insert", "update", "delete", "truncate", "references"]),
    ("sequence s.q", &["usage", "select", "update"]),
    ("schema s", &["usage", "create"]),
];

pub(crate) struct World {
    pub(crate) database: Arc<SqlDatabase>,
    /// Of the program, which may do everything.
    pub(crate) program: Session,
}

impl World {
    pub(crate) fn new() -> Self {
        let database = SqlDatabase::in_memory().unwrap();
        let mut program = database.session();
        let roles = "create role boss superuser; create role owner; create role guest; \
             create role other; create schema s authorization owner; \
             create schema g authorization guest; revoke usage on schema s from public";
        program.execute(roles).unwrap();
        let mut world = Self { database, program };
        world.act("owner").execute(OBJECTS).unwrap();
        let taken = "create table g.taken (b text); grant all on g.taken to public; \
             grant usage, create on schema g to public";
        world.run(taken);
        world
    }

    /// A session of a role.
    pub(crate) fn act(&self, role: &str) -> Session {
        let mut session = self.database.session();
        session.act_as(role).unwrap();
        session
    }

    /// Statements of the program.
    pub(crate) fn run(&mut self, text: &str) {
        if let Err(error) = self.program.execute(text) {
            panic!("{text}: {error}");
        }
    }

    /// Gives the guest everything that can be given.
    pub(crate) fn grant_all(&mut self) {
        for (object, rights) in GRANTS {
            self.run(&format!("grant {} on {object} to guest", rights.join(", ")));
        }
    }

    /// All objects go, and others with their names come.
    pub(crate) fn make_again(&mut self) {
        self.run(
            "drop schema s cascade; create schema s authorization owner; \
                  revoke usage on schema s from public",
        );
        self.act("owner").execute(OBJECTS).unwrap();
    }

    /// The objects get other names, and others come under theirs.
    pub(crate) fn move_away(&mut self) {
        let text = "alter table s.t rename to moved_t; alter table s.u rename to moved_u; \
             drop index s.t_b; drop view s.v; drop sequence s.q";
        self.act("owner").execute(text).unwrap();
        self.act("owner").execute(OBJECTS).unwrap();
    }

    /// What can be seen of everything, to find it unchanged.
    pub(crate) fn print(&mut self) -> String {
        let mut print = String::new();
        for text in [
            "select * from s.t order by a",
            "select * from s.u order by a",
            "select * from s.v order by a",
            "select nspname, nspowner from pg_namespace order by 1",
            "select relname, relkind, relowner from pg_class order by 1, 2",
            "select attname, attrelid from pg_attribute order by 1, 2",
            "select conname from pg_constraint order by 1",
            "select description from pg_description order by 1",
            "select rolname, rolsuper, rolcanlogin from pg_roles order by 1",
            "select has_table_privilege('other', 's.t', 'select'), \
             has_table_privilege('other', 's.v', 'select'), \
             has_sequence_privilege('other', 's.q', 'usage'), \
             has_schema_privilege('other', 's', 'create')",
        ] {
            let answer = self.program.query(text, &[]);
            let answer = answer.unwrap_or_else(|error| panic!("{text}: {error}"));
            print.push_str(&format!("{:?}\n", answer.rows));
        }
        print
    }
}

/// The state of the error, if it is one.
pub(crate) fn state<T>(done: Result<T, remanent_sql::Error>) -> Option<SqlState> {
    done.err().map(|error| error.state())
}

/// Checks that a statement is refused.
pub(crate) fn refused(session: &mut Session, text: &str) {
    match session.execute(text) {
        Ok(answers) => panic!("{text} was done: {:?}", answers.last().map(|a| &a.rows)),
        Err(error) => {
            assert_eq!(error.state(), SqlState::NO_PRIVILEGE, "{text}: {error}");
            assert!(!error.to_string().contains("secret"), "{text}: {error}");
        }
    }
}

/// The rows of a query, one value after the other.
pub(crate) fn values(session: &mut Session, text: &str) -> Vec<String> {
    let answer = session.query(text, &[]);
    let answer = answer.unwrap_or_else(|error| panic!("{text}: {error}"));
    answer.rows.iter().flatten().map(ToString::to_string).collect()
}
