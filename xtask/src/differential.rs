//! `cargo xtask differential [--statements N] [--seed S] [--findings F]`: a long run of the judge.
//!
//! The test `differential` of the server, in the profile `judge`, which plans about twenty times as
//! many statements a second as the tests' own. Needs PostgreSQL 15; the test says so where it is
//! not installed. Not a step of `cargo xtask ci`, whose step `sql` has a short run.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

const HELP: &str = "cargo xtask differential [--statements N] [--seed S] [--findings F]

Asks Remanent and PostgreSQL 15 the same N statements at random (50000), from the seed S, and ends
after F answers that differ (9), each shown with as few statements as still show it.";

/// The arguments, each with the variable by which the test is told, and what it is otherwise.
const NUMBERS: [(&str, &str, u64); 3] = [
    ("--statements", "REMANENT_DIFFERENTIAL_STATEMENTS", 50_000),
    ("--seed", "REMANENT_DIFFERENTIAL_SEED", 1),
    ("--findings", "REMANENT_DIFFERENTIAL_FINDINGS", 9),
];

const LINE: [&str; 9] = [
    "test",
    "--profile",
    "judge",
    "--package",
    "remanent-server",
    "--test",
    "differential",
    "--",
    "--nocapture",
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    if arguments.first().is_some_and(|argument| argument == "help") {
        println!("{HELP}");
        return Ok(());
    }
    let variables = variables(arguments)?;
    // Where nothing is compared, the run fails.
    process::run(Command::new("cargo").args(LINE).envs(variables).env("CI", "1").current_dir(root))
}

/// What the test is told.
fn variables(arguments: &[String]) -> Result<Vec<(&'static str, String)>, String> {
    let mut told: Vec<(&str, u64)> =
        NUMBERS.iter().map(|(_, name, usual)| (*name, *usual)).collect();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let place = NUMBERS.iter().position(|(flag, ..)| flag == argument);
        let place = place.ok_or_else(|| format!("unknown argument `{argument}`\n\n{HELP}"))?;
        let number = rest.next().and_then(|text| text.parse().ok());
        told[place].1 = number.ok_or_else(|| format!("`{argument}` needs a number"))?;
    }
    Ok(told.into_iter().map(|(name, number)| (name, number.to_string())).collect())
}
