//! A run: every statement with every contender in turn, round by round.
//!
//! Each time the tables are made anew; the order of contenders turns round with the rounds. The
//! sum of all numbers is compared afterwards with what the committed transactions must have made of
//! it: a figure stands in a record only if it is the same.

use std::fs;
use std::io::Write;
use std::process::ExitCode;
use std::time::SystemTime;

use lab_harness::{Outcome, machine};
use lab_postgresql::{told, value};

use crate::choice::Choice;
use crate::clients;
use crate::contenders::Contender;
use crate::record::{self, Case, Header};
use crate::statements::{self, SUM, Statement};
use crate::table;

/// Runs what was chosen.
///
/// # Errors
///
/// When a server is lost, or records cannot be written.
pub(crate) fn run(
    choice: &Choice,
    contenders: &mut [Contender],
    missing: Option<&str>,
    out: &mut dyn Write,
) -> Outcome<ExitCode> {
    fs::create_dir_all(&choice.out)?;
    let header = Header {
        machine: machine::describe(),
        commit: machine::commit(),
        run: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        rows: choice.rows,
    };
    let mut cases = Vec::new();
    for statement in statements::all()? {
        if choice.only.as_ref().is_none_or(|words| statement.text.contains(words.as_str())) {
            cases.extend(measure(choice, contenders, &statement)?);
        }
    }
    record::append(&choice.out, &header, &cases, missing)?;
    table::print(out, &cases, missing)?;
    let right = !cases.is_empty() && cases.iter().all(|case| case.wrong.is_none());
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Does one statement with every contender, in all rounds.
///
/// # Errors
///
/// When a server is lost.
pub(crate) fn measure(
    choice: &Choice,
    contenders: &mut [Contender],
    statement: &Statement,
) -> Outcome<Vec<Case>> {
    let mut cases = Vec::new();
    for contender in contenders.iter_mut() {
        prepare(contender, choice.rows)?;
        cases.push(Case {
            statement: statement.clone(),
            contender: contender.name,
            version: contender.version.clone(),
            note: contender.note.clone(),
            rounds: Vec::new(),
            skipped: clients::trial(contender, statement).err().map(|why| why.to_string()),
            wrong: None,
        });
    }
    for round in 0..choice.rounds as usize {
        for turn in 0..contenders.len() {
            let at = (turn + round) % contenders.len();
            let (case, contender) = (&mut cases[at], &mut contenders[at]);
            if case.is_right() {
                let before = prepare(contender, choice.rows)?;
                let work = clients::work(contender, statement, choice.rows, choice.time)?;
                let (found, expected) = (sum(contender)?, before + work.effect);
                if found != expected {
                    case.wrong = Some(format!("the sum is {found} and not {expected}"));
                }
                case.rounds.push(work);
            }
        }
    }
    Ok(cases)
}

/// Makes the tables anew; the sum of their numbers.
fn prepare(contender: &mut Contender, rows: usize) -> Outcome<i64> {
    let after = contender.after_load;
    let client = contender.clients.first_mut().ok_or("no clients")?;
    let tables = statements::tables(rows);
    for text in [tables.as_str()].iter().chain(after) {
        client.batch_execute(text).map_err(|error| told(text, &error))?;
    }
    sum(contender)
}

fn sum(contender: &mut Contender) -> Outcome<i64> {
    let client = contender.clients.first_mut().ok_or("no clients")?;
    Ok(value(client, SUM)?.parse()?)
}
