//! `cargo xtask ci [--all] [--turn N] [STEP..]`: everything that must hold before a change is
//! taken, in one command.
//!
//! The steps stand in `ci/steps.rs`, cheapest first; the first failure ends the run and says how to
//! repeat that step alone. A whole run has some of them in a second process (`ci/beside.rs`). What
//! would take too long every time is divided into ten parts, of which each run has one
//! (`ci/turn.rs`); `--all` has all of them. Continuous integration runs this and nothing else.

mod beside;
mod doc;
mod limit;
mod steps;
mod turn;
mod wish;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::outcome::Outcome;
use crate::part::Part;
use beside::Beside;
use limit::Timing;
use steps::{Action, Step};
use wish::Wish;

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let wish = Wish::read(arguments)?;
    if wish.list {
        for step in steps::all() {
            println!("{:<10} {}", step.name, step.purpose);
        }
        return Ok(());
    }
    beside::end_with_parent();
    let steps = chosen(&wish.names)?;
    let is_whole = wish.names.is_empty();
    let part = match (wish.all, wish.turn) {
        (true, _) => Part::All,
        (false, Some(turn)) => Part::of(turn),
        (false, None) => Part::of(turn::next(root, is_whole)?),
    };
    say(&format!("ci: {part}"));
    let start = Instant::now();
    let timings = if is_whole { run_whole(root, part)? } else { run_steps(root, &steps, part)? };
    say(&limit::table(&timings));
    if is_whole {
        let (took, cores) = (start.elapsed(), std::thread::available_parallelism()?.get());
        say(&format!("ci: the whole run took {:.1} s", took.as_secs_f64()));
        if !wish.all {
            limit::remark(&timings, took, cores).iter().for_each(|remark| say(remark));
        }
    }
    Ok(())
}

/// Every step. Those that may run in a second process beside what checks and compiles.
fn run_whole(root: &Path, part: Part) -> Result<Vec<Timing>, Box<dyn std::error::Error>> {
    let steps = |of: &'static [Step]| of.iter().collect::<Vec<_>>();
    let mut timings = run_steps(root, &steps(steps::FIRST), part)?;
    let beside = Beside::start(root, &steps(steps::BESIDE), part)?;
    timings.extend(run_steps(root, &steps(steps::CHECKS), part)?);
    let compiled = Instant::now();
    for step in steps::TESTS {
        step.compile(root).map_err(|reason| step.failed(&*reason))?;
    }
    let waited = Instant::now();
    beside.join()?;
    say(&format!(
        "ci: the tests were compiled in {:.1} s, and {:.1} s later the steps beside had ended",
        (waited - compiled).as_secs_f64(),
        waited.elapsed().as_secs_f64()
    ));
    timings.extend(run_steps(root, &steps(steps::TESTS), part)?);
    Ok(timings)
}

/// The named steps in their usual order, or all when none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Step>, String> {
    let is_known = |name: &&String| steps::all().any(|step| step.name == **name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no step `{name}`; `cargo xtask ci list` names them"));
    }
    let is_chosen = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(steps::all().filter(is_chosen).collect())
}

fn run_steps(
    root: &Path,
    steps: &[&Step],
    part: Part,
) -> Result<Vec<Timing>, Box<dyn std::error::Error>> {
    let mut timings = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let title = format!("ci {}/{} {}", index + 1, steps.len(), step.name);
        say(&format!("{title}: {}", step.shown()));
        let [compile, run] = step.run(root, part).map_err(|reason| step.failed(&*reason))?;
        let timing = Timing { name: step.name, usual_s: step.usual_s, compile, run };
        say(&format!("{title}: passed in {:.1} s", timing.total().as_secs_f64()));
        timings.push(timing);
    }
    Ok(timings)
}

/// Prints at once, so that the line stands before what the next program prints.
fn say(line: &str) {
    println!("{line}");
    // A reader that went away is no reason to stop the run.
    drop(std::io::stdout().flush());
}

impl Step {
    /// How long it took to compile, where that can be told apart, and to run.
    fn run(&self, root: &Path, part: Part) -> Result<[Duration; 2], Box<dyn std::error::Error>> {
        let start = Instant::now();
        self.compile(root)?;
        let compile = start.elapsed();
        match self.action {
            Action::Command(command) => command(root, &[])?,
            Action::InParts(command) => command(root, part)?,
            Action::Program(program) => program.run(root)?,
        }
        Ok([compile, start.elapsed() - compile])
    }

    fn compile(&self, root: &Path) -> Outcome {
        match self.action {
            Action::Program(program) => program.compile(root),
            Action::Command(_) | Action::InParts(_) => Ok(()),
        }
    }

    fn failed(&self, reason: &dyn std::error::Error) -> String {
        let name = self.name;
        format!("step `{name}` failed: {reason}\nrepeat it with: cargo xtask ci {name}")
    }

    fn shown(&self) -> String {
        match self.action {
            Action::Command(_) | Action::InParts(_) => format!("cargo xtask ci {}", self.name),
            Action::Program(program) => program.shown(),
        }
    }
}
