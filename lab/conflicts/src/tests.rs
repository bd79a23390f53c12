//! The server of this build does every statement of the list, and what it did adds up; a sum that
//! does not, and a statement that is unknown, have no figures.

use std::time::Duration;

use lab_harness::Outcome;
use remanent_server::{Options, Server};
use remanent_sql::SqlDatabase;
use serde_json::Value;

use crate::choice::Choice;
use crate::contenders::{Contender, of_remanent};
use crate::record::Case;
use crate::run;
use crate::statements::{Effect, Statement};

/// Ends a server when it is dropped.
struct Stopped(Option<Server>);

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Some(server) = self.0.take() {
            server.stop();
        }
    }
}

fn contender() -> Outcome<Contender> {
    let database = SqlDatabase::in_memory()?;
    let server = Server::start(database, Options::new().listen("127.0.0.1:0").trust(true))?;
    let address = server.addresses()[0].clone();
    of_remanent(&address, "in the test".to_owned(), Vec::new(), Box::new(Stopped(Some(server))))
}

fn records(choice: &Choice) -> Outcome<Vec<Value>> {
    let text = std::fs::read_to_string(choice.out.join("conflicts.jsonl"))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn choice(out: &std::path::Path) -> Choice {
    Choice {
        rounds: 1,
        time: Duration::from_millis(1),
        rows: 400,
        only: None,
        server: None,
        out: out.to_owned(),
    }
}

#[test]
fn every_statement_is_done_and_adds_up() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let choice = choice(folder.path());
    let mut told = Vec::new();
    let mut contenders = [contender()?];
    run::run(&choice, &mut contenders, Some("not asked"), &mut told)?;
    let records = records(&choice)?;
    assert_eq!(records.len(), 56);
    for record in &records[..55] {
        assert_eq!(record["verified"], Value::Bool(true), "{record}");
        assert!(record["refused_share"].as_f64() < Some(0.5), "{record}");
    }
    assert_eq!(records[55]["skipped"], "not asked");
    let told = String::from_utf8(told)?;
    assert!(told.contains("rank() over") && told.contains("left out: not asked"), "{told}");
    Ok(())
}

#[test]
fn what_does_not_add_up_or_is_unknown_has_no_figures() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let statement = |text, effect| Statement { phase: "change", text, effect };
    let measured = |text, effect| -> Outcome<Case> {
        let mut contenders = [contender()?];
        let statement = statement(text, Effect::Each(effect));
        let mut cases = run::measure(&choice(folder.path()), &mut contenders, &statement)?;
        Ok(cases.remove(0))
    };
    let change = "update t set v = v + 3 where id = $k";
    let (right, wrong) = (measured(change, 3)?, measured(change, 2)?);
    assert!(right.is_right() && right.refused_share().is_some() && right.wall_ns().is_some());
    assert!(wrong.wrong.is_some() && wrong.refused_share().is_none() && wrong.wall_ns().is_none());
    let unknown = measured("update nothing set v = $k", 1)?;
    assert!(unknown.skipped.is_some_and(|why| why.contains("42P01") || why.contains("nothing")));
    Ok(())
}
