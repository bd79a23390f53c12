//! Programs that the commands run: shown before they start, refused in words when they fail.
//!
//! Standard output and standard error go straight to ours. Nothing reads standard input, so a
//! program that would ask a question gets an end of file at once.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::outcome::Outcome;

/// One program with its arguments, a line of words, and the variables set for it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) line: &'static str,
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

impl Program {
    /// The line that does the same in a shell.
    pub(crate) fn shown(&self) -> String {
        let quoted = |word: &str| match word.contains(['*', '$']) {
            true => format!("'{word}'"),
            false => word.to_owned(),
        };
        let variables = self.environment.iter().map(|(name, value)| format!("{name}='{value}'"));
        variables.chain(self.line.split_whitespace().map(quoted)).collect::<Vec<_>>().join(" ")
    }

    /// Compiles what it runs, if cargo or the script of all tests runs it; else it does nothing.
    pub(crate) fn compile(&self, root: &Path) -> Outcome {
        let words: Vec<&str> = self.line.split_whitespace().collect();
        match &words[..] {
            ["cargo", "test", ..] | ["sh", "xtask/all-tests.sh", ..] => {
                self.run_words(&[&words[..], &["--no-run"]].concat(), root)
            }
            ["cargo", "run", rest @ ..] => {
                let own = rest.iter().copied().take_while(|word| *word != "--");
                let words: Vec<&str> = ["cargo", "build"].into_iter().chain(own).collect();
                self.run_words(&words, root)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn run(&self, root: &Path) -> Outcome {
        self.run_words(&self.line.split_whitespace().collect::<Vec<_>>(), root)
    }

    fn run_words(&self, words: &[&str], root: &Path) -> Outcome {
        let [name, arguments @ ..] = words else {
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
