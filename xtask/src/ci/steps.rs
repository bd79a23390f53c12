//! The steps of `cargo xtask ci`, in the order in which they run. Change them here.
//!
//! Cheap steps that fail often come first, tests last. A whole run has the steps of `BESIDE` in a
//! second process while it goes through `CHECKS` and compiles the tests, and then `TESTS` alone. A
//! step is a command of this program or another program with its arguments and variables; its name
//! is what `cargo xtask ci STEP` takes, and its usual time, in seconds, what it took by itself in
//! the run that `docs/ci.md` describes.

use std::path::Path;

use crate::outcome::Outcome;
use crate::part::Part;
use crate::process::Program;
use crate::{commit, examples, headers, install, planted, size, tidy};

use super::doc;

pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    pub(super) usual_s: u64,
    pub(super) action: Action,
}

#[derive(Clone, Copy)]
pub(super) enum Action {
    Command(fn(&Path, &[String]) -> Outcome),
    /// A command that is too much for every run.
    InParts(fn(&Path, Part) -> Outcome),
    Program(Program),
}

/// For programs of the model checker: the flag is part of what everything is built with, so that
/// has a folder of its own; schedules need no optimising across crates.
const SHUTTLE: &[(&str, &str)] = &[
    // Other schedules each time.
    ("REMANENT_SHUTTLE_ITERATIONS", "150"),
    ("RUSTFLAGS", "--cfg shuttle"),
    ("CARGO_TARGET_DIR", "target/shuttle"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// For tests. What is compiled for them is linted meanwhile, and a warning is an error: as `cargo
/// clippy` does it, but that 300 crates need not be checked before they are compiled.
const TESTED: &[(&str, &str)] = &[
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"),
    // Random operations against models: others each time.
    ("REMANENT_CASES", "60"),
];

/// For groups of replicas: tokio draws from the seed as well, so that a schedule comes again.
/// Planted bugs take over its foreign crates, and have the same settings (`planted/check.rs`).
const GROUPS: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2"),
    ("RUSTFLAGS", "--cfg tokio_unstable"),
    ("CARGO_TARGET_DIR", "target/groups"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// Seconds each.
pub(super) const FIRST: &[Step] = &[
    program("fmt", "all code is formatted", 2, "cargo fmt --all --check"),
    command("tidy", "the rules of style hold", 4, tidy::run),
    command("commit", "the newest commit has a short title and says why", 1, commit::run),
];

/// No program runs in them that others would disturb.
pub(super) const CHECKS: &[Step] = &[
    in_parts("doc", "documentation builds without a warning", 40, doc::run_part),
    command("headers", "the C header is the one that the Rust sources make", 1, headers::check),
];

/// Built in `release` or in folders of their own, and no result depends on what runs beside them.
pub(super) const BESIDE: &[Step] = &[
    command("size", "the engine fits into a small program", 40, size::run),
    command(
        "examples",
        "programs in C and C++, built and run as users do it",
        91,
        examples::run_quick,
    ),
    in_parts(
        "examples-checked",
        "the same programs under sanitizers or under valgrind",
        15,
        examples::run_checked_part,
    ),
    with(
        SHUTTLE,
        program(
            "shuttle",
            "models of the concurrent protocols, over many schedules",
            32,
            "cargo test --release --package remanent-engine --lib shuttle",
        ),
    ),
    with(
        install::QUICK,
        program(
            "histories",
            "random histories of transactions, each checked for its isolation",
            19,
            "cargo run --release --package remanent-simulator -- histories --count 1500",
        ),
    ),
    with(
        install::QUICK,
        program(
            "soak",
            "a database at the end of its budget, with rows of shifting sizes",
            17,
            "cargo run --release --package remanent-simulator -- soak --operations 800000",
        ),
    ),
    with(
        install::QUICK,
        program(
            "crashes",
            "databases after a crash at every call of a trace",
            28,
            "cargo run --release --package remanent-simulator -- crashes --count 8",
        ),
    ),
    with(
        install::QUICK,
        program(
            "failures",
            "databases of which each call has failed",
            16,
            "cargo run --release --package remanent-simulator -- failures --count 6",
        ),
    ),
    with(
        install::QUICK,
        program(
            "flips",
            "databases with single bits changed",
            13,
            "cargo run --release --package remanent-simulator -- flips --count 20",
        ),
    ),
    with(
        install::QUICK,
        program(
            "damages",
            "databases of which files or pieces are gone, cut or exchanged",
            5,
            "cargo run --release --package remanent-simulator -- damages --count 20",
        ),
    ),
    with(
        SHUTTLE,
        program(
            "schedules",
            "random histories again, on the schedules of the model checker",
            17,
            "cargo run --release --package remanent-simulator -- histories --count 3000",
        ),
    ),
    with(
        GROUPS,
        program(
            "groups",
            "groups of replicas on a network and disks that fail, each schedule judged",
            45,
            "cargo run --release --package remanent-group-simulator -- --count 150",
        ),
    ),
];

/// One after the other, with the machine to themselves.
pub(super) const TESTS: &[Step] = &[
    with(
        TESTED,
        program(
            "tests",
            "all tests of all crates, and no warning in any of them",
            1170,
            "sh xtask/all-tests.sh --no-fail-fast",
        ),
    ),
    with(
        TESTED,
        program(
            "python",
            "the Python package, with pyarrow, pandas and polars",
            90,
            "sh bindings/python/run-tests.sh",
        ),
    ),
    in_parts("planted", "bugs put into a copy of the engine are found", 90, planted::run_part),
    // Behind what builds the same crates.
    in_parts(
        "planted-sql",
        "bugs put into a copy of what stands on DataFusion are found",
        50,
        planted::run_sql_part,
    ),
    with(
        TESTED,
        program(
            "clients",
            "programs and drivers that people use, and random queries, get their answers",
            80,
            "sh crates/server/tests/clients/ci.sh",
        ),
    ),
    with(
        TESTED,
        program(
            "lab",
            "every workload of the laboratory and each interface, every answer verified",
            70,
            "sh lab/ci.sh",
        ),
    ),
];

/// All of them, in the order of a run that has nothing beside it.
pub(super) fn all() -> impl Iterator<Item = &'static Step> {
    [FIRST, CHECKS, BESIDE, TESTS].into_iter().flatten()
}

const fn program(
    name: &'static str,
    purpose: &'static str,
    usual_s: u64,
    line: &'static str,
) -> Step {
    Step { name, purpose, usual_s, action: Action::Program(Program { line, environment: &[] }) }
}

/// The same step with variables.
const fn with(environment: &'static [(&'static str, &'static str)], step: Step) -> Step {
    match step.action {
        Action::Program(Program { line, .. }) => {
            Step { action: Action::Program(Program { line, environment }), ..step }
        }
        _ => step,
    }
}

const fn command(
    name: &'static str,
    purpose: &'static str,
    usual_s: u64,
    run: fn(&Path, &[String]) -> Outcome,
) -> Step {
    Step { name, purpose, usual_s, action: Action::Command(run) }
}

const fn in_parts(
    name: &'static str,
    purpose: &'static str,
    usual_s: u64,
    run: fn(&Path, Part) -> Outcome,
) -> Step {
    Step { name, purpose, usual_s, action: Action::InParts(run) }
}
