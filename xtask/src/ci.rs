//! `cargo xtask ci`: everything that must hold before a change is taken, in one command.
//!
//! The steps stand in `ci/steps.rs`, cheapest first; the first failure ends the run and says
//! how to repeat that step alone. Continuous integration runs this and nothing else.

mod steps;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Outcome;
use steps::{Action, STEPS, Step};

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    if arguments == ["list"] {
        for step in STEPS {
            println!("{:<10} {}", step.name, step.purpose);
        }
        return Ok(());
    }
    run_steps(root, &chosen(STEPS, arguments)?)
}

/// The named steps in their usual order, or all when none is named.
fn chosen<'a>(steps: &'a [Step], names: &[String]) -> Result<Vec<&'a Step>, String> {
    let is_known = |name: &&String| steps.iter().any(|step| step.name == **name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no step `{name}`; `cargo xtask ci list` names them"));
    }
    let is_chosen = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(steps.iter().filter(is_chosen).collect())
}

fn run_steps(root: &Path, steps: &[&Step]) -> Outcome {
    let mut timings = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let title = format!("ci {}/{} {}", index + 1, steps.len(), step.name);
        say(&format!("{title}: {}", step.shown()));
        let start = Instant::now();
        step.run(root).map_err(|reason| {
            let name = step.name;
            format!("step `{name}` failed: {reason}\nrepeat it with: cargo xtask ci {name}")
        })?;
        say(&format!("{title}: passed in {}", seconds(start.elapsed())));
        timings.push((step.name, start.elapsed()));
    }
    for (name, duration) in &timings {
        say(&format!("{name:<10} {:>10}", seconds(*duration)));
    }
    let total = timings.iter().map(|(_, duration)| *duration).sum();
    say(&format!("ci: all {} steps passed in {}", timings.len(), seconds(total)));
    Ok(())
}

/// Prints at once, so that the line stands before what the next program prints.
fn say(line: &str) {
    println!("{line}");
    // A reader that went away is no reason to stop the run.
    drop(std::io::stdout().flush());
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

impl Step {
    fn run(&self, root: &Path) -> Outcome {
        match self.action {
            Action::Command(command) => command(root, &[]),
            Action::Program(program) => program.run(root),
        }
    }

    fn shown(&self) -> String {
        match self.action {
            Action::Command(_) => format!("cargo xtask {}", self.name),
            Action::Program(program) => program.shown(),
        }
    }
}
