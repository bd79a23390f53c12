//! Commands about files, and text into the answers.
//!
//! Names are those of the system, from the folder in which the shell runs.

use super::{Call, Further};
use crate::reading::pending::Cut;
use crate::shell::Shell;
use crate::statements::copy_text;
use crate::stop::Failure;
use crate::streams::Target;

/// `\copy`.
pub(super) fn copy(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let text = copy_text(call.arguments.line())?;
    let cut = Cut { text, line: call.pending.line() };
    shell.run_statement(&cut, call.lines)
}

/// `\i`.
pub(super) fn include(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let path = call.needed(&shell.variables, "a file")?;
    call.further = Some(Further::File(path));
    Ok(())
}

/// `\o`.
pub(super) fn output(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let name = call.arguments.all(&shell.variables).join(" ");
    let is_none = name.is_empty() || (call.name == ".output" && name == "stdout");
    let target = if is_none { None } else { Some(Target::open(&name)?) };
    shell.streams.redirect(target)
}

/// `\cd`.
pub(super) fn change_folder(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let named = call.next(&shell.variables);
    let home = || std::env::var("HOME").unwrap_or_else(|_| "/".to_owned());
    let path = named.unwrap_or_else(home);
    std::env::set_current_dir(&path).map_err(|error| Failure::file(&path, &error))
}

/// `\!`.
pub(super) fn system(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    shell.streams.flush()?;
    let words = call.arguments.line();
    let named = std::env::var("SHELL").unwrap_or_else(|_| "sh".to_owned());
    let mut program = std::process::Command::new(if words.is_empty() { &named } else { "sh" });
    if !words.is_empty() {
        program.args(["-c", words]);
    }
    let ended = program.status().map_err(|error| Failure::file(words, &error))?;
    if ended.success() { Ok(()) } else { Err(Failure::said(format!("{words}: {ended}"))) }
}

/// `\echo`.
pub(super) fn echo(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let mut words = call.arguments.all(&shell.variables);
    let newline = if words.first().is_some_and(|word| word == "-n") {
        words.remove(0);
        ""
    } else {
        "\n"
    };
    shell.streams.answer(format!("{}{newline}", words.join(" ")).as_bytes())
}
