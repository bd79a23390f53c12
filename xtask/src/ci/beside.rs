//! Steps that run beside others: in a second process of this program, which is told their names.
//!
//! They compile in `release`, or into folders of their own, so cargo has neither wait for the
//! other, and they fill the core that a step leaves idle while it compiles one large crate. What
//! they print is kept in a file and shown in one piece when they have ended.

use std::error::Error;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::steps::Step;
use crate::outcome::Outcome;
use crate::part::Part;

const LOG: &str = "target/ci-beside.log";

/// Tells the second process who waits for it.
const PARENT: &str = "REMANENT_CI_PARENT";

/// Steps that run; they are killed when nobody waits for their end.
pub(super) struct Beside {
    child: Child,
    log: PathBuf,
}

impl Beside {
    pub(super) fn start(root: &Path, steps: &[&Step], part: Part) -> Result<Self, Box<dyn Error>> {
        Self::start_program(&std::env::current_exe()?, root, steps, part)
    }

    fn start_program(
        program: &Path,
        root: &Path,
        steps: &[&Step],
        part: Part,
    ) -> Result<Self, Box<dyn Error>> {
        let log = root.join(LOG);
        fs::create_dir_all(root.join("target"))?;
        let output = File::create(&log)?;
        let mut command = Command::new(program);
        command.arg("ci");
        match part {
            Part::All => command.arg("--all"),
            Part::Tenth(tenth) => command.arg("--turn").arg(tenth.to_string()),
        };
        command.args(steps.iter().map(|step| step.name)).current_dir(root);
        // A group of its own: whoever ends it ends the compilers below it, too.
        command.process_group(0).stdin(Stdio::null());
        command.env(PARENT, std::process::id().to_string());
        command.stdout(output.try_clone()?).stderr(output);
        Ok(Self { child: command.spawn()?, log })
    }

    /// Waits for the last step and prints what all have printed.
    pub(super) fn join(mut self) -> Outcome {
        let status = self.child.wait()?;
        super::say(&String::from_utf8_lossy(&fs::read(&self.log)?));
        match status.success() {
            true => Ok(()),
            false => Err("a step that ran beside others failed; its output stands above".into()),
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            end_group(self.child.id());
            drop(self.child.wait());
        }
    }
}

/// In the second process: ends with the one that waits for it, which may have been killed.
pub(super) fn end_with_parent() {
    let parent = std::env::var(PARENT).ok().and_then(|text| text.parse::<u32>().ok());
    let Some(parent) = parent else { return };
    std::thread::spawn(move || {
        while std::os::unix::process::parent_id() == parent {
            std::thread::sleep(Duration::from_millis(500));
        }
        end_group(std::process::id());
    });
}

fn end_group(group: u32) {
    drop(Command::new("sh").args(["-c", &format!("kill -- -{group}")]).status());
}

#[cfg(test)]
mod tests;
