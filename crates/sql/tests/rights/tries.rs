//! For each kind of statement: what is tried, on which kind of object, and who may.

use remanent_sql::Kind;

/// Whose right something is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Who {
    Everybody,
    /// Whoever has all of these; of rights with a bar between them, one is enough.
    Granted(&'static [(&'static str, &'static str)]),
    /// The owner of the object.
    Owner,
    Superuser,
    /// Nobody in a session: whoever speaks to the caller runs it, see the tests of the server.
    Caller,
}

/// What kind of object it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    Table,
    View,
    Sequence,
    Schema,
    Role,
    Index,
    File,
    None,
}

/// A statement, what has to be run before it, and the state of the error that it meets at last
/// where it is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    pub(crate) on: On,
    pub(crate) text: &'static str,
    pub(crate) who: Who,
    pub(crate) before: &'static str,
    pub(crate) ends: &'static str,
}

const USE: (&str, &str) = ("usage", "schema s");
const MAKE: (&str, &str) = ("create", "schema s");

const READ: (&str, &str) = ("select", "table s.t");
const READ_U: (&str, &str) = ("select", "table s.u");
const INSERT: (&str, &str) = ("insert", "table s.t");
const UPDATE: (&str, &str) = ("update", "table s.t");
const DELETE: (&str, &str) = ("delete", "table s.t");

const fn a(on: On, text: &'static str, who: Who) -> Try {
    Try { on, text, who, before: "", ends: "" }
}

fn table(text: &'static str, rights: &'static [(&'static str, &'static str)]) -> Try {
    a(On::Table, text, Who::Granted(rights))
}

/// What is tried of a kind.
pub(crate) fn of(kind: Kind) -> Vec<Try> {
    match kind {
        Kind::Select => select(),
        Kind::Insert | Kind::Update | Kind::Delete | Kind::Merge | Kind::Truncate => change(kind),
        Kind::CopyFrom => vec![
            table("copy s.t from stdin", &[INSERT, USE]),
            table("copy s.t (a) from stdin", &[INSERT, USE]),
            file("copy s.t from '/nowhere/file' with (format parquet)"),
        ],
        Kind::CopyTo => vec![
            table("copy s.t to stdout", &[READ, USE]),
            table("copy (select b from s.t) to stdout", &[READ, USE]),
            a(On::View, "copy (select * from s.v) to stdout", VIEW),
            file("copy s.t to '/nowhere/file' with (format parquet)"),
        ],
        Kind::Declare => vec![a(On::Table, "declare c cursor for select * from s.t", Who::Caller)],
        Kind::Fetch => vec![a(On::None, "fetch all from c", Who::Caller)],
        Kind::Close => vec![a(On::None, "close c", Who::Caller)],
        Kind::Explain => explain(),
        Kind::Prepare | Kind::Execute => by_name(kind),
        Kind::Deallocate => vec![after("prepare x as select 1", "deallocate x")],
        Kind::Discard => vec![a(On::None, "discard all", Who::Everybody)],
        Kind::Set => vec![a(On::None, "set application_name = 'x'", Who::Everybody)],
        Kind::Show => vec![a(On::None, "show search_path", Who::Everybody)],
        Kind::Reset => vec![a(On::None, "reset search_path", Who::Everybody)],
        Kind::Listen => vec![a(On::None, "listen x", Who::Everybody)],
        Kind::Unlisten => vec![a(On::None, "unlisten x", Who::Everybody)],
        Kind::Notify => vec![a(On::None, "notify x, 'y'", Who::Everybody)],
        Kind::Begin => vec![a(On::None, "begin", Who::Everybody)],
        Kind::Commit => vec![after("begin", "commit")],
        Kind::Rollback => vec![after("begin", "rollback")],
        Kind::Savepoint => vec![after("begin", "savepoint x")],
        Kind::Release => vec![after("begin; savepoint x", "release savepoint x")],
        Kind::Analyze => {
            vec![a(On::Table, "analyze s.t", Who::Owner), a(On::None, "analyze", Who::Everybody)]
        }
        Kind::Vacuum => vec![
            a(On::Table, "vacuum s.t", Who::Owner),
            a(On::Table, "vacuum full s.t", Who::Owner),
            a(On::None, "vacuum", Who::Everybody),
        ],
        Kind::CreateTable
        | Kind::CreateIndex
        | Kind::CreateView
        | Kind::CreateSequence
        | Kind::CreateSchema
        | Kind::CreateRole => create(kind),
        Kind::AlterTable | Kind::AlterSchema | Kind::AlterRole | Kind::Comment => alter(kind),
        Kind::DropTable => owned(On::Table, &["drop table s.u", "drop table s.t cascade"]),
        Kind::DropView => owned(On::View, &["drop view s.v", "drop view if exists s.v"]),
        Kind::DropIndex => owned(On::Index, &["drop index s.t_b"]),
        Kind::DropSequence => owned(On::Sequence, &["drop sequence s.q"]),
        Kind::DropSchema => owned(On::Schema, &["drop schema s cascade"]),
        Kind::DropRole => vec![
            a(On::Role, "drop role other", Who::Superuser),
            a(On::Role, "drop user if exists other", Who::Superuser),
        ],
        Kind::Grant | Kind::Revoke => give(kind),
    }
}

const VIEW: Who = Who::Granted(&[("select", "table s.v"), USE]);

fn owned(on: On, texts: &[&'static str]) -> Vec<Try> {
    texts.iter().map(|text| a(on, text, Who::Owner)).collect()
}

fn after(before: &'static str, text: &'static str) -> Try {
    Try { before, ..a(On::None, text, Who::Everybody) }
}

fn file(text: &'static str) -> Try {
    Try { ends: "58030", ..a(On::File, text, Who::Superuser) }
}

fn select() -> Vec<Try> {
    vec![
        table("select * from s.t", &[READ, USE]),
        table("select b from s.t where a = 1", &[READ, USE]),
        table("select count(*) from s.t", &[READ, USE]),
        table("select 1 where exists (select 1 from s.t)", &[READ, USE]),
        table("select a from s.u where b in (select b from s.t)", &[READ, READ_U, USE]),
        table("with x as (select * from s.t) select a from x", &[READ, USE]),
        table("select * from s.u join lateral (select b from s.t) x on true", &[READ, READ_U, USE]),
        table("select 1 union all select a from s.t", &[READ, USE]),
        table("values ((select b from s.t))", &[READ, USE]),
        table("select coalesce((select max(b) from s.t), 'none')", &[READ, USE]),
        a(On::View, "select * from s.v", VIEW),
        a(On::View, "select b from s.v where a = 1", VIEW),
        sequence("select nextval('s.q')", &[("usage|update", "sequence s.q"), USE]),
        sequence("select setval('s.q', 5)", &[("update", "sequence s.q"), USE]),
        a(On::None, "select 1", Who::Everybody),
    ]
}

fn sequence(text: &'static str, rights: &'static [(&'static str, &'static str)]) -> Try {
    a(On::Sequence, text, Who::Granted(rights))
}

fn change(kind: Kind) -> Vec<Try> {
    const BOTH: &[(&str, &str)] = &[INSERT, UPDATE, READ, USE];
    const MERGED: &[(&str, &str)] = &[INSERT, UPDATE, READ, READ_U, USE];
    match kind {
        Kind::Insert => vec![
            table("insert into s.t values (7, 'x')", &[INSERT, USE]),
            table("insert into s.t (a) select a + 5 from s.u", &[INSERT, READ_U, USE]),
            table("insert into s.t values (7, 'x') returning a", &[INSERT, READ, USE]),
            table("insert into s.t values (1) on conflict do nothing", &[INSERT, READ, USE]),
            table("insert into s.t values (1) on conflict (a) do update set b = 'x'", BOTH),
        ],
        Kind::Update => vec![
            table("update s.t set b = 'x'", &[UPDATE, USE]),
            table("update s.t set b = 'x' where a = 1", &[UPDATE, READ, USE]),
            table("update s.t set b = b || 'x'", &[UPDATE, READ, USE]),
            table("update s.t set b = 'x' returning b", &[UPDATE, READ, USE]),
            table("update s.t set b = (select max(b) from s.u)", &[UPDATE, READ_U, READ, USE]),
            table("update s.t set b = u.b from s.u u", &[UPDATE, READ, READ_U, USE]),
        ],
        Kind::Delete => vec![
            table("delete from s.t", &[DELETE, USE]),
            table("delete from s.t where a = 1", &[DELETE, READ, USE]),
            table("delete from s.t returning *", &[DELETE, READ, USE]),
            table("delete from s.t using s.u where s.t.a = s.u.a", &[DELETE, READ, READ_U, USE]),
        ],
        Kind::Merge => vec![
            table(
                "merge into s.t t using s.u u on t.a = u.a when matched then update set b = u.b \
                 when not matched then insert (a, b) values (u.a, u.b)",
                MERGED,
            ),
            table(
                "merge into s.t t using s.u u on t.a = u.a when matched then delete",
                &[DELETE, READ, READ_U, USE],
            ),
        ],
        _ => vec![
            table("truncate s.t", &[("truncate", "table s.t"), USE]),
            table(
                "truncate s.t, s.u cascade",
                &[("truncate", "table s.t"), ("truncate", "table s.u"), USE],
            ),
        ],
    }
}

fn explain() -> Vec<Try> {
    vec![
        table("explain select * from s.t", &[READ, USE]),
        table("explain verbose select b from s.t where a = 1", &[READ, USE]),
        table("explain analyze select * from s.t", &[READ, USE]),
        table("explain insert into s.t values (7)", &[INSERT, USE]),
        table("explain analyze insert into s.t values (7)", &[INSERT, USE]),
        table("explain update s.t set b = 'x'", &[UPDATE, USE]),
        table("explain analyze delete from s.t", &[DELETE, USE]),
        a(On::View, "explain select * from s.v", VIEW),
    ]
}

fn by_name(kind: Kind) -> Vec<Try> {
    let run = |text, rights| Try {
        before: "prepare k(text) as select $1",
        ..a(On::Table, text, Who::Granted(rights))
    };
    match kind {
        Kind::Prepare => vec![
            table("prepare x as select * from s.t", &[READ, USE]),
            table("prepare x(int) as select b from s.t where a = $1", &[READ, USE]),
            table("prepare x(int) as update s.t set b = 'x' where a = $1", &[UPDATE, READ, USE]),
            table("prepare x(int) as insert into s.t values ($1)", &[INSERT, USE]),
            a(On::View, "prepare x as select * from s.v", VIEW),
        ],
        _ => vec![
            run("execute k((select b from s.t))", &[READ, USE]),
            run("execute k((select max(b) from s.v))", &[("select", "table s.v"), USE]),
        ],
    }
}

fn create(kind: Kind) -> Vec<Try> {
    let refers = &[MAKE, USE, ("references", "table s.u")];
    let schema = |text, rights| a(On::Schema, text, Who::Granted(rights));
    match kind {
        Kind::CreateTable => vec![
            schema("create table s.n (a int)", &[MAKE]),
            schema("create table if not exists s.n (a int generated always as identity)", &[MAKE]),
            table("create table s.n as select * from s.t", &[MAKE, READ, USE]),
            table("create table s.n (like s.t)", &[MAKE, READ, USE]),
            table("create table s.n (a int references s.u)", refers),
        ],
        Kind::CreateIndex => owned(On::Table, &["create index n on s.t (b)"]),
        Kind::CreateView => vec![
            table("create view s.n as select * from s.t", &[MAKE, READ, USE]),
            table(
                "create view s.n as select 1 as a where exists (select 1 from s.t)",
                &[MAKE, READ, USE],
            ),
            a(On::View, "create or replace view s.v as select 1 as a, 'x' as b", Who::Owner),
        ],
        Kind::CreateSequence => vec![schema("create sequence s.n", &[MAKE])],
        Kind::CreateSchema => vec![a(On::Schema, "create schema n", Who::Superuser)],
        _ => vec![
            a(On::Role, "create role n", Who::Superuser),
            a(On::Role, "create user n password 'x'", Who::Superuser),
        ],
    }
}

fn alter(kind: Kind) -> Vec<Try> {
    match kind {
        Kind::AlterTable => {
            let mut all = owned(
                On::Table,
                &[
                    "alter table s.t add column c int",
                    "alter table s.u drop column b",
                    "alter table s.u alter column a type smallint",
                    "alter table s.t alter column b set default 'x'",
                    "alter table s.t add constraint n check (a > 0)",
                    "alter table s.t add constraint n foreign key (a) references s.u",
                    "alter table s.u rename to n",
                    "alter table s.u rename column b to c",
                ],
            );
            all.push(a(On::Table, "alter table s.t owner to other", Who::Superuser));
            all.push(a(On::View, "alter table s.v owner to other", Who::Superuser));
            all.push(a(On::Sequence, "alter table s.q owner to other", Who::Superuser));
            all
        }
        Kind::AlterSchema => vec![a(On::Schema, "alter schema s owner to other", Who::Superuser)],
        Kind::AlterRole => vec![
            a(On::Role, "alter role other password 'x'", Who::Superuser),
            a(On::Role, "alter role other nologin", Who::Superuser),
            a(On::Role, "alter role guest superuser", Who::Superuser),
        ],
        _ => vec![
            a(On::Table, "comment on table s.t is 'x'", Who::Owner),
            a(On::Table, "comment on column s.t.b is 'x'", Who::Owner),
            a(On::View, "comment on view s.v is 'x'", Who::Owner),
            a(On::Index, "comment on index s.t_b is 'x'", Who::Owner),
        ],
    }
}

fn give(kind: Kind) -> Vec<Try> {
    let texts: [(On, &'static str, &'static str); 6] = [
        (On::Table, "grant select on s.t to other", "revoke select on s.t from guest"),
        (
            On::Table,
            "grant all on all tables in schema s to other",
            "revoke all on all tables in schema s from guest",
        ),
        (On::View, "grant select on s.v to other", "revoke select on s.v from guest"),
        (
            On::Sequence,
            "grant usage on sequence s.q to other",
            "revoke usage on sequence s.q from guest",
        ),
        (On::Schema, "grant create on schema s to public", "revoke all on schema s from guest"),
        (
            On::Sequence,
            "grant all on all sequences in schema s to public",
            "revoke all on all sequences in schema s from guest",
        ),
    ];
    let text = |(on, grant, revoke)| match kind {
        Kind::Grant => a(on, grant, Who::Owner),
        _ => a(on, revoke, Who::Owner),
    };
    texts.into_iter().map(text).collect()
}
