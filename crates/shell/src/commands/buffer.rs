//! Commands about the statement that is being typed, or was run last.
//!
//! What somebody has typed counts first; where there is nothing, the statement that ran last.

use std::time::{Duration, Instant};

use super::{Call, Further};
use crate::lines::Lines;
use crate::options::Format;
use crate::printing::Expanded;
use crate::reading::pending::Cut;
use crate::shell::Shell;
use crate::stop::Failure;
use crate::streams::Target;

/// How often `\watch` runs a statement, and looks whether it is to stop.
const WATCH: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(50);

/// The statement that is being typed, else the one that ran last.
fn taken(shell: &Shell, call: &mut Call<'_, '_>) -> Result<Cut, Failure> {
    let line = call.pending.line();
    let cut = call.pending.take().unwrap_or(Cut { text: shell.last.clone(), line });
    if cut.text.is_empty() { Err(Failure::said("there is no statement yet")) } else { Ok(cut) }
}

/// `\g` and `\gx`.
pub(super) fn go(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let target = call.arguments.all(&shell.variables).join(" ");
    let cut = taken(shell, call)?;
    let expanded = shell.style.expanded;
    if call.name == "gx" {
        shell.style.expanded = Expanded::On;
    }
    let target = if target.is_empty() { Ok(None) } else { Target::open(&target).map(Some) };
    let ran = target.and_then(|target| {
        let Some(target) = target else { return shell.run_statement(&cut, call.lines) };
        shell.streams.flush()?;
        let before = shell.streams.exchange(Some(target));
        let ran = shell.run_statement(&cut, call.lines);
        let closed = shell.streams.exchange(before).map_or(Ok(()), Target::close);
        ran.and(closed)
    });
    shell.style.expanded = expanded;
    tell_of(shell, ran, &cut, call.lines)
}

/// Errors of a statement are printed with its place.
fn tell_of(
    shell: &mut Shell,
    ran: Result<(), Failure>,
    cut: &Cut,
    lines: &Lines,
) -> Result<(), Failure> {
    let Err(failure @ Failure::Sql(_)) = &ran else { return ran };
    shell.tell_failure(failure, Some((cut, lines)));
    Err(Failure::Reported)
}

/// `\gset`.
pub(super) fn set(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let prefix = call.next(&shell.variables).unwrap_or_default();
    let cut = taken(shell, call)?;
    shell.last.clone_from(&cut.text);
    let answer = shell.session.query(&cut.text, &[])?;
    let [row] = &answer.rows[..] else {
        let text = format!("\\gset needs one row, and there are {}", answer.rows.len());
        return Err(Failure::said(text));
    };
    for (column, datum) in answer.columns.iter().zip(row) {
        let name = format!("{prefix}{}", column.name);
        match datum.to_text() {
            Some(value) => shell.variables.set(&name, value),
            None => shell.variables.unset(&name),
        }
    }
    Ok(())
}

/// `\watch`.
pub(super) fn watch(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let pause = match call.next(&shell.variables) {
        None => WATCH,
        Some(text) => {
            let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0);
            let pause = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            pause.ok_or_else(|| Failure::said(format!("`{text}` is no number of seconds")))?
        }
    };
    let cut = taken(shell, call)?;
    let paged = std::mem::replace(&mut shell.style.pager, false);
    let mut ran = Ok(());
    while ran.is_ok() && !shell.interrupts.is_requested() {
        let started = Instant::now();
        ran = shell.run_statement(&cut, call.lines);
        while started.elapsed() < pause && !shell.interrupts.is_requested() {
            std::thread::sleep(NAP.min(pause));
        }
    }
    shell.style.pager = paged;
    ran
}

/// `\p`.
pub(super) fn print(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let text = if call.pending.is_empty() { &shell.last } else { call.pending.text() };
    let text = format!("{}\n", text.trim_end());
    shell.streams.answer(text.as_bytes())
}

/// `\r`.
pub(super) fn reset(_: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    call.pending.clear();
    Ok(())
}

/// `\e`.
pub(super) fn edit(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let named = call.next(&shell.variables);
    let path = match &named {
        Some(path) => std::path::PathBuf::from(path),
        None => std::env::temp_dir().join(format!("remanent-{}.sql", std::process::id())),
    };
    let shown = path.display().to_string();
    let wrong = |error: std::io::Error| Failure::file(&shown, &error);
    if named.is_none() {
        let text = if call.pending.is_empty() { &shell.last } else { call.pending.text() };
        std::fs::write(&path, format!("{}\n", text.trim_end())).map_err(wrong)?;
    }
    let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR"));
    let editor = editor.unwrap_or_else(|_| "vi".to_owned());
    let command = format!("{editor} \"$0\"");
    let ended = std::process::Command::new("sh").args(["-c", &command]).arg(&path).status();
    let text = std::fs::read_to_string(&path).map_err(wrong);
    if named.is_none() {
        let _ = std::fs::remove_file(&path);
    }
    if !ended.map_err(wrong)?.success() {
        return Err(Failure::said("the editor failed; nothing is run"));
    }
    call.pending.clear();
    call.further = Some(Further::Text(text?));
    Ok(())
}

/// `\s`.
pub(super) fn history(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let file = call.next(&shell.variables);
    let Some(editor) = call.lines.editor() else {
        return Err(Failure::said("there is no history where nobody types"));
    };
    let text: String = editor.history().map(|entry| format!("{entry}\n")).collect();
    match file {
        Some(path) => std::fs::write(&path, text).map_err(|error| Failure::file(&path, &error)),
        None => shell.streams.answer(text.as_bytes()),
    }
}

/// The format that `\gx` and `\x` are for.
pub(super) fn is_table(format: Format) -> bool {
    matches!(format, Format::Aligned | Format::Vertical)
}
