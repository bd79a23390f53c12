//! The steps of `cargo xtask ci`, in the order in which they run. Change them here.
//!
//! Cheap steps that fail often come first, tests last. A step is a command of this program or
//! another program with its arguments and variables; its name is what `cargo xtask ci STEP`
//! takes.

use std::path::Path;

use crate::process::Program;
use crate::{Outcome, examples, headers, planted, size, tidy};

pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    pub(super) action: Action,
}

#[derive(Clone, Copy)]
pub(super) enum Action {
    Command(fn(&Path, &[String]) -> Outcome),
    Program(Program),
}

pub(super) const STEPS: &[Step] = &[
    cargo("fmt", "all code is formatted", &["cargo", "fmt", "--all", "--check"]),
    Step { name: "tidy", purpose: "the rules of style hold", action: Action::Command(tidy::run) },
    cargo(
        "clippy",
        "no warning in any crate, the laboratory included",
        &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    ),
    Step {
        name: "doc",
        purpose: "documentation builds without a warning",
        action: Action::Program(Program {
            words: &["cargo", "doc", "--workspace", "--no-deps"],
            environment: &[("RUSTDOCFLAGS", "-D warnings")],
        }),
    },
    Step {
        name: "headers",
        purpose: "the C header is the one that the Rust sources make",
        action: Action::Command(headers::check),
    },
    Step {
        name: "size",
        purpose: "the engine fits into a small program",
        action: Action::Command(size::run),
    },
    Step {
        name: "examples",
        purpose: "programs in C and C++, built and run as users do it",
        action: Action::Command(examples::run),
    },
    cargo(
        "examples-checked",
        "the same programs under sanitizers and under valgrind",
        &["cargo", "xtask", "examples", "--sanitize", "--valgrind"],
    ),
    Step {
        name: "shuttle",
        purpose: "models of the concurrent protocols, over many schedules",
        action: Action::Program(Program {
            words: &[
                "cargo",
                "test",
                "--release",
                "--package",
                "remanent-engine",
                "--lib",
                "shuttle",
            ],
            // A target folder of its own: the flag is part of what everything is built with.
            environment: &[("RUSTFLAGS", "--cfg shuttle"), ("CARGO_TARGET_DIR", "target/shuttle")],
        }),
    },
    cargo(
        "histories",
        "random histories of transactions, each checked for its isolation",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "remanent-simulator",
            "--",
            "histories",
            "--count",
            "3000",
        ],
    ),
    cargo(
        "soak",
        "a database at nine tenths of its budget, with rows of shifting sizes",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "remanent-simulator",
            "--",
            "soak",
            "--operations",
            "2000000",
        ],
    ),
    cargo(
        "crashes",
        "databases after a crash at every call of a trace",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "remanent-simulator",
            "--",
            "crashes",
            "--count",
            "30",
        ],
    ),
    cargo(
        "failures",
        "databases of which each call has failed",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "remanent-simulator",
            "--",
            "failures",
            "--count",
            "15",
        ],
    ),
    cargo(
        "flips",
        "databases with single bits changed",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "remanent-simulator",
            "--",
            "flips",
            "--count",
            "20",
        ],
    ),
    Step {
        name: "schedules",
        purpose: "random histories again, on the schedules of the model checker",
        action: Action::Program(Program {
            words: &[
                "cargo",
                "run",
                "--release",
                "--package",
                "remanent-simulator",
                "--",
                "histories",
                "--count",
                "5000",
            ],
            environment: &[("RUSTFLAGS", "--cfg shuttle"), ("CARGO_TARGET_DIR", "target/shuttle")],
        }),
    },
    Step {
        name: "planted",
        purpose: "bugs put into a copy of the engine are found",
        action: Action::Command(planted::run),
    },
    cargo(
        "lab-quick",
        "the sensor workload, every answer verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "sensors",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-readers",
        "readers beside a writer, every answer verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "readers",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-long-reader",
        "memory beside a reader that stays",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "long-reader",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-interfaces",
        "the sensor workload through each interface, every answer verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "sensors",
            "--quick",
            "--interface",
            "rust,c,mco,d",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-sets",
        "network sets, every member verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "sets",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-ladder",
        "small pairs by promise, every answer verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "ladder",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-recovery",
        "what a killed process leaves, every pair verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "recovery",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-burst",
        "one large transaction, every record verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "burst",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    cargo(
        "lab-memory",
        "blocks of memory, every one verified",
        &[
            "cargo",
            "run",
            "--release",
            "--package",
            "lab",
            "--",
            "memory",
            "--quick",
            "--out",
            "target/lab-ci",
        ],
    ),
    // One build for all of them: packages built apart would need DataFusion with other features.
    cargo(
        "sql",
        "tests of what stands on DataFusion: SQL, server, shell, program, laboratory",
        &[
            "cargo",
            "test",
            "--package",
            "remanent-sql",
            "--package",
            "remanent-server",
            "--package",
            "remanent-shell",
            "--package",
            "remanent-cli",
            "--package",
            "lab*",
        ],
    ),
    Step {
        name: "clients",
        purpose: "programs and drivers that people use, and random queries, get their answers",
        // The packages of step `sql` together, so that nothing is built anew.
        action: Action::Program(Program {
            words: &[
                "sh",
                "-c",
                "cargo test --no-run --package remanent-sql --package remanent-server \
                 --package remanent-shell --package remanent-cli --package 'lab*' && \
                 sh crates/server/tests/clients/run.sh \
                 ${CARGO_TARGET_DIR:-target}/debug/remanent ${CARGO_TARGET_DIR:-target}/clients",
            ],
            environment: &[],
        }),
    },
    cargo("test", "tests of everything else", &["cargo", "test"]),
];

const fn cargo(name: &'static str, purpose: &'static str, words: &'static [&'static str]) -> Step {
    Step { name, purpose, action: Action::Program(Program { words, environment: &[] }) }
}
