//! The log: lines with moment and level, on standard error.
//!
//! One process has one log: what a program has set up before stays. An event is one line, whatever
//! clients have put into it: a line break of theirs, or anything else that a terminal would obey,
//! is written as an escape.

use std::io::{self, Write};

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Writes the log of this process to standard error, from this level on: `error`, `warn`, `info`,
/// `debug`, `trace` or `off`.
///
/// # Errors
/// In words: a level that is none.
pub fn log_to_standard_error(level: &str) -> Result<(), String> {
    let level: LevelFilter = level.parse().map_err(|_| {
        format!("`{level}` is no level of the log: error, warn, info, debug, trace, off")
    })?;
    let format = tracing_subscriber::fmt::layer().with_writer(|| OneLine(io::stderr()));
    let format = format.with_target(false).with_ansi(false);
    // What openraft would say, of each message that did not arrive, our own lines say.
    let of_raft = if level >= LevelFilter::DEBUG { level } else { LevelFilter::OFF };
    let filter = Targets::new().with_default(level).with_target("openraft", of_raft);
    // A log that a program has set up already stays.
    let _ = tracing_subscriber::registry().with(format.with_filter(filter)).try_init();
    Ok(())
}

/// Writes each event as one line.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    /// The log writes each event with one call.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(one_line(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A line with nothing in it that would end it, but for its end.
fn one_line(event: &str) -> String {
    let line = event.strip_suffix('\n').unwrap_or(event);
    let obeyed = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut escaped = String::with_capacity(event.len());
    for c in line.chars() {
        match obeyed(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped.push('\n');
    escaped
}

#[cfg(test)]
mod tests;
