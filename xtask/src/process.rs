//! Programs that the commands run: shown before they start, refused in words when they fail.
//!
//! Standard output and standard error go straight to ours. Nothing reads standard input, so a
//! program that would ask a question gets an end of file at once.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;

/// One program with its arguments and the variables set for it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) words: &'static [&'static str],
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

impl Program {
    /// The line that does the same in a shell.
    pub(crate) fn shown(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}='{value}'"));
        let words = self.words.iter().map(|word| (*word).to_owned());
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn run(&self, root: &Path) -> Outcome {
        let [name, arguments @ ..] = self.words else {
            return Err("no program to run".into());
        };
        let mut command = Command::new(name);
        command.args(arguments).envs(self.environment.iter().copied()).current_dir(root);
        run(&mut command)
    }
}

/// Runs `command` to its end.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|error| format!("cannot run `{name}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed: {status}").into()) }
}
