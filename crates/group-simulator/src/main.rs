//! Groups of replicas in one thread, on a network and disks that fail by seed.
//!
//! `remanent-group-simulator [--seed N] [--count K] [--first] [--verbose] [--raft]` plays K
//! schedules from seed N on, and says what is wrong with any, or with the first. A schedule takes
//! some seconds of a clock that nobody waits for. Built with `--cfg tokio_unstable`, a seed gives
//! the same schedule every time.

mod absence;
mod bad_day;
mod clients;
mod disk;
mod judge;
mod machine;
mod membership;
mod network;
mod schedule;
mod views;

use std::io::Write;
use std::process::ExitCode;

use bad_day::Summary;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

const USAGE: &str =
    "remanent-group-simulator [--seed N] [--count K] [--first] [--verbose] [--raft]\n";

struct Flags {
    seed: u64,
    count: u64,
    verbose: bool,
    /// Shows what Raft says, too.
    raft: bool,
    /// Ends with the first finding.
    first: bool,
}

fn flags() -> Result<Flags, lexopt::Error> {
    use lexopt::prelude::*;
    let mut flags = Flags { seed: 1, count: 100, verbose: false, raft: false, first: false };
    let mut parser = lexopt::Parser::from_env();
    while let Some(word) = parser.next()? {
        match word {
            Long("seed") => flags.seed = parser.value()?.parse()?,
            Long("count") => flags.count = parser.value()?.parse()?,
            Long("verbose") => flags.verbose = true,
            Long("raft") => flags.raft = true,
            Long("first") => flags.first = true,
            _ => return Err(word.unexpected()),
        }
    }
    Ok(flags)
}

fn main() -> ExitCode {
    let flags = match flags() {
        Ok(flags) => flags,
        Err(error) => {
            let _ = write!(std::io::stderr(), "{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if flags.verbose {
        let ours = Targets::new().with_target("remanent_replication", Level::DEBUG).with_target(
            "openraft",
            if flags.raft { Level::INFO.into() } else { LevelFilter::OFF },
        );
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time();
        tracing_subscriber::registry().with(lines.with_filter(ours)).init();
    }
    let (mut out, mut failed, mut all) = (std::io::stdout(), 0_u64, Summary::default());
    for seed in flags.seed..flags.seed + flags.count {
        match schedule::run(seed) {
            Ok(summary) => {
                all.appended += summary.appended;
                all.acknowledged += summary.acknowledged;
                all.terms += summary.terms;
                all.kills += summary.kills;
                all.power_losses += summary.power_losses;
                all.cuts += summary.cuts;
                all.stalls += summary.stalls;
                all.joins += summary.joins;
                all.removals += summary.removals;
                all.away += summary.away;
                all.full += summary.full;
                if flags.verbose {
                    let _ = writeln!(out, "seed {seed}: {summary:?}");
                }
            }
            Err(findings) => {
                failed += 1;
                let _ = writeln!(out, "seed {seed}:");
                for finding in findings.iter().take(5) {
                    let _ = writeln!(out, "  {finding}");
                }
                if flags.first {
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    let _ = writeln!(
        out,
        "{} schedules, {failed} with findings: {} appends, {} acknowledged, {} terms, {} kills, \
         {} losses of power, {} cuts, {} stalls, {} joins, {} removals, {} long away, {} full",
        flags.count,
        all.appended,
        all.acknowledged,
        all.terms,
        all.kills,
        all.power_losses,
        all.cuts,
        all.stalls,
        all.joins,
        all.removals,
        all.away,
        all.full
    );
    ExitCode::from(u8::from(failed > 0))
}
