//! `cargo xtask powerloss N [--fs ext4,xfs] [--seed S]`: the power goes off, on real file systems.
//!
//! A file system in a file is mounted by a loop device. A writer commits numbered transactions in
//! it and says each number when its commit has returned. At a random moment the file system is
//! shut down without flushing anything, the writer is killed, the file system is mounted again as
//! after a crash, and what is there is compared with what was acknowledged. Every fifth round is a
//! control that promises less: over all of them something must be lost, or nothing is proved.
//! What a disk has in a cache of its own is not lost here: the loop device keeps every write.

mod file_system;
mod machine;
mod request;
mod round;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::outcome::Outcome;
use crate::process;
use file_system::{Kind, Mounted};
use request::Request;
use round::{Level, Round, Verdict};

/// What came of the rounds on one file system, at one durability level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    rounds: u64,
    /// Commits that were acknowledged.
    acknowledged: u64,
    /// Of these, commits that were not there afterwards.
    lost: u64,
    /// Rounds in which some were lost.
    rounds_lost: u64,
    /// Commits that were there and had not been acknowledged yet.
    more: u64,
}

impl Count {
    fn add(&mut self, verdict: Verdict) {
        let Verdict { before, acknowledged, found } = verdict;
        self.rounds += 1;
        self.acknowledged += acknowledged - before;
        self.lost += acknowledged.saturating_sub(found);
        self.rounds_lost += u64::from(found < acknowledged);
        self.more += found.saturating_sub(acknowledged);
    }
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let request = Request::parse(arguments)?;
    if request.help {
        println!("{}", request::HELP);
        return Ok(());
    }
    machine::check(&request.kinds)?;
    let program = build(root)?;
    println!("powerloss: seed {}", request.seed);
    for &kind in &request.kinds {
        on(kind, &request, root, &program)?;
    }
    Ok(())
}

/// All rounds on one file system.
fn on(kind: Kind, request: &Request, root: &Path, program: &Path) -> Outcome {
    let start = Instant::now();
    let mut mounted = Mounted::make(&root.join("target/powerloss"), kind)?;
    let (mut disk, mut control) = (Count::default(), Count::default());
    for number in 0..request.rounds {
        let seed = request.seed.wrapping_add(number);
        let round = Round::draw(seed, number % 5 == 4);
        let again = || format!("{}, round {number}: {}", kind.name(), round.shown());
        let verdict = round.run(&mut mounted, program);
        let verdict = verdict.map_err(|error| format!("{}: {error}", again()))?;
        let count = if round.level == Level::Disk { &mut disk } else { &mut control };
        count.add(verdict);
        let Verdict { acknowledged, found, .. } = verdict;
        if found > acknowledged + 1 || round.level == Level::Disk && found < acknowledged {
            return Err(format!("{}: {acknowledged} acknowledged, {found} found", again()).into());
        }
    }
    drop(mounted);
    let seconds = start.elapsed().as_secs_f64();
    println!("powerloss: {}: {}, in {seconds:.1} s", kind.name(), shown(disk, control));
    if control.rounds > 0 && control.lost == 0 {
        return Err(format!(
            "{}: the control lost nothing, so that the disk lost nothing proves nothing",
            kind.name()
        )
        .into());
    }
    Ok(())
}

fn shown(disk: Count, control: Count) -> String {
    let Count { rounds, acknowledged, lost, more, .. } = disk;
    format!(
        "{rounds} rounds at level disk, {acknowledged} commits acknowledged, {lost} lost, {more} \
         more there; control: {} rounds at levels os and buffered, {} acknowledged, {} lost in {} \
         rounds",
        control.rounds, control.acknowledged, control.lost, control.rounds_lost
    )
}

/// Builds the program that writes and judges, and returns its path.
fn build(root: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "remanent-simulator"]).current_dir(root);
    process::run(&mut cargo)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    Ok(root.join(target).join("debug/remanent-simulator"))
}
