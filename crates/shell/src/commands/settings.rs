//! Commands that set variables, and how answers look.
//!
//! What is set is printed for a person at a terminal, not in a script.

use super::Call;
use crate::options::Format;
use crate::printing::Expanded;
use crate::shell::Shell;
use crate::stop::Failure;

/// What `\pset` knows.
pub(crate) const PSET_NAMES: [&str; 7] =
    ["expanded", "fieldsep", "footer", "format", "null", "pager", "tuples_only"];

/// `\set`.
pub(super) fn set(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let Some(name) = call.next(&shell.variables) else {
        let line = |(name, value): (&String, &String)| format!("{name} = '{value}'\n");
        let text: String = shell.variables.all().map(line).collect();
        return shell.streams.answer(text.as_bytes());
    };
    let value = call.arguments.all(&shell.variables).concat();
    let is_switch = name == crate::reading::variables::ON_ERROR_STOP;
    shell.variables.set(&name, if value.is_empty() && is_switch { "on" } else { &value });
    Ok(())
}

/// `\unset`.
pub(super) fn unset(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let name = call.needed(&shell.variables, "a variable")?;
    shell.variables.unset(&name);
    Ok(())
}

/// `\pset`.
pub(super) fn pset(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let Some(name) = call.next(&shell.variables) else {
        let text: String = PSET_NAMES
            .iter()
            .map(|name| format!("{name:<12} {}\n", value_of(shell, name)))
            .collect();
        return shell.streams.answer(text.as_bytes());
    };
    let value = call.next(&shell.variables);
    match name.as_str() {
        "format" => {
            if let Some(value) = value {
                shell.style.format = format_named(&value)?;
            }
        }
        "null" => shell.style.null = value.unwrap_or_default(),
        "fieldsep" => shell.style.separator = value.unwrap_or_else(|| "|".to_owned()),
        "expanded" | "x" => shell.style.expanded = expanded_from(shell, value.as_deref())?,
        "tuples_only" | "t" => {
            shell.style.rows_only = switched(shell.style.rows_only, value.as_deref())?;
        }
        "footer" => shell.style.footer = switched(shell.style.footer, value.as_deref())?,
        "pager" => shell.style.pager = switched(shell.style.pager, value.as_deref())?,
        other => {
            let known = PSET_NAMES.join(", ");
            return Err(Failure::said(format!("\\pset knows {known}, not `{other}`")));
        }
    }
    said(shell, &name)
}

/// `\f` and `.mode`.
pub(super) fn format(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    if let Some(name) = call.next(&shell.variables) {
        shell.style.format = format_named(&name)?;
    }
    said(shell, "format")
}

/// `\x`.
pub(super) fn expanded(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let value = call.next(&shell.variables);
    shell.style.expanded = expanded_from(shell, value.as_deref())?;
    if !super::buffer::is_table(shell.style.format) {
        shell.style.format = Format::Aligned;
    }
    said(shell, "expanded")
}

/// `\a`.
pub(super) fn aligned(shell: &mut Shell, _: &mut Call<'_, '_>) -> Result<(), Failure> {
    let is_aligned = shell.style.format == Format::Aligned;
    shell.style.format = if is_aligned { Format::Unaligned } else { Format::Aligned };
    said(shell, "format")
}

/// `\t` and `.headers`.
pub(super) fn rows_only(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let value = call.next(&shell.variables);
    let is_opposite = call.name == ".headers";
    let before = shell.style.rows_only != is_opposite;
    shell.style.rows_only = switched(before, value.as_deref())? != is_opposite;
    said(shell, "tuples_only")
}

/// `\timing`.
pub(super) fn timing(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let value = call.next(&shell.variables);
    shell.timing = switched(shell.timing, value.as_deref())?;
    if shell.quiet {
        return Ok(());
    }
    let text = format!("Timing is {}.\n", word(shell.timing));
    shell.streams.answer(text.as_bytes())
}

/// Says what is set now, to people.
fn said(shell: &mut Shell, name: &str) -> Result<(), Failure> {
    if shell.quiet || shell.screen.is_none() {
        return Ok(());
    }
    let text = format!("{name} is {}.\n", value_of(shell, name));
    shell.streams.answer(text.as_bytes())
}

fn value_of(shell: &Shell, name: &str) -> String {
    let style = &shell.style;
    match name {
        "format" => style.format.name().to_owned(),
        "null" => format!("'{}'", style.null),
        "fieldsep" => format!("'{}'", style.separator),
        "expanded" | "x" => match style.expanded {
            Expanded::Off => "off".to_owned(),
            Expanded::On => "on".to_owned(),
            Expanded::Auto => "auto".to_owned(),
        },
        "footer" => word(style.footer).to_owned(),
        "pager" => word(style.pager).to_owned(),
        _ => word(style.rows_only).to_owned(),
    }
}

fn format_named(name: &str) -> Result<Format, Failure> {
    // As sqlite3 and duckdb call them.
    let name = match name {
        "box" | "column" | "table" => "aligned",
        "line" => "vertical",
        "list" => "unaligned",
        "ndjson" | "jsonl" => "jsonlines",
        other => other,
    };
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        Failure::said(format!("there is no format `{name}`; there are {}", known.join(", ")))
    })
}

fn expanded_from(shell: &Shell, value: Option<&str>) -> Result<Expanded, Failure> {
    if value == Some("auto") {
        return Ok(Expanded::Auto);
    }
    let is_on = switched(shell.style.expanded == Expanded::On, value)?;
    Ok(if is_on { Expanded::On } else { Expanded::Off })
}

/// What a switch is after it was set, or turned if nothing is said.
fn switched(before: bool, value: Option<&str>) -> Result<bool, Failure> {
    match value.map(str::to_lowercase).as_deref() {
        None => Ok(!before),
        Some("on" | "true" | "yes" | "1") => Ok(true),
        Some("off" | "false" | "no" | "0") => Ok(false),
        Some(other) => Err(Failure::said(format!("on or off, not `{other}`"))),
    }
}

fn word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
