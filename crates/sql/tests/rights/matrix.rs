//! Every try in every state that somebody can be in, in each way in which a statement can be run.

use std::cell::RefCell;
use std::collections::HashSet;

use remanent_sql::{Datum, Error, Kind, Prepared, Session, SqlState, Statement};

use crate::tries::{On, Try, Who, of};
use crate::world::{GRANTS, World, state};

/// What happens to an object, in words, and how.
type Change = (&'static str, fn(&mut World));

thread_local! {
    static FAULTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes what is not as it has to be: all of it is told together, when the test ends.
fn expect(holds: bool, fault: impl FnOnce() -> String) {
    if !holds {
        FAULTS.with_borrow_mut(|faults| faults.push(fault()));
    }
}

fn no_faults() {
    let faults = FAULTS.take();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn all() -> impl Iterator<Item = Try> {
    Kind::ALL.iter().flat_map(|kind| {
        let tries = of(*kind);
        assert!(!tries.is_empty(), "nothing is tried of {kind:?}");
        for one in &tries {
            let found = Kind::of(&Statement::parse(one.text).unwrap());
            assert_eq!(found, Some(*kind), "{}", one.text);
        }
        tries
    })
}

/// Runs a statement as whoever speaks to the caller does it.
fn run(session: &mut Session, text: &str) -> Result<(), Error> {
    let statement = Statement::parse(text)?;
    if !statement.is_copy() {
        return session.execute(text).map(drop);
    }
    let copy = statement.copy()?;
    if !copy.to_caller {
        let copying = session.copy_in(&copy)?;
        return session.copy_done(copying).map(drop);
    }
    let query = copy.query()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async { session.run(&query, &[]).await?.collect().await.map(drop) })
}

fn run_prepared(session: &mut Session, prepared: &Prepared) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let none: [Datum; 0] = [];
    runtime
        .block_on(async { session.run_prepared(prepared, &none).await?.collect().await.map(drop) })
}

/// The ways in which a statement is run, beside as it stands: by name, as one that was described,
/// explained, and as a view.
fn ways(one: &Try) -> Vec<String> {
    let mut ways = Vec::from([one.text.to_owned()]);
    let Ok(statement) = Statement::parse(one.text) else { return ways };
    let kind = Kind::of(&statement);
    let is_rows = [Kind::Select, Kind::Insert, Kind::Update, Kind::Delete, Kind::Merge];
    if kind.is_some_and(|kind| is_rows.contains(&kind)) {
        ways.push(format!("prepare way as {}", one.text));
        if one.on != On::Sequence {
            ways.push(format!("explain {}", one.text));
        }
        ways.push(format!("explain analyze {}", one.text));
    }
    if kind == Some(Kind::Select) && one.on != On::Sequence {
        ways.push(format!("create view g.way as {}", one.text));
        ways.push(format!("create table g.way as {}", one.text));
        ways.push(format!("insert into g.taken select x::text from ({}) as x(x)", one.text));
    }
    ways
}

/// All ways to run something are refused, and nothing is told of what it would give.
fn all_refused(session: &mut Session, one: &Try, when: &str) {
    let wanted = match one.who {
        Who::Everybody => return,
        Who::Caller => SqlState::FEATURE_NOT_SUPPORTED,
        _ => SqlState::NO_PRIVILEGE,
    };
    let _ = session.execute("deallocate all");
    if !one.before.is_empty() {
        session.execute(one.before).unwrap();
    }
    for way in ways(one) {
        // A sequence is asked for when a function is called, and not before.
        if one.on == On::Sequence && way.starts_with("prepare") {
            session.execute(&way).unwrap();
            let done = state(session.execute("execute way"));
            expect(done == Some(wanted), || format!("{way}, {when}: {done:?}"));
            continue;
        }
        let done = run(session, &way);
        let tells = done.as_ref().is_err_and(|error| error.to_string().contains("secret"));
        expect(!tells, || format!("{way}, {when}, tells: {done:?}"));
        let is_refused = done.as_ref().is_err_and(|error| error.state() == wanted);
        expect(is_refused, || format!("{way}, {when}: {done:?}"));
    }
    let _ = session.execute("rollback");
    let statement = Statement::parse(one.text).unwrap();
    if one.who == Who::Caller || statement.is_copy() {
        return;
    }
    // What describes a statement either refuses it, or tells nothing and refuses it later.
    if let Ok(prepared) = session.prepare(&statement, &[]) {
        let kind = Kind::of(&statement);
        let columns = match kind {
            Some(Kind::Select | Kind::Execute) => 1,
            _ => 0,
        };
        let told = prepared.columns.len();
        expect(told <= columns, || format!("{}: {:?}", one.text, prepared.columns));
        let done = state(run_prepared(session, &prepared));
        expect(done == Some(wanted), || format!("{}, described, {when}: {done:?}", one.text));
    }
}

/// A try is done, or ends as is said of it.
fn is_done(session: &mut Session, one: &Try, who: &str) {
    if !one.before.is_empty() {
        session.execute(one.before).unwrap();
    }
    let wanted = match one.who {
        Who::Caller => "0A000",
        _ => one.ends,
    };
    let done = run(session, one.text);
    let ended = done.as_ref().err().map_or("", |error| error.state().as_str());
    expect(ended == wanted, || format!("{} of {who}: {done:?}", one.text));
}

#[test]
fn superusers_and_owners_may() {
    for one in all() {
        let world = World::new();
        is_done(&mut world.act("boss"), &one, "a superuser");
        let world = World::new();
        let mut owner = world.act("owner");
        match one.who {
            Who::Superuser => all_refused(&mut owner, &one, "to an owner"),
            _ => is_done(&mut owner, &one, "the owner"),
        }
    }
    no_faults();
}

#[test]
fn exactly_the_rights_that_are_needed_are_enough() {
    for one in all() {
        let Who::Granted(rights) = one.who else { continue };
        let mut world = World::new();
        for (right, object) in rights {
            let right = right.split('|').next().unwrap_or(right);
            world.run(&format!("grant {right} on {object} to guest"));
        }
        is_done(&mut world.act("guest"), &one, "a role with the rights");
    }
    no_faults();
}

#[test]
fn with_nothing_granted_all_is_refused() {
    let mut world = World::new();
    let before = world.print();
    let mut guest = world.act("guest");
    for one in all() {
        all_refused(&mut guest, &one, "without a right");
    }
    assert_eq!(world.print(), before);
    // What is everybody's is run by whoever has nothing.
    for one in all().filter(|one| one.who == Who::Everybody) {
        is_done(&mut world.act("guest"), &one, "a role without rights");
    }
    no_faults();
}

#[test]
fn every_right_but_the_one_that_is_needed_is_not_enough() {
    let mut world = World::new();
    world.grant_all();
    let before = world.print();
    let mut guest = world.act("guest");
    for one in all() {
        let Who::Granted(rights) = one.who else {
            all_refused(&mut guest, &one, "with all rights that can be given");
            continue;
        };
        for (withheld, object) in rights {
            for right in withheld.split('|') {
                world.run(&format!("revoke {right} on {object} from guest"));
            }
            let when = format!("revoked {withheld} on {object}");
            all_refused(&mut guest, &one, &when);
            for right in withheld.split('|') {
                world.run(&format!("grant {right} on {object} to guest"));
            }
        }
    }
    assert_eq!(world.print(), before);
    no_faults();
}

#[test]
fn what_was_prepared_with_a_right_is_refused_without_it() {
    for one in all() {
        let Who::Granted(rights) = one.who else { continue };
        let statement = Statement::parse(one.text).unwrap();
        if statement.is_copy() || !one.before.is_empty() {
            continue;
        }
        let mut world = World::new();
        world.grant_all();
        let mut guest = world.act("guest");
        let prepared = guest.prepare(&statement, &[]).unwrap();
        if Kind::of(&statement) != Some(Kind::Prepare) {
            guest.execute(&format!("prepare way as {}", one.text)).unwrap();
        }
        let (right, object) = rights[0];
        for right in right.split('|') {
            world.run(&format!("revoke {right} on {object} from guest"));
        }
        let before = world.print();
        let refused = Some(SqlState::NO_PRIVILEGE);
        let done = state(run_prepared(&mut guest, &prepared));
        expect(done == refused, || format!("{}: {done:?}", one.text));
        if Kind::of(&statement) != Some(Kind::Prepare) {
            let done = state(guest.execute("execute way"));
            expect(done == refused, || format!("{} by name: {done:?}", one.text));
        }
        assert_eq!(world.print(), before, "{}", one.text);
    }
    no_faults();
}

#[test]
fn a_role_that_was_dropped_may_nothing() {
    let mut world = World::new();
    world.grant_all();
    for (object, rights) in GRANTS {
        world.run(&format!("grant {} on {object} to public", rights.join(", ")));
    }
    let mut guest = world.act("guest");
    let prepared: Vec<(Try, Prepared)> = all()
        .filter(|one| matches!(one.who, Who::Granted(_)))
        .filter_map(|one| {
            let statement = Statement::parse(one.text).unwrap();
            Some((one, guest.prepare(&statement, &[]).ok()?))
        })
        .collect();
    world.run(
        "alter schema g owner to boss; drop role guest; create role guest; \
               grant create on schema s to guest",
    );
    let before = world.print();
    for (one, prepared) in prepared {
        let statement = Statement::parse(one.text).unwrap();
        if !statement.is_copy() && one.before.is_empty() {
            let done = state(run_prepared(&mut guest, &prepared));
            let refused = Some(SqlState::NO_PRIVILEGE);
            expect(done == refused, || format!("{}: {done:?}", one.text));
        }
    }
    for one in all() {
        all_refused(&mut guest, &one, "to a role that was dropped");
    }
    assert_eq!(world.print(), before);
    no_faults();
}

#[test]
fn rights_go_with_what_they_were_on_and_come_to_nothing_else() {
    let changes: [Change; 2] = [("dropped", World::make_again), ("renamed", World::move_away)];
    for (what, change) in changes {
        let mut world = World::new();
        world.grant_all();
        let mut guest = world.act("guest");
        change(&mut world);
        world.run("grant usage, create on schema s to guest");
        let before = world.print();
        for one in all() {
            // What is made in the schema alone needs no right on what is in it.
            let own = |(_, object): &(&str, &str)| *object != "schema s";
            let Who::Granted(rights) = one.who else { continue };
            if rights.iter().any(own) {
                all_refused(&mut guest, &one, &format!("of what was {what}"));
            }
        }
        assert_eq!(world.print(), before);
        if what == "renamed" {
            guest.execute("select * from s.moved_t; delete from s.moved_t").unwrap();
        }
    }
    no_faults();
}

#[test]
fn what_has_no_kind_is_refused_to_everybody() {
    let world = World::new();
    let mut boss = world.act("boss");
    for text in [
        "load 'x'",
        "create function f() returns int as 'select 1' language sql",
        "create database d",
        "set role owner",
        "set session authorization owner",
        "copy s.t to program 'cat'",
        "lock table s.t",
        "alter view s.v as select 1",
        "create type x as enum ('a')",
        "call p()",
        "show tables",
    ] {
        let found = state(boss.execute(text)).map(|state| state.as_str());
        let refused = matches!(found, Some("0A000" | "42601" | "42704"));
        assert!(refused, "{text}: {found:?}");
    }
    let all: HashSet<Kind> = Kind::ALL.iter().copied().collect();
    assert_eq!(all.len(), Kind::ALL.len());
    no_faults();
}
