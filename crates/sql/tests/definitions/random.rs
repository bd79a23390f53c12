//! Random definitions: defined, killed, opened, and compared.
//!
//! REMANENT_DEFINITIONS says how many are drawn, from a fixed seed.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use remanent_sql::{Session, Statement};

use super::draw::{Drawn, drawn};
use super::folder::{Folder, run, state, told};
use super::words::{ODD, WORDS, quoted};

/// Drawn in a run by default.
const COUNT: u32 = 8;

/// States that a refused definition may have: what was asked is not there, or contradicts itself.
fn is_refusal(state: &str) -> bool {
    state.starts_with("42")
        || state.starts_with("22")
        || ["0A000", "54001", "23514"].contains(&state)
}

/// How a definition behaves: what its defaults give, what its checks refuse, what the view says.
fn behaviour(session: &mut Session, drawn: &Drawn) -> Vec<String> {
    let table = drawn.full(&drawn.table);
    let column = |place: usize| quoted(&drawn.columns[place]);
    run(session, "begin");
    let mut all = Vec::new();
    for text in [
        format!("insert into {table} default values"),
        format!("insert into {table} ({}) values (1)", column(0)),
        format!("insert into {table} ({}, {}) values (2, 'b')", column(0), column(1)),
        format!(
            "insert into {table} ({}, {}, {}) values (-3, '', true)",
            column(0),
            column(1),
            column(2)
        ),
        format!("insert into {table} ({}, {}) values (-3, false)", column(0), column(2)),
        format!("select {}, {}, {} from {table} order by 1, 2, 3", column(0), column(1), column(2)),
        format!("select count({}) from {table}", column(3)),
        format!("select * from {}", drawn.full(&drawn.view.0)),
    ] {
        all.push(match session.query(&text, &[]) {
            Ok(answer) => format!("{:?}", {
                let mut rows: Vec<String> =
                    answer.rows.iter().map(|row| format!("{row:?}")).collect();
                rows.sort();
                rows
            }),
            Err(error) => format!("{} {}", error.state().as_str(), error.message()),
        });
    }
    run(session, "rollback");
    all
}

fn failed(what: String) -> TestCaseError {
    TestCaseError::fail(what)
}

fn judge(drawn: &Drawn) -> Result<(), TestCaseError> {
    let folder = Folder::new();
    let mut session = folder.session();
    for text in drawn.statements() {
        // What cannot be parsed is no definition.
        if Statement::parse(&text).is_err() {
            continue;
        }
        let is_bare = text.starts_with("create table") || text.starts_with("create view");
        let before = is_bare.then(|| told(&mut session));
        if let Some(state) = state(&mut session, &text) {
            if !is_refusal(state) {
                return Err(failed(format!("{text} fails with {state}")));
            }
            if before.is_some_and(|before| told(&mut session) != before) {
                return Err(failed(format!("{text} fails with {state} and is there")));
            }
        }
    }
    let (all, does) = (told(&mut session), behaviour(&mut session, drawn));
    let killed = folder.killed();
    let mut again = killed.session();
    if let Some(aside) = killed.database.set_aside().first() {
        return Err(failed(format!("{aside}; of {:#?}", drawn.statements())));
    }
    let (all_again, does_again) = (told(&mut again), behaviour(&mut again, drawn));
    if all != all_again {
        return Err(failed(format!("told {all:#?}, then {all_again:#?}")));
    }
    // Numbers of identity columns go on, and clocks too: only columns that are given are compared.
    if does != does_again {
        return Err(failed(format!("does {does:#?}, then {does_again:#?}")));
    }
    after(&mut again, drawn)?;
    let left = told(&mut killed.killed().session());
    let mut left = left.iter().filter(|line| line.starts_with("relation"));
    if left.any(|line| !line.contains("| public |")) {
        return Err(failed("something of a dropped schema is left behind".to_owned()));
    }
    Ok(())
}

/// Every later definition works.
fn after(session: &mut Session, drawn: &Drawn) -> Result<(), TestCaseError> {
    let exists = |session: &mut Session, name: &str| {
        session.query(&format!("select 1 from {} limit 0", drawn.full(name)), &[]).is_ok()
    };
    let (table, view) = (drawn.full(&drawn.table), drawn.full(&drawn.view.0));
    let mut texts = vec![
        "create table \"later table\" (a serial primary key, \"check\" int check (a > 0))"
            .to_owned(),
        "insert into \"later table\" default values".to_owned(),
        "create role \"later role\"".to_owned(),
        "grant all on \"later table\" to \"later role\"".to_owned(),
        "alter table \"later table\" add column b text default 'x'".to_owned(),
    ];
    if exists(session, &drawn.table) {
        let column = |place: usize| quoted(&drawn.columns[place]);
        texts.push(format!("grant insert on {table} to \"later role\""));
        texts.push(format!("comment on table {table} is 'later'"));
        texts.push(format!("alter table {table} add column \"later column\" int"));
        if state(session, &format!("drop view {view}")).is_none() {
            texts
                .push(format!("alter table {table} rename column {} to \"later name\"", column(0)));
        }
        texts.push(format!("alter table {table} rename to \"later name\""));
        texts.push(format!("drop table {} cascade", drawn.full("later name")));
    }
    texts.push("drop table \"later table\"; drop role \"later role\"".to_owned());
    for text in texts {
        if let Err(error) = session.execute(&text) {
            // A column that was to be added to a view's table changes the view.
            let is_view = error.state().as_str() == "2BP01" && text.starts_with("alter table");
            if !is_view {
                return Err(failed(format!("{text}: {error:?}; of {:#?}", drawn.statements())));
            }
            let rename = text.contains("rename to");
            if rename {
                return Err(failed(format!("{text}: {error:?}; of {:#?}", drawn.statements())));
            }
        }
    }
    let _ = session.execute(&format!("drop sequence {}", drawn.full(&drawn.sequence)));
    if let Some(schema) = &drawn.schema {
        let _ = session.execute(&format!("drop schema {} cascade", quoted(schema)));
    }
    Ok(())
}

/// Definitions of fifty levels need the stack that a server's threads have.
fn with_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(work).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn random_definitions_are_there_again() {
    with_stack(|| {
        let count = std::env::var("REMANENT_DEFINITIONS").ok().and_then(|text| text.parse().ok());
        let config = Config {
            cases: count.unwrap_or(COUNT),
            failure_persistence: None,
            max_shrink_iters: 6,
            ..Config::default()
        };
        let seed = std::env::var("REMANENT_SEED").ok().and_then(|text| text.parse().ok());
        let mut bytes = [7; 32];
        bytes[0] = seed.unwrap_or(1);
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, random);
        if let Err(error) = runner.run(&drawn(), |drawn| judge(&drawn)) {
            panic!("{error}");
        }
    });
}

/// All names with REMANENT_DEFINITIONS, some otherwise.
fn words() -> impl Iterator<Item = (usize, &'static str)> {
    let step = if std::env::var("REMANENT_DEFINITIONS").is_ok() { 1 } else { 12 };
    let odd = ODD.into_iter().enumerate().map(|(number, word)| (number + WORDS.len(), word));
    WORDS.into_iter().enumerate().step_by(step).chain(odd)
}

/// Each word as the name of everything.
#[test]
fn every_word_is_a_name() {
    let folder = Folder::new();
    let mut session = folder.session();
    for (number, word) in words() {
        let name = quoted(word);
        let schema = quoted(&format!("s{number}"));
        run(&mut session, &format!("create schema {schema}"));
        run(
            &mut session,
            &format!(
                "create table {schema}.{name} ({name} int constraint {name} check ({name} > 0) \
               default 7, \"i d\" serial primary key, up int references {schema}.{name} (\"i d\"), \
               twice int generated always as ({name} * 2) stored)"
            ),
        );
        let view = quoted(&format!("{word} view"));
        run(
            &mut session,
            &format!(
                "create view {schema}.{view} as select {name}.{name} as {name}, \
             twice as \"{number}\" from {schema}.{name} as {name} where {name}.{name} > 1"
            ),
        );
        run(&mut session, &format!("comment on column {schema}.{name}.{name} is 'of {number}'"));
        run(
            &mut session,
            &format!(
                "create index {} on {schema}.{name} ({name})",
                quoted(&format!("{word} index"))
            ),
        );
        run(&mut session, &format!("create role {}", quoted(&format!("role {word}"))));
        run(
            &mut session,
            &format!("grant select on {schema}.{name} to {}", quoted(&format!("role {word}"))),
        );
        run(&mut session, &format!("create sequence {schema}.{}", quoted(&format!("{word} seq"))));
    }
    let before = told(&mut session);
    let killed = folder.killed();
    let mut session = killed.session();
    assert_eq!(killed.database.set_aside(), []);
    assert_eq!(told(&mut session), before);
    for (number, word) in words() {
        let (name, schema) = (quoted(word), quoted(&format!("s{number}")));
        run(&mut session, &format!("insert into {schema}.{name} default values"));
        let view = quoted(&format!("{word} view"));
        let query = format!("select {name}, \"{number}\" from {schema}.{view}");
        assert_eq!(super::folder::rows(&mut session, &query), [["7", "14"]], "{word}");
        let refused = format!("insert into {schema}.{name} ({name}) values (0)");
        assert_eq!(state(&mut session, &refused), Some("23514"), "{word}");
        run(&mut session, &format!("drop view {schema}.{view}"));
        run(&mut session, &format!("alter table {schema}.{name} rename column {name} to other"));
        run(&mut session, &format!("alter table {schema}.{name} drop constraint {name}"));
        run(&mut session, &format!("drop schema {schema} cascade"));
    }
}
