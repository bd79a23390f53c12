//! How long a run may take, and which step grew when it took longer.
//!
//! Each step has its usual time, of a clean build on two cores; `docs/ci.md` says of which run. A
//! step is over its share by what it took beyond that.

use std::time::Duration;

/// What a run on two cores may take.
const LIMIT: Duration = Duration::from_secs(40 * 60);

/// The number of cores that the limit is for; others have their own times.
const CORES: usize = 2;

/// What a step took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) name: &'static str,
    pub(super) usual_s: u64,
    pub(super) compile: Duration,
    pub(super) run: Duration,
}

impl Timing {
    pub(super) fn total(&self) -> Duration {
        self.compile + self.run
    }

    fn over_s(&self) -> f64 {
        self.total().as_secs_f64() - self.usual_s as f64
    }
}

/// A line for each step, in seconds, and one for all.
pub(super) fn table(timings: &[Timing]) -> String {
    let mut text =
        format!("{:<18}{:>9}{:>9}{:>9}{:>9}\n", "step", "compile", "run", "all", "usual");
    for timing in timings {
        let [compile, run] = [timing.compile, timing.run].map(|time| time.as_secs_f64());
        let (name, usual) = (timing.name, timing.usual_s);
        text += &format!("{name:<18}{compile:>9.1}{run:>9.1}{:>9.1}{usual:>9}\n", compile + run);
    }
    let total = timings.iter().map(Timing::total).sum::<Duration>().as_secs_f64();
    text += &format!("ci: all {} steps passed in {total:.1} s", timings.len());
    text
}

/// What to say of a run that took too long: the steps that grew most. It does not fail for that,
/// since a machine may be slow for reasons of its own; the usual times must fit (`tests.rs`).
pub(super) fn remark(timings: &[Timing], took: Duration, cores: usize) -> Option<String> {
    if cores != CORES || took <= LIMIT {
        return None;
    }
    let mut grown: Vec<&Timing> = timings.iter().filter(|timing| timing.over_s() > 0.0).collect();
    grown.sort_by(|one, other| other.over_s().total_cmp(&one.over_s()));
    let grown = grown.iter().take(3).map(|timing| {
        let (name, took) = (timing.name, timing.total().as_secs_f64());
        format!("`{name}` took {took:.0} s, usually {}", timing.usual_s)
    });
    Some(format!(
        "ci: slow: {:.0} minutes, more than {}: {}",
        took.as_secs_f64() / 60.0,
        LIMIT.as_secs() / 60,
        grown.collect::<Vec<_>>().join("; ")
    ))
}

#[cfg(test)]
mod tests;
