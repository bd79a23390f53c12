//! The checks that planted bugs must not pass: histories of the simulator, a shuttle model, or an
//! integration test.
//!
//! A check is a program that is built in the copy and run from a fixed seed, so that it finds a bug
//! after the same number of histories or schedules every time; histories of threads are the one
//! exception. A program that crashes or does not end has found its bug as well.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::copy::Copy;
use super::{foreign, test_target};

/// A program that has not ended by then hangs: without a bug all are through in a fraction of it.
const TIME_MAX: Duration = Duration::from_secs(60);
const DISK_TIME_MAX: Duration = Duration::from_secs(180);
const SEED: &str = "1";

/// Quick to compile anew, and quick enough to run.
const PROFILE: &[(&str, &str)] = &[
    // Continuous integration turns it off for all builds, and that goes before the profile's own.
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "true"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2"),
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Interleaved,
    Threads,
    Schedules,
    Models,
    Crashes,
    Failures,
    Flips,
    Damages,
    Groups,
    Test,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Check {
    pub(super) kind: Kind,
    /// The isolation of the histories, the name of a model, or `disks`; or the package of a test,
    /// its target, and maybe a filter.
    pub(super) what: String,
    /// Histories, schedules for each scheduler, or seeds of traces.
    pub(super) count: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// All histories or schedules were right.
    Passed,
    /// Something was wrong: with which of them, or in which way; and how many a check needs to find
    /// it, where that is known and the same every time.
    Found { after: String, needed: Option<u64> },
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Interleaved,
        Self::Threads,
        Self::Schedules,
        Self::Models,
        Self::Crashes,
        Self::Failures,
        Self::Flips,
        Self::Damages,
        Self::Groups,
        Self::Test,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::Threads => "threads",
            Self::Schedules => "schedules",
            Self::Models => "models",
            Self::Crashes => "crashes",
            Self::Failures => "failures",
            Self::Flips => "flips",
            Self::Damages => "damages",
            Self::Groups => "groups",
            Self::Test => "test",
        }
    }

    /// Whether it is about what a disk holds; then there is but one way to run it.
    fn is_of_disks(self) -> bool {
        matches!(self, Self::Crashes | Self::Failures | Self::Flips | Self::Damages | Self::Groups)
    }

    /// The folder that it is built in, and the package of its program.
    fn built(self) -> (&'static str, &'static str) {
        match self {
            Self::Groups => ("groups", "remanent-group-simulator"),
            Self::Schedules | Self::Models => ("shuttle", "remanent-simulator"),
            _ => ("plain", "remanent-simulator"),
        }
    }
}

impl Verdict {
    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Passed => "not found",
            Self::Found { after, .. } => after,
        }
    }
}

impl Check {
    /// What found a bug, as the table says it.
    pub(super) fn name(&self) -> String {
        match self.kind {
            Kind::Models | Kind::Test => format!("`{}`", self.what),
            kind if kind.is_of_disks() => kind.name().to_owned(),
            kind => format!("{}, {}", kind.name(), self.what),
        }
    }

    pub(super) fn shown(&self) -> String {
        match self.kind {
            Kind::Test => format!("{} {}", self.kind.name(), self.what),
            kind => format!("{} {} {}", kind.name(), self.what, self.count),
        }
    }

    /// Builds the program and runs it.
    ///
    /// # Errors
    ///
    /// When it does not compile.
    pub(super) fn run(&self, copy: &Copy) -> Result<Verdict, Box<dyn Error>> {
        if self.kind == Kind::Test {
            return test_target::run(copy, &self.what);
        }
        let target = copy.build.join(self.kind.built().0);
        if self.kind == Kind::Groups {
            // Built with the same settings by the step of that name; they take minutes.
            let from = copy.target().join("groups/release");
            foreign::take_over(&from, &target.join("release"))?;
        }
        let output = copy.build.join("output");
        let built = self.build(copy, &target).stderr(File::create(&output)?).status()?;
        if !built.success() {
            let text = std::fs::read_to_string(&output)?;
            return Err(format!("it does not compile:\n{text}").into());
        }
        let mut program = self.program(copy, &target);
        let file = File::create(&output)?;
        program.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let time = if self.kind.is_of_disks() { DISK_TIME_MAX } else { TIME_MAX };
        let status = run_for(&mut program, time)?;
        let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
        Ok(verdict(status, &text))
    }

    fn build(&self, copy: &Copy, target: &Path) -> Command {
        let mut cargo = self.cargo(copy, target);
        match self.kind {
            Kind::Models => {
                cargo.args(["test", "--release", "--package", "remanent-engine", "--lib"]);
                cargo.arg("--no-run");
            }
            _ => {
                cargo.args(["build", "--release", "--package", self.kind.built().1]);
            }
        }
        cargo
    }

    fn program(&self, copy: &Copy, target: &Path) -> Command {
        let count = self.count.to_string();
        if self.kind == Kind::Models {
            let mut cargo = self.cargo(copy, target);
            cargo.args(["test", "--release", "--package", "remanent-engine", "--lib", &self.what]);
            cargo.env("REMANENT_SHUTTLE_ITERATIONS", count).env("REMANENT_SHUTTLE_SEED", SEED);
            return cargo;
        }
        let program: PathBuf = target.join("release").join(self.kind.built().1);
        let mut simulator = Command::new(program);
        if self.kind == Kind::Groups {
            simulator.args(["--seed", SEED, "--count", &count, "--first"]);
            return simulator;
        }
        if self.kind.is_of_disks() {
            simulator.args([self.kind.name(), "--seed", SEED, "--count", &count]);
            return simulator;
        }
        simulator.args(["histories", "--seed", SEED, "--count", &count]);
        simulator.args(["--mode", self.kind.name(), "--isolation", &self.what]);
        simulator
    }

    fn cargo(&self, copy: &Copy, target: &Path) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&copy.workspace).env("CARGO_TARGET_DIR", target);
        cargo.envs(PROFILE.iter().copied()).env_remove("CARGO_ENCODED_RUSTFLAGS");
        match self.kind.built().0 {
            "shuttle" => cargo.env("RUSTFLAGS", "--cfg shuttle"),
            "groups" => cargo.env("RUSTFLAGS", "--cfg tokio_unstable"),
            _ => cargo.env_remove("RUSTFLAGS"),
        };
        cargo
    }
}

/// Runs a program to its end, or ends it after so long.
pub(super) fn run_for(
    command: &mut Command,
    time: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > time {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a program's end and its words mean; no status if it did not end.
fn verdict(status: Option<ExitStatus>, text: &str) -> Verdict {
    let found = |after: String, needed| Verdict::Found { after, needed };
    let Some(status) = status else { return found("does not end".to_owned(), None) };
    if status.success() {
        return Verdict::Passed;
    }
    let number = |before: &str| {
        let rest = text.split_once(before)?.1;
        Some(rest.split_whitespace().next()?.to_owned())
    };
    // A schedule of a group is named on a line of its own.
    let seed = |line: &str| line.strip_prefix("seed ")?.strip_suffix(':')?.parse::<u64>().ok();
    if let Some(seed) = text.lines().find_map(seed) {
        return found(format!("{seed} schedules"), Some(seed));
    }
    if let Some(state) = number(": state ") {
        return found(format!("{} states", state.trim_end_matches(':')), None);
    }
    match (number(": history "), number("failed: execution ")) {
        (Some(history), _) => found(format!("{history} histories"), history.parse().ok()),
        (None, Some(schedule)) => found(format!("{schedule} schedules"), schedule.parse().ok()),
        (None, None) => found("crashes".to_owned(), None),
    }
}

#[cfg(test)]
mod tests;
