//! `lab list`: workloads, contenders with their settings, and what is missing.
//!
//! A contender that cannot run stands in the list with the one command that installs it.

use std::io::Write;

use comfy_table::{ContentArrangement, Table};
use lab_harness::{Outcome, Tier};

use crate::conflicts;
use crate::contenders;
use crate::program;
use crate::table;
use crate::tpch;
use crate::workloads;

/// Prints everything this build can do.
pub(crate) fn list(out: &mut dyn Write) -> Outcome<()> {
    writeln!(out, "workloads")?;
    for workload in workloads::ALL {
        writeln!(out, "  {:<12} {}", workload.name(), workload.summary())?;
    }
    let queries = tpch::BENCHMARKS.map(|(name, summary)| (name, summary, tpch::CONTENDERS));
    let conflicts = (conflicts::NAME, conflicts::SUMMARY, conflicts::CONTENDERS);
    let programs = queries.into_iter().chain([conflicts, program::REPLICAS, program::PYTHON]);
    for (name, summary, contenders) in programs {
        writeln!(out, "  {name:<12} {summary}")?;
        writeln!(out, "  {:<12} contenders: {contenders}", "")?;
    }
    writeln!(out, "\ncontenders")?;
    writeln!(out, "{}", contender_table())?;
    for contender in contenders::all() {
        if let Some(missing) = contender.missing {
            writeln!(out, "{} is missing: {}", contender.name, missing.reason)?;
            writeln!(out, "  install: {}", missing.install)?;
        }
    }
    Ok(())
}

fn contender_table() -> Table {
    let mut table = Table::new();
    table.load_style(table::STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header([
        "contender",
        "version",
        "setting",
        "medium",
        "threads",
        "run",
        "configuration",
    ]);
    for contender in contenders::all() {
        let version = match contender.missing {
            Some(_) => "missing".to_owned(),
            None => (contender.version)(),
        };
        let owned = contender.sensor_settings().iter().map(|setting| (setting, "one"));
        let shared = contender.shared_settings().iter().map(|setting| (setting, "several"));
        let pairs = contender.pair_settings().iter().map(|setting| (setting, "one, pairs"));
        let back = contender.recovery_settings().iter().map(|setting| (setting, "one, back"));
        let burst = contender.burst_settings().iter().map(|setting| (setting, "one, burst"));
        let blocks = contender.block_settings().iter().map(|setting| (setting, "one, blocks"));
        let of_pairs = pairs.chain(back).chain(burst);
        for (setting, threads) in owned.chain(shared).chain(of_pairs).chain(blocks) {
            let tier = match setting.tier {
                Tier::Always => "always",
                Tier::Small => "small sizes",
                Tier::OnRequest => "--all",
            };
            table.add_row([
                setting.label(contender.name),
                version.clone(),
                setting.promise.to_string(),
                setting.medium.to_string(),
                threads.to_owned(),
                tier.to_owned(),
                setting.note.to_owned(),
            ]);
        }
    }
    table
}
